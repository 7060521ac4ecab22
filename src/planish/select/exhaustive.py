"""Equality of terms that read few bits, by all values of these.

>>> from planish.isa.semantics import build
>>> from planish.isa.semantics.node import const
>>> x = build.bits("x", const(8), 8)
>>> are_equal(build.multiply(x, const(3)), build.add(x, x, x), 8), are_equal(x, build.add(x, const(1)), 8)
(True, False)
>>> are_equal(build.bits("x", const(0), 64), x, 8) is None
True
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from planish.isa.semantics.evaluate import apply
from planish.isa.semantics.node import Node, walk

MOST_BITS = 16
"""So many bits may be read, so that there are 65,536 values."""
_Values = NDArray[np.int64]
_KNOWN = frozenset(
    ("const", "bits", "add", "mul", "quo", "mod", "shl", "shr", "and", "or", "xor", "not", "invert", "eq", "lt", "le",
     "min", "max", "abs", "sat", "wrap", "select", "popcount")
)  # fmt: skip
"""Operators of whole numbers."""


def are_equal(a: Node, b: Node, width: int) -> bool | None:
    """Whether two values are the same in their lowest bits, for all that they may read; None where that is too much, or
    where they read at places that are not known, or compute more than 62 bits."""
    nodes = list(walk([a, b]))
    reads = [x for x in nodes if x.op == "bits"]
    if any(x.args[0].op != "const" for x in reads) or any(max(-x.low, x.high) >> 62 for x in nodes):
        return None
    if any(x.op not in _KNOWN for x in nodes):
        return None
    places = sorted({(str(x.attr[0]), x.args[0].low + at) for x in reads for at in range(int(x.attr[1]))})
    if len(places) > MOST_BITS:
        return None
    rows = np.arange(1 << len(places), dtype=np.int64)
    columns = {place: rows >> at & 1 for at, place in enumerate(places)}
    known: dict[Node, _Values] = {}
    for x in nodes:
        if x.op == "bits":
            known[x] = _read(x, [columns[str(x.attr[0]), x.args[0].low + at] for at in range(int(x.attr[1]))])
        elif x.op == "const":
            known[x] = np.array([x.low], dtype=np.int64)
        else:
            known[x] = np.asarray(apply(x, [known[y] for y in x.args]), dtype=np.int64)
    return bool((((known[a] - known[b]) & ((1 << width) - 1)) == 0).all())


def _read(x: Node, columns: Iterable[_Values]) -> _Values:
    total = sum((column << at for at, column in enumerate(columns)), start=np.zeros(1, dtype=np.int64))
    width = int(x.attr[1])
    return np.where(total >> (width - 1) & 1, total - (1 << width), total) if x.attr[2] else total
