"""Work-sharing for operations: each thread calls the library's kernels for a chunk of the iterations.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> OPERATION_CHUNKS.match(Context.of(parse_kernel(text), load_target("x86-avx512"), threads=4))
()
"""

from __future__ import annotations

from planish.library.parallel.chunks import portion_versions
from planish.library.parallel.parallel_marks import has_threads
from planish.library.raise_operations import NAME, is_promising, raise_version
from planish.library.strategy import BEHIND, Context, Made, Strategy, share
from planish.poly.scop.extraction import Statement
from planish.schedule.auto.plan import Prepared, Version


def _match(cx: Context) -> tuple[tuple[Statement, ...], ...]:
    found = is_promising(cx.kernel, cx.prepared) if cx.threads > 1 else ()
    return (found,) if found else ()


def _apply(cx: Context, found: tuple[Statement, ...]) -> Made:
    known = next((x for x in cx.candidates if x.name == NAME), None)
    # Kernels that have threads themselves share their work better.
    if known is None or has_threads(known):
        return ()

    def raised(part: Prepared) -> tuple[Version, ...]:
        return _raised(cx, part)

    return portion_versions(
        cx.prepared, raised, cx.threads, reassociate=cx.reassociate, written=False, scratch=cx.scratch
    )  # fmt: skip


def _raised(cx: Context, part: Prepared) -> tuple[Version, ...]:
    made, _ = raise_version(part.kernel, part, cx.scratch, cx.target, cx.fp, cx.maker, 1, cx.sizes)
    return () if made is None else (made,)


OPERATION_CHUNKS = Strategy(
    "operation-chunks", "work-sharing: each thread calls the library's kernels for a chunk of the iterations",
    _match, _apply, share(BEHIND + 2), kernels=True,
)  # fmt: skip
