"""Biquad cascades with a section in each lane, section k two samples behind section k-1.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> BIQUAD.match(Context.of(parse_kernel(text), load_target("x86-avx512")))
()
"""

from __future__ import annotations

from planish.ir.nest import For
from planish.library.parallel.parallel_marks import spread
from planish.library.signal.biquad.lane_pipeline import cascade_versions, find_cascades
from planish.library.strategy import Context, Made, Strategy, share


def _match(cx: Context) -> tuple[tuple[For, ...], ...]:
    found = find_cascades(cx.prepared.kernel)
    return (found,) if found else ()


def _apply(cx: Context, found: tuple[For, ...]) -> Made:
    return spread(cascade_versions(cx.prepared, cx.target, cx.reassociate), cx.threads)


BIQUAD = Strategy(
    "biquad-simd", "pipelines the sections of a biquad cascade across lanes",
    _match, _apply, share(0.3, start=True),
)  # fmt: skip
