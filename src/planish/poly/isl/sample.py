"""A sample point of a set, with sizes as small as possible, so that a person can follow it.

>>> import islpy as isl
>>> small_point(isl.UnionSet("[n] -> { S[i] : 4 <= i < n }"))
Point("[n = 5] -> { S[4] }")
"""

from __future__ import annotations

import islpy as isl

PARAM = isl.dim_type.param
MOST = (3, 8, 20, 100)
"""What sizes may be at most, in the order of trying; then anything."""


def small_point(points: isl.UnionSet) -> isl.Point:
    """A point of a set that is not empty, with small sizes where there is one."""
    space = points.get_space().params()
    for most in MOST:
        box = isl.Set.universe(space)
        for i in range(space.dim(PARAM)):
            box = box.lower_bound_val(PARAM, i, isl.Val(0)).upper_bound_val(PARAM, i, isl.Val(most))
        inside = points.intersect_params(box)
        if not inside.is_empty():
            return inside.sample_point()
    return points.sample_point()
