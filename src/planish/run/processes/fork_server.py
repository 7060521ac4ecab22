"""A fork server: an interpreter that is kept, has loaded what children need, and forks a child for each request.

    python -P child.py --fork-server SOCKET      # a request is a folder and a module, with the end of a line

A child is as one that was just started: it has a process group of its own, what it prints goes into files, and folder,
environment and cores are those of whoever asks.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import select
import signal
import socket
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from planish.run.processes.child import serve

_MOST = 1 << 16
"""Bytes of a request at the most."""


def keep_forking(control: int) -> None:
    """Serves the requests that come on a socket until nobody can send any more, and waits for all that it forked, whose
    time counts as its own."""
    line = socket.socket(fileno=control)
    while True:
        message, ends, _, _ = socket.recv_fds(line, _MOST, 1)
        if not message:
            break
        folder, module = json.loads(message)
        with suppress(Exception):
            importlib.import_module(module)  # where it cannot be loaded, the child says so
        with suppress(OSError):  # whoever asked sees the end of the line
            if os.fork() == 0:
                line.close()
                _watch(Path(folder), socket.socket(fileno=ends[0]))
        os.close(ends[0])
        _reap(os.WNOHANG)
    _reap(0)


def _reap(options: int) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, options)[0]:
            pass


def _watch(folder: Path, asking: socket.socket) -> NoReturn:
    """The life of the process between server and child: it says how the child ended, and ends it with all that it
    started when the one who asked is no longer there, or wants no more of it."""
    own = os.getpid()
    child = os.fork()
    if child == 0:
        asking.close()
        _live(folder, own)
    code = 1
    try:
        with suppress(OSError):  # the child does so, too: who is first does not matter
            os.setpgid(child, child)
        ending, ready = os.pidfd_open(child), select.poll()
        for file in (ending, asking.fileno()):
            ready.register(file, select.POLLIN)
        if ending not in (x for x, _ in ready.poll()):
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
        _, status, usage = os.wait4(child, 0)
        found = (os.waitstatus_to_exitcode(status), usage.ru_maxrss, usage.ru_utime + usage.ru_stime)
        with suppress(OSError):
            asking.send(json.dumps(found).encode())
        code = 0
    finally:
        os._exit(code)


def _live(folder: Path, parent: int) -> NoReturn:
    """The life of a child."""
    code = 1
    try:
        os.setpgid(0, 0)
        for number, name in ((1, "output"), (2, "errors")):
            file = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(file, number)
            os.close(file)
        directory, environment, cores = pickle.loads((folder / "surroundings").read_bytes())
        os.chdir(directory)
        os.environ.clear()
        os.environ.update(environment)
        os.sched_setaffinity(0, cores)
        code = serve(folder, parent)
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        # The libraries under test are not trusted to run their destructors.
        os._exit(code)
