"""Schedules of small nests inside loops that are left as they are, on transposed tables.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> cx = Context.of(parse_kernel(text), load_target("x86-avx512"))
>>> list(INNER_NESTS.apply(cx, *INNER_NESTS.match(cx)))
[]
"""

from __future__ import annotations

from planish.ir.nest import Array
from planish.library.loops.inner_nests.nest_schedules import inside_versions
from planish.library.strategy import BEHIND, Context, Made, Strategy, share


def _match(cx: Context) -> tuple[tuple[Array, ...], ...]:
    found = tuple(x for x in cx.prepared.scop.kernel.arrays if cx.target.lanes(x.type) > 1)
    return (found,) if found else ()


def _apply(cx: Context, found: tuple[Array, ...]) -> Made:
    return inside_versions(cx.prepared, cx.target, cx.threads, cx.scratch)


INNER_NESTS = Strategy(
    "inner-nest", "schedules small nests inside of a loop by themselves",
    _match, _apply, share(BEHIND),
    variants={"pack-transpose": "on tables that are packed transposed, so that they are read contiguously"},
)  # fmt: skip
