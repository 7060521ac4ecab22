"""Finite impulse response filters and one-dimensional convolutions by the library's kernels.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> FIR.match(Context.of(parse_kernel(text), load_target("x86-avx512")))
()
"""

from __future__ import annotations

from planish.library.signal.fir import Filter, filter_versions, list_filter_arguments, name_filters
from planish.library.strategy import Context, Made, Strategy, share


def _match(cx: Context) -> tuple[tuple[Filter, ...], ...]:
    _, found = name_filters(cx.prepared.kernel) if cx.reassociate else (None, ())
    return (found,) if found else ()


def _apply(cx: Context, found: tuple[Filter, ...]) -> Made:
    return filter_versions(cx.prepared, cx.target, cx.maker, cx.threads, cx.point)


FIR = Strategy(
    "fir", "register-blocks FIR filters and one-dimensional convolutions, whose outputs share the samples they read",
    _match, _apply, share(0.2, start=True), kernels=True,
    arguments=lambda cx, found, version: list_filter_arguments(found, cx.target),
)  # fmt: skip
