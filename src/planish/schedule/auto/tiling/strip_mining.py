"""Tiles, strip-mines and vectorises a band as its plan says; full strips apart from partial ones.

Before: a band [i, j, k].  After, for lanes along j, strips of 4 along i and k:

    tiles [it, jt, kt] > strips [i4, k4] > { full strips: lanes j > unrolled [i, k];  the rest: [i, k, j] }

>>> MARKS["registers"].simd
True
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal, assert_never

import islpy as isl

from planish.ir.nest import LoopFacts
from planish.poly.isl.coalesce import coalesce
from planish.poly.isl.schedule_tree import Kind, Path, find_paths, has_band, kind_of
from planish.poly.isl.to_list import list_sets
from planish.poly.scop.extraction import Access, Statement
from planish.schedule.auto.tiling.band import Band, StatementGroup, same_time
from planish.schedule.auto.tiling.scalar_replacement import NEST, ROWS, STRIP, SUMS
from planish.schedule.auto.tiling.tile_sizes import BandPlan

MARKS = {
    "registers": STRIP,
    "registers, sums": replace(STRIP, reductions=SUMS),
    "registers, rows": ROWS,
    "nest": NEST,
    "lanes": LoopFacts(simd=True),
    "lanes, sums": LoopFacts(simd=True, reductions=SUMS),
    "threads": LoopFacts(parallel=True),
}
"""Names of marks in the tree, and what they promise of the loops of the band below."""


@dataclass(frozen=True, slots=True, eq=False)
class FullStrips:
    """The full strips of a band: the instances in them, whether each lane was decided on its own, and whether lanes add
    to the same cells."""

    full: isl.UnionSet
    by_lane: bool
    sums: bool


StripOrder = Literal["full-first", "rest-first", "whole"]
"""Full strips and the rest, lane by lane, in this order or the other; or strips that are full for all lanes."""


def shape_band(node: isl.ScheduleNode, band: Band, choice: BandPlan, order: StripOrder) -> isl.ScheduleNode:
    """The tree with the band at `node` (whose child has no bands) replaced by its shaped form; returns the topmost
    new node."""
    schedule = node.band_get_partial_schedule()
    values = [schedule.get_at(i) for i in range(len(band.members))]
    inner = [m for m in range(len(values)) if m != choice.lanes_member]
    strips = find_strips(band, choice, order != "whole") if choice.jam else None
    node = node.delete()
    jam = dict(choice.jam)
    if strips is None or strips.full.is_empty():
        node = _insert_lanes(node, values, inner, choice)
    else:
        rest = coalesce(band.domain.subtract(strips.full))
        parts = (rest, strips.full) if order == "rest-first" else (strips.full, rest)
        node = node.insert_sequence(isl.UnionSetList.alloc(node.get_ctx(), 2).add(parts[0]).add(parts[1]))
        place = 1 if order == "rest-first" else 0
        full = _insert_strip(node.get_child(place).get_child(0), values, choice, strips.sums)
        node = _climb(full, node.get_tree_depth())
        others = _insert_lanes(node.get_child(1 - place).get_child(0), values, sorted(jam), choice)
        node = _climb(others, node.get_tree_depth())
        outer = [floor_of(values[m], jam[m]) if m in jam else values[m] for m in inner]
        node = node.insert_partial_schedule(join(outer)).band_set_permutable(1)
    tiles = [floor_of(values[m], t) for m, t in enumerate(choice.tiles) if t]
    if tiles:
        node = node.insert_partial_schedule(join(tiles)).band_set_permutable(1)
    return node


def _climb(node: isl.ScheduleNode, depth: int) -> isl.ScheduleNode:
    return node.ancestor(node.get_tree_depth() - depth)


def _insert_lanes(
    node: isl.ScheduleNode, values: list[isl.UnionPwAff], outer: list[int], choice: BandPlan
) -> isl.ScheduleNode:
    """Loops over `outer` members, then the lanes' member innermost."""
    if len(choice.groups) > 1:
        filters = isl.UnionSetList.alloc(node.get_ctx(), len(choice.groups))
        for group in choice.groups:
            filters = filters.add(_instances(node.get_universe_domain(), group))
        node = node.insert_sequence(filters)
        for i, group in enumerate(choice.groups):
            below = _insert_loop(node.get_child(i).get_child(0), values, choice, group)
            node = _climb(below, node.get_tree_depth())
    else:
        node = _insert_loop(node, values, choice, choice.groups[0])
    if outer:
        node = node.insert_partial_schedule(join([values[m] for m in outer])).band_set_permutable(1)
    return node


