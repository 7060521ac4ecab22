"""Work-sharing: each thread runs a version for one thread on a chunk of the iterations.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> PARALLEL_CHUNKS.match(Context.of(parse_kernel(text), load_target("x86-avx512")))
()
"""

from __future__ import annotations

from planish.library.parallel.chunks import portion_versions
from planish.library.parallel.wavefront_threads import grid_versions
from planish.library.strategy import BEHIND, Context, Made, Strategy, share
from planish.schedule.auto.plan import Prepared, Version


def _match(cx: Context) -> tuple[int, ...]:
    return (cx.threads,) if cx.threads > 1 else ()


def _apply(cx: Context, found: int) -> Made:
    def alone(part: Prepared) -> tuple[Version, ...]:
        return cx.alone(cx, part)

    shared = portion_versions(cx.prepared, alone, found, reassociate=cx.reassociate, scratch=cx.scratch)
    return shared or grid_versions(cx.prepared, alone, found)


PARALLEL_CHUNKS = Strategy(
    "parallel-chunks", "work-sharing: gives each thread a chunk of the iterations",
    _match, _apply, share(BEHIND + 2),
    variants={"parallel-wavefront": "chunks of columns and of rows, in a wavefront where both carry dependences"},
)  # fmt: skip
