"""Histograms with privatised bins: several tables, added up at the end.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> HISTOGRAM.match(Context.of(parse_kernel(text), load_target("x86-avx512")))
()
"""

from __future__ import annotations

from planish.ir.nest import Kernel
from planish.library.dense.panel_factorisation import histogram_versions
from planish.library.strategy import Context, Made, Strategy, share


def _match(cx: Context) -> tuple[Kernel, ...]:
    return (cx.kernel,) if cx.counts else ()


def _apply(cx: Context, found: Kernel) -> Made:
    made, remarks = histogram_versions(cx.kernel, cx.prepared, cx.target, cx.threads)
    return (*made, *remarks)


HISTOGRAM = Strategy(
    "histogram-private", "private copies of a histogram's bins, so that equal values carry no dependence",
    _match, _apply, share(0.1), search=True,
)  # fmt: skip
