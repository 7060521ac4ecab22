"""Statements that need not share a loop, in the order in which they run (section 5.7).

>>> import islpy as isl
>>> sort_components([isl.Set("{ [i, 1] : 0 <= i < 9 }"), isl.Set("{ [i, 0] : 9 <= i }")], 0)
[[0], [1]]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import islpy as isl

from planish.core.graph import order_components
from planish.poly.isl.coalesce import coalesce

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

    return order_components(len(points), waits)


def sort_pieces(pieces: Sequence[isl.Set]) -> list[isl.Set]:
    """Sets sorted such that, for equal outer dimensions, the last dimension grows; those that no order can separate
    are united."""
    if len(pieces) <= 1:
        return list(pieces)
    last = pieces[0].dim(SET) - 1
    groups = order_components(len(pieces), lambda a, b: pieces[a].follows_at(pieces[b], last) > 0)
    out = []
    for group in groups:
        union = pieces[group[0]]
        for number in group[1:]:
            union = union.union(pieces[number])
        out.append(coalesce(union))
    return out
