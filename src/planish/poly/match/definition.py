"""A definition with names of its own: its iterators, sizes and scalars are none of the nest that it is compared with.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> own = mark(parse_kernel("kernel fill(n; x: f32; d: f32[n]) { for l in 0 .. n { d[l] = x } }"))
>>> plain(print_stmt(own.body))
'{\\n  for l in 0 .. n {\\n    d[l] = x\\n  }\\n}'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from planish.ir.expr import Expr, Var, index, type_of
from planish.ir.index.polynomial import normal
from planish.ir.nest import Array, Block, For, If, Kernel, Let, Stmt
from planish.ir.text.printer import print_expr
from planish.ir.traverse import map_exprs, substitute, variables
from planish.ir.types import INDEX

ITERATOR, SIZE, SCALAR = "°", "?", "$"
"""What the names of a definition begin with."""


@dataclass(frozen=True, slots=True)
class MatchDefinition:
    """What a kernel does, and its arrays, under such names."""

    body: Block
    arrays: Mapping[str, Array]


def mark(kernel: Kernel) -> MatchDefinition:
    """The definition that a kernel is."""
    values: dict[str, Expr] = {x: Var(SIZE + x, INDEX) for x in kernel.sizes}
    values |= {x.name: Var(SCALAR + x.name, x.type) for x in kernel.scalars}
    return MatchDefinition(_marked(kernel.body, values), {x.name: _sized(x, values) for x in kernel.arrays})


def _marked(block: Block, values: Mapping[str, Expr]) -> Block:
    """A definition with names of its own for iterators and sizes."""
    known = dict(values)
    out: list[Stmt] = []
    for stmt in block.body:
        made = _marked_stmt(stmt, known)
        if isinstance(made, Let):
            # Its value may be another one in each iteration.
            made = replace(made, var=ITERATOR + made.var)
            assert isinstance(stmt, Let)
            known[stmt.var] = Var(made.var, type_of(made.value))
        out.append(made)
    return Block(tuple(out))


def _marked_stmt(stmt: Stmt, values: Mapping[str, Expr]) -> Stmt:
    stmt = map_exprs(lambda x: substitute(x, values), stmt)
    match stmt:
        case For(var=var, body=body):
            name = ITERATOR + var
            return replace(stmt, var=name, body=_marked(body, {**values, var: Var(name, INDEX)}))
        case If(then=then, otherwise=otherwise):
            return replace(stmt, then=_marked(then, values), otherwise=_marked(otherwise, values))
        case Block():
            return _marked(stmt, values)
        case _:
            return stmt


def _sized(array: Array, values: Mapping[str, Expr]) -> Array:
    return replace(array, shape=tuple(None if x is None else substitute(x, values) for x in array.shape))


def has_iterator(expr: Expr) -> bool:
    """Whether an expression depends on the iteration."""
    return any(x.startswith(ITERATOR) for x in variables(expr))


def at_start(expr: Expr) -> Expr:
    """An address at the first iteration."""
    return normal(substitute(expr, {x: index(0) for x in variables(expr) if x.startswith(ITERATOR)}))


def show(expr: Expr) -> str:
    """An index expression of the definition as it stands there."""
    return plain(print_expr(expr))


def plain(text: str) -> str:
    """A text of the definition with the names that it has there."""
    return text.replace(ITERATOR, "").replace(SIZE, "").replace(SCALAR, "")
