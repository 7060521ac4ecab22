"""All strategies, each once: builds with and without a clock, `explain`, `planish strategies` and the docs list these.

>>> [x.name for x in STRATEGIES if x.kernels]
['operations', 'panels', 'fir', 'winograd', 'conv-packed']
>>> find_strategy("gemv-rows").note
'register-blocked matrix-vector product: unroll-and-jam over rows'
>>> find_strategy("maxfuse, nontemporal").name, find_strategy("dots by 8").name
('nontemporal', 'gemv-rows')
"""

from __future__ import annotations

from typing import Any

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.former_names import current_code, current_version
from planish.library.strategies.conv.conv_packed import CONV_PACKED
from planish.library.strategies.conv.winograd import WINOGRAD
from planish.library.strategies.dense.gemv import GEMV
from planish.library.strategies.dense.operations import OPERATIONS
from planish.library.strategies.dense.panels import PANELS
from planish.library.strategies.dense.transpose_inplace import TRANSPOSE_INPLACE
from planish.library.strategies.devices.threads import DEVICE_THREADS
from planish.library.strategies.devices.tiles import DEVICE_TILES, tiles_for
from planish.library.strategies.devices.time_tiles import DEVICE_TIME_TILES
from planish.library.strategies.nests.cell_reduction import CELL_REDUCTION
from planish.library.strategies.nests.coalesce import COALESCE
from planish.library.strategies.nests.compaction import COMPACTION
from planish.library.strategies.nests.early_exit import EARLY_EXIT
from planish.library.strategies.nests.histogram import HISTOGRAM
from planish.library.strategies.nests.inner_nests import INNER_NESTS
from planish.library.strategies.nests.loops import LOOPS
from planish.library.strategies.nests.nontemporal import NONTEMPORAL
from planish.library.strategies.nests.register_promote import REGISTER_PROMOTE
from planish.library.strategies.nests.scalar_promote import SCALAR_PROMOTE
from planish.library.strategies.nests.scan import SCAN
from planish.library.strategies.nests.size_specialise import SIZE_SPECIALISE
from planish.library.strategies.nests.stencil_1d import STENCIL_1D
from planish.library.strategies.nests.vector_strips import VECTOR_STRIPS
from planish.library.strategies.parallel.one_thread import ONE_THREAD
from planish.library.strategies.parallel.parallel_chunks import PARALLEL_CHUNKS
from planish.library.strategies.parallel.parallel_time_tiles import PARALLEL_TIME_TILES
from planish.library.strategies.signal.biquad import BIQUAD
from planish.library.strategies.signal.bit_reversal import BIT_REVERSAL
from planish.library.strategies.signal.fft_passes import FFT_PASSES
from planish.library.strategies.signal.fft_radix import FFT_RADIX
from planish.library.strategies.signal.fir import FIR
from planish.library.strategies.signal.lms import LMS
from planish.library.strategy import Strategy
from planish.target.device import Device

STRATEGIES: tuple[Strategy[Any], ...] = (
    FFT_RADIX, BIT_REVERSAL, FFT_PASSES, HISTOGRAM, OPERATIONS, PANELS, FIR, LMS, BIQUAD, STENCIL_1D,
    TRANSPOSE_INPLACE, SCAN, CELL_REDUCTION, EARLY_EXIT, COMPACTION, GEMV, VECTOR_STRIPS, COALESCE, PARALLEL_TIME_TILES,
    LOOPS, INNER_NESTS, REGISTER_PROMOTE, SCALAR_PROMOTE, WINOGRAD, CONV_PACKED, SIZE_SPECIALISE, NONTEMPORAL,
    PARALLEL_CHUNKS, ONE_THREAD,
)  # fmt: skip
"""Of those that cost the same, the earlier one is tried first."""

DEVICE_STRATEGIES: tuple[Strategy[Any], ...] = (DEVICE_TIME_TILES, DEVICE_TILES, DEVICE_THREADS)
"""Those for GPUs."""


def strategies_for(
    device: Device, stages: int, in_time: bool
) -> tuple[list[Strategy[Any]], list[Strategy[Any]]]:  # fmt: skip
    """Those for a device, with tiles of its size, of which its language copies so many at once (`stages`); and those
    that are left out, which repeat sweeps in one launch, unless it can (`in_time`)."""
    known = [tiles_for(device, stages) if x is DEVICE_TILES else x for x in DEVICE_STRATEGIES]
    left = [] if in_time else [DEVICE_TIME_TILES]
    return [x for x in known if x not in left], left


def find_strategy(name: str) -> Strategy[Any]:
    """The strategy of that name, or that makes versions of that name; former names are understood, too. PlanishError
    E0123 where there is none."""
    for asked in dict.fromkeys((name, current_version(name), current_code(name))):
        for part in reversed(asked.split(", ")):
            for x in (*STRATEGIES, *DEVICE_STRATEGIES):
                if x.makes(part):
                    return x
    known = ", ".join(x.name for x in (*STRATEGIES, *DEVICE_STRATEGIES))
    raise PlanishError(Diagnostic("E0123", f"no strategy is called `{name}`", help=f"there are: {known}"))
