"""Cutting one loop into several, so that inside each the same statements run without guards (section 5.4).

>>> import islpy as isl
>>> pieces = separate([isl.Set("{ [i] : 0 <= i < 9 }"), isl.Set("{ [i] : 2 <= i < 9 }")], 8)
>>> [str(p) for p in pieces]
['{ [i] : 0 <= i <= 1 }', '{ [i] : 2 <= i <= 8 }']
"""

from __future__ import annotations

import islpy as isl

SET = isl.dim_type.set


def separate(domains: list[isl.Set], budget: int) -> list[isl.Set] | None:
    """Disjoint convex pieces of the union of `domains`, in the order of their last dimension, such that each piece
    lies inside or outside every domain; None where there are more than `budget` or no order exists."""
    pieces: list[isl.Set] = []
    for domain in domains:
        fresh: list[isl.Set] = []
        rest = domain
        for piece in pieces:
            fresh += [piece.intersect(domain), piece.subtract(domain)]
            rest = rest.subtract(piece)
        pieces = [p.coalesce() for p in (*fresh, rest) if not p.is_empty()]
        if len(pieces) > budget:
            return None
    convex = [b.to_set() for p in pieces for b in p.make_disjoint().coalesce().make_disjoint().get_basic_sets()]
    if len(convex) > budget:
        return None
    return order(convex)


def order(pieces: list[isl.Set]) -> list[isl.Set] | None:
    """The pieces sorted such that, for equal outer dimensions, earlier pieces have smaller last dimensions."""
    before = [[_precedes(a, b) if a is not b else False for b in pieces] for a in pieces]
    left, out = list(range(len(pieces))), []
    while left:
        free = [i for i in left if not any(before[j][i] for j in left)]
        if not free:
            return None
        out.append(pieces[free[0]])
        left.remove(free[0])
    return out


def _precedes(a: isl.Set, b: isl.Set) -> bool:
    """Whether some point of `a` must come before some point of `b` with the same outer dimensions."""
    last = a.dim(SET) - 1
    pairs = isl.Map.from_domain_and_range(a, b)
    for i in range(last):
        pairs = pairs.equate(isl.dim_type.in_, i, isl.dim_type.out, i)
    return not pairs.order_lt(isl.dim_type.in_, last, isl.dim_type.out, last).is_empty()
