"""Canonicalises a kernel for analysis: delinearised subscripts, scalars without false dependences.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_kernel
>>> text = "kernel k(n, lda; A: f64[?]) { for i in 0 .. n { for j in 0 .. lda { A[i * lda + j] = 0.0 } } }"
>>> print(print_kernel(tidy(parse_kernel(text))).splitlines()[0])
kernel k(n, lda; A: f64[?, lda])
"""

from __future__ import annotations

from planish.ir.nest import Kernel
from planish.poly.canonical.delinearise import delinearise
from planish.poly.canonical.privatise import privatise
from planish.poly.canonical.temporaries import bind_temporaries
from planish.poly.canonical.uncollapse import unfold


def tidy(kernel: Kernel, settled: bool = False) -> Kernel:
    """The kernel with straight-line scalars bound, folded loops told apart, subscripts split (`settled`: as for
    `delinearise`) and local arrays private to iterations; raises NotAffineError where it is not a static control
    part."""
    return privatise(delinearise(unfold(bind_temporaries(kernel)), settled))
