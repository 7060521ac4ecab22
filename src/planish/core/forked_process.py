"""A process forked from this one: it ends with its parent, and its parent can end it in the middle of anything.

>>> child = fork()
>>> if child == 0:
...     os._exit(7)
>>> wait(child)
7
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

_PR_SET_PDEATHSIG = 1
ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that ask a process for its end."""
GRACE = 0.4
"""Seconds that a process has to tidy up once it was asked to end; one that is inside the polyhedral library does not
hear that it is asked."""


def fork() -> int:
    """The number of a new process, which goes on from here as this one does; 0 in that process. It ends when this
    process does (at once on Linux), and takes signals as a process does that was just started."""
    parent = os.getpid()
    flush_streams()
    if sys.platform == "linux":
        _system()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        die_with(parent)
    return child


def flush_streams() -> None:
    """Writes what was printed; a process that was started without these streams has none."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


@contextmanager
def delayed_signals() -> Iterator[None]:
    """Signals that are heard as exceptions wait for the end of the block: it starts a process, and would be left before
    it knows which one to end."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears any
        return
    heard: list[int] = []
    before = {x: y for x in ASKING if callable(y := signal.getsignal(x))}
    for number in before:
        signal.signal(number, lambda number, frame: heard.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if heard:
            signal.raise_signal(heard[0])


def die_with(parent: int) -> None:
    """Asks the system to end this process when its parent ends (Linux), even if that was killed outright."""
    if sys.platform == "linux":
        _system().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


@cache
def _system() -> Any:
    """The C library; Python takes longer to load what finds it than to fork."""
    return import_module("ctypes").CDLL(None)


def wait(child: int) -> int:
    """The exit code of a child, or minus the number of the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def end(child: int, grace: float = GRACE) -> int:
    """Asks a child to end, and kills it where it has not after so many seconds; its exit code as of `wait`."""
    os.kill(child, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        select.select((), (), (), 0.005)
    os.kill(child, signal.SIGKILL)
    return wait(child)
