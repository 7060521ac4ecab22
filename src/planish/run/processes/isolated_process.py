"""One piece of work in a process of its own, with its own signals and memory bounds.

>>> import pickle
>>> pickle.loads(run_alone(pickle.dumps((list, abs, -3))))
3
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

_TOLD = 2000


def run_alone(work: bytes) -> bytes:
    """The result, pickled, of work that is pickled as what is to be called first, a function, and its argument.
    RuntimeError where the process does not end well."""
    command = [sys.executable, "-m", "planish.run.processes.isolated_process"]
    finished = subprocess.run(command, input=work, capture_output=True, check=False)
    if finished.returncode != 0:
        told = finished.stderr.decode("utf-8", "replace")[-_TOLD:]
        raise RuntimeError(f"a worker ended with {finished.returncode}: {told}")
    return finished.stdout


def _serve() -> None:
    start, function, argument = pickle.load(sys.stdin.buffer)
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)  # nothing but the result is written there
        start()
        pickle.dump(function(argument), out)


if __name__ == "__main__":
    _serve()
