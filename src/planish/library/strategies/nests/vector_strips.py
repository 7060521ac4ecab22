"""Strips of vectors, several rows at a time, whose instructions are selected from the machine's own.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> VECTOR_STRIPS.match(Context.of(parse_kernel(text), load_target("x86-avx512")))
()
"""

from __future__ import annotations

from planish.ir.traverse import walk
from planish.library.loops.vector_strips.accumulated_loops import AccumulatedLoop
from planish.library.loops.vector_strips.reduction_nests import ReductionNest
from planish.library.loops.vector_strips.reduction_strips import rows_of as reduction_rows
from planish.library.loops.vector_strips.selected_accumulators import find_narrow_accumulated
from planish.library.loops.vector_strips.selected_strips import (
    NAME,
    fitting_reductions,
    fitting_strips,
    in_strip_form,
    lanes_of_reduction,
    lookups_of,
    rows_of,
    strip_versions,
)
from planish.library.loops.vector_strips.strip_arguments import ACCUMULATORS, ROWS, UNROLL, StripShape
from planish.library.loops.vector_strips.strip_nest import StripNest
from planish.library.loops.vector_strips.table_lookups import LookupNest
from planish.library.strategy import Context, Made, Strategy, share
from planish.schedule.arguments import TuningArguments
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
    return strip_versions(
        cx.prepared, cx.target, cx.maker.cache, _conditional(cx), computed, StripShape.at(cx.point)
    )  # fmt: skip


def _conditional(cx: Context) -> tuple[str, ...]:
    return () if cx.region is None else cx.region.conditional_stores


def _arguments(cx: Context, found: _Nests, version: str) -> TuningArguments:
    """Rows are those of the version that has one at a time; the other is a point of it, for builds without tuning."""
    registers = extension_of(cx.target)
    kernel = in_strip_form(cx.prepared, cx.target, _conditional(cx))
    reduced = [x for x in found if isinstance(x, ReductionNest)]
    jammed = any(rows_of(x) > 1 for x in found if isinstance(x, StripNest)) or any(
        reduction_rows(x, lanes_of_reduction(x, kernel, registers), registers.widths[0], cx.target.vector_registers) > 1
        for x in reduced
    )
    out = [ROWS] if jammed and version == NAME else []
    out += [UNROLL] if reduced else []
    first = {id(y) for x in reduced for y in walk(x.stmt)}
    out += [ACCUMULATORS] if any(isinstance(x, AccumulatedLoop) and id(x.stmt) not in first for x in found) else []
    return TuningArguments(tuple(out))


VECTOR_STRIPS = Strategy(
    NAME, "strips of vectors over integers, several rows at a time, in instructions selected from the machine's own",
    _match, _apply, share(0.6), arguments=_arguments,
)  # fmt: skip
