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
from planish.library.loops.histogram import TABLES, TOGETHER
from planish.library.strategy import Context, Made, Strategy, share
from planish.schedule.arguments import TuningArgument, TuningArguments

COPIES = TuningArgument("tables", (2, 4, 8), TABLES, "private copies of the bins that neighbours are counted in")
AT_A_TIME = TuningArgument("together", (2, 4, 8, 16), TOGETHER, "iterations done at a time")


def _match(cx: Context) -> tuple[Kernel, ...]:
    return (cx.kernel,) if cx.counts else ()


def _apply(cx: Context, found: Kernel) -> Made:
    tables, together = COPIES.number(cx.point), AT_A_TIME.number(cx.point)
    made, remarks = histogram_versions(cx.kernel, cx.prepared, cx.target, cx.threads, tables, together)
    return (*made, *remarks)


HISTOGRAM = Strategy(
    "histogram-private", "private copies of a histogram's bins, so that equal values carry no dependence",
    _match, _apply, share(0.1), search=True,
    arguments=lambda cx, found, version: TuningArguments((COPIES, AT_A_TIME)),
)  # fmt: skip
