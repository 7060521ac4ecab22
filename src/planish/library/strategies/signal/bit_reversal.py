"""Bit-reversal (digit-reversal) permutations by blocks that fit into a cache.

>>> BIT_REVERSAL.name, BIT_REVERSAL.loop
('bit-reversal', True)
"""

from __future__ import annotations

from planish.frontend.c.translation_unit import Region
from planish.library.signal.bit_reversal import reversal_versions
from planish.library.strategy import Context, Made, Strategy, share


def _match(cx: Context) -> tuple[Region, ...]:
    return (cx.region,) if cx.region is not None and cx.region.reversal is not None else ()


def _apply(cx: Context, found: Region) -> Made:
    made, remarks = reversal_versions(found, cx.threads)
    return (*made, *remarks)


BIT_REVERSAL = Strategy(
    "bit-reversal", "permutes blocks that use whole cache lines, in place of single elements",
    _match, _apply, share(0.05), loop=True,
)  # fmt: skip
