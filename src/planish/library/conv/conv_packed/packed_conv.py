"""The packed-convolution strategy: low-precision convolutions by dot-product instructions, without im2col.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.auto.plan import prepare
>>> from planish.target.load import load_target
>>> kernel = parse_kernel("kernel zero(n; A: f32[n]) { for i in 0 .. n { A[i] = 0.0:f32 } }")
>>> woven_version(kernel, prepare(kernel), (), load_target("x86-avx512"), "reassociate", KernelCache()) is None
True
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from planish.ir.nest import Kernel
from planish.ir.types import F32, F64, Floats
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.raise_operations import Convolve, convolution_statements, raise_version
from planish.raising.algebra.rules.im2col import CONV_PACKED
from planish.schedule.auto.plan import Prepared, Version
from planish.target.machine import Target

_WAY = Convolve(CONV_PACKED, None, CONV_PACKED, woven=True)


def woven_version(
    kernel: Kernel, prepared: Prepared, scratch: Collection[str], target: Target, fp: Floats, maker: KernelCache,
    threads: int = 1, typical: Mapping[str, int] | None = None,
) -> Version | None:  # fmt: skip
    """The version, as by `raise_version`; None where all that is read is wide, or there is no convolution."""
    if not convolution_statements(prepared):
        return None
    if all(x.type in (F32, F64) for x in kernel.arrays):
        return None
    return raise_version(kernel, prepared, scratch, target, fp, maker, threads, typical, _WAY)[0]
