"""Vectors that have a name but are used once become arguments of the call that uses them, as long as lines allow.

>>> first = "const __m256i a = _mm256_loadu_si256((__m256i const *)(p));"
>>> lines = [first, "const __m256i b = _mm256_abs_epi8(a);", "_mm256_storeu_si256((__m256i *)(q), b);"]
>>> nest_calls(lines)
['_mm256_storeu_si256((__m256i *)(q), _mm256_abs_epi8(_mm256_loadu_si256((__m256i const *)(p))));']
>>> stored = ["_mm256_storeu_si256((__m256i *)(p), zero);", "_mm256_storeu_si256((__m256i *)(q), a);"]
>>> nest_calls([first, *stored])[0] == first
True
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

WIDTH = 120
_VECTOR = r"(?:__m\d+[id]?|[a-z]+\d+x\d+(?:x\d)?_t)"
_NAMED = re.compile(rf"^ *const {_VECTOR} (\w+) = (\w+\(.*\));$")
"""A vector that a call makes; vectors of other machines are left alone, where the order of loads in the text counts."""
_STORED = re.compile(r"^ *_mm\d*_(?:mask_)?storeu?_\w+\(.*\);$|^ *vst1q?_\w+\(.*\);$")
_WORD = re.compile(r"\w+")


def nest_calls(lines: Sequence[str]) -> list[str]:
    """The lines without names of vectors that are used once, in the line behind. Calls are made in the same order as
    before, as one is the argument of the next one: another order takes longer where registers are few."""
    out = list(lines)
    uses = Counter(x for line in out for x in _WORD.findall(line))
    innermost = ""
    for at in range(len(out) - 2, -1, -1):
        named, user = _NAMED.match(out[at]), out[at + 1]
        words = _WORD.findall(innermost or user)
        if named is None or uses[named[1]] != 2 or named[1] not in words or not _is_user(user):
            innermost = ""
            continue
        name, value = named.groups()
        before, after = re.split(rf"\b{name}\b", user)
        if len(before) + len(value) + len(after) > WIDTH:
            innermost = ""
            continue
        out[at : at + 2] = [f"{before}{value}{after}"]
        innermost = value
    return out


def _is_user(line: str) -> bool:
    return bool(_NAMED.match(line) or _STORED.match(line))
