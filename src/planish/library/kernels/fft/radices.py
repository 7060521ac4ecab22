"""Factorises a transform's length into radices, one for each pass, so that vectors are full.

>>> choose_radices(256, 16, 32)[0]
(16, 16)
>>> choose_radices(60, 8, 16)[0]
(4, 15)
>>> choose_radices(34, 8, 16)
()
"""

from __future__ import annotations

from heapq import nsmallest
from math import log2

from planish.library.kernels.fft.butterfly import count_operations

RADICES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16)
"""The butterflies of a pass; more elements do not stay in registers."""
_ALONE = 32
"""A transform of so many elements may be one butterfly."""
_BEST = 6
"""So many ways are kept of each part."""
_SPILL = 2.0
"""What it costs to store a value that finds no register, and to load it again."""
_ENTRY = 10.0
"""What it costs to begin a loop."""

Radices = tuple[int, ...]


def choose_radices(size: int, lanes: int, registers: int) -> tuple[Radices, ...]:
    """Products of radices that are a size, the cheapest first, for vectors of so many lanes in so many registers; none
    where it has a large prime factor."""
    found = _ways(size, 1, lanes, registers)
    if 1 < size <= _ALONE:
        found.append((_cost(size, 1, 1, lanes, registers), (size,)))
    best = sorted({radices: cost for cost, radices in found}.items(), key=lambda x: x[1])
    return tuple(radices for radices, _ in best)


def _ways(left: int, done: int, lanes: int, registers: int) -> list[tuple[float, Radices]]:
    """The cheapest ways to what is left of a size, after passes that make transforms of `done` elements."""
    if left == 1:
        return [(0.0, ())]
    out = []
    for radix in RADICES:
        if left % radix == 0:
            cost = _cost(radix, done, left // radix, lanes, registers)
            rest = _ways(left // radix, done * radix, lanes, registers)
            out += [(cost + other, (radix, *radices)) for other, radices in rest]
    return nsmallest(_BEST, out)


def _cost(radix: int, done: int, left: int, lanes: int, registers: int) -> float:
    """What a pass costs, in instructions: of the first one, lanes are neighbours in what is read, and what is written
    is put together; of the others, they are neighbours in both."""
    first = done == 1
    work = count_operations(radix) + 4.0 * radix + (6.0 * (radix - 1) if left > 1 else 0.0)
    work += _SPILL * max(0, 2 * radix - registers)
    if first:
        work += 2.0 * radix * (1 + log2(radix))
    loops, count = (1, left) if first else (left, done)
    full, rest = divmod(count, lanes)
    # What is left is done in shorter and shorter vectors.
    return loops * (_ENTRY + work * (full + rest.bit_count()))
