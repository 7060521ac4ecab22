"""Several radix-2 stages of an FFT at a time, in registers: the loop around one stage advances by two or three.

>>> FFT_RADIX.name, FFT_RADIX.loop
('fft-radix', True)
"""

from __future__ import annotations

from planish.frontend.c.translation_unit import Region
from planish.library.signal.fft_stages.radix_stages import stage_versions
from planish.library.strategy import Context, Made, Strategy, share


def _match(cx: Context) -> tuple[Region, ...]:
    region = cx.region
    return (region,) if region is not None and region.reversal is None and region.stages else ()


def _apply(cx: Context, found: Region) -> Made:
    made, remarks = stage_versions(found, cx.target, cx.threads)
    return (*made, *remarks)


FFT_RADIX = Strategy(
    "fft-radix", "merges several stages of a transform into one of higher radix, in registers",
    _match, _apply, share(0.05), loop=True,
    variants={"in-register-transpose": "stages of adjacent elements work on blocks that are transposed in registers"},
)  # fmt: skip
