"""Loop coalescing: rows of few columns as one loop over whole vectors.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f32[n], b: f32[4]) { for i in 0 .. n { x[i] = x[i] + b[i % 4] } }"
>>> cx = Context.of(parse_kernel(text), load_target("x86-avx2"))
>>> (found,) = COALESCE.match(cx)
>>> [x.name for x in COALESCE.apply(cx, found) if isinstance(x, Version)]
['coalesce']
"""

from __future__ import annotations

from planish.core.diagnostic import Remark
from planish.ir.types import U8
from planish.library.loops.coalesce.coalesced import Coalesced, coalesce
from planish.library.parallel.parallel_marks import spread
from planish.library.strategy import Context, Made, Strategy, share
from planish.schedule.auto.plan import Version

NAME = "coalesce"
"""What the version is called."""


def _match(cx: Context) -> tuple[Coalesced, ...]:
    found = coalesce(cx.prepared.kernel, 8 * cx.target.lanes(U8))
    return () if found is None else (found,)


def _apply(cx: Context, found: Coalesced) -> Made:
    kernel = found.kernel
    remarks = tuple(Remark(NAME, "done", message, span or kernel.span) for message, span in found.said)
    return spread((Version(NAME, cx.prepared.scop.schedule, kernel, remarks, 0.0),), cx.threads)


COALESCE = Strategy(
    NAME, "loop coalescing: rows of few columns as one loop, with copies of what recurs in each row as whole vectors",
    _match, _apply, share(0.65),
)  # fmt: skip
