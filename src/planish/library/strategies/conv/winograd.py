"""Winograd convolutions: tiles are transformed, multiplied, and transformed back.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> WINOGRAD.match(Context.of(parse_kernel(text), load_target("x86-avx512")))
()
"""

from __future__ import annotations

from planish.library.conv.winograd.tiled_conv import tile_version
from planish.library.raise_operations import convolution_statements
from planish.library.strategy import BEHIND, Context, Made, Strategy, share
from planish.poly.scop.extraction import Statement
from planish.schedule.arguments import MODEL, TuningArgument, TuningArguments

ROWS = TuningArgument("rows", (MODEL, 1, 2, 4, 8, 16), MODEL, "rows of tiles that are done together")


def _match(cx: Context) -> tuple[tuple[Statement, ...], ...]:
    found = convolution_statements(cx.prepared) if cx.reassociate else ()
    return (found,) if found else ()


def _apply(cx: Context, found: tuple[Statement, ...]) -> Made:
    made = tile_version(
        cx.kernel, cx.prepared, cx.scratch, cx.target, cx.fp, cx.maker, cx.threads, cx.sizes, ROWS.chosen(cx.point)
    )  # fmt: skip
    return () if made is None else (made,)


WINOGRAD = Strategy(
    "winograd", "computes a convolution by Winograd's minimal filtering",
    _match, _apply, share(BEHIND), kernels=True, arguments=lambda cx, found, version: TuningArguments((ROWS,)),
)  # fmt: skip
