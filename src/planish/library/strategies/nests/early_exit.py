"""Loops with early exits: the iteration that leaves is searched for in lanes.

>>> from dataclasses import replace
>>> from planish.frontend.c.reader import read_c
>>> from planish.core.span import Source
>>> from planish.target.load import load_target
>>> text = "int f(int n, const int *x, int v) { for (int i = 0; i < n; i++) if (x[i] == v) return i; return -1; }"
>>> (region,) = read_c(Source("f.c", text)).functions[0].regions
>>> cx = replace(Context.of(region.kernel, load_target("x86-avx512")), region=region)
>>> [x.remarks[0].message for x in EARLY_EXIT.apply(cx, EARLY_EXIT.match(cx)[0])]
['the iteration that leaves the loop is searched for in lanes']
"""

from __future__ import annotations

from planish.core.diagnostic import Remark
from planish.frontend.c.translation_unit import EarlyExit
from planish.library.strategy import Context, Made, Strategy, share
from planish.poly.early_exit.exit_condition import COUNT, counted_kernel
from planish.schedule.auto.plan import Version, as_written, plan, prepare

NAME = "early-exit"


def _match(cx: Context) -> tuple[EarlyExit, ...]:
    """How a loop with early exits goes on."""
    return () if cx.region is None or cx.region.exits is None else (cx.region.exits,)


def _apply(cx: Context, exits: EarlyExit) -> Made:
    message = "the iteration that leaves the loop is searched for in lanes"
    if not exits.effects:
        remarks = (Remark(NAME, "done", message, cx.kernel.span),)
        return (Version(NAME, cx.prepared.scop.schedule, cx.prepared.kernel, remarks, 0.0),)
    _, bare = counted_kernel(cx.kernel, exits.flag, COUNT)
    body = prepare(bare)
    made = plan(body, cx.target, reassociate=cx.reassociate, most=1)
    schedule, kernel = (made[0].schedule, made[0].kernel) if made else (body.scop.schedule, as_written(body))
    done = Remark(NAME, "done", f"{message}; those before it are run as a loop that counts", cx.kernel.span)
    return (Version(NAME, schedule, kernel, (done, *(made[0].remarks if made else ())), 0.0),)


EARLY_EXIT = Strategy(
    NAME, "searches in lanes, page by page, for the first iteration that leaves a loop", _match, _apply, share(0.5),
    goes_on=True,
)  # fmt: skip