def _instances(universe: isl.UnionSet, group: StatementGroup) -> isl.UnionSet:
    out = isl.UnionSet.empty(universe.get_space())
    for part in list_sets(universe):
        if part.get_tuple_name() in group.names:
            out = out.union(isl.UnionSet.from_set(part))
    return out


def _insert_loop(
    node: isl.ScheduleNode, values: list[isl.UnionPwAff], choice: BandPlan, group: StatementGroup
) -> isl.ScheduleNode:
    """The loop of one group over the lanes' member, above a node."""
    value = values[choice.lanes_member].intersect_domain(node.get_universe_domain())
    node = node.insert_partial_schedule(join([value]))
    match group.lanes:
        case "parallel":
            return node.insert_mark(isl.Id("lanes"))
        case "reduction":
            return node.insert_mark(isl.Id("lanes, sums"))
        case "serial":
            return node
        case _:
            assert_never(group.lanes)


def _insert_strip(
    node: isl.ScheduleNode, values: list[isl.UnionPwAff], choice: BandPlan, sums: bool
) -> isl.ScheduleNode:
    """Lanes, with the jammed members unrolled inside; returns the mark above."""
    node = node.insert_partial_schedule(join([values[m] for m, _ in choice.jam]))
    for i in range(len(choice.jam)):
        node = node.band_member_set_ast_loop_type(i, isl.ast_loop_type.unroll)
    node = node.insert_partial_schedule(join([values[choice.lanes_member]]))
    node = node.band_member_set_ast_loop_type(0, isl.ast_loop_type.separate)
    if not choice.has_lanes:
        return node.insert_mark(isl.Id("registers, rows"))
    return node.insert_mark(isl.Id("registers, sums" if sums else "registers"))


def floor_of(value: isl.UnionPwAff, size: int) -> isl.UnionPwAff:
    """The start of the tile of `size` that a value lies in."""
    by = isl.Val.int_from_si(value.get_ctx(), size)
    return value.scale_down_val(by).floor().scale_val(by)


def join(values: list[isl.UnionPwAff]) -> isl.MultiUnionPwAff:
    """The partial schedule of a band whose members have these values."""
    parts = [isl.MultiUnionPwAff.from_union_pw_aff(v) for v in values]
    return reduce(lambda a, b: a.flat_range_product(b), parts)


def find_strips(band: Band, choice: BandPlan, by_lane: bool) -> FullStrips:
    """The instances of dominant statements in strips that are full, alone, free of aliasing accesses, and whose lanes
    do not wait for each other.

    With `by_lane` each value of the lanes' member is judged apart; otherwise a strip is full for all of them.
    """
    strip = _strip_times(band, choice, by_lane)
    place = strip.flat_range_product(band.members[choice.lanes_member])
    full = isl.UnionSet.empty(band.domain.get_space())
    for statement in band.dominant:
        full = full.union(_full_strips(band, choice, statement, strip, place, by_lane))
    if not choice.has_lanes:
        return FullStrips(coalesce(full), by_lane, False)
    full, sums = _independent(band, choice, full, strip)
    return FullStrips(coalesce(full), by_lane, sums)


def _independent(
    band: Band, choice: BandPlan, full: isl.UnionSet, strip: isl.UnionMap
) -> tuple[isl.UnionSet, bool]:
    """The strips without those in which a lane waits for another one; and whether lanes of the others share sums.

    Loops around a lane that run inside of it in a strip may bring iterations together that met nothing before."""
    together = same_time(strip.intersect_domain(full))
    apart = same_time(band.members[choice.lanes_member])
    shared = band.inside.intersect(together).subtract(apart)
    summed = band.targets_stay(choice.lanes_member, {s.name for s in band.dominant})
    waiting = shared.subtract(band.movable) if summed else shared
    if waiting.is_empty():
        return full, not shared.is_empty()
    full = full.subtract(waiting.domain().apply(strip).apply(strip.reverse()))
    if together.subtract(apart).intersect_domain(full).is_empty():
        return full.subtract(full), False  # what is left has one lane in each strip
    return full, not shared.intersect_domain(full).is_empty()


