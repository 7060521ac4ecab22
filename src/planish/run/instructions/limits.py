"""Bounds for work on what strangers wrote: a clock, and memory.

>>> with at_most(seconds=5):
...     total = sum(range(10))
>>> total
45
"""

from __future__ import annotations

import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_MEMORY = 1 << 30


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raises TimeoutError in the block when it has used so much of the processor's time; without effect outside of a
    process's main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGPROF, _ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _ring(number: int, frame: FrameType | None) -> None:
    raise TimeoutError("it takes too long")


def start_worker() -> None:
    """Leaves interrupts to the process that waits for this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def start_reader() -> None:
    """As `start_worker`, with a bound for memory: a GiB more than there is now."""
    start_worker()
    used = _used_bytes()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if used:
        limit = used + _MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def _used_bytes() -> int:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0
