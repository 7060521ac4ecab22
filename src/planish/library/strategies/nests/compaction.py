"""Loops that pack what they keep: lanes that are kept are moved together.

>>> from dataclasses import replace
>>> from planish.frontend.c.reader import read_c
>>> from planish.core.span import Source
>>> from planish.target.load import load_target
>>> loop = "for (int i = 0; i < n; i++) if (x[i] > 0) out[k++] = x[i];"
>>> text = "int f(int n, const int *x, int *out) { int k = 0; %s return k; }" % loop
>>> (region,) = read_c(Source("f.c", text)).functions[0].regions
>>> cx = replace(Context.of(region.kernel, load_target("x86-avx512")), region=region)
>>> [x.remarks[0].message for x in COMPACTION.apply(cx, COMPACTION.match(cx)[0])]
['what is kept is packed in lanes']
"""

from __future__ import annotations

from planish.core.diagnostic import Remark
from planish.frontend.c.translation_unit import Compaction
from planish.library.strategy import Context, Made, Strategy, share
from planish.schedule.auto.plan import Version

NAME = "compaction"
_ISA = "x86-64-v4"
"""What moves lanes together by masks."""


def _match(cx: Context) -> tuple[Compaction, ...]:
    """What a loop packs, where the processor moves lanes together."""
    if cx.region is None or cx.region.packing is None or cx.target.isa != _ISA:
        return ()
    return (cx.region.packing,)


def _apply(cx: Context, packing: Compaction) -> Made:
    remarks = (Remark(NAME, "done", "what is kept is packed in lanes", cx.kernel.span),)
    return (Version(NAME, cx.prepared.scop.schedule, cx.prepared.kernel, remarks, 0.0),)


COMPACTION = Strategy(NAME, "moves the lanes together that a loop keeps", _match, _apply, share(0.5), goes_on=True)
