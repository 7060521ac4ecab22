"""A Python function run in a child process: a crash, an endless loop or a flood of memory is an ordinary result.

>>> run_child("planish.run.processes.child:echo", {"n": 3}, Limits(seconds=30)).value
{'n': 3}
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.run.processes.child import MEMORY_EXIT
from planish.run.processes.fork_client import PROGRAM, start_server
from planish.run.processes.process import Finished, Limits, run_process

__all__ = ["ChildResult", "Limits", "expect_children", "run_child"]

Status = Literal["ok", "crashed", "timeout", "memory"]


_KEEPING = f"glibc.malloc.mmap_threshold={32 << 20}:glibc.malloc.trim_threshold={4 << 30}"
"""Large blocks come from memory that is kept, so that not each of them begins with new pages."""
_SPOILING = f"glibc.malloc.perturb=64:glibc.malloc.tcache_count=0:{_KEEPING}"
"""Every byte of memory that is given back is 0x40, of other memory that is given out 0xbf: numbers of some size in
every type, such as 32.5 and -0.125 in f64. What is kept for a thread would be given out as it is."""


@dataclass(frozen=True, slots=True)
class ChildResult:
    """What came of a child: the function's `value` (JSON) when `status` is "ok".

    `lines` are what the function reported before it ended; `signal` names what killed it ("SIGSEGV"), if anything did;
    `seconds` is the wall-clock time with the start of the interpreter.
    """

    status: Status
    value: Any
    lines: tuple[str, ...]
    signal: str
    stderr: str
    seconds: float

    @property
    def progress(self) -> str:
        """The last line that the function reported."""
        return self.lines[-1] if self.lines else ""


def run_child(
    function: str, request: object, limits: Limits, spoiled: bool = False, forked: bool = False
) -> ChildResult:  # fmt: skip
    """Calls `function` ("package.module:name") with `(request, report)` in another process and returns its result.

    `request` travels by pickle, the result by JSON; `report` takes a line of text that says how far the function is.
    The memory limit counts on top of what the started interpreter has. A Python exception in the function is a bug:
    RuntimeError with its traceback. The process is a new interpreter. `forked`: it is a fork of one that was started
    once (on Linux). `spoiled`: it is such a fork, and memory that it asks for holds no zeros, where the C library is
    glibc, so that what is read before it is written shows. Raises PlanishError E0807 where no process can be started
    or the temporary folder cannot be written.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="planish-child-") as name:
            folder, environment = Path(name), _environment(spoiled)
            (folder / "request").write_bytes(pickle.dumps((function, limits.memory_bytes, request)))
            finished = None
            if (spoiled or forked) and (server := start_server(environment)) is not None:
                finished = server.run(folder, function.partition(":")[0], environment, limits.seconds)
            if finished is None:
                # -P: the script's own folder is not searched for modules.
                command = [sys.executable, "-P", str(PROGRAM), str(folder), str(os.getpid())]
                finished = run_process(command, limits, environment=environment)
            return _result(finished, folder, limits)
    except OSError as error:
        message = f"cannot run a child process: {error.strerror or error}"
        advice = "check the space in the temporary folder and the limits on processes"
        raise PlanishError(Diagnostic("E0807", message, help=advice)) from error


def expect_children() -> None:
    """Starts what spoiled children are forked from, for this process and those that will be forked from it."""
    _expect(spoiled=True)


def expect_all_children() -> None:
    """Starts as well what other children are forked from."""
    _expect(spoiled=True)
    _expect(spoiled=False)


def _expect(spoiled: bool) -> None:
    with suppress(OSError):  # it will be told where a child is needed
        start_server(_environment(spoiled))


def _environment(spoiled: bool) -> dict[str, str]:
    # NumPy's own BLAS would start threads that cost time, address space and quiet cores.
    quiet = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
    tunables = {"GLIBC_TUNABLES": _SPOILING} if spoiled else {}
    return {**os.environ, **dict.fromkeys(quiet, "1"), "PYTHONDONTWRITEBYTECODE": "1", **tunables}


def _result(finished: Finished, folder: Path, limits: Limits) -> ChildResult:
    lines = _read_lines(folder / "progress")
    number = -finished.code if finished.code < 0 else 0
    name = signal.Signals(number).name if number in signal.valid_signals() and number else ""

    def ended(status: Status, value: Any = None) -> ChildResult:
        return ChildResult(status, value, lines, name, finished.stderr, finished.seconds)

    # The oracle and the clock give single calls an alarm of their own.
    if finished.status == "timeout" or number in (signal.SIGALRM, signal.SIGPROF):
        return ended("timeout")
    if finished.code == 0:
        try:
            return ended("ok", json.loads((folder / "result").read_text()))
        except (OSError, ValueError):
            return ended("crashed")  # the program called exit() itself
    if finished.code == MEMORY_EXIT:
        return ended("memory")
    if number:
        # A program that does not look at malloc's null dies of it; the resident size tells that it was the limit.
        flooded = finished.peak_bytes >= 0.8 * limits.memory_bytes or number == signal.SIGKILL
        return ended("memory" if flooded else "crashed")
    if finished.code == 1 and "Traceback" in finished.stderr:
        raise RuntimeError(f"a child process failed:\n{finished.stderr}")
    return ended("crashed")


def _read_lines(path: Path) -> tuple[str, ...]:
    try:
        return tuple(path.read_text(errors="replace").splitlines())
    except OSError:
        return ()
