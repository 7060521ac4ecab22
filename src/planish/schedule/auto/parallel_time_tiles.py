"""Time tiles that threads share: some rows in some repetitions of sweeps, those of one wave independent of each other.

Before: for t { for i { row i of B from rows of A };  for i { row i of A from rows of B } }
After:  for waves { for its tiles, on threads { for strips of columns { for t { the rows and columns of the tile } } } }

Two values of each instance never fall from one instance to another that waits for it: `forward`, its row and a multiple
of its repetition, and `back`, a multiple of its repetition less its row; tiles are intervals of both, diamonds, and all
of a wave start at once (Bandishti, Pananilath, Bondhugula: Tiling stencil computations to maximize parallelism). Where
rows of one repetition wait for each other there is no such `back`: then it is the repetition, and waves fill a
pipeline. A wave is the sum of both tiles' numbers: of two tiles of a wave one has the smaller number in one
direction, so that neither waits for the other.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.poly.scop.dependence import find_order
>>> from planish.poly.scop.extraction import extract_scop
>>> nest = "for t in 0 .. s { for i in 1 .. n - 1 { B[i] = A[i - 1] + A[i + 1] } for i in 1 .. n - 1 { A[i] = B[i] } }"
>>> scop = extract_scop(parse_kernel("kernel k(s, n; A: f64[n], B: f64[n]) { " + nest + " }"))
>>> found = find_time_tiles(scop, find_order(scop))
>>> found.starts_at_once, found.slopes
(True, (2, 2))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import islpy as isl

from planish.ir.expr import index
from planish.ir.index.polynomial import constant, sub
from planish.poly.isl.schedule_tree import Kind, Path, find_node, find_paths, kind_of
from planish.poly.isl.to_list import list_maps, list_sets
from planish.poly.scop.extraction import Scop, Statement
from planish.poly.scop.legality import find_violation, schedule_map
from planish.schedule.auto.tiling.strip_mining import floor_of, join

SLOPES = range(9)
"""The rows by which a tile's side may move in one repetition."""
SKEWS = range(3)
"""The columns by which a strip's side may move from one row to the next."""
PARAM, IN, OUT = isl.dim_type.param, isl.dim_type.in_, isl.dim_type.out

Offsets = Mapping[str, int]
"""What is added to a value of each statement's instances."""


@dataclass(frozen=True, slots=True, eq=False)
class Direction:
    """A value that never falls along a dependence: `times` times the repetition, `rows` times the row, `columns` times
    the column, and an offset of each statement."""

    times: int
    rows: int
    columns: int
    offsets: Offsets


@dataclass(frozen=True, slots=True, eq=False)
class ParallelTimeTiles:
    """A loop over sweeps, at `path` of the schedule, that may be cut into tiles along `forward` and `back`; and along
    `strips`, if the rows have columns and that is legal. `places`: the repetition, the row and the column of the
    instances of each statement."""

    scop: Scop
    path: Path
    places: Mapping[str, tuple[isl.Aff, ...]]
    forward: Direction
    back: Direction
    strips: Direction | None

    @property
    def starts_at_once(self) -> bool:
        """Whether all tiles of a wave can start at once, from the first wave on."""
        return self.back.rows < 0

    @property
    def slopes(self) -> tuple[int, int]:
        """The rows by which the sides of a tile move in one repetition."""
        return self.forward.times, self.back.times if self.starts_at_once else 0

    def cut(self, rows: int, repetitions: int, columns: int) -> isl.Schedule:
        """The schedule in tiles of so many `rows` of both directions where all start at once, else of so many rows and
        repetitions; and strips of so many columns, or none for 0."""
        node = find_node(self.scop.schedule, self.path)
        forward = self._number(self.forward, rows)
        back = self._number(self.back, rows if self.starts_at_once else repetitions)
        values = [forward.add(back), forward]
        if self.strips is not None and columns:
            values.append(floor_of(self._value(self.strips), columns))
        for value in reversed(values):
            node = node.insert_partial_schedule(join([value]))
        return node.get_schedule()

    def _number(self, direction: Direction, size: int) -> isl.UnionPwAff:
        value = self._value(direction)
        return value.scale_down_val(isl.Val.int_from_si(value.get_ctx(), size)).floor()

    def _value(self, direction: Direction) -> isl.UnionPwAff:
        parts: isl.UnionPwAff | None = None
        for name, place in self.places.items():
            aff = _combine(place, direction)
            aff = aff.add_constant_val(isl.Val.int_from_si(aff.get_ctx(), direction.offsets.get(name, 0)))
            part = isl.UnionPwAff.from_pw_aff(isl.PwAff.from_aff(aff))
            parts = part if parts is None else parts.union_add(part)
        assert parts is not None
        return parts


