"""Children: what they return, and how they end when they misbehave."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from planish.run.processes import fork_client
from planish.run.processes.fork_client import start_server
from planish.run.processes.process import Limits, run_process
from planish.run.processes.sandbox import _environment, run_child

KINDS = (False, True)
"""New interpreters, and forks of one that is kept."""


@pytest.mark.parametrize("spoiled", KINDS)
def test_a_value_comes_back(spoiled: bool) -> None:
    result = run_child("planish.run.processes.child:echo", {"n": [1, 2.5, None]}, Limits(30), spoiled)
    assert (result.status, result.value, result.progress) == ("ok", {"n": [1, 2.5, None]}, "echo")


@pytest.mark.parametrize("spoiled", KINDS)
def test_a_python_error_is_a_bug_of_ours(spoiled: bool) -> None:
    for wrong in ("planish.run.processes.child:no_such_function", "planish.no_such_module:echo"):
        with pytest.raises(RuntimeError, match="no_such"):
            run_child(wrong, None, Limits(30), spoiled)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module whose functions misbehave, or tell what surrounds them."""
    (tmp_path / "misbehaving.py").write_text(
        "import os, subprocess, time\n"
        "def crash(request, report):\n    report('ready')\n    os.kill(os.getpid(), 11)\n"
        "def leave(request, report):\n    os.write(2, b'bye')\n    os._exit(0)\n"
        "def flood(request, report):\n    return len(bytearray(request))\n"
        "def wait(request, report):\n"
        "    child = subprocess.Popen(['sleep', '60'])\n    report(str(child.pid))\n    time.sleep(60)\n"
        "def tell(request, report):\n"
        "    place, cores = [os.getcwd(), os.environ.get('WORD')], sorted(os.sched_getaffinity(0))\n"
        "    apart, files = os.getpgid(0) == os.getpid(), os.listdir('/proc/self/fd')\n"
        "    return [*place, cores, apart, files, os.read(0, 9).decode()]\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return "misbehaving"


@pytest.mark.parametrize("spoiled", KINDS)
def test_a_child_that_does_not_come_to_its_end(spoiled: bool, module: str) -> None:
    crashed = run_child(f"{module}:crash", None, Limits(30), spoiled)
    assert (crashed.status, crashed.signal, crashed.progress) == ("crashed", "SIGSEGV", "ready")
    left = run_child(f"{module}:leave", None, Limits(30), spoiled)
    assert (left.status, left.signal, left.stderr) == ("crashed", "", "bye")
    assert run_child(f"{module}:flood", 1 << 29, Limits(30, 1 << 28), spoiled).status == "memory"
    assert run_child(f"{module}:flood", 1 << 20, Limits(30, 1 << 28), spoiled).value == 1 << 20
    late = run_child(f"{module}:wait", None, Limits(3), spoiled)
    assert late.status == "timeout" and late.seconds < 20
    deadline = time.monotonic() + 5
    while Path(f"/proc/{late.progress}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert late.progress and not Path(f"/proc/{late.progress}").exists()


def test_a_fork_is_surrounded_as_a_new_interpreter_is(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_child(f"{module}:tell", None, Limits(30), True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORD", "said")
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        new, forked = (run_child(f"{module}:tell", None, Limits(30), x).value for x in KINDS)
    finally:
        os.sched_setaffinity(0, before)
    assert forked == new
    assert forked[:4] == [str(tmp_path), "said", [min(before)], True]


def test_a_server_that_is_gone_is_missed_by_nobody(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_NOBODY", "another environment")
    server = start_server(_environment(spoiled=True))
    assert server is not None
    server.close()
    assert run_child("planish.run.processes.child:echo", 3, Limits(30), spoiled=True).value == 3


def test_a_server_ends_with_whom_it_serves() -> None:
    program = (
        "import os\nfrom planish.run.processes.sandbox import Limits, run_child\n"
        "run_child('planish.run.processes.child:echo', 1, Limits(30), spoiled=True)\n"
        "from planish.run.processes import fork_client\n"
        "print(*(x._process.pid for x in fork_client._SERVERS.values()), flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    deadline = time.monotonic() + 10
    while Path(f"/proc/{done.stdout.strip()}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert done.stdout.strip().isdigit() and not Path(f"/proc/{done.stdout.strip()}").exists()


def test_a_child_does_not_run_the_package_init() -> None:
    command = "import sys; import planish.run.processes.child as c; print(1)"
    text = Path(sys.modules["planish.run.processes.child"].__file__ or "").read_text()
    assert "enter_package(" in text.split('__name__ == "__main__"')[1]
    assert run_process([sys.executable, "-c", command], Limits(30)).stdout == "1\n"


def test_a_server_that_is_stopped_and_a_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert run_child("planish.run.processes.child:echo", 1, Limits(30), True).value == 1
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fork_client, "_KILLED", 0.1)
    server = start_server(_environment(True))
    assert server is not None
    server._process.send_signal(signal.SIGSTOP)
    try:
        assert run_child("planish.run.processes.child:echo", 2, Limits(2), True).value == 2
    finally:
        server._process.send_signal(signal.SIGCONT)
    assert run_child("planish.run.processes.child:echo", 3, Limits(30), True).value == 3


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
