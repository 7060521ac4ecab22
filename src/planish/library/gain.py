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
from planish.ir.nest import For, Kernel
from planish.ir.text.printer import print_kernel
from planish.ir.traverse import walk
from planish.library.driver import MadeVersions
from planish.library.strategy import Context, cycles_of_cost
from planish.poly.isl.affine import NotAffineError
from planish.poly.isl.op_budget import OverBudgetError, within
from planish.schedule.auto.cost.estimate import CostModel
from planish.schedule.auto.plan import Prepared, ScheduleDraft, Version, cycles_of, prepare
from planish.schedule.auto.source_estimate import estimate_source, in_source_order
from planish.vliw.streams.shapes import unroll_short

GAIN = 1.1
"""What loops have to promise. Of some 230 functions (`bench/programs`, `examples`) none promises between 1.04 and 1.11;
those below are, as measured, as fast as what gcc and clang make of them, or slower."""

SHORT, MUCH = 40, 2.0
"""Rows and columns that fit in the nearest cache, and what is gained with them for sure."""
EVEN = 0.8
"""What a loop alone has to promise, whose estimate may be off by a fifth."""
MOST_UNROLLED = 16
"""The statements that a loop of known length is written out to."""


def with_gain(cx: Context, made: MadeVersions, least: float) -> MadeVersions:
    """The versions down to the first one whose cycles are estimated and promise less than that many times the speed of
    the original under `-O3`; a remark says what that one promises. Versions of strategies that are known to be faster
    stay, as do all where threads share the work, or nothing is known."""
    at = next((n for n, x in enumerate(made.versions) if cycles_of_version(made, x.name) is not None), None)
    if at is None or cx.nest is None or cx.threads > 1:
        return made
    first = made.versions[at]
    try:
        source = within(partial(estimate_as_compiled, cx, cx.nest))
    except (OverBudgetError, isl.Error):
        return made
    own = cycles_of_version(made, first.name)
    assert own is not None
    if not isfinite(source) or source >= least * own:
        return made
    return _without_gain(cx, made, at, source / max(own, 1e-9))


def in_own_order(cx: Context, made: MadeVersions) -> MadeVersions:
    """The versions, in front of which the nest stands in its own order where the first one orders loops otherwise, for
    no gain over what a C compiler makes of the original."""
    if cx.nest is None or cx.threads > 1 or not made.versions:
        return made
    first = made.versions[0]
    own = cycles_of_version(made, first.name)
    if own is None or not isinstance(first, Version):
        return made
    try:
        source = within(partial(estimate_as_compiled, cx, cx.nest))
        if not isfinite(source) or source >= GAIN * own or _gains_in_cache(cx, cx.nest, made.makers[first.name].found):
            return made
        plain, in_lanes = within(partial(in_source_order, cx.nest))
    except (OverBudgetError, isl.Error):
        return made
    if print_kernel(plain.kernel) == print_kernel(first.kernel):
        return made
    alone = not _gathers(made.makers[first.name].found) and not _is_nested(cx.kernel)
    if not in_lanes and alone and source >= EVEN * own:
        return made  # a loop alone is neither cut nor changed in its order
    others = tuple(x for x in made.versions if x.name != plain.name)
    return replace(made, versions=(plain, *others), makers={**made.makers, plain.name: made.makers[first.name]})


def _is_nested(kernel: Kernel) -> bool:
    loops = (x for x in walk(kernel.body) if isinstance(x, For))
    return any(isinstance(y, For) for x in loops for y in walk(x.body))


def _gathers(draft: object) -> bool:
    """Whether data choose elements."""
    return isinstance(draft, ScheduleDraft) and any(band.irregular for _, band, _ in draft.bands)


def _gains_in_cache(cx: Context, nest: Prepared, draft: object) -> bool:
    """Whether a draft promises much where all is in the caches, though memory is as slow for it as for the original."""
    if not isinstance(draft, ScheduleDraft) or draft.shaped is None or _gathers(draft):
        return False
    sizes = {x: min(SHORT, cx.sizes.get(x, SHORT)) for x in nest.kernel.sizes}
    own = cycles_of(CostModel(nest.scop, cx.target, sizes), draft.shaped[0])
    return estimate_as_compiled(replace(cx, sizes=sizes), nest) >= MUCH * own


def _without_gain(cx: Context, made: MadeVersions, at: int, promise: float) -> MadeVersions:
    """The versions before that one, and a remark on what it promises."""
    promised = f"{made.versions[at].name} promises {promise:.2f}x of what a C compiler makes of these loops"
    told = Remark("schedule-gain", "refused", f"{promised}, and nothing is timed", cx.kernel.span)
    return replace(made, versions=made.versions[:at], remarks=(*made.remarks, told))


def estimate_as_compiled(cx: Context, nest: Prepared) -> float:
    """The cycles of the original, whose loops of a few iterations compilers write out."""
    found = estimate_source(nest, cx.target, cx.sizes)
    short = unroll_short(cx.kernel, MOST_UNROLLED)
    if short == cx.kernel:
        return found
    try:
        return min(found, estimate_source(prepare(short), cx.target, cx.sizes, nest))
    except NotAffineError:
        return found


def cycles_of_version(made: MadeVersions, name: str) -> float | None:
    """The estimated cycles of a version, for each instance of the deepest statements."""
    maker = made.makers.get(name)
    return None if maker is None else cycles_of_cost(maker.cost)
