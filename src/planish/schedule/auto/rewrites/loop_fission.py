"""Loop fission (distribution) over the statements inside loops; interchangeable nested loops become one band.

Before: for k { for j { S4; for i { S5 }; for i { S6 } } }
After:  for k { for j { S4 };  for (j, i) { S5 };  for (j, i) { S6 } }

>>> import islpy as isl
>>> tree = isl.Schedule.from_domain(isl.UnionSet("{ S[i] : 0 <= i < 9 }"))
>>> merge_bands(tree, isl.UnionMap("{ }")).get_root().n_children()
1
"""

from __future__ import annotations

import islpy as isl

from planish.poly.isl.schedule_tree import SEQUENCES, Kind, Path, find_node, find_paths, has_band, kind_of
from planish.poly.scop.legality import find_violation, schedule_map
from planish.schedule.auto.tiling.band import find_free, same_time


def distribute(schedule: isl.Schedule, order: isl.UnionMap, fully: bool = False) -> isl.Schedule:
    """Every loop around a sequence with loops in it (`fully`: around any) becomes one loop for each part, wherever that
    is legal."""
    tried: set[Path] = set()
    wanted = _is_around_parts if fully else _is_distributable
    while True:
        left = [p for p in find_paths(schedule.get_root(), wanted) if p not in tried]
        if not left:
            return schedule
        tried.add(left[0])
        changed = _sink(find_node(schedule, left[0])).get_schedule()
        if find_violation(schedule_map(changed), order) is None:
            schedule = changed
            tried = {p for p in tried if p != left[0]}


def _is_around_parts(node: isl.ScheduleNode) -> bool:
    return kind_of(node) == Kind.band and kind_of(node.get_child(0)) in SEQUENCES


def _is_distributable(node: isl.ScheduleNode) -> bool:
    return _is_around_parts(node) and has_band(node.get_child(0))


def _sink(node: isl.ScheduleNode) -> isl.ScheduleNode:
    """The band at `node` moved below the parts of the sequence under it; returns the sequence."""
    schedule = node.band_get_partial_schedule()
    node = node.delete()
    depth = node.get_tree_depth()
    for i in range(node.n_children()):
        part = node.get_child(i).get_child(0)
        below = part.insert_partial_schedule(schedule.intersect_domain(part.get_universe_domain()))
        node = below.ancestor(below.get_tree_depth() - depth)
    return node


def exchange(schedule: isl.Schedule, order: isl.UnionMap) -> isl.Schedule | None:
    """Where a sequence in a loop has parts that are loops themselves, each part's loop changes places with the one
    around, as far as that is legal; None where it is nowhere.

    Before: for j { S0[j];  for k in 0 .. j { S1[j, k] } }
    After:  for j { S0[j];  for k in j + 1 .. n { S1[k, j] } }"""
    found = None
    for path in find_paths(schedule.get_root(), _is_distributable):
        for place in range(find_node(schedule, path).get_child(0).n_children()):
            changed = _exchanged(find_node(schedule, path), place)
            if changed is not None and find_violation(schedule_map(changed), order) is None:
                schedule = found = changed
    return found


def _exchanged(node: isl.ScheduleNode, place: int) -> isl.Schedule | None:
    """The tree where the band at `node` and that of a part of the sequence below have changed places for the part; None
    where they are not of one loop each, or the part has none."""
    part = node.get_child(0).get_child(place).get_child(0)
    if kind_of(part) != Kind.band or part.band_n_member() != 1 or node.band_n_member() != 1:
        return None
    own, outer, inner = part.get_universe_domain(), node.band_get_partial_schedule(), part.band_get_partial_schedule()
    others = node.get_universe_domain().subtract(own)
    whole = outer.intersect_domain(others).union_add(inner.intersect_domain(own))
    below = part.delete().insert_partial_schedule(outer.intersect_domain(own))
    node = below.ancestor(below.get_tree_depth() - node.get_tree_depth())
    return node.delete().insert_partial_schedule(whole).get_schedule()


