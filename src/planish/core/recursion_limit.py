"""Recursion limits for deep inputs: a sum of a thousand terms is a thousand nested objects.

>>> def count(n):
...     return 0 if n == 0 else 1 + count(n - 1)
>>> with deep():
...     count(3000)
3000
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

MOST_NESTED = 500
"""What is nested deeper than this is not analysed."""
_CALLS = 10 * MOST_NESTED
"""An analysis makes a few calls within each other on each level; a stack of 8 MiB holds so many of any kind."""


@contextmanager
def deep(calls: int = _CALLS) -> Iterator[None]:
    """Inside, calls may be nested so deep, which is for code whose depth is bounded otherwise."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, calls))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
