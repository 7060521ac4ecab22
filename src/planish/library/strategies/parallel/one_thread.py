"""Versions for one thread where there are several: where memory is all that is waited for, more may be no faster.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> ONE_THREAD.match(Context.of(parse_kernel(text), load_target("x86-avx512")))
()
"""

from __future__ import annotations

from dataclasses import replace

from planish.library.strategy import BEHIND, Context, Made, Strategy, share
from planish.schedule.auto.plan import Prepared


def _match(cx: Context) -> tuple[Prepared, ...]:
    return (cx.prepared,) if cx.threads > 1 else ()


def _apply(cx: Context, found: Prepared) -> Made:
    return tuple(replace(x, name=f"{x.name}, one-thread") for x in cx.alone(cx, found))


ONE_THREAD = Strategy(
    "one-thread", "single-threaded versions, for nests that are bound by memory", _match, _apply, share(BEHIND + 3)
)  # fmt: skip
