"""Does a nest run exactly the scheduled instances, in order, for all values of the sizes: a proof, or an example.

The nest is read back as relations (planish.astgen.checking.positions) and compared with the schedule's
(planish.astgen.checking.times): the same instances, each once, and no two in the wrong order.

>>> import islpy as isl
>>> from planish.astgen.generate import generate_map
>>> from planish.astgen.checking.verify import record
>>> schedule, context = isl.UnionMap("[n] -> { S[i] -> [-i] : 0 <= i < n }"), isl.Set("[n] -> { : }")
>>> nest = generate_map(schedule, context, isl.UnionMap("{ }"), record, frozenset({"n"}))
>>> print(verify_map(nest, schedule, context))
proven
>>> print(verify_map(nest, isl.UnionMap("[n] -> { S[i] -> [i] : 0 <= i < n }"), context))
differs: S(1) runs before S(0), which is scheduled before it, for n = 2
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, assert_never

import islpy as isl

from planish.astgen.checking.positions import Copy, Item, PositionLoop, list_positions, position_map, read_items
from planish.astgen.checking.times import Times, map_times, tree_times
from planish.ir.nest import Block
from planish.poly.isl.affine import NotAffineError, source_name
from planish.poly.isl.coalesce import coalesce
from planish.poly.isl.op_budget import budget, is_used_up
from planish.poly.isl.sample import small_point
from planish.poly.isl.to_list import list_maps

SET, IN, OUT, PARAM = isl.dim_type.set, isl.dim_type.in_, isl.dim_type.out, isl.dim_type.param

OPERATIONS = 60_000_000
"""The work (of isl) after which a proof is given up, unless the caller says otherwise."""

FEW_REPEATS, MOST_REPEATS = 6, 24
"""An instance that is scheduled at most so many times is paired with its times by counting: at once, and where nothing
else helps."""


@dataclass(frozen=True, slots=True)
class ScheduleVerdict:
    """What was found; `detail` is the example or the reason, `sizes` those of the example.

    An example deserves to be run: some of isl's operations lose elements, on both sides of the comparison.
    """

    answer: Literal["proven", "differs", "given up"]
    detail: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.answer}: {self.detail}" if self.detail else self.answer


def verify_tree(
    nest: Block, schedule: isl.Schedule, context: isl.Set | None = None, operations: int = OPERATIONS
) -> ScheduleVerdict:
    """Compare a nest of tracing statements (see `verify.record`) with a schedule tree."""
    return _bounded(lambda: _compare(nest, tree_times(schedule, context)), operations)


def verify_map(nest: Block, schedule: isl.UnionMap, context: isl.Set, operations: int = OPERATIONS) -> ScheduleVerdict:
    """Compare a nest of tracing statements (see `verify.record`) with a schedule map."""
    return _bounded(lambda: _compare(nest, map_times(schedule, context)), operations)


def _bounded(compare: Callable[[], None], operations: int) -> ScheduleVerdict:
    with budget(isl.DEFAULT_CONTEXT, operations):
        try:
            compare()
        except _DifferenceError as difference:
            return ScheduleVerdict("differs", difference.sentence + _ending(difference.sizes), difference.sizes)
        except NotAffineError as error:
            return ScheduleVerdict("given up", f"an expression cannot be read back: {error.reason}")
        except _UnpairedError as error:
            return ScheduleVerdict("given up", str(error))
        except (isl.Error, TypeError):
            if not is_used_up(isl.DEFAULT_CONTEXT):
                raise
            return ScheduleVerdict("given up", "it takes too long")
    return ScheduleVerdict("proven")


class _DifferenceError(Exception):
    """The nest and the schedule differ."""

    def __init__(self, sentence: str, sizes: Mapping[str, int]) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.sizes = sizes


def _differing(instances: isl.UnionSet, what: str) -> _DifferenceError:
    name, sizes = _example(instances)
    return _DifferenceError(f"{name} {what}", sizes)


class _UnpairedError(Exception):
    """Which run of an instance belongs to which of its times is not known; says why."""


def _compare(nest: Block, times: Times) -> None:
    items = read_items(nest, times.context)
    positions = list_positions(items)
    _compare_domains(positions.domain(), times.relation.domain())
    if times.relation.is_single_valued():
        _check(items, _Once())
        _check(items, _InOrder(times, positions, None))
        return
    pairs = pair_runs(positions, times)
    try:
        _check(items, _InOrder(times, positions, pairs.relation))
    except _DifferenceError as difference:
        if pairs.certain:
            raise
        raise _UnpairedError("runs and times of an instance can be paired in several ways") from difference


def _compare_domains(ran: isl.UnionSet, wanted: isl.UnionSet) -> None:
    missing = wanted.subtract(ran)
    if not missing.is_empty():
        raise _differing(missing, "is scheduled, and does not run")
    extra = ran.subtract(wanted)
    if not extra.is_empty():
        raise _differing(extra, "runs, and is not scheduled")


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Which run of an instance is which of its times, `[instance -> position] -> time`; `certain` where no other choice
    could be in order if this one is not."""

    relation: isl.UnionMap
    certain: bool


