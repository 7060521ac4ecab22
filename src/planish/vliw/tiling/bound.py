"""The least that has to be moved, whatever the order and the blocks are: a certificate for a choice of blocks.

All that is read and written is moved once. Where memories near hold M elements, what is done while X of them are moved
uses no more than M + X (2 M + X where elements begin near, which nobody has brought). From so many elements of arrays
so many iterations follow at most, by the inequality of Brascamp and Lieb for the loops that the subscripts of each
array name: for a matrix product, ((M + X) / 3)^(3/2).

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.tiling.footprints import footprints_of
>>> text = "for i in 0 .. 512 { for j in 0 .. 512 { for k in 0 .. 512 { C[i, j] += A[i, k] * B[k, j] } } }"
>>> kernel = parse_kernel(f"kernel f(A: f32[512, 512], B: f32[512, 512], C: f32[512, 512]) {{ {text} }}")
>>> trips = {"i": 512, "j": 512, "k": 512}
>>> [round(least_traffic(footprints_of(kernel, {}), trips, x)) for x in (4 << 20, 4096)]
[4194304, 33546240]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod

from planish.vliw.tiling.footprints import ArrayFootprint

_SHARES = (0.0, 0.5, 1.0)
"""Exponents that are tried for each array: those of the corners of the polytope for arrays of two dimensions."""


def least_traffic(arrays: Sequence[ArrayFootprint], trips: Mapping[str, int], room: int) -> float:
    """The bytes that have to be moved at least, with `room` bytes of memory near."""
    return max(once(arrays, trips), _by_reuse(arrays, trips, room))


def once(arrays: Sequence[ArrayFootprint], trips: Mapping[str, int]) -> float:
    """The bytes of all that is read or written, each way once."""
    return float(sum(int(x.elements(trips)) * x.size * (int(x.reads) + int(x.writes)) for x in arrays))


def _by_reuse(arrays: Sequence[ArrayFootprint], trips: Mapping[str, int], room: int) -> float:
    """The bytes that follow from how often an element can be used while it is near; 0 where nothing does."""
    plain = [x for x in arrays if all(len(y.factors) == 1 and y.span == 1 for y in x.subscripts)]
    size = min((x.size for x in arrays), default=1)
    fresh = any(x.writes and not x.reads for x in arrays)
    near = max(1.0, (1 + fresh) * room / size)
    iterations = float(prod(trips.values()))
    best = 0.0
    for shares in product(_SHARES, repeat=min(len(plain), 5)):
        covered = all(sum(s for s, x in zip(shares, plain, strict=False) if v in x.loops) >= 1 for v in trips)
        total = sum(shares)
        if not covered or total <= 1:
            continue
        # With X elements moved, at most prod((s / total) ** s) * (near + X) ** total iterations are done.
        factor = prod((s / total) ** s for s in shares if s)
        moved = near / (total - 1)
        rounds = iterations / (factor * (near + moved) ** total)
        best = max(best, moved * (rounds - 1))
    return best * size
