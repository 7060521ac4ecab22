"""Runs isl work in a process of its own and gives it up after some seconds (timeout).

A bound on operations (see `budget`) counts what isl allocates; its integer programs may run for minutes on what they
have. Only another process can be stopped in the middle of one.

>>> import islpy as isl
>>> attempt(lambda: isl.Set("{ [i] : 0 <= i < 9 and 4i >= 9 }").lexmin(), 1)
'{ [i = 3] }'
"""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable

from planish.core.forked_process import fork

_SHARE = 20
"""On a machine that has other work to do, so many times as much may pass as is worked; one that waits is given up."""


def attempt(compute: Callable[[], object], seconds: float) -> str | None:
    """What is computed, as text; None where that takes longer than so many seconds of the processor's, or dies.

    Raises RuntimeError, with what the child says, where an exception ends it."""
    reader, writer = os.pipe()
    child = fork()
    if child == 0:
        _work(compute, seconds, writer)
    os.close(writer)
    try:
        with open(reader, encoding="utf-8") as answer:
            text = answer.read()
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code > 0:
        raise RuntimeError(text)
    return text if code == 0 else None


def _work(compute: Callable[[], object], seconds: float, writer: int) -> None:
    """The child's life. Nothing of the parent's is cleaned up or flushed at its end."""
    code = 1
    try:
        # Their default actions end the process, whatever that is doing.
        for number in (signal.SIGVTALRM, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGVTALRM, signal.SIGALRM))
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        signal.setitimer(signal.ITIMER_REAL, seconds * _SHARE)
        try:
            text, code = str(compute()), 0
        except BaseException:
            text = traceback.format_exc()
        with open(writer, "w", encoding="utf-8") as answer:
            answer.write(text)
    finally:
        os._exit(code)
