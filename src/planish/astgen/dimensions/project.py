"""Schedule points of a statement, level by level: all of them, and what is said of each level outright (section 5.2).

>>> import islpy as isl
>>> actor = Actor(isl.Map("[n, m] -> { [i] -> S[i, j] : 0 <= i < n and 0 <= j < m }"), 0)
>>> actor.points(1), actor.explicit(1)
(Set("[n, m] -> { [i] : m > 0 and 0 <= i < n }"), Set("[n, m] -> { [i] : 0 <= i < n }"))
"""

from __future__ import annotations

import islpy as isl

from planish.astgen.dimensions.divisions import without_divisions
from planish.poly.isl.coalesce import coalesce

IN, OUT, SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set


class Actor:
    """A statement's part of the executed relation: schedule points to instances, with its projections."""

    __slots__ = ("_explicit", "_points", "name", "relation", "total")

    def __init__(self, relation: isl.Map, first: int) -> None:
        relation = relation.detect_equalities()
        self.relation = relation
        self.name: str = relation.get_tuple_name(OUT) or ""
        self.total: int = relation.dim(IN)
        self._explicit: dict[int, isl.Set] = {}
        points = {self.total: coalesce(relation.domain())}
        for depth in range(self.total - 1, first, -1):
            points[depth] = coalesce(points[depth + 1].project_out(SET, depth, 1))
        self._points = points

    def points(self, depth: int) -> isl.Set:
        """The values of the first `depth` dimensions at which some instance runs."""
        return self._points[depth]

    def explicit(self, depth: int) -> isl.Set:
        """More points: without the conditions that only say that inner loops have an iteration. To cut a loop by these
        would make code that a loop with no iteration makes superfluous."""
        if depth not in self._explicit:
            if depth == self.total:
                relation = self.relation
                whole = relation.move_dims(IN, self.total, OUT, 0, relation.dim(OUT)).domain()
            else:
                whole = self.explicit(depth + 1)
            loose = cut_dims(whole, depth)
            # Dropping constraints may lose points where divisions depend on each other.
            exact = self._points.get(depth)
            self._explicit[depth] = loose if exact is None or exact.is_subset(loose) else exact
        return self._explicit[depth]


def pad_range(relation: isl.Map, length: int) -> isl.Map:
    """The map with zeros at the end of its values, so that these have `length` dimensions."""
    have = relation.dim(OUT)
    relation = relation.insert_dims(OUT, have, length - have)
    for i in range(have, length):
        relation = relation.fix_val(OUT, i, isl.Val(0))
    return relation


def determines(points: isl.Set, position: int) -> bool:
    """Whether the outer dimensions determine dimension `position`, the last."""
    graph = isl.Map.from_range(points).move_dims(IN, 0, OUT, 0, position)
    return bool(graph.is_single_valued())


def loosen(points: isl.Set, position: int) -> isl.Set:
    """The points without existentials that have no explicit form or depend on the dimension itself (Fourier-Motzkin,
    section 5.2): perhaps more points, but no more pieces. What is lost is tested inside."""
    return without_divisions(points, position)


def cut_dims(points: isl.Set, first: int) -> isl.Set:
    """The set without its dimensions from `first` on: what equalities determine is replaced, inequalities in the
    others are dropped, where projection would ask that some value fits between them."""
    out: isl.Set | None = None
    for basic in points.compute_divs().get_basic_sets():
        determined = True
        while determined:
            determined = False
            for position in range(basic.dim(SET) - 1, first - 1, -1):
                if _is_determined(basic, position):
                    basic = basic.project_out(SET, position, 1)
                    determined = True
        left = basic.dim(SET) - first
        loose = basic.drop_constraints_involving_dims(SET, first, left).project_out(SET, first, left).to_set()
        out = loose if out is None else out.union(loose)
    return points.project_out(SET, first, points.dim(SET) - first) if out is None else coalesce(out)


def _is_determined(basic: isl.BasicSet, position: int) -> bool:
    for c in basic.get_constraints():
        if c.is_equality() and abs(int(c.get_coefficient_val(SET, position).to_python())) == 1:
            return True
    return False
