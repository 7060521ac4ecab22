"""Cascades that work in place: a sample that every section reads and stores is kept in a cell until the last one.

Before: for t { for k { let v = x[t];  x[t] = c[k] * v + z[k];  z[k] = x[t] * g } }
After:  for t { s = x[t];  for k { v = s;  s = c[k] * v + z[k];  z[k] = s * g };  x[t] = s }

Where there are sections at all, that is the same: it is asked for before the kernel runs.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_expr, print_stmt
>>> loops = "for t in 0 .. n { for k in 0 .. m { x[t] = z[k] + x[t]  z[k] = x[t] } }"
>>> kernel, asked = keep_samples(parse_kernel("kernel k(n, m; x: f32[n], z: f32[m]) { %s }" % loops))
>>> print(print_stmt(kernel.body.body[1]), *map(print_expr, asked))
for t in 0 .. n {
  x_kept[] = x[t]
  for k in 0 .. m {
    x_kept[] = z[k] + x_kept[]
    z[k] = x_kept[]
  }
  x[t] = x_kept[]
} m > 0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planish.core.names import take_name
from planish.ir.expr import Compare, Const, Expr, Load, Var, type_of
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, Block, For, Kernel, Let, Reduce, Stmt
from planish.ir.traverse import expressions, flatten, loads, map_block, map_expr, map_exprs, used_names, variables
from planish.ir.types import BOOL, F32, F64


def keep_samples(kernel: Kernel) -> tuple[Kernel, tuple[Expr, ...]]:
    """The kernel with such samples in cells, and what has to hold so that it is the same."""
    taken, cells, asked = {*used_names(kernel)}, list[Array](), list[Expr]()

    def visit(stmt: Stmt) -> Stmt:
        inner = _inner_loop(stmt) if isinstance(stmt, For) else None
        if not isinstance(stmt, For) or inner is None:
            return stmt
        kept = _kept(inner, stmt.var, kernel)
        some = simplify(Compare("lt", inner.lower, inner.upper))
        if kept is None or some == Const(False, BOOL):
            return stmt
        cell = Array(take_name(f"{kept.array}_kept", taken), kept.type, (), True, "register")
        body, named = _with_cells(inner.body, kept, cell, taken)
        cells.extend((cell, *named))
        asked.extend([some] if some != Const(True, BOOL) else [])
        parts = flatten(stmt.body.body)
        place = parts.index(inner)
        before, after = parts[:place], parts[place + 1 :]
        begin = before[-1] if before else None
        if isinstance(begin, Assign) and (begin.array, begin.index) == (kept.array, kept.index):
            before = [*before[:-1], replace(begin, array=cell.name, index=())]
        else:
            before = [*before, Assign(cell.name, (), kept)]
        store = Assign(kept.array, kept.index, Load(cell.name, (), cell.type))
        return replace(stmt, body=Block((*before, replace(inner, body=body), store, *after)))

    body = map_block(visit, kernel.body)
    return replace(kernel, body=Block((*map(Alloc, cells), *body.body))), tuple(asked)


def _inner_loop(loop: For) -> For | None:
    """The one loop in a loop, which always runs as often, and only computes."""
    inner = [x for x in flatten(loop.body.body) if isinstance(x, For)]
    if len(inner) != 1 or any(loads(x) or loop.var in variables(x) for x in (inner[0].lower, inner[0].upper)):
        return None
    simple = all(isinstance(x, Assign | Reduce | Let) for x in flatten(inner[0].body.body))
    return inner[0] if simple else None


def _kept(inner: For, sample: str, kernel: Kernel) -> Load | None:
    """The element of a sample that a loop stores and always means by its array, where it stores a state as well:
    samples that have none are made in lanes of their own."""
    body = flatten(inner.body.body)
    stores = [x for x in body if isinstance(x, Assign | Reduce)]
    if not any(inner.var in variables(y) for x in stores for y in x.index):
        return None
    types = {x.name: x.type for x in kernel.arrays if x.type in (F32, F64)}
    own = {x.var for x in body if isinstance(x, Let)} | {inner.var}
    for stored in (x for x in stores if x.array in types):
        names = {y for x in stored.index for y in variables(x)}
        used = [y.index for x in body for e in expressions(x) for y in loads(e) if y.array == stored.array]
        used += [x.index for x in stores if x.array == stored.array]
        if sample in names and not names & own and all(x == stored.index for x in used) and not _reads(stored.index):
            return Load(stored.array, stored.index, types[stored.array])
    return None


def _reads(subscripts: Sequence[Expr]) -> bool:
    return any(loads(x) for x in subscripts)


def _with_cells(block: Block, kept: Load, cell: Array, taken: set[str]) -> tuple[Block, list[Array]]:
    """Statements with a cell in place of an element, and with the cells that have the values of names of floats."""
    body = flatten(block.body)
    lets = {x.var: type_of(x.value) for x in body if isinstance(x, Let) and type_of(x.value) in (F32, F64)}
    named = {x: Array(take_name(x, taken), y, (), True, "register") for x, y in lets.items()}

    def change(x: Expr) -> Expr:
        match x:
            case Load(array=kept.array):
                return Load(cell.name, (), cell.type)
            case Var(name=name) if name in named:
                return Load(named[name].name, (), named[name].type)
            case _:
                return x

    def moved(x: Stmt) -> Stmt:
        x = map_exprs(lambda y: map_expr(change, y), x)
        if isinstance(x, Let) and x.var in named:
            return Assign(named[x.var].name, (), x.value, span=x.span)
        if isinstance(x, Assign | Reduce) and x.array == kept.array:
            return replace(x, array=cell.name, index=())
        return x

    return Block(tuple(map(moved, body))), [*named.values()]
