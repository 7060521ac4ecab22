"""Tuning beside a running program: another process, of low priority, that ends with the program at the latest.

>>> beside = BackgroundTuning("builtins:print", None)
>>> beside.wait(60.0)
True
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

_CHILD = """
import importlib, os, pickle, sys
os.nice(10)
module, _, name = sys.argv[1].partition(":")
with open(sys.argv[2], "rb") as request:
    getattr(importlib.import_module(module), name)(pickle.load(request))
"""
_GRACE = 5.0
"""Seconds in which the process puts its things away when it is asked to end."""


class BackgroundTuning:
    """A process that calls a function ("module:name") with a request, which has to be fit for pickle. What it finds is
    in the trial store; what it prints, and how it fails, is nobody's affair."""

    def __init__(self, function: str, request: object) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="planish-background-")
        path = Path(self._folder.name) / "request"
        path.write_bytes(pickle.dumps(request))
        quiet = subprocess.DEVNULL
        # A group of its own: Ctrl-C at the program is not meant for it, and what it has started ends with it.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _CHILD, function, str(path)],
            stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(x for x in sys.path if x)},
        )  # fmt: skip
        atexit.register(self.stop)

    def has_ended(self) -> bool:
        """Whether it has come to its end; what it was given is removed then."""
        if self._process.poll() is None:
            return False
        self._folder.cleanup()
        atexit.unregister(self.stop)
        return True

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for its end, for some seconds at most; whether it has ended."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self.has_ended()

    def stop(self) -> None:
        """Ends it; all its trials so far are kept."""
        for number in (signal.SIGINT, signal.SIGKILL):
            if self._process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, number)
                self.wait(_GRACE)
        self.has_ended()
