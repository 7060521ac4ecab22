"""Strips of vectors, several rows at a time, whose instructions are selected from the machine's own.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> VECTOR_STRIPS.match(Context.of(parse_kernel(text), load_target("x86-avx512")))
()
"""

from __future__ import annotations

from planish.library.loops.vector_strips.accumulated_loops import AccumulatedLoop
from planish.library.loops.vector_strips.reduction_nests import ReductionNest
from planish.library.loops.vector_strips.selected_accumulators import find_narrow_accumulated
from planish.library.loops.vector_strips.selected_strips import (
    NAME,
    fitting_reductions,
    fitting_strips,
    in_strip_form,
    lookups_of,
    strip_versions,
)
from planish.library.loops.vector_strips.strip_nest import StripNest
from planish.library.loops.vector_strips.table_lookups import LookupNest
from planish.library.strategy import Context, Made, Strategy, share
from planish.select.instruction import extension_of

_Nests = tuple[StripNest | ReductionNest | AccumulatedLoop | LookupNest, ...]


def _match(cx: Context) -> tuple[_Nests, ...]:
    if cx.target.vector_extension is None or cx.threads != 1:
        return ()
    kernel, registers = in_strip_form(cx.prepared, cx.target, _conditional(cx)), extension_of(cx.target)
    found: _Nests = (
        *fitting_strips(kernel, registers), *fitting_reductions(kernel, registers),
        *find_narrow_accumulated(kernel, registers), *lookups_of(kernel, registers)[1],
    )  # fmt: skip
    return (found,) if found else ()


def _apply(cx: Context, found: _Nests) -> Made:
    computed = frozenset(() if cx.region is None else (x for x, _ in cx.region.computed))
    return strip_versions(cx.prepared, cx.target, cx.maker.cache, _conditional(cx), computed)


def _conditional(cx: Context) -> tuple[str, ...]:
    return () if cx.region is None else cx.region.conditional_stores


VECTOR_STRIPS = Strategy(
    NAME, "strips of vectors over integers, several rows at a time, in instructions selected from the machine's own",
    _match, _apply, share(0.6),
)  # fmt: skip
