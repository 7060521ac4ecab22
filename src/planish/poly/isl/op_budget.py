"""Operation budgets for isl: a question that would take too long is given up.

>>> import islpy as isl
>>> with budget(isl.DEFAULT_CONTEXT, 10):
...     try:
...         found = isl.Set("{ [i, j] : 0 <= i, j < 9 and (exists a : 3a = i + j) }").lexmin()
...     except isl.Error:
...         print("given up")
given up
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import islpy as isl

_T = TypeVar("_T")

PASS = 1_500_000
"""Operations of one pass over a nest. Of all examples none but one schedule needs more than a million; ten million
small ones take a second, and a million of those with long numbers in many rows take six."""

SHORT = 300_000
"""Operations of what needs a tenth of that for all examples."""


class OverBudgetError(Exception):
    """A pass did not come to its end within its operations."""


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


def within(compute: Callable[[], _T], operations: int = PASS) -> _T:
    """What is computed; OverBudgetError where isl takes more operations for it.

    >>> within(lambda: str(isl.Set("{ [i] : 0 <= 2i < 9 }").lexmin()))
    '{ [i = 0] }'
    """
    context = isl.DEFAULT_CONTEXT
    with budget(context, operations):
        try:
            return compute()
        except (isl.Error, TypeError) as error:
            if not is_used_up(context):
                raise
            raise OverBudgetError from error
