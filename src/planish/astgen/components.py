"""Statements that need not share a loop, in the order in which they run (section 5.7).

>>> import islpy as isl
>>> sort_components([isl.Set("{ [i, 1] : 0 <= i < 9 }"), isl.Set("{ [i, 0] : 9 <= i }")], 0)
[[0], [1]]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import islpy as isl

from planish.poly.coalesce import coalesce

SET = isl.dim_type.set


def sort_components(
    points: Sequence[isl.Set], depth: int, after: Callable[[int, int], bool] = lambda a, b: False
) -> list[list[int]]:
    """Groups of statement numbers; statements in different groups may run in separate code, group by group.

    `points` are the statements' schedule points, whose dimensions from `depth` on count. `after(a, b)`: at equal
    points, statement `a` may have to wait for `b`.
    """
    if len(points) == 1:
        return [[0]]

    def waits(a: int, b: int) -> bool:
        for position in range(depth, points[a].dim(SET)):
            sign = points[a].follows_at(points[b], position)
            if sign != 0:
                return sign > 0
        return after(a, b)

    return sort_strongly_connected(len(points), waits)


def sort_strongly_connected(count: int, waits: Callable[[int, int], bool]) -> list[list[int]]:
    """Strongly connected components of `waits(a, b)` (a comes after b), earlier ones first (Tarjan's algorithm);
    independent ones stay in the order of their numbers."""
    edges = [[b for b in range(count) if a != b and waits(a, b)] for a in range(count)]
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    out: list[list[int]] = []

    def visit(a: int) -> None:
        index[a] = low[a] = len(index)
        stack.append(a)
        for b in edges[a]:
            if b not in index:
                visit(b)
                low[a] = min(low[a], low[b])
            elif b in stack:
                low[a] = min(low[a], index[b])
        if low[a] == index[a]:
            members: list[int] = []
            while not members or members[-1] != a:
                members.append(stack.pop())
            out.append(sorted(members))

    for a in range(count):
        if a not in index:
            visit(a)
    return out


def sort_pieces(pieces: Sequence[isl.Set]) -> list[isl.Set]:
    """Sets sorted such that, for equal outer dimensions, the last dimension grows; those that no order can separate
    are united."""
    if len(pieces) <= 1:
        return list(pieces)
    last = pieces[0].dim(SET) - 1
    groups = sort_strongly_connected(len(pieces), lambda a, b: pieces[a].follows_at(pieces[b], last) > 0)
    out = []
    for group in groups:
        union = pieces[group[0]]
        for number in group[1:]:
            union = union.union(pieces[number])
        out.append(coalesce(union))
    return out
