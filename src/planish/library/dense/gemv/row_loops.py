"""Recognises row loops of a matrix-vector product (GEMV): one dot product along a row in each iteration.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_expr
>>> loops = "y[i] = 0.0  for k in 0 .. n { y[i] += 2.0 * A[i, k] * x[k] }"
>>> kernel = parse_kernel("kernel k(m, n; A: f64[m, n], x: f64[n], y: f64[m]) { for i in 0 .. m { %s } }" % loops)
>>> found = find_dots(kernel.body.body[0], frozenset(kernel.sizes))
>>> (dot,) = found.sums
>>> *map(print_expr, (dot.cell, dot.row, dot.other)), *map(print_expr, dot.factors)
('y[i]', 'A[i, k]', 'x[k]', '2.0:f64')
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from planish.ir.expr import Expr, Load
from planish.ir.nest import Assign, For, Reduce, Stmt
from planish.ir.traverse import flatten, loads, variables
from planish.ir.types import F32, F64, Type
from planish.library.kernels.accumulations import Update, added_by, factors_of, is_row


@dataclass(frozen=True, slots=True)
class Dot:
    """A `cell` to which products of an element of a `row` of a matrix and one of an`other` row are added, or from which
    they are subtracted where `negative`, times `factors` that are the same for all of them."""

    cell: Load
    negative: bool
    factors: tuple[Expr, ...]
    row: Load
    other: Load


@dataclass(frozen=True, slots=True)
class Dots:
    """A `loop` whose iterations do what stands `before`, add `sums` over `inner`, and do what stands `after`. Nothing
    in it stores to a row, and no row is seen by two iterations but those that the sums have in common."""

    loop: For
    inner: For
    before: tuple[Update, ...]
    sums: tuple[Dot, ...]
    after: tuple[Update, ...]

    @property
    def type(self) -> Type:
        """The type of all sums."""
        return self.sums[0].row.type


def find_dots(stmt: Stmt, sizes: frozenset[str]) -> Dots | None:
    """The loop, if it is one over the rows of a matrix; None where anything else happens in it."""
    if not isinstance(stmt, For) or stmt.step != 1 or stmt.facts.instruction:
        return None
    body = flatten(stmt.body.body)
    places = [n for n, x in enumerate(body) if isinstance(x, For)]
    if len(places) != 1 or any(not isinstance(x, For | Assign | Reduce) for x in body):
        return None
    (place,) = places
    inner = body[place]
    assert isinstance(inner, For)
    if inner.step != 1 or inner.facts.instruction or not _is_the_same(inner, stmt.var):
        return None
    sums = [_read_sum(x, inner.var, stmt.var, sizes) for x in flatten(inner.body.body)]
    known = tuple(x for x in sums if x is not None)
    before, after = _updates(body[:place]), _updates(body[place + 1 :])
    found = Dots(stmt, inner, before, known, after)
    return found if known and len(known) == len(sums) and _is_apart(found) else None


def _updates(body: Iterable[Stmt]) -> tuple[Update, ...]:
    return tuple(x for x in body if isinstance(x, Assign | Reduce))


def _is_the_same(inner: For, var: str) -> bool:
    """Whether a loop has the same range in every iteration of the one around it."""
    return all(var not in variables(x) and not loads(x) for x in (inner.lower, inner.upper))


def _read_sum(stmt: Stmt, var: str, outer: str, sizes: frozenset[str]) -> Dot | None:
    """The sum over `var` that a statement makes along a row, which another iteration of `outer` does not see."""
    added = added_by(stmt) if isinstance(stmt, Assign | Reduce) else None
    if added is None or not isinstance(stmt, Assign | Reduce):
        return None
    negative, factors = factors_of(added)
    moving = [x for x in factors if var in variables(x)]
    if any(var in variables(x) or loads(x) for x in stmt.index):
        return None
    match moving:
        case [Load() as a, Load() as b] if a.type == b.type and a.type in (F32, F64):
            pass
        case _:
            return None
    if not is_row(a, var) or not is_row(b, var):
        return None
    row, other = (a, b) if _is_of_matrix(a, outer) else (b, a)
    # What is seen for another row as well makes a product of matrices, which is better kept in registers.
    seen, own = _variables((*stmt.index, *other.index)), _variables(row.index)
    if not _is_of_matrix(row, outer) or not seen - sizes <= own:
        return None
    rest = tuple(x for x in factors if var not in variables(x))
    return Dot(Load(stmt.array, stmt.index, row.type), negative, rest, row, other)


def _variables(subscripts: Iterable[Expr]) -> frozenset[str]:
    return frozenset(y for x in subscripts for y in variables(x))


def _is_of_matrix(row: Load, outer: str) -> bool:
    """Whether each iteration has a row of its own."""
    return any(outer in variables(x) for x in row.index[:-1]) and outer not in variables(row.index[-1])


def _is_apart(found: Dots) -> bool:
    """Whether no statement stores to a row, the sums have one type, and what they are multiplied by is not changed by
    them."""
    seen = {y.array for x in found.sums for y in (x.row, x.other)}
    cells = {x.cell.array for x in found.sums}
    stored = cells | {x.array for x in (*found.before, *found.after)}
    factors = {y.array for x in found.sums for e in x.factors for y in loads(e)}
    subscripts = [y for x in (*found.before, *found.after) for e in x.index for y in loads(e)]
    return not seen & stored and not factors & cells and not subscripts and len({x.row.type for x in found.sums}) == 1