def find_time_tiles(scop: Scop, order: isl.UnionMap) -> ParallelTimeTiles | None:
    """The first loop over sweeps around everything that may be cut into tiles for threads; None where there is none."""
    for path in find_paths(scop.schedule.get_root(), _is_loop):
        node = find_node(scop.schedule, path)
        places = None if node.get_schedule_depth() else _find_places(scop, node)
        found = None if places is None else _find_directions(scop, path, places, order)
        if found is not None and find_violation(schedule_map(found.cut(8, 8, 64)), order) is None:
            return found
    return None


def _is_loop(node: isl.ScheduleNode) -> bool:
    return kind_of(node) == Kind.band and node.band_n_member() == 1


def _find_places(scop: Scop, node: isl.ScheduleNode) -> dict[str, tuple[isl.Aff, ...]] | None:
    """The repetition, row and column of the instances of each statement in a loop, as far as all have them; None where
    they write other cells in each repetition, or have no rows."""
    names = {x.get_tuple_name() for x in list_sets(node.get_universe_domain())}
    inside = [x for x in scop.statements if x.name in names]
    deepest = max((len(x.iterators) for x in inside), default=0)
    deep = [x for x in inside if len(x.iterators) == deepest]
    if deepest < 2 or any(len(x.iterators) < 2 for x in inside):
        return None
    axes: dict[tuple[str, int], int] = {}
    for statement, axis in product(deep, (1, 2)):
        for dimension, subscript in enumerate(statement.write.index):
            if axis < deepest and constant(sub(subscript, index(statement.iterators[axis]))) is not None:
                axes[statement.write.array, axis] = dimension
    if any((x.write.array, 1) not in axes or not _writes_again(x) for x in inside):
        return None
    out: dict[str, tuple[isl.Aff, ...]] = {}
    count = 3 if all((x.write.array, 2) in axes for x in inside) else 2
    for statement in inside:
        place = [_iterator(statement, 0)]
        for axis in range(1, count):
            aff = _place(statement, deepest, axis, axes)
            if aff is None:
                return None
            place.append(aff)
        out[statement.name] = tuple(place)
    return out


def _writes_again(statement: Statement) -> bool:
    """Whether a statement writes to some cell in several repetitions."""
    write = statement.write.relation.intersect_domain(statement.domain)
    moved = write.apply_range(write.reverse()).deltas()
    still = isl.Set.universe(moved.get_space()).fix_val(isl.dim_type.set, 0, isl.Val(0))
    return not moved.is_subset(still)


def _place(
    statement: Statement, deepest: int, axis: int, axes: Mapping[tuple[str, int], int]
) -> isl.Aff | None:
    """The row or column of a statement's instances: a loop of those in the most loops, else where they store."""
    if len(statement.iterators) == deepest:
        return _iterator(statement, axis)
    write = statement.write.relation.intersect_domain(statement.domain)
    if statement.write.inexact or not write.is_single_valued():
        return None
    pieces = isl.PwMultiAff.from_map(write).get_at(axes[statement.write.array, axis]).get_pieces()
    return pieces[0][1] if len(pieces) == 1 else None


