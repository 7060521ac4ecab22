"""A part of the schedule space that gets code of its own, with what lies before and after it (section 5.6).

Points of outer dimensions without an isolated part ("other" in the paper) go to the part before or after it: where the
part has one bound on each side, no code is made for small sizes alone.

>>> import islpy as isl
>>> domain, part = isl.Set("[n] -> { [i] : 0 <= i < n }"), isl.Set("[n] -> { [i] : 0 <= i <= n - 8 }")
>>> [(str(piece), inside) for piece, inside in split(domain, part)]
[('[n] -> { [i] : 0 <= i <= -8 + n }', True), ('[n] -> { [i] : i >= -7 + n and 0 <= i < n }', False)]
"""

from __future__ import annotations

import islpy as isl

from planish.astgen.dimensions.ranges import one_side
from planish.astgen.dimensions.strides import Lattice, find_stride
from planish.poly.isl.coalesce import coalesce

SET = isl.dim_type.set


def split(domain: isl.Set, part: isl.Set, exact: isl.Set | None = None) -> list[tuple[isl.Set, bool]]:
    """The pieces of `domain` in order, each with whether it is the isolated one; only (domain, False) where nothing is
    isolated or the part cannot be separated in the last dimension. `exact`: the points of it that are used, which may
    lie on a stride."""
    used, last = domain if exact is None else exact, domain.dim(SET) - 1
    stride, offset = find_stride(used, last)
    if offset is None or not offset.get_denominator_val().is_one():
        return _split(domain, part, used)
    # Counted in steps, bounds that differ between two values of the stride are the same.
    steps = Lattice(stride, offset, last).steps()
    pieces = _split(*(points.preimage_multi_aff(steps) for points in (domain, part, used)))
    values = isl.Map.from_multi_aff(steps)
    return [(piece.apply(values), inside) for piece, inside in pieces]


def _split(domain: isl.Set, part: isl.Set, used: isl.Set) -> list[tuple[isl.Set, bool]]:
    convex = _split_convex(domain, part) if domain.n_basic_set() == 1 else None
    return _split_lexicographic(domain, part, used) if convex is None else convex


def _split_convex(domain: isl.Set, part: isl.Set) -> list[tuple[isl.Set, bool]] | None:
    """The pieces where the part has at most one bound on each side (an equality is one on both): below the one (whether
    or not the part is there), the part, and what is left. None where it has more."""
    inner = coalesce(domain.intersect(part))
    if inner.is_empty():
        return [(domain, False)]
    bounds = inner.gist(domain)
    if bounds.n_basic_set() != 1 or bounds.get_basic_sets()[0].dim(isl.dim_type.div):
        return None
    last = domain.dim(SET) - 1
    constraints = bounds.get_basic_sets()[0].get_constraints()
    lowers, uppers = (one_side(constraints, last, sign) for sign in (1, -1))
    if len(lowers) > 1 or len(uppers) > 1:
        return None
    above = domain if not lowers else domain.intersect(isl.BasicSet.from_constraint(lowers[0]).to_set())
    pieces = [(coalesce(domain.subtract(above)), False), (inner, True), (coalesce(above.subtract(inner)), False)]
    return [(piece, inside) for piece, inside in pieces if not piece.is_empty()]


def _split_lexicographic(domain: isl.Set, part: isl.Set, used: isl.Set) -> list[tuple[isl.Set, bool]]:
    """The pieces before and after the part in each column; columns without a point of it go where they fit."""
    inner = coalesce(domain.intersect(part))
    if inner.is_empty():
        return [(domain, False)]
    rest = coalesce(domain.subtract(inner))
    if rest.is_empty():
        return [(domain, True)]
    last = domain.dim(SET) - 1
    smaller = _lexicographic(inner, last, below=True)
    greater = _lexicographic(inner, last, below=False)
    between = rest.intersect(smaller).intersect(greater)
    if not between.is_empty():
        return [(domain, False)]
    before = coalesce(rest.intersect(smaller))
    after = coalesce(rest.intersect(greater))
    other = coalesce(rest.subtract(smaller).subtract(greater))
    if not other.is_empty():
        before, after, other = _merge(before, after, other, used)
    pieces = [(before, False), (inner, True), (after, False), (other, False)]
    return [(piece, inside) for piece, inside in pieces if not piece.is_empty()]


def _lexicographic(inner: isl.Set, last: int, below: bool) -> isl.Set:
    """The points with an isolated one after them (below) or before them, for equal outer dimensions."""
    identity = isl.Map.identity(inner.get_space().map_from_set())
    loose = identity.project_out(isl.dim_type.out, last, 1).insert_dims(isl.dim_type.out, last, 1)
    kind_in, kind_out = isl.dim_type.in_, isl.dim_type.out
    pairs = loose.order_lt(kind_in, last, kind_out, last) if below else loose.order_gt(kind_in, last, kind_out, last)
    return pairs.intersect_range(inner).domain()


def _merge(before: isl.Set, after: isl.Set, other: isl.Set, used: isl.Set) -> tuple[isl.Set, isl.Set, isl.Set]:
    """The three parts with `other` in one of the first two, if it fits there: best where both make one convex set."""
    empty = other.subtract(other)
    for name, side in (("after", after), ("before", before)):
        if side.is_empty():
            continue
        joined = coalesce(side.union(other))
        hull = joined.compute_divs().simple_hull().to_set()
        if hull.intersect(used).is_subset(joined):
            joined = hull
        if joined.n_basic_set() <= side.n_basic_set():
            return (joined, after, empty) if name == "before" else (before, joined, empty)
    for name, side in (("after", after), ("before", before)):
        if not side.is_empty():
            joined = side.union(other)
            return (joined, after, empty) if name == "before" else (before, joined, empty)
    return before, after, other
