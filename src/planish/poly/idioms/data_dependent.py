"""Nests in which data decide what is stored to, or which loops run, and of which it is known how to do better than to
search for that: front ends ask here, and know none of them.

>>> from planish.ir.text.parser import parse_kernel
>>> search = "for row in 0 .. 256 { h[row] += select(c[] == u8(row), 1:i32, 0:i32) }"
>>> text = "kernel k(n; x: u8[n], h: i32[256]) { for i in 0 .. n { alloc c: u8[] c[] = x[i] %s } }" % search
>>> is_known(parse_kernel(text), (), "strict"), is_known(parse_kernel(text.replace("==", "<")), (), "reassociate")
(True, False)
"""

from __future__ import annotations

from collections.abc import Collection

from planish.ir.nest import Kernel
from planish.ir.types import Floats
from planish.poly.canonical.delinearise import delinearise
from planish.poly.idioms.histogram import find_counting
from planish.poly.idioms.householder import find_reflecting
from planish.poly.idioms.lu_partial_pivoting import find_pivoting
from planish.poly.isl.affine import NotAffineError


def is_known(kernel: Kernel, scratch: Collection[str], fp: Floats) -> bool:
    """Whether a kernel with searches is one of these; sums of floats are then made in another order. `scratch`: arrays
    of which nothing is read behind it."""
    try:
        flat = delinearise(kernel)
        counting = find_counting(flat)
        if fp != "reassociate":
            return counting is not None and all(x.type.is_int for x in counting.counts)
        return (counting or find_pivoting(flat) or find_reflecting(flat, scratch)) is not None
    except NotAffineError:
        return False
