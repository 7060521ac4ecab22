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
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from planish.run.processes.workers import leave_interrupts

_MEMORY = 1 << 30
_LEAST, _MOST = 0.02, 10.0
_SEVERAL = 8
_AGAIN = 0.05
"""When the clock rings again where it was not heard, in seconds."""
_T = TypeVar("_T")


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raises TimeoutError in the block when it has used so much of the processor's time; without effect outside of a
    process's main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGPROF, _ring)
    signal.setitimer(signal.ITIMER_PROF, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.signal(signal.SIGPROF, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class Patience:
    """Seconds for a piece of work, less what work that came to nothing has used, and always a few. Each piece that
    comes to something makes up for `earned` seconds, so that one slow piece among many good ones has time, and takes
    none from those after it. `enough`: so many seconds of several pieces without any result are too many.

    >>> patience = Patience(seconds=4, enough=2, earned=0.5)
    >>> patience.wait_for(lambda: 3, is_nothing=lambda x: x == 0), patience.left
    (3, 4.5)
    """

    def __init__(self, seconds: float, enough: float, earned: float) -> None:
        self.seconds, self.enough, self.earned = seconds, enough, earned
        self.wasted = 0.0
        self.in_vain = 0
        self.useful = 0

    @property
    def left(self) -> float:
        """Seconds for the next piece."""
        return min(_MOST, max(_LEAST, self.seconds + self.earned * self.useful - self.wasted))

    @property
    def is_over(self) -> bool:
        """Whether enough has been used for nothing."""
        return self.wasted >= self.enough and self.in_vain >= _SEVERAL and not self.useful

    def wait_for(self, work: Callable[[], _T], is_nothing: Callable[[_T], bool]) -> _T:
        """What comes of the work; TimeoutError where it uses too much of the processor's time."""
        started = time.process_time()
        nothing = True
        try:
            with at_most(self.left):
                found = work()
            nothing = is_nothing(found)
            self.useful += not nothing
            return found
        finally:
            if nothing:
                self.in_vain += 1
                self.wasted += time.process_time() - started


def _ring(number: int, frame: FrameType | None) -> None:
    if frame is not None and frame.f_code.co_filename == weakref.__file__:
        return  # a callback of the collector, which would drop it
    raise TimeoutError("it takes too long")


def start_reader() -> None:
    """Leaves interrupts to the process that waits, and has a bound for memory: a GiB more than there is now."""
    leave_interrupts()
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
