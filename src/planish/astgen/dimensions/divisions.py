"""Sets without the divisions that depend on some dimensions: perhaps more points, never fewer (section 5.2).

isl 0.28 removes such divisions with care for the constraints but may lose points (`{ S[i, k] -> [3i + 2k] : n - 3 <= i
< n and 0 < k <= n and k mod 3 <= 1 }` shows it), so that every answer is compared with the question.

>>> import islpy as isl
>>> without_divisions(isl.Set("[n] -> { [i] : 0 <= 2*floor(i/2) < n }"), 0)
Set("[n] -> { [i] : n > 0 and 0 <= i <= n }")
"""

from __future__ import annotations

import islpy as isl

SET, DIV = isl.dim_type.set, isl.dim_type.div


def without_divisions(points: isl.Set, position: int) -> isl.Set:
    """The set without existentials that have no explicit form or depend on dimension `position`."""
    if not any(basic.dim(DIV) for basic in points.get_basic_sets()):
        return points
    out = points.remove_unknown_divs().remove_divs_involving_dims(SET, position, 1)
    return out if points.is_subset(out) else points.remove_divs()


def convex_without_divisions(points: isl.BasicSet, position: int) -> isl.BasicSet:
    """The same for a set of one piece."""
    if not points.dim(DIV):
        return points
    out = points.remove_unknown_divs().remove_divs_involving_dims(SET, position, 1)
    return out if points.is_subset(out) else points.remove_divs()


def with_known_divisions(points: isl.Set) -> isl.Set:
    """The set without existentials that have no explicit form."""
    if not any(basic.dim(DIV) for basic in points.get_basic_sets()):
        return points
    out = points.remove_unknown_divs()
    return out if points.is_subset(out) else points.remove_divs()
