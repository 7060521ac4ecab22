"""The order of two statements in a schedule tree, at one point of the bands above it (section 6).

>>> import islpy as isl
>>> below = '{ "sequence": [ { "filter": "{ A[] }" }, { "filter": "{ B[] }" } ] }'
>>> tree = isl.Schedule('{ "domain": "{ A[]; B[] }", "child": ' + below + ' }')
>>> node = tree.get_root().get_child(0)
>>> comes_after(node, "A", "B"), comes_after(node, "B", "A")
(False, True)
"""

from __future__ import annotations

import islpy as isl

from planish.poly.isl.schedule_tree import Kind, kind_of
from planish.poly.isl.to_list import list_sets


def comes_after(node: isl.ScheduleNode, first: str, second: str) -> bool:
    """Whether some instance of the statement `first` may have to wait for one of `second` in the subtree."""
    kind = kind_of(node)
    if kind == Kind.leaf:
        return False
    if kind in (Kind.sequence, Kind.set):
        mine, theirs = _places(node, first), _places(node, second)
        if kind == Kind.sequence and any(a > b for a in mine for b in theirs):
            return True
        return any(comes_after(node.get_child(i), first, second) for i in mine if i in theirs)
    if kind in (Kind.filter, Kind.mark, Kind.context, Kind.guard):
        return comes_after(node.get_child(0), first, second)
    return True


def _places(node: isl.ScheduleNode, name: str) -> list[int]:
    """The children of a sequence (or set) that run a statement."""
    found = []
    for i in range(node.n_children()):
        filters = list_sets(node.get_child(i).filter_get_filter())
        if any(s.get_tuple_name() == name for s in filters):
            found.append(i)
    return found
