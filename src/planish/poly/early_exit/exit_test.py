"""The condition under which an iteration leaves a loop, and what it reads: rows of elements, one for each iteration.

What is read of later iterations is read before it is known that they are run. That faults on no page of which the
first of these iterations reads the same row: so each row has to be read by every iteration that stays in the loop.

>>> from planish.ir.text.parser import parse_kernel
>>> loop = "for i in m .. n { f[] = select(x[i + 1] > 9:i32 || y[i] == x[0], 1:i32, f[]) }"
>>> text = "kernel k(m, n; x: i32[?] distinct, y: i32[?] distinct, f: i32[] distinct) { %s }" % loop
>>> from planish.ir.index.polynomial import show
>>> found = find_exit_test(parse_kernel(text), "f")
>>> [(x.array, show(x.start), x.step) for x in found.rows], show(found.trips)
([('x', 'm + 1', 1), ('y', 'm', 1), ('x', '0', 0)], 'n - m')
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from planish.ir.conditional_accesses import read_always
from planish.ir.expr import Binary, Compare, Const, Expr, Load, Unary, Var, index, type_of
from planish.ir.index.polynomial import add, coefficient_of, constant, floordiv, mul, names, sub
from planish.ir.nest import Array, For, Kernel
from planish.ir.traverse import loads, map_expr, substitute, walk_expr
from planish.ir.types import BOOL, INDEX, U8
from planish.poly.early_exit.candidates import weakened
from planish.poly.early_exit.exit_condition import NoExitTest, exit_condition
from planish.poly.early_exit.narrow_comparisons import narrowed
from planish.poly.match.matched_view import linear_place

ITERATION = "planish_k"
"""The number of an iteration, from 0."""
_PAGE = 4096
FARTHEST = 8
"""How many elements apart those may lie of which lanes are made, in the direction in which they lie in memory."""
_STEPS = (-1, *range(1, FARTHEST + 1))


@dataclass(frozen=True, slots=True)
class Row:
    """Elements that iterations read: number k that of `array` which lies `start + step * k` elements from its first
    one."""

    array: str
    start: Expr
    step: int


@dataclass(frozen=True, slots=True)
class ExitTest:
    """A loop of `trips` iterations, which an iteration leaves where `condition` holds: over its number, `ITERATION`,
    scalars and sizes, and elements `Load(str(row), (), type)` of the `rows`, by their place there. It holds only where
    the `candidate` does, which lanes can be asked, and whose rows have a step in the `direction`, or none."""

    trips: Expr
    condition: Expr
    candidate: Expr
    rows: tuple[Row, ...]
    direction: int


def find_exit_test(kernel: Kernel, flag: str) -> ExitTest:
    """The test of a kernel that sets its cell `flag` where an iteration leaves its loop. Raises NoExitTest."""
    loop = next(x for x in kernel.body.body if isinstance(x, For))
    placement = Placement(kernel, loop)
    placed_condition = placement.placed(exit_condition(kernel, loop, flag))
    rows = placement.rows
    certain = _certain_rows(placed_condition, rows, {x.name: x for x in kernel.arrays})
    exact = narrowed(placed_condition)
    direction = next((1 if x.step > 0 else -1 for x in rows if x in certain and x.step in _STEPS), 0)
    steps = {0, *(x for x in _STEPS if x * direction > 0)}
    candidate = weakened(exact, lambda x: rows[int(x.array)] in certain and rows[int(x.array)].step in steps)
    moving = {rows[int(x.array)].step for x in loads(candidate)} - {0}
    if not moving:
        raise NoExitTest(_why_none(rows, certain))
    return ExitTest(trips_of(loop), exact, candidate, rows, direction)


def trips_of(loop: For) -> Expr:
    """The iterations of a loop."""
    trips = sub(loop.upper, loop.lower)
    if loop.step != 1:
        # Rounded up without a sum that may overflow: what is counted to may lie far behind all elements.
        trips = add(floordiv(sub(trips, index(1)), index(loop.step)), index(1))
    return trips


def number_of(loop: For) -> dict[str, Expr]:
    """What the variable of a loop is in an iteration, over the number of that."""
    return {loop.var: add(loop.lower, mul(index(loop.step), Var(ITERATION, INDEX)))}


class Placement:
    """The rows of elements that the iterations of a loop read."""

    def __init__(self, kernel: Kernel, loop: For) -> None:
        self._number = number_of(loop)
        self._shapes = {x.name: x.shape for x in kernel.arrays}
        self._found: dict[Row, int] = {}

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows that were found."""
        return tuple(self._found)

    def placed(self, expr: Expr) -> Expr:
        """An expression over the number of the iteration, with elements of rows by the places of these. Raises
        NoExitTest."""
        return map_expr(self._place, substitute(expr, self._number))

    def _place(self, x: Expr) -> Expr:
        match x:
            case Load(array=array, index=at, type=type):
                place = self._found.setdefault(_row_of(array, at, self._shapes[array]), len(self._found))
                if type == BOOL:
                    return Compare("ne", Load(str(place), (), U8), Const(0, U8))
                return Load(str(place), (), type)
            case _:
                return x


