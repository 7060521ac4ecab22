"""Raised kernels are run by the interpreter, written out as loops.

>>> import numpy as np
>>> from operations import ZERO, apply, matrix, raised
>>> A = matrix("A", 1, 2)
>>> run(raised([A], [apply(ZERO, {"A": A})]), {"A": np.ones((1, 2))})["A"].tolist()
[[0.0, 0.0]]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from planish.ir.checker import check_kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.raising.expansion import expand
from planish.raising.raised import Raised


def run(raised: Raised, values: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays after the kernel ran on copies."""
    out = {x: y.copy() if isinstance(y, np.ndarray) else y for x, y in values.items()}
    kernel = expand(raised)
    check_kernel(kernel, "writing out")
    run_kernel(kernel, out)
    return out
