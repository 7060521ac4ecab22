"""The version of a kernel that is likely to be the fastest, for builds in which nothing is timed.

Of PolyBench's large kernels and the DSP examples, all that have such a version were the fastest with it where all
versions were timed, so that it is tried first.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.auto.plan import prepare
>>> from planish.target.load import load_target
>>> loops = "for i in 0 .. n { for j in 0 .. n { B[j, i] = A[i, j] } }"
>>> kernel = parse_kernel(f"kernel turn(n; A: f64[n, n], B: f64[n, n] distinct) {{ {loops} }}")
>>> likely_version(kernel, prepare(kernel), (), load_target("x86-avx2"), "reassociate", KernelCache())[0].name
'raised'
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from planish.core.diagnostic import Remark
from planish.ir.expr import index
from planish.ir.index.polynomial import constant, place
from planish.ir.nest import Kernel
from planish.ir.types import Floats
from planish.library.dense.panel_factorisation import stepwise_versions
from planish.library.dense.transpose_inplace.blocked_transpose import mirror_versions
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.loops.stencil_1d.dimension_lifting import segment_versions
from planish.library.parallel.parallel_marks import has_threads
from planish.library.parallel.work_estimate import estimate
from planish.library.signal.biquad.lane_pipeline import cascade_versions
from planish.library.signal.fir import filter_versions
from planish.library.signal.lms.look_ahead import lookahead_versions
from planish.library.versions import raise_version
from planish.schedule.auto.plan import Candidate, Prepared
from planish.target.machine import Target

LITTLE = 1 << 15
"""The operations of a nest below which calls of the library's kernels are no gain: what they prepare takes as long."""


def likely_version(
    kernel: Kernel, prepared: Prepared, scratch: Collection[str], target: Target, fp: Floats, maker: KernelCache,
    threads: int = 1, typical: Mapping[str, int] | None = None,
) -> tuple[Candidate | None, tuple[Remark, ...]]:  # fmt: skip
    """The library's own version of a kernel, None where it has none, or where there is known to be little to do; and
    remarks on those that it may not be.

    One for a single thread is none where there are several `threads`: loops that share their work may be faster. The
    arguments are those of `raise_version`.
    """
    if _is_little(prepared.kernel, typical or {}):
        return None, ()
    raised, remarks = raise_version(kernel, prepared, scratch, target, fp, maker, threads, typical)
    if raised is not None:
        return raised, remarks
    blocks, spoken = stepwise_versions(kernel, prepared, target, fp, maker, threads, scratch)
    if blocks:
        return blocks[0], (*remarks, *spoken)
    others = _others(prepared, target, fp == "reassociate", maker, threads)
    return next((x for x in others if threads == 1 or has_threads(x)), None), (*remarks, *spoken)


def _is_little(kernel: Kernel, sizes: Mapping[str, int]) -> bool:
    work = estimate(kernel.body)
    known = None if work is None else constant(place(work, {x: index(y) for x, y in sizes.items()}))
    return known is not None and known < LITTLE


def _others(
    prepared: Prepared, target: Target, reassociate: bool, maker: KernelCache, threads: int
) -> Iterator[Candidate]:
    """Those that need no operations to be raised; each is made when it is asked for."""
    if reassociate:
        yield from filter_versions(prepared, target, maker, threads)
        yield from reversed(lookahead_versions(prepared, target))
    yield from cascade_versions(prepared, target, reassociate)
    yield from segment_versions(prepared, target)
    yield from mirror_versions(prepared, target)
