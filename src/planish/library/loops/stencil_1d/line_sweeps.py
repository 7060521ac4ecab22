"""Recognises repeated 1-D stencil sweeps: each computes a whole array from near elements of others.

Before: for t { for i { B[i] = f(A[i - 1], A[i], A[i + 1]) };  for i { A[i] = f(B[i - 1], B[i], B[i + 1]) } }

>>> from planish.ir.text.parser import parse_kernel
>>> first, second = "for i in 1 .. n - 1 { B[i] = A[i - 1] + A[i + 1] }", "for i in 1 .. n - 1 { A[i] = B[i] }"
>>> text = "kernel k(n; A: f64[n], B: f64[n]) { for t in 0 .. 9 { %s %s } }" % (first, second)
>>> found = find_sweeps(parse_kernel(text).body.body[0])
>>> [(x.array, x.low, x.high, x.left, x.right) for x in found.lines]
[('A', -1, 1, 1, 1), ('B', 0, 0, 0, 0)]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planish.ir.expr import Binary, Expr, Load, Select, Var, index, type_of
from planish.ir.index.polynomial import add, constant, sub
from planish.ir.nest import Assign, Block, For, Reduce, Stmt
from planish.ir.traverse import children, flatten, loads, map_expr, may_fail, substitute, variables
from planish.ir.types import Type

PLACE = "$place"
"""The name of the element that a sweep makes, in what it makes it from."""
MOST_REACH = 8
"""So far from an element are those that it is made from, at most."""
MOST_SWEEPS = 16
"""More of them are too much code."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep: the statement that computes the elements of one array from `first + lower` up to `last + upper`, at
    `PLACE`."""

    update: Assign | Reduce
    lower: int
    upper: int


@dataclass(frozen=True, slots=True)
class LineArray:
    """An array with elements along the line: they are read or written from `first + low` up to `last + high`, for
    others that are up to `left` before them and `right` after. `sweep`: one that makes them; None where none does."""

    array: str
    low: int
    high: int
    left: int
    right: int
    sweep: Sweep | None


@dataclass(frozen=True, slots=True)
class Sweeps:
    """A loop over sweeps. The elements that one of them makes are from `first` up to `last`."""

    loop: For
    first: Expr
    last: Expr
    sweeps: tuple[Sweep, ...]
    lines: tuple[LineArray, ...]
    type: Type

    @property
    def reach(self) -> int:
        """The distance from an element to the furthest one that it is made from."""
        return max(max(x.left, x.right) for x in self.lines)

    def reach_of(self, sweep: Sweep) -> int:
        """The distance from an element of a sweep to the furthest one that it is made from."""
        return max((abs(x) for x in map(distance, loads(sweep.update.value)) if x is not None), default=0)

    def between(self, lower: int, upper: int) -> tuple[Expr, Expr]:
        """Elements from one behind the first of the line up to one behind the last."""
        return add(self.first, index(lower)), add(self.last, index(upper))

    @property
    def margin(self) -> int:
        """So many elements at each end, at most, are not alike: some of them are kept as they were, or not there."""
        ends = [abs(y) for x in self.lines for y in (x.low, x.high)]
        return max((*ends, *(abs(y) for x in self.sweeps for y in (x.lower, x.upper))))


def find_sweeps(stmt: Stmt) -> Sweeps | None:
    """The sweeps that a loop repeats; None where it does something else, or an order matters within one of them."""
    if not isinstance(stmt, For) or stmt.step != 1:
        return None
    found = [_read(x) for x in flatten(stmt.body.body)]
    rows = [x for x in found if x is not None]
    if not 0 < len(rows) <= MOST_SWEEPS or len(rows) < len(found):
        return None
    if any(stmt.var in variables(y) for x in rows for y in x[1:]):
        return None
    first, last = rows[0][1:]
    sweeps: list[Sweep] = []
    for update, begin, end in rows:
        lower, upper = constant(sub(begin, first)), constant(sub(end, last))
        if lower is None or upper is None:
            return None
        sweeps.append(Sweep(update, lower, upper))
    least, most = min(x.lower for x in sweeps), max(x.upper for x in sweeps)
    moved = tuple(Sweep(x.update, x.lower - least, x.upper - most) for x in sweeps)
    lines, type = _lines(moved), type_of(moved[0].update.value)
    if lines is None or not any(x.left or x.right for x in lines):
        return None
    whole = Sweeps(stmt, add(first, index(least)), add(last, index(most)), moved, lines, type)
    return whole if whole.reach <= MOST_REACH else None


def distance(load: Load) -> int | None:
    """How far an element is behind the one that is made from it; None where it is not one of the line's."""
    return constant(sub(load.index[0], index(PLACE))) if len(load.index) == 1 else None


