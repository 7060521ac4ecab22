"""The space of a nest: each version that a strategy makes of it, with that strategy's arguments.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.library.registry import STRATEGIES
>>> from planish.target.load import load_target
>>> text = "kernel k(n; A: f64[n, n] distinct, B: f64[n, n] distinct) { for i in 0 .. n { for j in 0 .. n { %s } } }"
>>> cx = Context.of(parse_kernel(text % "B[i, j] = A[j, i]"), load_target("x86-avx2"))
>>> space = find_space(cx, [x for x in STRATEGIES if x.name == "loops"])
>>> [x.name for x in space.arguments("maxfuse")]
['loops.tile.1.1', 'loops.tile.1.2', 'loops.jam.1.1', 'loops.jam.1.2', 'loops.lanes.1']
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planish.library.driver import arguments_of, make_versions
from planish.library.strategy import Context, Strategy
from planish.schedule.arguments import NO_ARGUMENTS
from planish.tuning.spaces.search_space import SearchSpace

ONE = "as written"
"""The version of a nest of which no strategy makes anything."""


def find_space(cx: Context, strategies: Sequence[Strategy[Any]]) -> SearchSpace:
    """The space of all versions of a nest, in the order of their expected costs."""
    made = make_versions(cx, strategies)
    names = [x.name for x in made.versions]
    return SearchSpace({x: arguments_of(cx, made, x) for x in names} or {ONE: NO_ARGUMENTS})
