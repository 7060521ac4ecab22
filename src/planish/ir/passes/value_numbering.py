"""Local value numbering (CSE): a value that is computed twice while its operands are unchanged is computed once.

Before: { let t = x[i]; y[i] = t }  { let t = x[i]; z[i] = t * t }
After:  let t = x[i]; y[i] = t; z[i] = t * t

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "for i in 0 .. n { { let t = x[i] + 1.0 y[i] = t } { let t = x[i] + 1.0 z[i] = t * t } }"
>>> kernel = parse_kernel(f"kernel k(n; x: f64[n], y: f64[n], z: f64[n]) {{ {text} }}")
>>> print(print_stmt(number_values(kernel.body, frozenset())), end="")
{
  for i in 0 .. n {
    let t = x[i] + 1.0:f64
    y[i] = t
    z[i] = t * t
  }
}
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from math import copysign
from typing import assert_never

from planish.core.names import take_name
from planish.ir.expr import Const, Expr, Var, type_of
from planish.ir.nest import Alloc, Assign, Barrier, Block, For, If, Launch, Let, Reduce, Stmt, While
from planish.ir.traverse import bindings, expressions, loads, map_exprs, substitute, variables, walk, walk_expr


def number_values(nest: Block, taken: Collection[str]) -> Block:
    """The nest with every value that is named (`Let`) computed once where the same one has a name already, and with
    names that are unique in it, so that blocks that only bind names are parts of what is around them.

    Values of the same text are the same while nothing is stored to the arrays that they are loaded from; arrays of
    different names lie apart. `taken` are names that have other meanings."""
    loops = {x.var for x in walk(nest) if isinstance(x, For)}
    return Block(tuple(_numbered(nest, _Known(), _Names({*taken, *loops}))))


_Key = tuple[Expr, tuple[float, ...]]
"""A value, and the signs of the zeros in it, which are equal otherwise."""


def _key(value: Expr) -> _Key:
    zeros = (x.value for x in walk_expr(value) if isinstance(x, Const) and isinstance(x.value, float))
    return value, tuple(copysign(1, x) for x in zeros if x == 0)


@dataclass(slots=True)
class _Names:
    """Names that are in use."""

    taken: set[str]

    def unique(self, name: str) -> str:
        if name in self.taken:
            return take_name(name, self.taken)
        self.taken.add(name)
        return name


@dataclass(slots=True)
class _Known:
    """What holds at one place: the names of values, and by what the names of the nest are replaced."""

    values: dict[_Key, Var] = field(default_factory=dict)
    renamed: dict[str, Expr] = field(default_factory=dict)

    def inside(self, var: str | None = None) -> _Known:
        """A copy for a block within, in which `var` is another variable."""
        values = {x: name for x, name in self.values.items() if var is None or var not in variables(x[0])}
        return _Known(values, {x: y for x, y in self.renamed.items() if x != var})

    def forget(self, stmt: Stmt) -> None:
        """What was loaded from arrays that a statement stores to is not known any more."""
        stored = {x.array for x in walk(stmt) if isinstance(x, Assign | Reduce)}
        self.values = {x: name for x, name in self.values.items() if not any(y.array in stored for y in loads(x[0]))}

    def replaced(self, stmt: Stmt) -> Stmt:
        """A statement over the names that there are; not those within it."""
        used = {v for e in expressions(stmt) for v in variables(e)}
        return stmt if used.isdisjoint(self.renamed) else map_exprs(lambda x: substitute(x, self.renamed), stmt)


def _numbered(block: Block, known: _Known, names: _Names) -> list[Stmt]:
    """The statements of a block; `known` is brought up to what holds behind it."""
    out: list[Stmt] = []
    for stmt in block.body:
        match stmt:
            case Block() if any(isinstance(x, Alloc) for x in stmt.body):
                out.append(Block(tuple(_numbered(stmt, known.inside(), names))))
                known.forget(stmt)
            case Block():
                out += _in_place(stmt, known, names)
            case Let():
                fresh = known.replaced(stmt)
                assert isinstance(fresh, Let)
                same = known.values.get(key := _key(fresh.value))
                if same is None:
                    same = Var(names.unique(stmt.var), type_of(fresh.value))
                    known.values[key] = same
                    out.append(replace(fresh, var=same.name))
                known.renamed[stmt.var] = same
            case For():
                fresh = known.replaced(replace(stmt, body=Block(())))
                assert isinstance(fresh, For)
                known.forget(stmt)
                inner = _numbered(stmt.body, known.inside(stmt.var), names)
                out.append(replace(fresh, body=Block(tuple(inner))))
            case If():
                fresh = known.replaced(stmt)
                assert isinstance(fresh, If)
                then = Block(tuple(_numbered(stmt.then, known.inside(), names)))
                otherwise = Block(tuple(_numbered(stmt.otherwise, known.inside(), names)))
                out.append(replace(fresh, then=then, otherwise=otherwise))
                known.forget(stmt)
            case Assign() | Reduce():
                out.append(known.replaced(stmt))
                known.forget(stmt)
            case Alloc():
                out.append(stmt)
            case Launch() | Barrier() | While():
                raise AssertionError("launches are made last; loops without a count hold nests of their own")
            case _:
                assert_never(stmt)
    return out


def _in_place(block: Block, known: _Known, names: _Names) -> list[Stmt]:
    """The statements of a block within another one; what its names meant outside they mean again behind it."""
    own = {*bindings(Block(tuple(x for x in block.body if isinstance(x, Let))))}
    before = {x: known.renamed[x] for x in own if x in known.renamed}
    out = _numbered(block, known, names)
    known.renamed = {x: y for x, y in known.renamed.items() if x not in own} | before
    return out
