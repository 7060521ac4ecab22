"""A servant: a process that calls functions, one after the other, and keeps what they keep between calls.

A time-out is told apart from a death, and after both the next call has a new process.

>>> with Servant() as servant:
...     servant.call(abs, (-3,), 60.0)
3
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from planish.core.forked_process import die_with

_TOLD = 500
_GRACE = 1.0
"""Seconds that a process has to end by itself once nothing more is asked of it."""


class ServantError(Exception):
    """A call that gave no result; the message says why."""


class ServantDiedError(ServantError):
    """The process ended by itself, or was killed: by which signal, or with which exit code."""


class ServantTimeoutError(ServantError):
    """The call took longer than it may; its process was killed."""


class Servant:
    """A process that is started with the first call, and ends with this one. `cores`: on which it may run."""

    def __init__(self, cores: Sequence[int] = ()) -> None:
        self._cores = tuple(cores)
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Servant:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def call(self, function: Callable[..., Any], arguments: tuple[Any, ...], seconds: float) -> Any:
        """The result of a function of a module; what it raises is raised here. ServantTimeoutError after some seconds,
        ServantDiedError where the process ends before."""
        process = self._started()
        deadline = time.monotonic() + seconds
        message = pickle.dumps((function, arguments))
        try:
            assert process.stdin is not None
            process.stdin.write(len(message).to_bytes(8, "little") + message)
            process.stdin.flush()
            done, value = pickle.loads(self._read(int.from_bytes(self._read(8, deadline), "little"), deadline))
        except (EOFError, BrokenPipeError) as error:
            raise ServantDiedError(self._end()) from error
        except TimeoutError as error:
            self._kill()
            raise ServantTimeoutError(f"it did not end within {seconds:g} s") from error
        except BaseException:
            self._kill()  # an answer may still come, to a question that nobody asks any more
            raise
        if not done:
            raise value
        return value

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None and self._process.stdin is not None:
            try:
                self._process.stdin.close()
                self._process.wait(_GRACE)
            except (BrokenPipeError, subprocess.TimeoutExpired):
                pass
        self._kill()

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._end()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            command = [sys.executable, "-m", "planish.run.processes.servant", str(os.getpid())]
            # A group of its own: an interrupt is for the process that waits for this one.
            self._folder = tempfile.TemporaryDirectory(prefix="planish-servant-", ignore_cleanup_errors=True)
            self._process = subprocess.Popen(
                [*command, *map(str, self._cores)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0,
                env={**os.environ, "TMPDIR": self._folder.name},
            )  # fmt: skip
        return self._process

    def _read(self, count: int, deadline: float) -> bytes:
        assert self._process is not None and self._process.stdout is not None
        end, parts = self._process.stdout.fileno(), []
        while count:
            ready, _, _ = select.select([end], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
            part = os.read(end, min(count, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def _end(self) -> str:
        """Waits for the end of the process; how it ended."""
        process, self._process = self._process, None
        if process is None:
            return "it was never started"
        for stream in (process.stdin, process.stdout):
            try:
                if stream is not None:
                    stream.close()
            except BrokenPipeError:
                pass  # what it did not read any more
        code = process.wait()
        if self._folder is not None:
            self._folder.cleanup()  # what a process leaves that was killed
        known = code < 0 and -code in signal.valid_signals()
        return f"its process ended by {signal.Signals(-code).name}" if known else f"its process ended with {code}"


def _serve(parent: int, cores: Sequence[int]) -> None:
    die_with(parent)
    if cores:
        os.sched_setaffinity(0, cores)
    asked, told = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing but results is written there
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    while head := asked.read(8):
        answer = pickle.dumps(_answer(asked.read(int.from_bytes(head, "little"))))
        told.write(len(answer).to_bytes(8, "little") + answer)
        told.flush()


def _answer(message: bytes) -> tuple[bool, Any]:
    try:
        function, arguments = pickle.loads(message)
        return True, function(*arguments)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            return False, RuntimeError(f"{type(error).__name__}: {error}"[:_TOLD])
        return False, error


if __name__ == "__main__":
    # Under its own name: what is pickled here is looked for there.
    import_module("planish.run.processes.servant")._serve(int(sys.argv[1]), [int(x) for x in sys.argv[2:]])
