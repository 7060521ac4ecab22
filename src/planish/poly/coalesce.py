"""isl's coalescing of sets and maps, where it fails too: the answer has the same elements, in no more pieces.

isl 0.28 stops with "original tableau does not correspond to original basic map" for some unions; these stay as they
are.

>>> import islpy as isl
>>> coalesce(isl.Set("{ [i] : 0 <= i < 3 or 3 <= i < 5 }"))
Set("{ [i] : 0 <= i <= 4 }")
"""

from __future__ import annotations

from typing import TypeVar

import islpy as isl

T = TypeVar("T", isl.Set, isl.Map)


def coalesce(union: T) -> T:
    """The union in as few pieces as isl finds."""
    try:
        return union.coalesce()
    except isl.Error as error:
        if "tableau" not in str(error):
            raise
        return union
