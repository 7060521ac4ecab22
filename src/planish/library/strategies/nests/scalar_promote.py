"""Recurrences through a scalar are made in the array where they end, so that their loops may be reordered.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> SCALAR_PROMOTE.match(Context.of(parse_kernel(text), load_target("x86-avx512")))
()
"""

from __future__ import annotations

from planish.library.strategy import BEHIND, Context, Made, Strategy, share
from planish.schedule.auto.rewrites.scalar_promotion import find_settled, settled_versions


def _match(cx: Context) -> tuple[frozenset[str], ...]:
    found = find_settled(cx.prepared.kernel)
    return (found,) if found else ()


def _apply(cx: Context, found: frozenset[str]) -> Made:
    return settled_versions(cx.prepared, cx.target, reassociate=cx.reassociate, threads=cx.threads)


SCALAR_PROMOTE = Strategy(
    "scalar-promote", "accumulates in the array element where a local scalar stands for it",
    _match, _apply, share(BEHIND),
)  # fmt: skip
