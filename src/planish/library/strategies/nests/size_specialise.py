"""Size specialisation: loops over small sizes that calls are likely to have are unrolled.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> SIZE_SPECIALISE.match(Context.of(parse_kernel(text), load_target("x86-avx512")))
()
"""

from __future__ import annotations

from collections.abc import Mapping

from planish.library.strategy import BEHIND, Context, Made, Strategy, share
from planish.schedule.auto.rewrites.size_specialisation import find_small_sizes, given_versions


def _match(cx: Context) -> tuple[Mapping[str, int], ...]:
    found = find_small_sizes(cx.prepared.kernel, cx.sizes)
    return (found,) if found else ()


def _apply(cx: Context, found: Mapping[str, int]) -> Made:
    return given_versions(
        cx.prepared, cx.target, cx.scheduled, found, reassociate=cx.reassociate, threads=cx.threads
    )  # fmt: skip


SIZE_SPECIALISE = Strategy(
    "size-specialise", "specialises for small sizes of likely calls: unrolled loops behind a test of these sizes",
    _match, _apply, share(BEHIND + 1),
)  # fmt: skip
