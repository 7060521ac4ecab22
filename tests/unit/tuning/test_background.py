"""Tuning beside a program: a process that ends by itself, or when it is asked to."""

from __future__ import annotations

import time
from pathlib import Path

from planish.tuning.background import BackgroundTuning


def test_it_calls_a_function_with_a_request(tmp_path: Path) -> None:
    path = tmp_path / "made"
    beside = BackgroundTuning("os:mkdir", str(path))
    assert beside.wait(60.0) and beside.has_ended() and path.is_dir()


def test_what_fails_is_over() -> None:
    assert BackgroundTuning("os:nothing", None).wait(60.0)


def test_it_ends_when_it_is_stopped() -> None:
    beside = BackgroundTuning("time:sleep", 600)
    assert not beside.has_ended()
    began = time.monotonic()
    beside.stop()
    assert beside.has_ended() and time.monotonic() - began < 30.0
    beside.stop()
