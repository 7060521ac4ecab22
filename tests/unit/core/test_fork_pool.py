"""Work in a forked process: results in order, what is lost, what is raised, and what is heard on the way."""

from __future__ import annotations

import itertools
import os
import signal
import tempfile
import time
from pathlib import Path

import pytest

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.fork_pool import Bounds, Lost, run_apart
from planish.core.progress import Progress
from planish.core.span import Source
from planish.run.processes.process import Limits, run_process


def _work(piece: str, tell: Progress) -> str | int:
    match piece:
        case "spin":
            return sum(itertools.repeat(1, 10**14))
        case "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            os._exit(3)
        case "slow":
            time.sleep(0.1)
        case "refuse":
            raise PlanishError(
                Diagnostic("E0101", "nothing is there", Source("a.c", "x;").point(1)), Source("a.c", "x;")
            )
        case "fail":
            raise ValueError("no such thing")
        case "odd":
            raise _OddError(1, 2)
    tell(f"at {piece}")
    return piece


class _OddError(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def test_what_is_lost_leaves_the_rest() -> None:
    heard: list[str] = []
    pieces = ["a", "spin", "b", "crash", "exit", "c"]
    found = list(run_apart(_work, pieces, Bounds(cpu=0.2), heard.append))
    assert found == ["a", Lost("processor"), "b", Lost("killed", "SIGKILL"), Lost("crash", "exit code 3"), "c"]
    assert heard == ["at a", "at b", "at c"]


@pytest.mark.parametrize("lanes", [2, 3, 9])
def test_side_by_side_the_order_stays(lanes: int) -> None:
    pieces = ["a", "spin", "b", "crash", "exit", "c", *"defghi"]
    found = list(run_apart(_work, pieces, Bounds(cpu=0.2), lanes=lanes))
    assert found == ["a", Lost("processor"), "b", Lost("killed", "SIGKILL"), Lost("crash", "exit code 3"), *"cdefghi"]


def test_pieces_run_at_the_same_time_in_processes_that_serve_many() -> None:
    found = list(run_apart(lambda piece, tell: (time.sleep(0.05), os.getpid())[1], range(8), Bounds(cpu=9), lanes=3))
    assert len(set(found)) == 3


def test_what_is_raised_waits_for_its_turn() -> None:
    results = run_apart(_work, ["slow", "fail", "a"], Bounds(cpu=9), lanes=2)
    assert next(results) == "slow"
    with pytest.raises(ValueError, match="no such thing"):
        next(results)


def test_silence_is_lost() -> None:
    assert list(run_apart(_work, ["spin", "a"], Bounds(cpu=60, wall=0.2))) == [Lost("wall"), "a"]


@pytest.mark.parametrize(("piece", "kind"), [("refuse", PlanishError), ("fail", ValueError), ("odd", RuntimeError)])
def test_what_is_raised_is_raised_here_with_its_place(piece: str, kind: type[Exception]) -> None:
    with pytest.raises(kind) as raised:
        list(run_apart(_work, ["a", piece], Bounds(cpu=10)))
    assert any("in _work" in note for note in raised.value.__notes__)
    if piece == "refuse":
        assert "a.c:1" in str(raised.value) and isinstance(raised.value, PlanishError)


def test_results_may_be_deep() -> None:
    def nest(piece: int, tell: Progress) -> list[object]:
        out: list[object] = []
        for _ in range(piece):
            out = [out]
        return out

    (found,) = run_apart(nest, [5000], Bounds(cpu=10))
    depth = 0
    while isinstance(found, list) and found:
        found, depth = found[0], depth + 1
    assert depth == 5000


def test_nothing_is_left_when_results_are_no_longer_asked_for() -> None:
    results = run_apart(lambda piece, tell: os.getpid(), [1, 2], Bounds(cpu=10))
    child = next(results)
    results.close()
    assert isinstance(child, int)
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def wait_for(path: Path) -> int:
    """The number of a process that writes it there."""
    deadline = time.monotonic() + 60
    while not (path.exists() and path.read_text().endswith("\n")) and time.monotonic() < deadline:
        time.sleep(0.01)
    return int(path.read_text())


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("bound", ["wall", "closed", "signal"])
def test_a_program_that_does_not_end_is_not_left_running(bound: str, tmp_path: Path) -> None:
    started, scratch = tmp_path / "started", tmp_path / "scratch"
    scratch.mkdir()

    def work(piece: int, tell: Progress) -> int:
        if piece == 0:
            return os.getpid()
        with tempfile.TemporaryDirectory(dir=scratch):
            return run_process(["sh", "-c", f"echo $$ > {started}; exec sleep 600"], Limits(60)).code

    results = run_apart(work, [0, 1], Bounds(cpu=60, wall=2.0 if bound == "wall" else 60.0))
    child = next(results)
    assert isinstance(child, int)
    process = wait_for(started)
    match bound:
        case "wall":
            assert list(results) == [Lost("wall")]
        case "closed":
            results.close()
        case _:
            os.kill(child, signal.SIGTERM)
            assert list(results) == [Lost("killed", "SIGTERM")]
    assert not is_running(process) and not is_running(child)
    assert list(scratch.iterdir()) == []


class _Slow:
    def flush(self) -> None:
        time.sleep(0.05)


def test_a_process_that_is_asked_to_end_while_it_ends_goes_no_other_way(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here, lost = os.getpid(), tmp_path / "lost"
    monkeypatch.setattr("sys.stdout", _Slow())
    try:
        assert list(run_apart(lambda piece, tell: piece, [1, 2], Bounds(cpu=10))) == [1, 2]
    finally:
        if os.getpid() != here:
            lost.touch()
            os._exit(0)
    time.sleep(0.2)
    assert not lost.exists()
