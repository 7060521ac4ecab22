"""Block LMS by look-ahead: the sums of several iterations of an adaptive filter are computed together.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> LMS.match(Context.of(parse_kernel(text), load_target("x86-avx512")))
()
"""

from __future__ import annotations

from planish.ir.nest import Stmt
from planish.library.signal.lms.block_lms import MOST
from planish.library.signal.lms.look_ahead import NAME, find_adaptive, lookahead_versions
from planish.library.strategy import Context, Made, Strategy, share
from planish.schedule.arguments import NO_ARGUMENTS, TuningArgument, TuningArguments

BLOCK_SIZE = TuningArgument("block", (2, 3, 4, 5, 6, 7, 8), MOST, "iterations of a block, where registers have room")


def _match(cx: Context) -> tuple[tuple[Stmt, ...], ...]:
    found = find_adaptive(cx.prepared.kernel) if cx.reassociate and cx.threads == 1 else ()
    return (found,) if found else ()


def _apply(cx: Context, found: tuple[Stmt, ...]) -> Made:
    # Few iterations first: with many weights, each iteration adds more sums than it saves loads.
    return reversed(lookahead_versions(cx.prepared, cx.target, BLOCK_SIZE.number(cx.point)))


LMS = Strategy(
    NAME, "block LMS: computes several outputs of an adaptive filter before its weights are updated, exactly",
    _match, _apply, share(0.25, start=True),
    arguments=lambda cx, found, version: TuningArguments((BLOCK_SIZE,)) if version == NAME else NO_ARGUMENTS,
)  # fmt: skip
