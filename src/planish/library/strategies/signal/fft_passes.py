"""Discrete Fourier and cosine transforms as Stockham passes over butterflies.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> FFT_PASSES.match(Context.of(parse_kernel(text), load_target("x86-avx512")))
()
"""

from __future__ import annotations

from planish.library.signal.stockham_fft import Transforms, apply_transforms, find_transforms
from planish.library.strategy import Context, Made, Strategy, share


def _match(cx: Context) -> tuple[Transforms, ...]:
    found = find_transforms(cx.prepared.kernel, cx.sizes) if cx.reassociate else None
    return () if found is None else (found,)


def _apply(cx: Context, found: Transforms) -> Made:
    made, remarks = apply_transforms(cx.prepared, found, cx.target, cx.threads)
    return (*made, *remarks)


FFT_PASSES = Strategy(
    "fft-passes", "computes a discrete Fourier or cosine transform in Stockham passes",
    _match, _apply, share(0.05),
)  # fmt: skip
