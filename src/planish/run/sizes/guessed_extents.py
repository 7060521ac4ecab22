"""Extents of arrays of which no region says how far it reaches: guessed from the integers of a function.

>>> guess_extent([3, 5], 1 << 20)
1084
"""

from __future__ import annotations

import re
from math import prod

from planish.frontend.c.translation_unit import CFunction
from planish.ir.expr import Const
from planish.ir.nest import Assign, For, Reduce
from planish.ir.traverse import expressions, loads, walk, walk_expr

SMALL_CONSTANT = 256
"""An array of which nothing is known has room for what is as long as this number."""
LARGEST_GIVEN = 1 << 24
"""The most elements of such an array where the user gave the sizes."""
_NUMBER = re.compile(r"\b\d+\b")


def guess_extent(values: list[int], most: int) -> int:
    """A generous extent for an array that no region speaks of, from the function's integers."""
    return min(most, 1024 + prod(max(1, v) for v in values) * 4)


def largest_constant(function: CFunction) -> int:
    """The largest number that bounds loops or is a part of subscripts, as the length of a transform of one size is; 1
    where all are so small that a guess has room for them anyway."""
    regions = [y for x in function.regions for y in (x, *x.stages)]
    stmts = [y for x in regions for y in walk(x.kernel.body)]
    bounds = [e for x in stmts if isinstance(x, For) for e in (x.lower, x.upper)]
    subscripts = [i for x in stmts for e in expressions(x) for y in loads(e) for i in y.index]
    subscripts += [i for x in stmts if isinstance(x, Assign | Reduce) for i in x.index]
    leaves = [y.value for x in (*bounds, *subscripts) for y in walk_expr(x) if isinstance(y, Const)]
    written = [y for x in regions for _, text in x.names for y in _NUMBER.findall(text)]
    known = (int(x) for x in (*leaves, *written))
    return max((x for x in known if SMALL_CONSTANT < x <= LARGEST_GIVEN), default=1)
