"""A series of checks in one child process, each in a fork of it, so that none sees what another one did.

    told = check_each(Series((first, second), 60.0), report)    # in a child; it ends as a check does that crashes
"""

from __future__ import annotations

import json
import math
import os
import select
import signal
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

from planish.core.forked_process import flush_streams, fork, wait
from planish.run.calls.loaded_library import LibraryError
from planish.run.oracle.differential import Comparison, compare_cases, survey_cases
from planish.run.processes.child import MEMORY_EXIT, Report

BEGUN, DONE, SEEN = "comparison", "compared", "seen"
"""What is reported before a comparison, and what the lines begin with that have its answer, or one of a survey."""
MOST_LATE, LATE_OF = 4, 8
"""So many calls of a survey may take too long, besides one of so many: a function that loops for ever with some data
does so with most."""
_BUG_EXIT = 87
"""The exit code that says: Python raised an exception."""


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
        _end(1 if code == _BUG_EXIT else code)
    return answer.decode()


def _check(request: Comparison, report: Report, writer: int) -> NoReturn:
    """The life of the process for one comparison."""

    def compare() -> None:
        answer = json.dumps(compare_cases(request, report)).encode()
        while answer:
            answer = answer[os.write(writer, answer) :]

    _live(compare)


def survey_each(request: Comparison, report: Report) -> None:
    """Calls the reference with all cases, and reports of each that it comes through the number, the bits of the nests
    that ran and whether there was an effect, in a line. After one that it does not come through, or that takes too
    long, the next ones go on in another process; where many take too long,
    there are no more."""
    begun = late = 0
    while late < MOST_LATE + begun // LATE_OF and begun < len(request.cases):
        reader, writer = os.pipe()
        child = fork()
        if child == 0:
            os.close(reader)
            _live(partial(_survey, request, begun, report, writer))
        os.close(writer)
        seen = _read(reader, math.inf)
        os.close(reader)
        code = wait(child)
        if code == _BUG_EXIT:
            _end(1)
        if code == 0:
            return
        begun += len(seen or b"") + 1
        late += code == -signal.SIGALRM


def _survey(request: Comparison, first: int, report: Report, writer: int) -> None:
    """Reports what `survey_each` does from one case on, and writes one byte for each."""
    with suppress(LibraryError):
        for number, nests, effect in survey_cases(request, first, report):
            report(f"{SEEN}\t{number}\t{nests}\t{int(effect)}")
            os.write(writer, b".")


def _live(work: Callable[[], None]) -> NoReturn:
    """The life of a process that does some work."""
    code = _BUG_EXIT
    try:
        work()
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
        left = None if deadline == math.inf else max(0.0, deadline - time.monotonic())
        ready, _, _ = select.select([reader], [], [], left)
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
