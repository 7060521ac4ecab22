"""Convolutions of narrow integers by dot-product instructions, with packed (VNNI) operands.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> CONV_PACKED.match(Context.of(parse_kernel(text), load_target("x86-avx512")))
()
"""

from __future__ import annotations

from planish.ir.types import F32, F64
from planish.library.conv.conv_packed.packed_conv import woven_version
from planish.library.raise_operations import convolution_statements
from planish.library.strategy import BEHIND, Context, Made, Strategy, share
from planish.poly.scop.extraction import Statement


def _match(cx: Context) -> tuple[tuple[Statement, ...], ...]:
    found = convolution_statements(cx.prepared)
    return (found,) if found and any(x.type not in (F32, F64) for x in cx.kernel.arrays) else ()


def _apply(cx: Context, found: tuple[Statement, ...]) -> Made:
    made = woven_version(
        cx.kernel, cx.prepared, cx.scratch, cx.target, cx.fp, cx.maker, cx.threads, cx.sizes
    )  # fmt: skip
    return () if made is None else (made,)


CONV_PACKED = Strategy(
    "conv-packed", "packs the operands of a low-precision convolution for dot-product instructions (VNNI)",
    _match, _apply, share(BEHIND), kernels=True,
)  # fmt: skip