def merge_bands(schedule: isl.Schedule, order: isl.UnionMap, kept: isl.UnionSet | None = None) -> isl.Schedule:
    """Bands directly inside each other become one where no dependence goes backward along any of the loops; those of
    nothing but instances that are `kept` as they are stay."""
    tried: set[Path] = set()
    while True:
        left = [p for p in find_paths(schedule.get_root(), _is_nested) if p not in tried]
        if not left:
            return schedule
        tried.add(left[0])
        node = find_node(schedule, left[0])
        if (kept is None or not node.get_domain().is_subset(kept)) and _is_permutable(node, order):
            schedule = _join(node).get_schedule()
            tried = {p for p in tried if len(p) < len(left[0])}


def join_chains(schedule: isl.Schedule, order: isl.UnionMap) -> isl.Schedule | None:
    """Where the innermost loops are a chain, such as a sum in its order, and loops directly around it carry no
    dependence, all of these become one band: its loops may go inside of the chain. None where that is nowhere.

    Before: for (y, x) { for r { for s { S } } }
    After:  for (y, x, r, s) { S }, which is not permutable"""
    found = None
    for path in find_paths(schedule.get_root(), _is_innermost):
        node = find_node(schedule, path)
        if _frees(node, node, order):
            continue
        top = node
        while top.has_parent() and kind_of(top.parent()) == Kind.band:
            top = top.parent()
        if _frees(top, node, order):
            levels = node.get_tree_depth() - top.get_tree_depth()
            for _ in range(levels):
                top = _join(top)
            schedule = found = top.band_set_permutable(0).get_schedule()
    return found


def _is_innermost(node: isl.ScheduleNode) -> bool:
    return kind_of(node) == Kind.band and not has_band(node.get_child(0))


def _frees(top: isl.ScheduleNode, last: isl.ScheduleNode, order: isl.UnionMap) -> bool:
    """Whether nothing waits along some member of the bands from `top` down to `last`, for fixed loops around them."""
    domain = last.get_domain()
    prefix = top.get_prefix_schedule_union_map().intersect_domain(domain)
    inside = order.intersect_domain(domain).intersect_range(domain).intersect(same_time(prefix))
    members: list[isl.UnionMap] = []
    node = top
    for _ in range(last.get_tree_depth() - top.get_tree_depth() + 1):
        partial = node.band_get_partial_schedule()
        members += (
            isl.UnionMap.from_union_pw_aff(partial.get_at(i)).intersect_domain(domain)
            for i in range(node.band_n_member())
        )
        node = node.get_child(0)
    return bool(find_free(members, inside))


def _is_nested(node: isl.ScheduleNode) -> bool:
    return kind_of(node) == Kind.band and kind_of(node.get_child(0)) == Kind.band


def _is_permutable(node: isl.ScheduleNode, order: isl.UnionMap) -> bool:
    """Whether no dependence inside the band at `node` goes backward along a member of it or of the band below."""
    domain = node.get_domain()
    prefix = node.get_prefix_schedule_union_map().intersect_domain(domain)
    inside = order.intersect_domain(domain).intersect_range(domain).intersect(same_time(prefix))
    for band in (node, node.get_child(0)):
        partial = band.band_get_partial_schedule()
        for i in range(band.band_n_member()):
            member = isl.UnionMap.from_union_pw_aff(partial.get_at(i)).intersect_domain(domain)
            if not inside.intersect(member.lex_gt_union_map(member)).is_empty():
                return False
    return True


def _join(node: isl.ScheduleNode) -> isl.ScheduleNode:
    outer = node.band_get_partial_schedule()
    node = node.delete()
    inner = node.band_get_partial_schedule()
    node = node.delete()
    return node.insert_partial_schedule(outer.flat_range_product(inner)).band_set_permutable(1)
