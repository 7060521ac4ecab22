"""Strips of vectors, several rows at a time, whose instructions are selected from the machine's own.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> VECTOR_STRIPS.match(Context.of(parse_kernel(text), load_target("x86-avx512")))
()
"""

from __future__ import annotations

from planish.library.loops.vector_strips.selected_strips import NAME, fitting_strips, strip_versions
from planish.library.loops.vector_strips.strip_nest import StripNest
from planish.library.strategy import Context, Made, Strategy, share
from planish.select.instruction import extension_of


def _match(cx: Context) -> tuple[tuple[StripNest, ...], ...]:
    if cx.target.vector_extension is None or cx.threads != 1:
        return ()
    found = fitting_strips(cx.prepared.kernel, extension_of(cx.target))
    return (found,) if found else ()


def _apply(cx: Context, found: tuple[StripNest, ...]) -> Made:
    return strip_versions(cx.prepared, cx.target, cx.maker.cache)


VECTOR_STRIPS = Strategy(
    NAME, "strips of vectors over integers, several rows at a time, in instructions selected from the machine's own",
    _match, _apply, share(0.6),
)  # fmt: skip
