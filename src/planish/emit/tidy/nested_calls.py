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
_READS = re.compile(r"load|gather|\bvld\d|[\[&]|\*\w")
_WORD = re.compile(r"\w+")


def nest_calls(lines: Sequence[str]) -> list[str]:
    """The lines without names of vectors that are used once. What reads memory keeps its place among stores; what does
    not waits for the line that uses it: compilers do the same."""
    out = list(lines)
    uses = Counter(x for line in out for x in _WORD.findall(line))
    for at in range(len(out) - 1, -1, -1):
        named = _NAMED.match(out[at])
        if named is None or uses[named[1]] != 2:
            continue
        name, value = named.groups()
        user = _find_user(out, at + 1, name, bool(_READS.search(value)))
        if user is None:
            continue
        before, after = re.split(rf"\b{name}\b", out[user])
        longer = f"{before}{value}{after}"
        if len(longer) <= WIDTH:
            out[user] = longer
            del out[at]
    return out


def _find_user(lines: Sequence[str], at: int, name: str, reads: bool) -> int | None:
    """The line that uses a name, with nothing before it but what may come before the value."""
    for i, line in enumerate(lines[at:], at):
        named, stored = _NAMED.match(line), _STORED.match(line)
        if named is None and stored is None:
            return None
        if name in _WORD.findall(line):
            return i
        if stored is not None and reads:
            return None
    return None
