"""Non-temporal stores, staging, software-pipelined rows and prefetch for arrays beyond the caches.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> NONTEMPORAL.match(Context.of(parse_kernel(text), load_target("x86-avx512"), threads=4))
()
"""

from __future__ import annotations

from planish.library.loops.nontemporal.streaming_stores import stream_versions
from planish.library.strategy import BEHIND, Context, Made, Strategy, share


def _match(cx: Context) -> tuple[int, ...]:
    # What it rewrites are the versions that there are by then.
    return (cx.threads,) if cx.threads == 1 else ()


def _apply(cx: Context, found: int) -> Made:
    return stream_versions(
        cx.prepared, cx.target, cx.nests, reassociate=cx.reassociate, sizes=cx.sizes
    )  # fmt: skip


NONTEMPORAL = Strategy(
    "nontemporal", "writes what is not read again past the caches, where that is more than they hold",
    _match, _apply, share(BEHIND + 2),
)  # fmt: skip
