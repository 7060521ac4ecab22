"""Non-temporal stores, staging, software-pipelined rows and prefetch for arrays beyond the caches.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> NONTEMPORAL.match(Context.of(parse_kernel(text), load_target("x86-avx512"), threads=4))
()
"""

from __future__ import annotations

from planish.library.loops.nontemporal.prefetch import PART
from planish.library.loops.nontemporal.streaming_stores import stream_versions
from planish.library.strategy import BEHIND, Context, Made, Strategy, share
from planish.schedule.arguments import TuningArgument, TuningArguments

FETCHED = TuningArgument("fetch", (256, 512, 1024, 2048, 4096), PART, "bytes of the next row fetched at a time")


def _match(cx: Context) -> tuple[int, ...]:
    # What it rewrites are the versions that there are by then.
    return (cx.threads,) if cx.threads == 1 else ()


def _apply(cx: Context, found: int) -> Made:
    return stream_versions(
        cx.prepared, cx.target, cx.nests, reassociate=cx.reassociate, sizes=cx.sizes, part=FETCHED.number(cx.point)
    )  # fmt: skip


NONTEMPORAL = Strategy(
    "nontemporal", "non-temporal stores for results that are not read again and exceed the caches",
    _match, _apply, share(BEHIND + 2), arguments=lambda cx, found, version: TuningArguments((FETCHED,)),
    variants={
        "staged": "what is updated several times is staged in a row of its own and stored once, when it is final",
        "pipelined": "the stores of a row are software-pipelined with the computation of the next row",
    },
)  # fmt: skip