def _why_none(rows: tuple[Row, ...], certain: frozenset[Row]) -> str:
    if not any(x.step for x in rows):
        return "it reads no row of elements"
    if not any(x.step in _STEPS for x in rows):
        return "what it reads lies too far apart"
    doubtful = next((x.array for x in rows if x.step and x not in certain), "")
    return f"{doubtful} is read under a condition" if doubtful else "lanes do not compute what it asks"


def _row_of(array: str, at: tuple[Expr, ...], shape: tuple[Expr | None, ...]) -> Row:
    if any(isinstance(y, Load) for x in at for y in walk_expr(x)):
        raise NoExitTest(f"data choose the element of {array} that it reads")
    place = linear_place(at, shape)
    found = coefficient_of(place, ITERATION)
    if found is None:
        if ITERATION not in names(place):
            return Row(array, place, 0)
        raise NoExitTest(f"what it reads of {array} lies too far apart")
    return Row(array, found[1], found[0])


def _certain_rows(condition: Expr, rows: tuple[Row, ...], arrays: Mapping[str, Array]) -> frozenset[Row]:
    """The rows that each iteration reads that stays in the loop, and what lies between two of them on a page."""
    certain = {rows[int(x.array)] for x in _read_if(condition, False)}

    def between(row: Row) -> bool:
        alike = [x for x in certain if (x.array, x.step) == (row.array, row.step)]
        known = [y * arrays[row.array].type.size for x in alike if (y := constant(sub(x.start, row.start))) is not None]
        below, above = [x for x in known if x < 0], [x for x in known if x > 0]
        return bool(below and above) and min(above) - max(below) < _PAGE

    return frozenset(x for x in rows if x in certain or between(x))


def _beside(left: Expr, right: Expr) -> Expr:
    """What decides about `right` where `left` does not hold.

    >>> from planish.ir.text.printer import print_expr
    >>> x, y = (Compare("gt", Var(name, INDEX), index(0)) for name in "xy")
    >>> print_expr(_beside(x, Binary("and", Unary("not", x), y)))
    'y > 0'
    """
    match right:
        case Binary(op="and", left=Unary(op="not", operand=known), right=rest) if known == left:
            return rest
        case _:
            return right


def _read_if(x: Expr, holds: bool) -> Iterator[Load]:
    """What is read for certain where a condition is found to hold, or not."""
    match x:
        case Unary(op="not", operand=inner):
            yield from _read_if(inner, not holds)
        case Binary(op="and" | "or" as op, left=left, right=right) if type_of(x) == BOOL:
            if (op == "and") == holds:
                yield from _read_if(left, holds)
                yield from _read_if(_beside(left, right) if op == "or" else right, holds)
            else:
                yield from read_always(left)
        case _:
            yield from read_always(x)
