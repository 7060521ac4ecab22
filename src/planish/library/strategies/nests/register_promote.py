"""Register promotion: values that only the iteration uses that makes them are scalars.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> REGISTER_PROMOTE.match(Context.of(parse_kernel(text), load_target("x86-avx512")))
()
"""

from __future__ import annotations

from planish.ir.nest import Kernel
from planish.library.strategy import BEHIND, Context, Made, Strategy, share
from planish.schedule.auto.rewrites.register_promotion import cell_versions, find_cells, forward


def _match(cx: Context) -> tuple[Kernel, ...]:
    kernel = forward(cx.prepared.kernel)
    return (kernel,) if find_cells(kernel) else ()


def _apply(cx: Context, found: Kernel) -> Made:
    return cell_versions(cx.prepared, cx.target, reassociate=cx.reassociate, threads=cx.threads)


REGISTER_PROMOTE = Strategy(
    "register-promote", "promotes arrays of one iteration to registers, and orders loops for the arrays left in memory",
    _match, _apply, share(BEHIND),
    variants={"pack": "also packs tables that are read with large strides"},
)  # fmt: skip
