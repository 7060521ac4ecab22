"""Cutting one loop into several, so that inside each the same statements run without guards (section 5.4).

>>> import islpy as isl
>>> [str(p) for p in separate([isl.Set("{ [i] : 0 <= i < 9 }"), isl.Set("{ [i] : 2 <= i < 9 }")], 8)]
['{ [i] : 0 <= i <= 1 }', '{ [i] : 2 <= i <= 8 }']
>>> len(disjoint(isl.Set("{ [i] : 0 <= i < 9 or 20 <= i < 30 }"), 8))
2
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from planish.astgen.components import sort_pieces
from planish.astgen.dimensions.divisions import without_divisions
from planish.astgen.dimensions.strides import find_stride
from planish.poly.isl.coalesce import coalesce
from planish.poly.isl.op_budget import budget as limit
from planish.poly.isl.op_budget import is_used_up

MOST_STRIDED = 3
"""A loop is cut into no more parts than this to let some of them have a stride."""


MOST_WORK = 50_000_000
"""Operations of isl (some seconds) after which a loop is left in one piece."""


def separate(domains: Sequence[isl.Set], budget: int) -> list[isl.Set] | None:
    """Disjoint pieces of the union of `domains`, in the order of their last dimension, such that each lies inside or
    outside every domain as far as that order allows; None where there are more than `budget`, or to find them takes too
    much work."""
    with limit(domains[0].get_ctx(), MOST_WORK):
        try:
            return _separate(domains, budget)
        except isl.Error:
            if not is_used_up(domains[0].get_ctx()):
                raise
            return None


def _separate(domains: Sequence[isl.Set], budget: int) -> list[isl.Set] | None:
    pieces: list[isl.Set] = []
    for domain in domains:
        fresh: list[isl.Set] = []
        rest = domain
        for piece in pieces:
            fresh += [piece.intersect(domain), piece.subtract(domain)]
            rest = rest.subtract(piece)
        pieces = [coalesce(p) for p in (*fresh, rest) if not p.is_empty()]
        if len(pieces) > budget:
            return None
    convex = [b for p in pieces for b in _convex(p)]
    return None if len(convex) > budget else sort_pieces(convex)


def disjoint(domain: isl.Set, budget: int) -> list[isl.Set]:
    """The convex pieces of a set in the order of their last dimension; the set itself where there are too many."""
    if domain.n_basic_set() <= 1:
        return [domain]
    pieces = _convex(domain)
    return [domain] if len(pieces) > budget else sort_pieces(pieces)


def list_bounds(domains: Sequence[isl.Set], position: int) -> list[isl.Set]:
    """The half-spaces, in their order as text, that bound some of the domains in their last dimension."""
    found: dict[str, isl.Set] = {}
    for domain in domains:
        for basic in domain.get_basic_sets():
            for c in basic.get_constraints():
                if c.involves_dims(isl.dim_type.set, position, 1) and not c.is_equality() and not c.is_div_constraint():
                    half = isl.BasicSet.from_constraint(c).to_set()
                    found.setdefault(str(half), half)
    return [found[text] for text in sorted(found)]


def cut_strides(points: isl.Set, position: int) -> list[isl.Set] | None:
    """The parts of a set, of which some lie on a stride that the others are not on, without the stride; None where
    there are none such, or too many, or the parts are mixed."""
    points = coalesce(points)
    if points.n_basic_set() <= 1 or points.n_basic_set() > MOST_STRIDED or find_stride(points, position)[0] > 1:
        return None
    parts = [b.to_set() for b in points.get_basic_sets()]
    strided = [part for part in parts if find_stride(part, position)[0] > 1]
    if not strided:
        return None
    dense = [part for part in parts if find_stride(part, position)[0] == 1]
    for part in dense:
        strided = [coalesce(other.subtract(part)) for other in strided]
    loose = [without_divisions(part, position) for part in (*strided, *dense) if not part.is_empty()]
    if any(part.n_basic_set() > 1 for part in loose):
        return None
    if any(not a.is_disjoint(b) for i, a in enumerate(loose) for b in loose[:i]):
        return None
    ordered = sort_pieces(loose)
    return ordered if len(ordered) == len(loose) else None


def _convex(domain: isl.Set) -> list[isl.Set]:
    return [b.to_set() for b in coalesce(domain.make_disjoint()).make_disjoint().get_basic_sets()]
