"""Work in a process of its own ends, one way or another."""

from __future__ import annotations

import os
import signal
import time

import pytest

from planish.poly.isl.timeout import attempt


def test_what_is_computed_is_given() -> None:
    assert attempt(lambda: "a" * 1_000_000, 10) == "a" * 1_000_000


def test_what_takes_too_long_is_given_up() -> None:
    def compute() -> None:
        while True:
            pass

    assert attempt(compute, 0.05) is None


def test_what_only_waits_is_given_up() -> None:
    assert attempt(lambda: time.sleep(60), 0.01) is None


def test_a_crash_gives_nothing() -> None:
    assert attempt(lambda: os.kill(os.getpid(), signal.SIGKILL), 10) is None


def test_a_fault_is_told() -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        attempt(lambda: 1 // 0, 10)


def test_what_is_changed_stays_there() -> None:
    seen: list[int] = []
    assert attempt(lambda: seen.append(1) or len(seen), 10) == "1"
    assert seen == []
