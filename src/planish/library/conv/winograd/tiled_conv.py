"""The Winograd strategy: convolutions by tiles with fewer multiplications.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.auto.plan import prepare
>>> from planish.target.load import load_target
>>> kernel = parse_kernel("kernel zero(n; A: f32[n]) { for i in 0 .. n { A[i] = 0.0:f32 } }")
>>> tile_version(kernel, prepare(kernel), (), load_target("x86-avx512"), "reassociate", KernelCache()) is None
True
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

from planish.ir.nest import Kernel
from planish.ir.types import Floats
from planish.library.conv.winograd.steps import WAY, use_tiles
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.raise_operations import Convolve, convolution_statements, raise_version
from planish.schedule.auto.plan import Prepared, Version
from planish.target.machine import Target

NAME = "winograd"
"""What the version is called."""


def tile_version(
    kernel: Kernel, prepared: Prepared, scratch: Collection[str], target: Target, fp: Floats, maker: KernelCache,
    threads: int = 1, typical: Mapping[str, int] | None = None, rows: int | None = None,
) -> Version | None:  # fmt: skip
    """The version, as by `raise_version`, with so many `rows` of tiles at a time, None for as many as make enough;
    None where no convolution can be done so, or floats have to be added up in their order."""
    if fp != "reassociate" or not convolution_statements(prepared):
        return None
    way = Convolve(NAME, partial(use_tiles, threads=threads, rows=rows), WAY)
    return raise_version(kernel, prepared, scratch, target, fp, maker, threads, typical, way)[0]
