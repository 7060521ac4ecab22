"""Marks the outermost loops without carried dependences as parallel.

>>> import islpy as isl
>>> band = '{ "schedule": "[n] -> [{ S[i] -> [(i)] }]" }'
>>> tree = isl.Schedule('{ "domain": "[n] -> { S[i] : 0 <= i < n }", "child": ' + band + ' }')
>>> mark_threads(tree, isl.UnionMap("{ }")).get_root().get_child(0).mark_get_id().get_name()
'threads'
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

import islpy as isl

from planish.ir.nest import Alloc, Block, For, Kernel, Stmt
from planish.ir.passes.declaration_sinking import sink
from planish.ir.traverse import arrays_in, walk
from planish.poly.isl.schedule_tree import Kind, Path, find_node, kind_of
from planish.poly.isl.to_list import list_sets
from planish.schedule.auto.tiling.band import same_time

MOST_OUTER = 1
"""Sequential loops that may stand around a parallel one; more of them would start threads too often."""


def mark_threads(schedule: isl.Schedule, order: isl.UnionMap) -> isl.Schedule:
    """The schedule with a mark above the first independent loop on each way down from the root."""
    return _marked(schedule, _independent(schedule.get_root(), (), order))


def mark_outermost(schedule: isl.Schedule, order: isl.UnionMap, around: Container[str]) -> isl.Schedule | None:
    """The schedule with a mark above the outermost loops around some statements, as far as their iterations are
    independent; None where none of them is so."""
    found = [x for x in _independent(schedule.get_root(), (), order) if not x[1]]
    nodes = [(x, find_node(schedule, x[0])) for x in found]
    wanted = [x for x, node in nodes if not node.get_schedule_depth() and _is_around(node, around)]
    return _marked(schedule, wanted) if wanted else None


def _is_around(node: isl.ScheduleNode, names: Container[str]) -> bool:
    """Whether some statement is below a node."""
    return any(x.get_tuple_name() in names for x in list_sets(node.get_domain()))


def _marked(schedule: isl.Schedule, loops: list[tuple[Path, int]]) -> isl.Schedule:
    """The schedule with marks above loops: paths of bands with positions of members, the deepest paths first."""
    for path, member in loops:
        node = find_node(schedule, path)
        if member:
            node = node.band_split(member).get_child(0)
        schedule = node.insert_mark(isl.Id("threads")).get_schedule()
    return schedule


def _independent(node: isl.ScheduleNode, path: Path, order: isl.UnionMap) -> list[tuple[Path, int]]:
    """Paths of bands and the positions of the members in them to run in parallel, the deepest paths first."""
    if kind_of(node) == Kind.band:
        member = _first_independent(node, order)
        if member is not None:
            return [(path, member)]
    found = [x for i in range(node.n_children()) for x in _independent(node.get_child(i), (*path, i), order)]
    return sorted(found, key=lambda x: len(x[0]), reverse=True)


def _first_independent(node: isl.ScheduleNode, order: isl.UnionMap) -> int | None:
    domain = node.get_domain()
    prefix = node.get_prefix_schedule_union_map().intersect_domain(domain)
    left = order.intersect_domain(domain).intersect_range(domain).intersect(same_time(prefix))
    partial = node.band_get_partial_schedule()
    reachable = min(node.band_n_member(), MOST_OUTER + 1 - node.get_schedule_depth())
    for i in range(reachable):
        together = same_time(isl.UnionMap.from_union_pw_aff(partial.get_at(i)).intersect_domain(domain))
        if left.is_subset(together):
            return i
        left = left.intersect(together)
    return None


def with_private_cells(kernel: Kernel) -> Kernel | None:
    """The kernel with each local scalar declared in the innermost block that sets it before it reads it, so that every
    thread has its own; None where threads would share a local array."""
    body = kernel.body
    for array in [x.array for x in body.body if isinstance(x, Alloc) and not x.array.shape]:
        rest = Block(tuple(x for x in body.body if not _allocates(x, array.name)))
        body = sink(array.name, array.type, rest)
    shared = {x.array.name for x in body.body if isinstance(x, Alloc)}
    loops = (x for x in walk(body) if isinstance(x, For) and x.facts.parallel)
    return None if any(shared & {*arrays_in(x)} for x in loops) else replace(kernel, body=body)


def _allocates(stmt: Stmt, name: str) -> bool:
    return isinstance(stmt, Alloc) and stmt.array.name == name
