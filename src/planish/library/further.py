"""Further versions of a kernel, for more than the calls have that check all versions: long lines, many squares, large
arrays. So all of them are made where versions are timed.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.auto.plan import plan, prepare
>>> from planish.target.load import load_target
>>> text = "kernel k(n; A: f64[n] distinct, B: f64[n] distinct) { for i in 0 .. n { B[i] = A[i] + 1.0 } }"
>>> prepared, target = prepare(parse_kernel(text)), load_target("x86-avx512")
>>> made = further_versions(prepared, target, plan(prepared, target, reassociate=True), True)
>>> [x.name for x in made]
['fused, streamed']
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from planish.core.diagnostic import Remark
from planish.ir.nest import Kernel
from planish.ir.types import Floats
from planish.library.conv.conv_packed.packed_conv import woven_version
from planish.library.conv.winograd.tiled_conv import tile_version
from planish.library.dense.gemv.unroll_and_jam import dot_versions
from planish.library.dense.panel_factorisation import stepwise_versions
from planish.library.dense.transpose_inplace.blocked_transpose import mirror_versions
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.loops.inner_nests.nest_schedules import inside_versions
from planish.library.loops.nontemporal.streaming_stores import stream_versions, streamed_versions
from planish.library.loops.scan.vector_scan import scan_versions
from planish.library.loops.stencil_1d.dimension_lifting import segment_versions
from planish.library.parallel.chunks import portion_versions
from planish.library.parallel.parallel_marks import has_threads, marked_versions
from planish.library.parallel.thread_threshold import start_where_worth
from planish.library.parallel.wavefront_threads import grid_versions
from planish.library.signal.biquad.lane_pipeline import cascade_versions
from planish.library.signal.fir import filter_versions
from planish.library.signal.lms.look_ahead import lookahead_versions
from planish.library.versions import raise_version
from planish.schedule.auto.plan import Candidate, Prepared, plan
from planish.schedule.auto.rewrites.register_promotion import cell_versions
from planish.schedule.auto.rewrites.scalar_promotion import settled_versions
from planish.schedule.auto.rewrites.size_specialisation import given_versions
from planish.target.machine import Target


def further_versions(
    prepared: Prepared, target: Target, known: Sequence[Candidate], reassociate: bool, threads: int = 1,
    sizes: Mapping[str, int] | None = None, scratch: Collection[str] = (),
) -> tuple[Candidate, ...]:  # fmt: skip
    """All of them that a kernel has besides those that are `known`; `reassociate`: sums may be made in another order;
    `sizes`: those that calls are likely to have; `scratch`: arrays of which nothing is read behind the kernel."""
    out = segment_versions(prepared, target) + mirror_versions(prepared, target)
    out += cascade_versions(prepared, target, reassociate) + scan_versions(prepared, target, reassociate)
    if threads > 1:
        parts = scan_versions(prepared, target, reassociate, threads)
        out = marked_versions(out) + parts + streamed_versions(prepared, target, parts, sizes)
    out += inside_versions(prepared, target, threads, scratch)
    out += cell_versions(prepared, target, reassociate=reassociate, threads=threads)
    out += settled_versions(prepared, target, reassociate=reassociate, threads=threads)
    out += given_versions(prepared, target, known, sizes or {}, reassociate=reassociate, threads=threads)
    out += lookahead_versions(prepared, target) + dot_versions(prepared, target) if reassociate else ()
    if threads == 1:
        return out + stream_versions(prepared, target, (*known, *out), reassociate=reassociate, sizes=sizes)

    def alone(part: Prepared) -> tuple[Candidate, ...]:
        """The versions for one thread."""
        first = plan(part, target, reassociate=reassociate)
        return first + further_versions(part, target, first, reassociate, 1, sizes, scratch)

    shared = portion_versions(prepared, alone, threads, reassociate=reassociate, scratch=scratch)
    out += shared or grid_versions(prepared, alone, threads)
    # Where memory is all that is waited for, several threads may be no faster.
    return out + tuple(replace(x, name=f"{x.name}, one thread") for x in alone(prepared))


def raised_portions(
    prepared: Prepared, scratch: Collection[str], target: Target, fp: Floats, maker: KernelCache,
    threads: int, sizes: Mapping[str, int] | None, known: Candidate | None,
) -> tuple[Candidate, ...]:  # fmt: skip
    """The versions for several threads of a kernel whose version that calls kernels of the library, `known`, is for one
    thread: each has its portion."""
    if threads == 1 or known is None or has_threads(known):
        return ()

    def raised(part: Prepared) -> tuple[Candidate, ...]:
        made, _ = raise_version(part.kernel, part, scratch, target, fp, maker, 1, sizes)
        return () if made is None else (made,)

    return portion_versions(prepared, raised, threads, reassociate=fp == "reassociate", written=False, scratch=scratch)


def library_versions(
    kernel: Kernel, prepared: Prepared, scratch: Collection[str], target: Target, fp: Floats, maker: KernelCache,
    threads: int, sizes: Mapping[str, int] | None,
) -> tuple[tuple[Candidate, ...], tuple[Remark, ...]]:  # fmt: skip
    """The versions of a kernel that call kernels of the library, and remarks on those that do not; the arguments are
    those of `raise_version`."""
    what = kernel, prepared, scratch, target, fp, maker, threads, sizes
    raised, remarks = raise_version(*what)
    made = tuple(x for x in (raised, tile_version(*what), woven_version(*what)) if x is not None)
    made += filter_versions(prepared, target, maker, threads) if fp == "reassociate" else ()
    blocks, spoken = stepwise_versions(kernel, prepared, target, fp, maker, threads, scratch)
    made += raised_portions(prepared, scratch, target, fp, maker, threads, sizes, raised)
    return start_where_worth(prepared, (*made, *blocks)), (*remarks, *spoken)
