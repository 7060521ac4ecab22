"""The program of a child process: reads a request, sets its limits, calls one function, writes the result.

    python -P child.py FOLDER                    # FOLDER/request in, FOLDER/progress and FOLDER/result out
    python -P child.py --fork-server SOCKET      # the same for many folders, in forks of one interpreter
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import resource
import sys
import types
from collections.abc import Callable
from pathlib import Path

Report = Callable[[str], None]

FORK_SERVER = "--fork-server"
MEMORY_EXIT = 86
"""The exit code that says: a Python allocation failed."""


def echo(request: object, report: Report) -> object:
    """Gives the request back; it shows that the way to a child and back works."""
    report("echo")
    return request


def serve(folder: Path, parent: int) -> int:
    """Runs the request in `folder`, for a parent with whom this process ends, and returns the exit code."""
    importlib.import_module("planish.core.forked_process").die_with(parent)
    function, memory_bytes, request = pickle.loads((folder / "request").read_bytes())
    module, name = function.split(":")
    call = getattr(importlib.import_module(module), name)
    limit_memory(memory_bytes)
    progress = os.open(folder / "progress", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        value = call(request, lambda line: os.write(progress, line.encode() + b"\n"))
        text = json.dumps(value)
    except MemoryError:
        return MEMORY_EXIT
    temporary = folder / "result.part"
    temporary.write_text(text)
    os.replace(temporary, folder / "result")
    return 0


def limit_memory(extra_bytes: int) -> None:
    """Bounds the address space to what is in use now plus `extra_bytes`; no core files."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return  # elsewhere the address space of an idle process is no measure of anything
    bound = pages * resource.getpagesize() + extra_bytes
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        bound = min(bound, hard)
    resource.setrlimit(resource.RLIMIT_AS, (bound, hard))


def enter_package(root: Path) -> None:
    """Makes `planish` importable without running the package's own `__init__`.

    A child needs three small modules and starts in a tenth of a second, whatever the public interface imports.
    """
    package = types.ModuleType("planish")
    package.__path__ = [str(root)]
    sys.modules["planish"] = package


if __name__ == "__main__":
    enter_package(Path(__file__).resolve().parents[2])
    if sys.argv[1] == FORK_SERVER:
        importlib.import_module("planish.run.processes.fork_server").keep_forking(int(sys.argv[2]))
        sys.exit()
    code = serve(Path(sys.argv[1]), int(sys.argv[2]))
    sys.stdout.flush()
    # The libraries under test are not trusted to run their destructors.
    os._exit(code)
