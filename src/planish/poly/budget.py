"""Bounds on isl's work, so that a question which would take too long is given up instead.

>>> import islpy as isl
>>> with budget(isl.DEFAULT_CONTEXT, 10):
...     try:
...         found = isl.Set("{ [i, j] : 0 <= i, j < 9 and (exists a : 3a = i + j) }").lexmin()
...     except isl.Error:
...         print("given up")
given up
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import islpy as isl


@contextmanager
def budget(context: isl.Context, operations: int) -> Iterator[None]:
    """Inside, isl raises isl.Error after so many operations (some ten million take a second); a bound from outside
    is suspended meanwhile, and counts afresh afterwards."""
    outside = context.get_max_operations()
    context.reset_operations()
    context.set_max_operations(operations)
    try:
        yield
    finally:
        context.reset_operations()
        context.set_max_operations(outside)


def is_used_up(context: isl.Context) -> bool:
    """Whether the bound has been reached: then whatever is asked of isl next fails, with any message."""
    try:
        isl.Set.read_from_str(context, "{ [i] : 0 <= i < 9 }")
    except isl.Error:
        return True
    return False
