"""A program run to its end or to its limit, and never left behind.

>>> finished = run_process(["true"], Limits(seconds=10))
>>> finished.code, finished.status
(0, 'ended')
"""

from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from planish.core.diagnostic import PlanishError
from planish.core.files import tell_no_scratch
from planish.core.forked_process import delayed_signals

Ending = Literal["ended", "timeout"]
OUTPUT = 65536  # characters kept of what a program printed


@dataclass(frozen=True, slots=True)
class Limits:
    """What a program may use: `seconds` of wall-clock time, and `memory_bytes` beyond what an empty one has."""

    seconds: float = 60.0
    memory_bytes: int = 4 << 30


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program ended.

    `code` is its exit code, or minus the number of the signal that ended it; `peak_bytes` is the largest resident
    size it had, `cpu_seconds` the processor's time that it and what it waited for took. Of `stdout` and `stderr` the
    last 65536 characters are kept.
    """

    status: Ending
    code: int
    stdout: str
    stderr: str
    seconds: float
    peak_bytes: int
    cpu_seconds: float


def run_process(
    command: Sequence[str],
    limits: Limits,
    *,
    directory: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Finished:
    """Runs `command` in a process group of its own, with no input, and waits for it.

    The whole group is killed when the time is over, and when this process is interrupted. Raises OSError where the
    program cannot be started, and PlanishError E0905 where there is no place for what it prints.
    """
    with _scratch_file() as out, _scratch_file() as err:
        started = time.monotonic()
        process: subprocess.Popen[bytes] | None = None
        try:
            with delayed_signals():
                process = subprocess.Popen(
                    list(command),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    cwd=directory,
                    env=None if environment is None else dict(environment),
                    process_group=0,
                )
            # Python waits through wait4 here, because only that tells the child's own peak of memory.
            ended = _wait(process, started + limits.seconds)
        except BaseException:
            if process is not None:
                _kill(process)
            raise
        status: Ending = "ended"
        if ended is None:
            status = "timeout"
            ended = _kill(process)
        code, usage = ended
        seconds, cpu = time.monotonic() - started, usage.ru_utime + usage.ru_stime
        return Finished(status, code, _tail(out), _tail(err), seconds, _peak_bytes(usage), cpu)


def _scratch_file() -> IO[bytes]:
    try:
        return tempfile.TemporaryFile()
    except OSError as error:
        raise PlanishError(tell_no_scratch(error)) from error


def _wait(process: subprocess.Popen[bytes], deadline: float) -> tuple[int, resource.struct_rusage] | None:
    """The exit code and what was used; None where the time is over before."""
    with _watched(process.pid) as ending:
        pause = 0.0005
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                return _ended(process, status), usage
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            if ending is not None:
                ending.poll(1000 * left)
            else:
                time.sleep(min(pause, left))
                pause = min(pause * 1.5, 0.02)


@contextmanager
def _watched(process: int) -> Iterator[select.poll | None]:
    """What waits for a process to end, in milliseconds; None where the system has no such thing."""
    try:
        file = os.pidfd_open(process) if sys.platform == "linux" else -1
    except OSError:
        file = -1
    if file < 0:
        yield None
        return
    try:
        ending = select.poll()
        ending.register(file, select.POLLIN)
        yield ending
    finally:
        os.close(file)


def _kill(process: subprocess.Popen[bytes]) -> tuple[int, resource.struct_rusage]:
    if process.returncode is not None:
        return process.returncode, resource.struct_rusage((0,) * 16)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it ended by itself in the meantime
    _, status, usage = os.wait4(process.pid, 0)
    return _ended(process, status), usage


def _ended(process: subprocess.Popen[bytes], status: int) -> int:
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode


def _peak_bytes(usage: resource.struct_rusage) -> int:
    # Linux counts kilobytes, macOS bytes.
    return usage.ru_maxrss * 1024 if os.uname().sysname == "Linux" else usage.ru_maxrss


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - OUTPUT))
    return file.read().decode("utf-8", "replace")