def pair_runs(positions: isl.UnionMap, times: Times) -> Pairs:
    """Pair the first run of each instance with its first time, and so on; where that goes on for long, equate loop
    values with dimensions of time until there is one time for each run. Raises _UnpairedError."""
    pairs = _count_off(positions, times.relation, FEW_REPEATS)
    if pairs is not None:
        return Pairs(pairs, not times.paired)
    try:
        return Pairs(_equate(positions, times.relation), certain=False)
    except _UnpairedError:
        pairs = _count_off(positions, times.relation, MOST_REPEATS)
        if pairs is None:
            raise
        return Pairs(pairs, not times.paired)


def _count_off(runs: isl.UnionMap, wanted: isl.UnionMap, most: int) -> isl.UnionMap | None:
    """The first with the first, and so on; None where some instance is scheduled more often than `most`."""
    pairs = isl.UnionMap.empty(runs.get_space())
    for _ in range(most):
        first, due = _least(runs), _least(wanted)
        _compare_counts(first.domain(), due.domain())
        pairs = pairs.union(first.domain_map().apply_range(due))
        runs, wanted = runs.subtract(first), wanted.subtract(due)
        if runs.is_empty() and wanted.is_empty():
            return pairs
    return None


def _least(relation: isl.UnionMap) -> isl.UnionMap:
    """The least value of each element; raises _UnpairedError where isl 0.28 finds none, though there is one."""
    try:
        return relation.lexmin()
    except isl.Error as error:
        if "involves some of the domain dimensions" in str(error):
            raise _UnpairedError("isl finds no least time of an instance") from error
        raise


def _compare_counts(ran: isl.UnionSet, wanted: isl.UnionSet) -> None:
    if not (few := wanted.subtract(ran)).is_empty():
        raise _differing(few, "does not run as often as it is scheduled")
    if not (many := ran.subtract(wanted)).is_empty():
        raise _differing(many, "runs more often than it is scheduled")


def _equate(runs: isl.UnionMap, wanted: isl.UnionMap) -> isl.UnionMap:
    """Pairs in which loop values are equal to dimensions of time, as many as can be; raises _UnpairedError."""
    out = isl.UnionMap.empty(runs.get_space())
    for part in list_maps(runs.domain_map().apply_range(wanted)):
        inputs, domain = part.domain().unwrap().dim(IN), part.domain()
        length = part.dim(IN) - inputs
        for j in range(part.dim(OUT)):
            for k in range(1, length, 2):
                narrower = part.equate(IN, inputs + k, OUT, j)
                if domain.is_subset(narrower.domain()):
                    part = narrower
                    break
        out = out.union(isl.UnionMap.from_map(part))
    by_time = out.curry().range_reverse().uncurry()
    alone = out.is_single_valued() and by_time.is_single_valued()
    if not (alone and runs.wrap().is_subset(out.domain()) and wanted.wrap().is_subset(by_time.domain())):
        raise _UnpairedError("an instance is scheduled an unknown number of times")
    return out


def _check(items: tuple[Item, ...], view: _View) -> isl.UnionMap:
    """Compare everything that runs with everything that runs after it, seen as `view` says: from the values of the
    loops around to what the items are there. Raises _DifferenceError."""
    out = isl.UnionMap("{ }")
    for item in items:
        match item:
            case Copy():
                here = view.see(item)
            case PositionLoop():
                here = _check_loop(item, view)
            case _:
                assert_never(item)
        view.compare(out, here)
        out = coalesce(out.union(here))
    return out


