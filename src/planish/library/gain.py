"""What versions promise over the nest as a C compiler makes it; where there is no clock, loops that only do what the
compiler does anyway give way to the original.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.library.driver import make_versions
>>> from planish.library.registry import STRATEGIES
>>> from planish.target.load import load_target
>>> def kept(loop):
...     text = "kernel k(n; s: f64[1] distinct, a: f64[n] distinct) { for i in 0 .. n { %s } }" % loop
...     cx = Context.of(parse_kernel(text), load_target("x86-avx512"))
...     return [x.name for x in with_gain(cx, make_versions(cx, STRATEGIES, 1), GAIN).versions]
>>> kept("a[i] = a[i] + 1.0"), kept("s[0] += a[i]")
([], ['maxfuse'])
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import isfinite

import islpy as isl

from planish.core.diagnostic import Remark
from planish.library.driver import MadeVersions
from planish.library.strategy import Context, cycles_of_cost
from planish.poly.isl.op_budget import OverBudgetError, within
from planish.schedule.auto.source_estimate import estimate_source

GAIN = 1.1
"""What loops have to promise. Of some 230 functions (`bench/programs`, `examples`) none promises between 1.04 and 1.11;
those below are, as measured, as fast as what gcc and clang make of them, or slower."""


def with_gain(cx: Context, made: MadeVersions, least: float) -> MadeVersions:
    """The versions down to the first one whose cycles are estimated and promise less than that many times the speed of
    the original under `-O3`; a remark says what that one promises. Versions of strategies that are known to be faster
    stay, as do all where threads share the work, or nothing is known."""
    at = next((n for n, x in enumerate(made.versions) if _cycles(made, x.name) is not None), None)
    if at is None or cx.nest is None or cx.threads > 1:
        return made
    first = made.versions[at]
    try:
        source = within(partial(estimate_source, cx.nest, cx.target, cx.sizes))
    except (OverBudgetError, isl.Error):
        return made
    own = _cycles(made, first.name)
    assert own is not None
    if not isfinite(source) or source >= least * own:
        return made
    promised = f"{first.name} promises {source / max(own, 1e-9):.2f}x of what a C compiler makes of these loops"
    told = Remark("schedule-gain", "refused", f"{promised}, and nothing is timed", cx.kernel.span)
    return replace(made, versions=made.versions[:at], remarks=(*made.remarks, told))


def _cycles(made: MadeVersions, name: str) -> float | None:
    """The estimated cycles of a version, for each instance of the deepest statements."""
    maker = made.makers.get(name)
    return None if maker is None else cycles_of_cost(maker.cost)
