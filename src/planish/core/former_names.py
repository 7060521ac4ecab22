"""Former names of versions and remarks, which are understood for one release: what each is called now.

>>> current_version("dots by 8"), current_version("original, kept, overlapped, streamed")
('gemv-rows-8', 'original, staged, pipelined, nontemporal')
>>> current_version("4 stages at a time, those of neighbours in squares"), current_version("maxfuse")
('fft-radix, in-register-transpose', 'maxfuse')
>>> current_code("algebra-columns"), tell_former("dots", "gemv-rows")
('im2col', '`dots` is now called `gemv-rows`; the former name goes away with the next release')
"""

from __future__ import annotations

import re
from collections.abc import Mapping

FORMER_VERSIONS: Mapping[str, str] = {
    # Policies of the automatic schedules.
    "fused": "maxfuse",
    "apart": "nofuse",
    "chains": "inner-parallel",
    "blocks": "inter-nest-tiling",
    "eager": "interchange",
    "diagonals": "block-wavefront",
    "wavefront": "time-skewing",
    # What is done to a version.
    "streamed": "nontemporal",
    "overlapped": "pipelined",
    "kept": "staged",
    "settled": "scalar-promote",
    "cells": "register-promote",
    "tables": "pack",
    "given": "size-specialise",
    "turned": "pack-transpose",
    "those of neighbours in squares": "in-register-transpose",
    "one thread": "one-thread",
    "on threads": "parallel-loops",
    "in portions": "parallel-chunks",
    "along diagonals": "parallel-wavefront",
    # Strategies of the library.
    "as written": "unchanged",
    "raised": "operations",
    "tiles": "winograd",
    "woven": "conv-packed",
    "mirror": "transpose-inplace",
    "dots": "gemv-rows",
    "pivots by blocks": "lu-panel",
    "projections by blocks": "mgs-panel",
    "reflections by blocks": "qr-panel",
    "counted in tables": "histogram-private",
    "inside": "inner-nest",
    "scans": "simd-scan",
    "segments": "stencil-lanes",
    "segments of tiles": "stencil-lanes-tiled",
    "sliding": "fir",
    "stages in lanes": "biquad-simd",
    "look-ahead": "lms-block",
    "digits reversed in squares": "bit-reversal",
}
"""Parts of versions' names, which are joined by commas; a number of rows or iterations stood behind ` by `."""

FORMER_CODES: Mapping[str, str] = {
    "algebra-build": "algebra-tactic",
    "algebra-columns": "im2col",
    "algebra-common": "algebra-cse",
    "algebra-dead": "algebra-dce",
    "algebra-repeat": "algebra-licm",
    "algebra-start": "algebra-accumulate",
    "algebra-tiles": "winograd",
    "algebra-woven": "conv-packed",
    "cascade": "biquad-simd",
    "cells": "register-promote",
    "counts": "histogram-private",
    "dots": "gemv-rows",
    "filter": "fir",
    "given": "size-specialise",
    "look-ahead": "lms-block",
    "mirror": "transpose-inplace",
    "nest-inside": "inner-nest",
    "portions": "parallel-chunks",
    "raise-paths": "floyd-warshall-blocked",
    "reversal": "bit-reversal",
    "scan": "simd-scan",
    "scan-threads": "parallel-scan",
    "schedule-apart": "schedule-nofuse",
    "schedule-blocks": "schedule-inter-nest-tiling",
    "schedule-chains": "schedule-inner-parallel",
    "schedule-diagonals": "schedule-block-wavefront",
    "schedule-eager": "schedule-interchange",
    "schedule-fused": "schedule-maxfuse",
    "schedule-wavefront": "schedule-time-skewing",
    "segments": "stencil-lanes",
    "settled": "scalar-promote",
    "stages": "fft-radix",
    "stepwise": "panels",
    "stream": "nontemporal",
    "table-turned": "pack-transpose",
    "threads": "parallel-loops",
    "transform": "fft-passes",
}
"""Ids of remarks. `stepwise` is `panels` where it is refused, and the kind of factorisation where it is done."""

_STAGES = re.compile(r"^\d+ stages? at a time$")
_PASSES = re.compile(r"\bpasses of (\d+(?: x \d+)*(?:, \d+(?: x \d+)*)*)")
_COUNTED = re.compile(r"^(?P<name>.*) by (?P<count>\d+)$")


def current_version(name: str) -> str:
    """What a version of that name is called now; a name that is no former one stays."""
    passes = _PASSES.sub(lambda x: "fft-passes-" + x[1].replace(" x ", "x").replace(", ", "-"), name)
    return ", ".join(map(_current_part, passes.split(", ")))


def _current_part(part: str) -> str:
    if _STAGES.match(part):
        return "fft-radix"
    if part not in FORMER_VERSIONS and (counted := _COUNTED.match(part)):
        return f"{_current_part(counted['name'])}-{counted['count']}"
    return FORMER_VERSIONS.get(part, part)


def current_code(id: str) -> str:
    """What a remark's id is now; an id that is no former one stays."""
    return FORMER_CODES.get(id, id)


def tell_former(former: str, current: str) -> str:
    """A sentence for whoever used a former name."""
    return f"`{former}` is now called `{current}`; the former name goes away with the next release"
