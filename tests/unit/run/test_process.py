"""A program is waited for until it ends or its time is over, whether the system tells of the end or not."""

from __future__ import annotations

import os
import sys
import time

import pytest

from planish.run.processes.process import Limits, run_process


@pytest.fixture(params=["told", "looking"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The end is told by the system, or looked for."""
    if request.param == "looking":

        def refuse(process: int) -> int:
            raise OSError("no such call")

        monkeypatch.setattr(os, "pidfd_open", refuse, raising=False)
    return str(request.param)


def test_the_end_is_noticed(way: str) -> None:
    finished = run_process([sys.executable, "-Sc", "print(3); raise SystemExit(5)"], Limits(seconds=30))
    assert (finished.status, finished.code, finished.stdout) == ("ended", 5, "3\n")
    assert finished.peak_bytes > 0


def test_what_takes_too_long_is_ended(way: str) -> None:
    started = time.monotonic()
    finished = run_process([sys.executable, "-Sc", "import time; time.sleep(60)"], Limits(seconds=0.2))
    assert finished.status == "timeout" and finished.code < 0
    assert 0.2 <= time.monotonic() - started < 20


def test_no_file_is_left_open() -> None:
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("nothing tells the open files here")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        run_process(["true"], Limits(seconds=10))
    assert len(os.listdir("/proc/self/fd")) == before
