"""`memset` and `memcpy` are part of the kernel around them where they stand for a loop, and else stay outside."""

from __future__ import annotations

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.ir.nest import For
from planish.ir.traverse import walk

HEAD = "#include <string.h>\nvoid f(int n, double *a, const double *b, double c[][6]) { "
LOOP = " for (int i = 0; i < n; i++) a[i] += b[i]; }"


def loops(text: str) -> int:
    """How many loops the first kernel of a function has."""
    (function,) = read_c(Source("f.c", HEAD + text + LOOP)).functions
    return sum(isinstance(x, For) for x in walk(function.regions[0].kernel.body))


@pytest.mark.parametrize(
    "call",
    ["memset(a, 0, n * sizeof(double));", "memset(a, 0, sizeof *a * n);", "memset(&a[2], 0, n * sizeof(a[0]));",
     "memcpy(a, b, sizeof(double) * n);", "memset(c[2], 0, 6 * sizeof(double));", "memset(c, 0, n * sizeof(c[0][0]));",
     "memcpy(a + n, b + 3, 8 * n);", "memset(a, 1, n * sizeof(double));", "memmove(a, b, n * sizeof(double));",
     "__builtin_memcpy(a, b, 8 * n);"],
)  # fmt: skip
def test_calls_that_are_loops(call: str) -> None:
    assert loops(call) == 2


@pytest.mark.parametrize(
    "call",
    ["memset(a, -1, n * sizeof(double));", "memset(a, 0, n);", "memset(a, (int)b[0], 8 * n);",
     "memcpy(a, (float *)b, n * 8);", "memmove(a, a + n, n * sizeof(double));"],
)  # fmt: skip
def test_calls_that_stay(call: str) -> None:
    assert loops(call) == 1
