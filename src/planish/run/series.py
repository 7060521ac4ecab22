"""Checks one after the other in one child process, each in a fork of it, so that none sees what another one did.

    told = check_each(Series((first, second), 60.0), report)    # in a child; it ends as a check does that crashes
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
import traceback
from dataclasses import dataclass
from typing import NoReturn

from planish.core.forked import flush_streams, fork, wait
from planish.run.child import MEMORY_EXIT, Report
from planish.run.differential import Comparison, compare_cases

BEGUN, DONE = "comparison", "compared"
"""What is reported before a comparison, and what the line begins with that has its answer."""


@dataclass(frozen=True, slots=True)
class Series:
    """The request: comparisons, each of which may take so many seconds."""

    requests: tuple[Comparison, ...]
    seconds: float


def check_each(series: Series, report: Report) -> None:
    """Makes the comparisons, and reports the answer to each as soon as it is there.

    A comparison that crashes or takes too long ends this process in the same way; the lines tell which one it was.
    """
    for request in series.requests:
        report(BEGUN)
        report(f"{DONE}\t{_check_apart(request, report, series.seconds)}")


def _check_apart(request: Comparison, report: Report, seconds: float) -> str:
    """The answer to a comparison, as JSON."""
    reader, writer = os.pipe()
    child = fork()
    if child == 0:
        os.close(reader)
        _check(request, report, writer)
    os.close(writer)
    answer = _read(reader, time.monotonic() + seconds)
    os.close(reader)
    if answer is None:
        os.kill(child, signal.SIGKILL)
        wait(child)
        _end(-signal.SIGALRM)
    code = wait(child)
    if code or not answer:
        _end(code)
    return answer.decode()


def _check(request: Comparison, report: Report, writer: int) -> NoReturn:
    """The life of the process for one comparison."""
    code = 1
    try:
        answer = json.dumps(compare_cases(request, report)).encode()
        while answer:
            answer = answer[os.write(writer, answer) :]
        code = 0
    except MemoryError:
        code = MEMORY_EXIT
    except BaseException:
        traceback.print_exc()
    finally:
        flush_streams()
        # The libraries under test are not trusted to run their destructors.
        os._exit(code)


def _read(reader: int, deadline: float) -> bytes | None:
    """All that is written until the other end is closed; None where that is not before a moment (monotonic)."""
    parts: list[bytes] = []
    while True:
        ready, _, _ = select.select([reader], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return None
        part = os.read(reader, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)


def _end(code: int) -> NoReturn:
    """Ends this process with an exit code, or by a signal."""
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)
