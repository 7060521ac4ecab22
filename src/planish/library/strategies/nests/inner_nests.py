"""Schedules of small nests inside loops that are left as they are, on transposed tables.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> cx = Context.of(parse_kernel(text), load_target("x86-avx512"))
>>> INNER_NESTS.match(cx)
()
"""

from __future__ import annotations

from planish.library.loops.inner_nests.nest_schedules import NestForm, find_nests, lower_form
from planish.library.strategy import LOOPS, Context, Made, Strategy, cost_of_schedule, share


def _match(cx: Context) -> tuple[NestForm, ...]:
    return find_nests(cx.prepared, cx.target, cx.scratch)


def _apply(cx: Context, found: NestForm) -> Made:
    return (lower_form(found, cx.threads),)


def _cost(cx: Context, found: NestForm) -> float:
    return cost_of_schedule(cx, found.prepared.scop, found.schedule)


INNER_NESTS = Strategy(
    "inner-nest", "schedules small nests inside of a loop by themselves",
    _match, _apply, share(LOOPS), _cost,
    variants={"pack-transpose": "on tables that are packed transposed, so that they are read contiguously"},
)  # fmt: skip
