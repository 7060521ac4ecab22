"""Children: what they return, and how they end when they misbehave."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from planish.run.processes.process import Limits, run_process
from planish.run.processes.sandbox import run_child


def test_a_value_comes_back() -> None:
    result = run_child("planish.run.processes.child:echo", {"n": [1, 2.5, None]}, Limits(30))
    assert (result.status, result.value, result.progress) == ("ok", {"n": [1, 2.5, None]}, "echo")


def test_a_python_error_is_a_bug_of_ours() -> None:
    with pytest.raises(RuntimeError, match="no_such_function"):
        run_child("planish.run.processes.child:no_such_function", None, Limits(30))


def test_a_child_does_not_run_the_package_init() -> None:
    command = "import sys; import planish.run.processes.child as c; print(1)"
    text = Path(sys.modules["planish.run.processes.child"].__file__ or "").read_text()
    assert "enter_package(" in text.split('__name__ == "__main__"')[1]
    assert run_process([sys.executable, "-c", command], Limits(30)).stdout == "1\n"


def test_time_is_limited_for_the_whole_group() -> None:
    started = time.monotonic()
    finished = run_process(["sh", "-c", "sleep 30 & sleep 30"], Limits(0.3))
    assert finished.status == "timeout"
    assert time.monotonic() - started < 5


def test_output_and_code_are_kept() -> None:
    finished = run_process(["sh", "-c", "echo out; echo err >&2; exit 3"], Limits(10))
    assert (finished.code, finished.stdout, finished.stderr) == (3, "out\n", "err\n")
    assert finished.peak_bytes > 0


def test_an_interrupted_parent_leaves_nothing_behind(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    # A shell that runs this suite in the background lets its children ignore the signal.
    program = (
        "import signal\n"
        "from planish.run.processes.process import Limits, run_process\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"run_process(['sh', '-c', 'echo $$ > {mark}; exec sleep 60'], Limits(60))\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 10
    while not (mark.exists() and mark.read_text().strip()) and time.monotonic() < deadline:
        time.sleep(0.02)
    child = int(mark.read_text())
    parent.send_signal(signal.SIGINT)
    parent.wait(10)
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


@pytest.mark.parametrize("module", ["planish.run.oracle.series", "planish.run.timing.stopwatch"])
def test_a_child_does_not_load_a_front_end(module: str) -> None:
    """Every comparison and every race starts a new interpreter."""
    told = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", told], capture_output=True, text=True, check=True)
    assert not {"planish.frontend.c", "pcpp", "islpy"} & set(done.stdout.split())
