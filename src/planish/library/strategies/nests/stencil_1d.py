"""Lane-segmented (dimension-lifted) time-iterated stencils over a line.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> STENCIL_1D.match(Context.of(parse_kernel(text), load_target("x86-avx512")))
()
"""

from __future__ import annotations

from planish.ir.nest import Stmt
from planish.library.loops.stencil_1d.dimension_lifting import find_lines, list_segment_arguments, segment_versions
from planish.library.parallel.parallel_marks import spread
from planish.library.strategy import Context, Made, Strategy, share


def _match(cx: Context) -> tuple[tuple[Stmt, ...], ...]:
    found = find_lines(cx.prepared.kernel, cx.target)
    return (found,) if found else ()


def _apply(cx: Context, found: tuple[Stmt, ...]) -> Made:
    return spread(segment_versions(cx.prepared, cx.target, cx.point), cx.threads)


STENCIL_1D = Strategy(
    "stencil-lanes", "dimension lifting: gives each lane a segment of a one-dimensional stencil's line",
    _match, _apply, share(0.3, start=True), arguments=lambda cx, found, version: list_segment_arguments(version),
)  # fmt: skip