def _strip_times(band: Band, choice: BandPlan, by_lane: bool) -> isl.UnionMap:
    """Which strip an instance lies in: the time outside the loop over lanes."""
    jam = dict(choice.jam)
    out = band.prefix
    if not by_lane and choice.tiles[choice.lanes_member]:
        tile = _floor_map(band.members[choice.lanes_member], choice.tiles[choice.lanes_member])
        out = out.flat_range_product(tile)
    for m, member in enumerate(band.members):
        if m != choice.lanes_member:
            out = out.flat_range_product(_floor_map(member, jam[m]) if m in jam else member)
    return out


def _full_strips(
    band: Band, choice: BandPlan, statement: Statement, strip: isl.UnionMap, place: isl.UnionMap, by_lane: bool
) -> isl.UnionSet:
    jam = dict(choice.jam)
    own = isl.UnionSet.from_set(statement.domain).intersect(band.domain)
    if own.is_empty():
        return own
    bounds = place
    for m in sorted(jam):
        bounds = bounds.flat_range_product(band.members[m])
    used = isl.Set.from_union_set(own.apply(bounds))
    count, dims = len(jam), used.dim(isl.dim_type.set)
    spots = used.project_out(isl.dim_type.set, dims - count, count)
    box = _box(spots, [_strip_position(band, choice, m) for m in sorted(jam)], [jam[m] for m in sorted(jam)])
    bad = box.subtract(used).project_out(isl.dim_type.set, dims - count, count)
    others = band.domain.subtract(own)
    if not others.is_empty():
        bad = bad.union(_as_set(others.apply(place), spots))
    if not by_lane:
        last = spots.dim(isl.dim_type.set) - 1
        spots, bad = (x.project_out(isl.dim_type.set, last, 1) for x in (spots, bad))
    key = place if by_lane else strip
    good = isl.UnionSet.from_set(spots.subtract(bad))
    full = own.intersect(good.apply(key.reverse()))
    return full.subtract(_clashes(statement, full, key).apply(key.reverse()))


def _floor_map(member: isl.UnionMap, size: int) -> isl.UnionMap:
    """A member's values rounded down to a multiple of `size`."""
    space = member.get_space().params()
    down = isl.UnionMap.from_map(
        isl.Map(f"{{ [x] -> [y] : y mod {size} = 0 and y <= x < y + {size} }}").align_params(space)
    )
    return member.apply_range(down)


def _strip_position(band: Band, choice: BandPlan, member: int) -> int:
    """The column, counted from the lanes' one leftwards, where the start of a jammed member's strip stands."""
    inner = [m for m in range(len(band.members)) if m != choice.lanes_member]
    return len(inner) - inner.index(member)


def _box(spots: isl.Set, positions: list[int], sizes: list[int]) -> isl.Set:
    """All points of the strips at `spots`: each jammed member from its strip's start, `size` values."""
    dims = spots.dim(isl.dim_type.set)
    box = spots.add_dims(isl.dim_type.set, len(sizes))
    for i, (position, size) in enumerate(zip(positions, sizes, strict=True)):
        space = isl.LocalSpace.from_space(box.get_space())
        start = isl.Aff.var_on_domain(space, isl.dim_type.set, dims - 1 - position)
        value = isl.Aff.var_on_domain(space, isl.dim_type.set, dims + i)
        box = box.intersect(value.ge_set(start))
        box = box.intersect(value.lt_set(start.add_constant_val(isl.Val.int_from_si(box.get_ctx(), size))))
    return box


def _as_set(union: isl.UnionSet, like: isl.Set) -> isl.Set:
    return isl.Set.empty(like.get_space()) if union.is_empty() else isl.Set.from_union_set(union)


def _clashes(statement: Statement, full: isl.UnionSet, key: isl.UnionMap) -> isl.UnionSet:
    """Places where two differently written accesses of the strip meet in one element, one of them a store."""
    together = same_time(key.intersect_domain(full))
    out = isl.UnionSet.empty(full.get_space())
    write = statement.write
    for access in statement.accesses[1:]:
        if access.array != write.array or access.index == write.index:
            continue
        meet = _meeting(write, access).intersect(together)
        if not meet.is_empty():
            out = out.union(meet.domain().apply(key))
    return out


def _meeting(a: Access, b: Access) -> isl.UnionMap:
    return isl.UnionMap.from_map(a.relation.apply_range(b.relation.reverse()))


def leaf_bands(schedule: isl.Schedule) -> list[Path]:
    """Paths to the bands that have no band below; they stay valid while the bands are shaped one by one."""

    def is_innermost(node: isl.ScheduleNode) -> bool:
        return kind_of(node) == Kind.band and not has_band(node.get_child(0))

    return sorted(find_paths(schedule.get_root(), is_innermost))