def _iterator(statement: Statement, number: int) -> isl.Aff:
    local = isl.LocalSpace.from_space(statement.domain.get_space())
    return isl.Aff.var_on_domain(local, isl.dim_type.set, number)


def _combine(place: tuple[isl.Aff, ...], direction: Direction) -> isl.Aff:
    factors = (direction.times, direction.rows, direction.columns)
    out = isl.Aff.zero_on_domain(place[0].get_domain_local_space())
    for value, factor in zip(place, factors, strict=False):
        out = out.add(value.scale_val(isl.Val.int_from_si(value.get_ctx(), factor)))
    return out


Moves = Mapping[tuple[str, str], isl.Set]
"""By how much repetition, row and column of an instance are behind those of one that it waits for."""


def _find_directions(
    scop: Scop, path: Path, places: Mapping[str, tuple[isl.Aff, ...]], order: isl.UnionMap
) -> ParallelTimeTiles | None:
    moves = dict(_moves(places, order))
    forward = _first(moves, ((times, 1, 0) for times in SLOPES))
    back = _first(moves, ((times, -1, 0) for times in SLOPES)) or _first(moves, [(1, 0, 0)])
    # Rows that wait for no neighbours need no tiles.
    if forward is None or back is None or not forward.times + (back.times if back.rows else 1):
        return None
    strips = None
    if len(next(iter(places.values()))) > 2:
        strips = _first(moves, ((times, rows, 1) for rows in SKEWS for times in SLOPES))
    return ParallelTimeTiles(scop, path, places, forward, back, strips)


def _moves(
    places: Mapping[str, tuple[isl.Aff, ...]], order: isl.UnionMap
) -> Iterator[tuple[tuple[str, str], isl.Set]]:
    maps = {name: isl.Map.from_multi_aff(_joined(place)) for name, place in places.items()}
    for relation in list_maps(order):
        first, second = relation.get_tuple_name(IN), relation.get_tuple_name(OUT)
        if first in maps and second in maps:
            pairs = relation.apply_domain(maps[first]).apply_range(maps[second])
            moved = pairs.deltas()
            yield (first, second), moved.project_out(PARAM, 0, moved.dim(PARAM))


def _joined(place: tuple[isl.Aff, ...]) -> isl.MultiAff:
    out = isl.MultiAff.from_aff(place[0])
    for aff in place[1:]:
        out = out.flat_range_product(isl.MultiAff.from_aff(aff))
    return out


def _first(moves: Moves, factors: Iterator[tuple[int, int, int]] | list[tuple[int, int, int]]) -> Direction | None:
    """The first direction along which nothing falls."""
    for times, rows, columns in factors:
        offsets = _offsets(moves, (times, rows, columns))
        if offsets is not None:
            return Direction(times, rows, columns, offsets)
    return None


def _offsets(moves: Moves, factors: tuple[int, int, int]) -> dict[str, int] | None:
    """The least offsets with which a value never falls along a dependence: longest paths (Bellman and Ford); None
    where there are none."""
    needed: list[tuple[str, str, int]] = []
    for (first, second), moved in moves.items():
        least = _least(moved, factors)
        if least is None:
            return None
        needed.append((first, second, -least))
    out = {name: 0 for pair in moves for name in pair}
    for _ in range(len(out) + 1):
        changed = False
        for first, second, by in needed:
            if out[first] + by > out[second]:
                out[second], changed = out[first] + by, True
        if not changed:
            return out
    return None


def _least(moved: isl.Set, factors: tuple[int, int, int]) -> int | None:
    """The least value of a sum over moves; None where there is no least one."""
    local = isl.LocalSpace.from_space(moved.get_space())
    value = isl.Aff.zero_on_domain(local)
    for place in range(moved.dim(isl.dim_type.set)):
        var = isl.Aff.var_on_domain(local, isl.dim_type.set, place)
        value = value.add(var.scale_val(isl.Val.int_from_si(moved.get_ctx(), factors[place])))
    least = moved.min_val(value)
    return int(least.get_num_si()) if least.is_int() else None
