"""isl's coalescing, where it fails too: the answer has the same elements, in no more pieces.

isl 0.28 stops with "original tableau does not correspond to original basic map" for some unions, and gives others more
elements than they have where existentials are in play; these stay as they are. One ended the process (a segmentation
fault) until its equalities were made explicit.

>>> import islpy as isl
>>> coalesce(isl.Set("{ [i] : 0 <= i < 3 or 3 <= i < 5 }"))
Set("{ [i] : 0 <= i <= 4 }")
"""

from __future__ import annotations

from typing import TypeVar

import islpy as isl

T = TypeVar("T", isl.Set, isl.Map, isl.UnionSet, isl.UnionMap)
F = TypeVar("F", isl.PwAff, isl.PwMultiAff)


def coalesce(union: T) -> T:
    """The union in as few pieces as isl finds."""
    risky = _has_existentials(union)
    try:
        fewer = union.detect_equalities().coalesce() if risky else union.coalesce()
    except isl.Error as error:
        if "tableau" not in str(error):
            raise
        return union
    return fewer if not risky or fewer.is_subset(union) else union


def _has_existentials(union: isl.Set | isl.Map | isl.UnionSet | isl.UnionMap) -> bool:
    """Whether coalescing may go wrong; of unions over several spaces that is not looked up."""
    match union:
        case isl.Set():
            return union.n_basic_set() > 1 and any(b.dim(isl.dim_type.div) for b in union.get_basic_sets())
        case isl.Map():
            return union.n_basic_map() > 1 and any(b.dim(isl.dim_type.div) for b in union.get_basic_maps())
        case _:
            return True


def coalesce_function(function: F) -> F:
    """A function in as few pieces as isl finds."""
    if function.n_piece() <= 1:
        return function
    fewer = function.coalesce()
    return fewer if fewer.is_equal(function) else function
