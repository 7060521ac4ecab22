"""Schedule trees: node kinds and paths to nodes.

>>> import islpy as isl
>>> tree = isl.Schedule.from_domain(isl.UnionSet("{ S[i] : 0 <= i < 9 }"))
>>> kind_of(find_node(tree, (0,))).name
'leaf'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import islpy as isl

Kind = isl.schedule_node_type
Path = tuple[int, ...]
"""Positions of children from the root down."""

SEQUENCES = (Kind.sequence, Kind.set)


def kind_of(node: isl.ScheduleNode) -> isl.schedule_node_type:
    """The kind of a node (islpy declares it as a number)."""
    return cast(isl.schedule_node_type, node.get_type())


def loop_type_of(node: isl.ScheduleNode, member: int) -> isl.ast_loop_type:
    """How the loop of a band's member is to be generated."""
    return cast(isl.ast_loop_type, node.band_member_get_ast_loop_type(member))


def find_node(schedule: isl.Schedule, path: Path) -> isl.ScheduleNode:
    """The node at a path."""
    node = schedule.get_root()
    for position in path:
        node = node.get_child(position)
    return node


def find_paths(node: isl.ScheduleNode, wanted: Callable[[isl.ScheduleNode], bool]) -> list[Path]:
    """The paths, seen from `node`, of the nodes that are wanted, deepest first."""
    out: list[Path] = []

    def visit(at: isl.ScheduleNode, path: Path) -> None:
        for i in range(at.n_children()):
            visit(at.get_child(i), (*path, i))
        if wanted(at):
            out.append(path)

    visit(node, ())
    return sorted(out, key=len, reverse=True)


def relation_below(node: isl.ScheduleNode, executed: isl.UnionMap) -> isl.UnionMap:
    """From points of the bands' dimensions to the instances that run there: below a node, given what reaches it. A
    band adds a dimension for each member; sequences and sets, whose children differ, change nothing here."""
    kind = kind_of(node)
    if kind == Kind.band:
        for i in range(node.band_n_member()):
            values = isl.UnionMap.from_union_pw_aff(node.band_get_partial_schedule().get_at(i))
            executed = executed.reverse().flat_range_product(values).reverse()
        return executed
    if kind == Kind.filter:
        return executed.intersect_range(node.filter_get_filter())
    if kind == Kind.guard:
        return executed.intersect_domain(isl.UnionSet.from_set(node.guard_get_guard()))
    if kind == Kind.extension:
        return executed.union(node.extension_get_extension().intersect_domain(executed.domain()))
    if kind == Kind.expansion:
        return executed.apply_range(node.expansion_get_expansion())
    return executed


def has_band(node: isl.ScheduleNode) -> bool:
    """Whether the node or one below it is a band."""
    return kind_of(node) == Kind.band or any(has_band(node.get_child(i)) for i in range(node.n_children()))
