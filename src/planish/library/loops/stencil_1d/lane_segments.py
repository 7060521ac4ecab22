"""Dimension lifting: a line cut into one segment for each lane, so that a stencil's neighbours are in other registers,
not in other lanes.

Column c of all segments lies in one register (dimension-lifted transposition: Henretty et al., "Data Layout
Transformation for Stencil Computations on Short-Vector SIMD Architectures", CC 2011). At both ends of its segment a
lane has copies of its neighbours' elements.

Before: for i { B[i] = f(A[i - 1], A[i], A[i + 1]) }
After:  for c { for s in lanes { B'[c, s] = f(A'[c - 1, s], A'[c, s], A'[c + 1, s]) } };  copies of the ends of B'

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_expr
>>> from planish.library.loops.stencil_1d.line_sweeps import find_sweeps
>>> loop = "for i in 1 .. n - 1 { B[i] = A[i - 1] + A[i + 1] } for i in 1 .. n - 1 { A[i] = B[i] }"
>>> kernel = parse_kernel("kernel k(n; A: f64[n], B: f64[n]) { for t in 0 .. 9 { %s } }" % loop)
>>> found = find_sweeps(kernel.body.body[0])
>>> grid = SegmentGrid(found, found.first, found.last, 8, {"n", "A", "B"})
>>> print_expr(grid.count), print_expr(grid.element(index(2), index(1)))
('(n + 5) // 8', '2 * ((n + 5) // 8) + 1')
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from planish.core.names import take_name
from planish.ir.expr import Compare, Const, Expr, Load, index
from planish.ir.index.polynomial import add, constant, extremum, floordiv, mul, sub
from planish.ir.nest import Array, Assign, Block, For, If, LoopFacts, Stmt
from planish.ir.traverse import substitute, substitute_block, variables
from planish.library.loops.stencil_1d.line_sweeps import PLACE, LineArray, Sweep, Sweeps
from planish.schedule.accesses import redirect
from planish.schedule.auto.tiling.scalar_replacement import STRIP

LANES = LoopFacts(simd=True)
TOGETHER = 4
"""So many elements of a lane are made at a time."""


class SegmentGrid:
    """The elements from `first` up to `last`, of the arrays of some sweeps, in segments for so many `lanes`, of which
    the last one may have fewer than the others; and what is done with them. There have to be some (`least_length`).

    `largest`: so many there are at most, where that is known; `at_a_time`: elements of a lane that are made together.
    Names that are made are `taken` then.
    """

    def __init__(
        self, found: Sweeps, first: Expr, last: Expr, lanes: int, taken: set[str], largest: int | None = None,
        at_a_time: int = TOGETHER,
    ) -> None:  # fmt: skip
        self.found, self.first, self.last, self.at_a_time = found, first, last, at_a_time
        self.lanes, self.reach = lanes, found.reach
        self.count = _segment(sub(last, first), lanes)
        self.width = add(self.count, index(2 * self.reach))
        self.lane, self.column = take_name("lane", taken), take_name("column", taken)
        longest = self.count if largest is None else _segment(index(largest), lanes)
        shape = (add(longest, index(2 * self.reach)), index(lanes))
        self.lines = {x.array: x for x in found.lines}
        self.lifted = {
            x: Array(take_name(f"{x}_lanes", taken), found.type, shape, True, "scratch") for x in self.lines
        }

    def clear(self, line: LineArray) -> Stmt:
        """Statements that zero the lanes' copy of an array."""
        zero = self.set(line.array, index(self.column), Const(0.0, self.found.type))
        return self.columns(index(0), self.width, self.in_lanes(zero))

    def lift(self, line: LineArray, lower: Expr, upper: Expr, source: Load | None = None) -> Stmt:
        """Copies of elements into the segments, from the array or from where a `source` begins."""
        element = self.element(index(self.lane), index(self.column))
        if source is None:
            value = Load(line.array, (element,), self.found.type)
        else:
            value = Load(source.array, (add(source.index[0], sub(element, lower)),), source.type)
        return self.between(lower, upper, 0, self.set(line.array, index(self.column), value))

    def lower(self, line: LineArray, lower: Expr, upper: Expr) -> Stmt:
        """Copies of elements from the segments back to the array."""
        place = self.element(index(self.lane), index(self.column))
        copy = Assign(line.array, (place,), self.get(line.array, index(self.column)))
        return self.between(lower, upper, self.reach, copy)

    def sweep(self, sweep: Sweep) -> list[Stmt]:
        """One sweep: the columns at both ends, with the elements there that it does not make, which stay as they were,
        and copies for the lanes beside; then all others. What is stored by halves is thus not read for a while."""
        nest = Block((sweep.update,))
        for name in self.lines:
            nest = redirect(nest, name, partial(self.moved, name))
        line = self.lines[sweep.update.array]
        begin, end = index(self.reach), add(self.count, index(self.reach))
        # The last lane has fewer elements than the others, by less than there are lanes.
        least = add(begin, index(max(line.right, sweep.lower)))
        most = sub(end, index(self.lanes + max(line.left, -sweep.upper)))
        before, after = (self.columns(x, y, self.in_lanes(*nest.body)) for x, y in ((begin, least), (most, end)))
        return [before, after, *self.kept(line, sweep), *self.copies(line), *self.together(least, most, nest)]

    def together(self, lower: Expr, upper: Expr, nest: Block) -> list[Stmt]:
        """A statement for the columns from one up to another, some at a time: what these share is read once."""
        count = index(self.at_a_time)
        whole = add(lower, mul(count, floordiv(sub(upper, lower), count)))
        later = ({self.column: add(index(self.column), index(n))} for n in range(self.at_a_time))
        stmts = [x for values in later for x in substitute_block(nest, values).body]
        strip = For(self.lane, index(0), index(self.lanes), 1, Block(tuple(stmts)), STRIP)
        loop = For(self.column, lower, whole, self.at_a_time, Block((strip,)))
        return [loop, self.columns(whole, upper, self.in_lanes(*nest.body))]

    def moved(self, name: str, at: tuple[Expr, ...]) -> tuple[str, tuple[Expr, ...]]:
        """Where an element of the line is; others stay where they are."""
        if not any(PLACE in variables(x) for x in at):
            return name, at
        return self.lifted[name].name, (substitute(at[0], {PLACE: index(self.column)}), index(self.lane))

    def kept(self, line: LineArray, sweep: Sweep) -> list[Stmt]:
        """Statements that restore the boundary elements which a sweep does not compute: they are still in the array."""
        lower, upper = self.found.between(sweep.lower, sweep.upper)
        before = [self.keep(line, 0, sub(lower, index(n + 1))) for n in range(sweep.lower - line.low)]
        after = [self.keep(line, self.lanes - 1, add(upper, index(n))) for n in range(line.high - sweep.upper)]
        return [
            *_where(self.first, self.found.first, before),
            *_where(self.last, self.found.last, after),
        ]

    def keep(self, line: LineArray, number: int, place: Expr) -> Stmt:
        lane = index(number)
        column = sub(place, self.element(lane, index(0)))
        return Assign(self.lifted[line.array].name, (column, lane), Load(line.array, (place,), self.found.type))

    def copies(self, line: LineArray) -> list[Stmt]:
        """Halo copies: the elements at the ends of segments, to the neighbouring lanes."""
        lane, first, last = index(self.lane), index(self.reach), add(self.count, index(self.reach))
        out: list[Stmt] = []
        for n in range(1, line.left + 1):
            value = self.get(line.array, sub(last, index(n)), sub(lane, index(1)))
            out.append(self.in_lanes(self.set(line.array, sub(first, index(n)), value), first=1))
        for n in range(line.right):
            value = self.get(line.array, add(first, index(n)), add(lane, index(1)))
            out.append(self.in_lanes(self.set(line.array, add(last, index(n)), value), last=self.lanes - 1))
        return out

    def element(self, lane: Expr, column: Expr) -> Expr:
        """The element in a column of a lane's segment."""
        return add(add(sub(self.first, index(self.reach)), mul(lane, self.count)), column)

    def get(self, array: str, column: Expr, lane: Expr | None = None) -> Load:
        return Load(self.lifted[array].name, (column, index(self.lane) if lane is None else lane), self.found.type)

    def set(self, array: str, column: Expr, value: Expr) -> Assign:
        return Assign(self.lifted[array].name, (column, index(self.lane)), value)

    def columns(self, lower: Expr, upper: Expr, *body: Stmt) -> For:
        return For(self.column, lower, upper, 1, Block(body))

    def in_lanes(self, *stmts: Stmt, first: int = 0, last: int | None = None) -> For:
        """Statements for all lanes, or for those from one up to another."""
        return For(self.lane, index(first), index(self.lanes if last is None else last), 1, Block(stmts), LANES)

    def between(self, lower: Expr, upper: Expr, margin: int, stmt: Stmt) -> For:
        """A statement for all elements from one up to another, segment by segment; of each, so many columns at both
        ends are left out."""
        begin = self.element(index(self.lane), index(0))
        least = extremum("max", index(margin), sub(lower, begin))
        most = extremum("min", sub(self.width, index(margin)), sub(upper, begin))
        return For(self.lane, index(0), index(self.lanes), 1, Block((self.columns(least, most, stmt),)))


def least_length(found: Sweeps, lanes: int) -> int:
    """The elements that a grid has at least: the ends that are not alike are then in the first lane and in the last
    one, and are nobody's copies."""
    return 2 * lanes * (lanes + found.reach + found.margin)


def _segment(length: Expr, lanes: int) -> Expr:
    return floordiv(add(length, index(lanes - 1)), index(lanes))


def _where(end: Expr, wanted: Expr, stmts: Sequence[Stmt]) -> tuple[Stmt, ...]:
    """Statements that are for one end of a grid only, if it is an end of the line."""
    if not stmts or constant(sub(end, wanted)) == 0:
        return tuple(stmts)
    return (If(Compare("eq", end, wanted), Block(tuple(stmts))),)