def _read(stmt: Stmt) -> tuple[Assign | Reduce, Expr, Expr] | None:
    """A sweep's statement, about `PLACE`, and the places from and up to which it is done."""
    match stmt:
        case For(var=var, step=1, body=Block(body=(Assign() | Reduce() as update,))) if len(update.index) == 1:
            pass
        case _:
            return None
    offset = constant(sub(update.index[0], index(var)))
    if offset is None or may_fail(update.value) or not _all_are_read(update.value):
        return None
    here = sub(index(PLACE), index(offset))
    value = map_expr(_with_normal_index, substitute(update.value, {var: here}))
    if isinstance(update, Assign):
        update = Assign(update.array, (index(PLACE),), value)
    else:
        update = Reduce(update.array, (index(PLACE),), update.op, value)
    return update, add(stmt.lower, index(offset)), add(stmt.upper, index(offset))


def _with_normal_index(expr: Expr) -> Expr:
    return Load(expr.array, tuple(sub(x, index(0)) for x in expr.index), expr.type) if isinstance(expr, Load) else expr


def _all_are_read(value: Expr) -> bool:
    """Whether whatever is read in some case is read in all cases, so that it is there."""
    return {*loads(value)} == {*_always_read(value)}


def _always_read(value: Expr) -> Iterator[Load]:
    match value:
        case Select(condition=x) | Binary(op="and" | "or", left=x):
            yield from _always_read(x)
        case _:
            if isinstance(value, Load):
                yield value
            for x in children(value):
                yield from _always_read(x)


def _lines(sweeps: Sequence[Sweep]) -> tuple[LineArray, ...] | None:
    """The arrays along the line; None where some are of another type, or something is not known of them."""
    by_target: dict[str, Sweep] = {}
    for sweep in sweeps:
        known = by_target.setdefault(sweep.update.array, sweep)
        if (known.lower, known.upper) != (sweep.lower, sweep.upper):
            return None
    accesses: dict[str, list[tuple[Sweep, int]]] = {x: [(y, 0)] for x, y in by_target.items()}
    types: set[Type] = set()
    for sweep in sweeps:
        types.add(type_of(sweep.update.value))
        for load in loads(sweep.update.value):
            along = distance(load)
            if along is None:
                if load.array in by_target or any(PLACE in variables(x) for x in load.index):
                    return None
                continue
            if load.array == sweep.update.array and along:
                return None
            types.add(load.type)
            accesses.setdefault(load.array, []).append((sweep, along))
        if PLACE in _plain_variables(sweep.update.value):
            return None
    if len(types) != 1 or not next(iter(types)).is_float:
        return None
    return tuple(
        LineArray(
            array, min(x.lower + d for x, d in uses), max(x.upper + d for x, d in uses),
            max(0, -min(d for _, d in uses)), max(0, max(d for _, d in uses)), by_target.get(array),
        )  # fmt: skip
        for array, uses in sorted(accesses.items())
    )


def _plain_variables(value: Expr) -> frozenset[str]:
    """The variables of an expression that stand in no subscript."""
    return variables(map_expr(lambda x: Var(x.array, x.type) if isinstance(x, Load) else x, value))
