"""The client of the fork server: children that need no new interpreter, for a process and all that are forked from it.

    server = start_server(environment)     # one for each environment that an interpreter starts with
    finished = server.run(folder, "planish.run.oracle.series", environment, seconds=60.0)
"""

from __future__ import annotations

import atexit
import json
import os
import pickle
import select
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from planish.core.forked_process import GRACE, delayed_signals
from planish.run.processes.child import FORK_SERVER
from planish.run.processes.process import OUTPUT, Ending, Finished

PROGRAM = Path(__file__).with_name("child.py")
_READ_AT_START = ("GLIBC_", "LANG", "LC_", "LD_", "MALLOC_", "MKL_", "NPY_", "OPENBLAS_", "PYTHON", "VECLIB_")
"""What the names of variables begin with that the system, Python and NumPy read when an interpreter starts."""
_ANSWER = 1 << 10
_KILLED = 15.0
"""Seconds in which a server that has time to run says of a child that it is killed."""


class ForkServer:
    """A server and the way to it, which processes have, too, that are forked from this one. It ends when none of them
    is left."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-P", str(PROGRAM), FORK_SERVER, str(theirs.fileno())]
        self._owner = os.getpid()
        with theirs, delayed_signals():
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env=dict(environment), process_group=0, pass_fds=(theirs.fileno(),),
            )  # fmt: skip
        atexit.register(self.close)

    def run(self, folder: Path, module: str, environment: Mapping[str, str], seconds: float) -> Finished | None:
        """How the child ended that served the request in `folder`; None where the server is gone, stopped, or
        cannot fork, and where the current folder is gone.

        The child and all that it started are killed when the time is over, and when this process is interrupted."""
        try:
            directory = Path.cwd()
        except FileNotFoundError:
            return None  # a new interpreter works there
        surroundings = directory, dict(environment), os.sched_getaffinity(0)
        (folder / "surroundings").write_bytes(pickle.dumps(surroundings))
        started = time.monotonic()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours:
            with theirs:
                try:
                    socket.send_fds(self._line, [json.dumps((str(folder), module)).encode()], [theirs.fileno()])
                except OSError:
                    return None
            status: Ending = "ended"
            try:
                if not select.select([ours], [], [], seconds)[0]:
                    status = "timeout"
            finally:
                with suppress(OSError):
                    ours.shutdown(socket.SHUT_WR)
                answer = ours.recv(_ANSWER) if select.select([ours], [], [], _KILLED)[0] else b""
        if not answer:
            return None
        code, peak, cpu = json.loads(answer)
        out, err = (_tail(folder / name) for name in ("output", "errors"))
        return Finished(status, code, out, err, time.monotonic() - started, peak * 1024, cpu)

    def close(self) -> None:
        """Waits for its end, so that its time counts; others that use it have to have ended."""
        if os.getpid() != self._owner:
            return
        self._line.close()
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


_SERVERS: dict[tuple[tuple[str, str], ...], ForkServer] = {}


def start_server(environment: Mapping[str, str]) -> ForkServer | None:
    """The server for an environment, which is started when it is first asked for; None on other systems than Linux."""
    if sys.platform != "linux":
        return None
    key = tuple(sorted((x, y) for x, y in environment.items() if x.startswith(_READ_AT_START)))
    if key not in _SERVERS:
        _SERVERS[key] = ForkServer(environment)
    return _SERVERS[key]


def _tail(path: Path) -> str:
    with suppress(OSError):
        return path.read_bytes()[-OUTPUT:].decode(errors="replace")
    return ""
