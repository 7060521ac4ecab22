"""Kernels that run several iterations of an FFT stage loop at once, and the iterations that they stand for.

>>> StageVersion("fft-radix-16", ()).pieces
()
"""

from __future__ import annotations

from dataclasses import dataclass

from planish.frontend.c.translation_unit import Region
from planish.ir.nest import Kernel
from planish.poly.scop.extraction import Scop


@dataclass(frozen=True, slots=True, eq=False)
class StageKernel:
    """A kernel of several FFT stages, for a region that is so many iterations; the scop says what it reaches."""

    suffix: str
    region: Region
    scop: Scop
    kernel: Kernel


@dataclass(frozen=True, slots=True, eq=False)
class StageVersion:
    """Kernels of which the first one that may do it does the next stages, or none of them."""

    name: str
    pieces: tuple[StageKernel, ...]