def _check_loop(loop: PositionLoop, view: _View) -> isl.UnionMap:
    inner = _check(loop.items, view)
    if inner.is_empty():
        return inner
    space = list_maps(inner)[0].get_space().domain().map_from_set()
    earlier = isl.Map.universe(space).order_gt(IN, loop.depth, OUT, loop.depth)
    for i in range(loop.depth):
        earlier = earlier.equate(IN, i, OUT, i)
    view.compare(inner, inner.apply_domain(isl.UnionMap.from_map(earlier)))
    outside = isl.Map.identity(space).project_out(OUT, loop.depth, 1)
    return coalesce(inner.apply_domain(isl.UnionMap.from_map(outside)))


class _Once:
    """Sees instances, which may not come again."""

    def see(self, copy: Copy) -> isl.UnionMap:
        return isl.UnionMap.from_map(copy.instances)

    def compare(self, before: isl.UnionMap, after: isl.UnionMap) -> None:
        again = before.intersect(after)
        if not again.is_empty():
            raise _differing(again.range(), "runs twice")


class _InOrder:
    """Sees times, and none may follow one that has to come later."""

    def __init__(self, times: Times, positions: isl.UnionMap, pairs: isl.UnionMap | None) -> None:
        self._times = times
        self._positions = positions
        self._pairs = pairs
        self._later = isl.UnionMap.from_map(times.later())

    def see(self, copy: Copy) -> isl.UnionMap:
        if self._pairs is None:
            return isl.UnionMap.from_map(copy.instances).apply_range(self._times.relation)
        length = list_maps(self._positions)[0].dim(OUT)
        runs = isl.UnionSet.from_set(position_map(copy, length).wrap())
        due = self._pairs.intersect_domain(runs).domain_factor_range()
        out = isl.UnionMap("{ }")
        for part in list_maps(due):
            for k in reversed(range(length)):
                if k % 2 == 0 or k >= 2 * len(copy.path) - 1:
                    part = part.project_out(IN, k, 1)
            out = out.union(isl.UnionMap.from_map(part))
        return out

    def compare(self, before: isl.UnionMap, after: isl.UnionMap) -> None:
        wrong = before.intersect(after.apply_range(self._later))
        if not wrong.is_empty():
            raise self._explain(wrong, after)

    def _explain(self, wrong: isl.UnionMap, after: isl.UnionMap) -> _DifferenceError:
        """An instance that runs too early, and one that should have run before it."""
        point = small_point(wrong.wrap())
        one = isl.UnionSet.from_point(point)
        time, params = one.unwrap().range(), one.params()
        sooner = self._later.intersect_range(time).domain()
        late = after.intersect_domain(one.unwrap().domain()).range().intersect(sooner)
        schedule, places = self._times.relation.intersect_params(params), self._positions.intersect_params(params)
        first = places.intersect_domain(schedule.intersect_range(time).domain())
        second = places.intersect_domain(schedule.intersect_range(late).domain())
        pairs = first.lex_lt_union_map(second)
        if pairs.is_empty():
            return _DifferenceError("two instances run in the wrong order", _sizes(point))
        pair = isl.UnionSet.from_point(small_point(pairs.wrap())).unwrap()
        (a, _), (b, _) = _example(pair.domain()), _example(pair.range())
        return _DifferenceError(f"{a} runs before {b}, which is scheduled before it", _sizes(point))


_View = _Once | _InOrder

def _example(points: isl.UnionSet) -> tuple[str, dict[str, int]]:
    """A point of a set of instances, and the sizes for which it is one."""
    point = small_point(points)
    at = ", ".join(str(point.get_coordinate_val(SET, i)) for i in range(point.get_space().dim(SET)))
    return f"{point.get_space().get_tuple_name(SET)}({at})", _sizes(point)


def _sizes(point: isl.Point) -> dict[str, int]:
    space = point.get_space()
    return {
        source_name(str(space.get_dim_name(PARAM, i))): int(point.get_coordinate_val(PARAM, i).to_python())
        for i in range(space.dim(PARAM))
    }


def _ending(sizes: Mapping[str, int]) -> str:
    """The sizes as the end of a sentence."""
    values = ", ".join(f"{name} = {value}" for name, value in sizes.items())
    return f", for {values}" if values else ""
