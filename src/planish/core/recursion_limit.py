"""Limits of the interpreter: calls within each other, memory for these, and how often garbage is looked for. A sum of a
thousand terms is a thousand nested objects.

>>> def count(n):
...     return 0 if n == 0 else 1 + count(n - 1)
>>> with deep():
...     count(3000)
3000
>>> call_with_room(sorted, [1, 3, 2], reverse=True)
[3, 2, 1]
>>> with rarely_collected():
...     gc.get_threshold()[0] > 700
True
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")

MOST_NESTED = 500
"""What is nested deeper than this is not analysed."""
_CALLS = 10 * MOST_NESTED
"""An analysis makes a few calls within each other on each level; a stack of 8 MiB holds so many of any kind."""
_OBJECTS = 100_000
"""So many more objects are made before the young ones are gone through."""
_WORDS = 1 << 15
"""What the frame of the outer call is said to need. It is never touched, so that it takes addresses alone."""


@contextmanager
def deep(calls: int = _CALLS) -> Iterator[None]:
    """Inside, calls may be nested so deep, which is for code whose depth is bounded otherwise."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, calls))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Inside, objects that refer to each other are freed late: a reader makes a hundred thousand that stay, which each
    collection goes through anew."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], _OBJECTS) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def call_with_room(function: Callable[_P, _R], /, *given: _P.args, **named: _P.kwargs) -> _R:
    """What the function returns for these arguments. CPython keeps frames in blocks of 16 KiB: a loop whose calls cross
    the end of one asks the system for a block, and gives it back, with each of them. A frame that needs more than that
    has a block of twice its size or less, whose rest takes the frames of what it calls."""
    return function(*given, **named)


call_with_room.__code__ = call_with_room.__code__.replace(co_stacksize=_WORDS)
