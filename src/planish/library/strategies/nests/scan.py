"""Scans in registers: prefix sums, max-plus recurrences and affine gaps by shifts between lanes.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> SCAN.match(Context.of(parse_kernel(text), load_target("x86-avx512")))
()
"""

from __future__ import annotations

from dataclasses import replace

from planish.ir.nest import Stmt
from planish.ir.passes.vector_loops import long_enough
from planish.ir.traverse import walk
from planish.library.loops.nontemporal.streaming_stores import streamed_versions
from planish.library.loops.scan.strip_statements import STRIP
from planish.library.loops.scan.vector_scan import find_scans, scan_versions
from planish.library.parallel.parallel_marks import spread
from planish.library.strategy import Context, Made, Strategy, cost_of_cycles, share
from planish.schedule.arguments import TuningArgument, TuningArguments
from planish.schedule.auto.cost.recurrences import Way
from planish.schedule.auto.source_estimate import estimate_source

STRIP_LENGTH = TuningArgument("strip", (128, 256, 512, 1024, 2048, 4096), STRIP, "values of a strip")
SHORTEST = 64
"""The values from which on lanes take less time than one value after the other."""


def _match(cx: Context) -> tuple[tuple[Stmt, ...], ...]:
    found = find_scans(cx.prepared.kernel)
    return (found,) if found else ()


def _apply(cx: Context, found: tuple[Stmt, ...]) -> Made:
    strip = STRIP_LENGTH.number(cx.point)
    made = scan_versions(cx.prepared, cx.target, cx.reassociate, strip=strip)
    enough = tuple(long_enough(cx.prepared.kernel, SHORTEST))
    made = tuple(replace(x, kernel=replace(x.kernel, assumptions=(*x.kernel.assumptions, *enough))) for x in made)
    if cx.threads == 1:
        return made
    parts = scan_versions(cx.prepared, cx.target, cx.reassociate, cx.threads, strip)
    streamed = streamed_versions(cx.prepared, cx.target, parts, cx.sizes)
    return (*parts, *streamed, *spread(made, cx.threads))


def _cost(cx: Context, found: tuple[Stmt, ...]) -> float:
    """In inner loops, whose neighbours may have lanes of their own, the cycles of the nest with scans in it count."""
    if all(x in cx.prepared.kernel.body.body for x in found):
        return 0.5
    inside = [x for loop in found for x in walk(loop)]
    names = [x.name for x in cx.prepared.scop.statements if any(x.stmt == y for y in inside)]
    scans: dict[str, Way] = dict.fromkeys(names, "scan")
    return cost_of_cycles(estimate_source(cx.prepared, cx.target, cx.sizes, linear=scans))


SCAN = Strategy(
    "simd-scan", "computes scans and recurrences a register at a time, by log2(lanes) lane shifts",
    _match, _apply, share(0.5), _cost, lambda cx, found, version: TuningArguments((STRIP_LENGTH,)),
    variants={"parallel-scan": "threads scan parts, to which the sums of the parts before are added"},
)  # fmt: skip
