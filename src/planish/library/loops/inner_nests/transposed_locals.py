"""Transposes local arrays that are written along columns and read along rows; a 1-D array counts as rows of a length
that all its subscripts keep apart.

Before: t[8 * u + i] = …;  … += t[8 * i + k]
After:  t[i, u] = …;  … += t[k, i]

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "for i in 0 .. 8 { for u in 0 .. 4 { t[8 * u + i] = x[i, u] } }"
>>> kernel = parse_kernel("kernel k(n; x: f32[8, 4]) { alloc t: f32[32] %s }" % text)
>>> print(print_stmt(turn_layout(kernel, "t").body.body[1]))
for i in 0 .. 8 {
  for u in 0 .. 4 {
    t[i, u] = x[i, u]
  }
}
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from math import prod

from planish.core.names import take_name
from planish.ir.expr import Expr, Var, index
from planish.ir.index.polynomial import Polynomial, build, constant, floordiv, polynomial
from planish.ir.nest import Alloc, Array, Assign, Block, For, Kernel, Reduce, Stmt
from planish.ir.traverse import blocks_of, expressions, loads, map_block, used_names, walk
from planish.library.loops.inner_nests.transposed_tables import LARGEST
from planish.schedule.accesses import redirect

Interval = tuple[int, int]
"""The least and the largest value."""
At = tuple[Expr, ...]


def turn_layout(kernel: Kernel, name: str, scratch: Collection[str] = ()) -> Kernel | None:
    """The kernel with the last two dimensions of an array in the other order; None where it is no local one, nor a
    `scratch` one of the kernel's, of which nothing is read before or behind, or it may be large, or has no rows."""
    local = next((x.array for x in walk(kernel.body) if isinstance(x, Alloc) and x.array.name == name), None)
    own = next((x for x in kernel.arrays if x.name == name and name in scratch), None)
    array = local or own
    if array is None or not array.shape:
        return None
    width = _row_length(array, kernel.body)
    moved = array.shape[-2:] if width is None else array.shape[-1:]
    if (width is None and len(moved) < 2) or not _is_small(moved if local is not None else array.shape):
        return None
    turned = replace(array, shape=_turned_shape(array.shape, width))
    if local is None:
        turned = replace(turned, name=take_name(name, {*used_names(kernel)}), distinct=True, memory="stack")
    body = redirect(kernel.body, name, lambda at: (turned.name, _turned(at, width)))
    if local is None:
        return replace(kernel, body=Block((Alloc(turned), *body.body)))
    here = Alloc(turned)
    return replace(kernel, body=map_block(lambda x: here if isinstance(x, Alloc) and x.array.name == name else x, body))


def _is_small(shape: tuple[Expr | None, ...]) -> bool:
    """Whether there are few elements in all, whatever the sizes are."""
    known = [constant(x) for x in shape if x is not None]
    few = [x for x in known if x is not None]
    return len(few) == len(shape) and prod(few) <= LARGEST


def _turned_shape(shape: tuple[Expr | None, ...], width: int | None) -> tuple[Expr | None, ...]:
    *outer, last = shape
    if width is None or last is None:
        return (*outer[:-1], last, outer[-1])
    return (*outer, index(width), floordiv(last, index(width)))


def _turned(at: At, width: int | None) -> At:
    """The subscripts with the last two in the other order, after the last one is split where a width is given."""
    *outer, last = at
    if width is None:
        return (*outer[:-1], last, outer[-1])
    row, place = _split(last, width)
    return (*outer, build(place), build(row))


def _split(at: Expr, width: int) -> tuple[Polynomial, Polynomial]:
    """The row that a subscript is in, and the place there, if what is no multiple of the width is less than it."""
    terms = polynomial(at)
    first = terms.get((), 0)
    row = {x: c // width for x, c in terms.items() if x and c % width == 0}
    place = {x: c for x, c in terms.items() if x and c % width}
    row |= {(): first // width} if first // width else {}
    place |= {(): first % width} if first % width else {}
    return row, place


def _row_length(array: Array, body: Block) -> int | None:
    """The length of rows that all subscripts of an array's last dimension keep apart; None where there is none."""
    uses = list(_uses(body, array.name, {}))
    extent = None if array.shape[-1] is None else constant(array.shape[-1])
    if extent is None or not uses:
        return None
    factors = {abs(c) for at, _ in uses for x, c in polynomial(at[-1]).items() if x}
    for width in sorted(factors, reverse=True):
        if 1 < width < extent and extent % width == 0:
            parts = [(_split(at[-1], width), known) for at, known in uses]
            rows = (_is_within(row, extent // width, known) for (row, _), known in parts)
            if all(rows) and all(_is_within(place, width, known) for (_, place), known in parts):
                return width
    return None


def _is_within(terms: Polynomial, extent: int, known: Mapping[str, Interval]) -> bool:
    """Whether a sum of loops' variables is at least 0 and less than an extent."""
    low = high = 0
    for monomial, factor in terms.items():
        match monomial:
            case ():
                ends = (factor, factor)
            case (Var(name=name),) if name in known:
                ends = (factor * known[name][0], factor * known[name][1])
            case _:
                return False
        low, high = low + min(ends), high + max(ends)
    return low >= 0 and high < extent


def _uses(stmt: Stmt, name: str, known: Mapping[str, Interval]) -> Iterator[tuple[At, Mapping[str, Interval]]]:
    """The subscripts with which an array is used, each with the values that loops around it have."""
    if isinstance(stmt, Assign | Reduce) and stmt.array == name:
        yield stmt.index, known
    yield from ((x.index, known) for e in expressions(stmt) for x in loads(e) if x.array == name)
    if isinstance(stmt, For):
        lower, upper = constant(stmt.lower), constant(stmt.upper)
        others = {x: y for x, y in known.items() if x != stmt.var}
        known = others if lower is None or upper is None else {**others, stmt.var: (lower, upper - 1)}
    for inner in stmt.body if isinstance(stmt, Block) else blocks_of(stmt):
        yield from _uses(inner, name, known)
