"""What ends the analysis of one function: the build goes on, and says of a crash that it is a bug of planish."""

from __future__ import annotations

import faulthandler
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planish.build import functions
from planish.build.read import read_file
from planish.cli import main
from planish.core.fork_pool import Bounds, Lost
from planish.core.reasons import LOSSES, help_for
from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file

TWO = """double first(int n, double *x) { double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }
double second(int n, double *x) { double s = 1; for (int i = 0; i < n; i++) s *= x[i]; return s; }
"""


def crash() -> None:
    faulthandler.disable()
    os.kill(os.getpid(), signal.SIGSEGV)


@pytest.fixture
def ending(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Callable[[], object]], None]:
    """Makes the analysis of `first` do something first."""
    drafted = functions._draft_first
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.c").write_text(TWO)

    def set_up(act: Callable[[], object]) -> None:
        def draft(function: Any, *given: Any) -> Any:
            if function.name == "first":
                act()
            return drafted(function, *given)

        monkeypatch.setattr(functions, "_draft_first", draft)

    return set_up


def test_a_crash_is_told_as_a_bug(
    ending: Callable[[Callable[[], object]], None], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ending(crash)
    assert main(["build", "two.c", "--no-measure", "--target", "generic"]) == 0
    out, err = capfd.readouterr()
    assert "refused[analysis-crash]" in out and "its analysis crashed (SIGSEGV), which is a bug in Planish" in out
    assert "split the function" not in out
    last = err.rstrip().splitlines()[-2:]
    assert last[0] == "internal error: the analysis crashed of `first` in two.c" and "bug in Planish" in last[1]
    text = Path("planish-out/two.c").read_text()
    assert "planish_second_1" in text and "planish_first_1" not in text
    # It is not remembered: the next build may do better.
    ending(lambda: None)
    assert main(["build", "two.c", "--no-measure", "--target", "generic", "-q"]) == 0
    assert "planish_first_1" in Path("planish-out/two.c").read_text() and not capfd.readouterr().err


@pytest.mark.parametrize(
    ("lost", "id", "message"),
    [
        (Lost("processor"), "analysis-time", "its analysis takes more than 60 s of the processor's time"),
        (Lost("depth"), "analysis-depth", "its analysis meets what is nested too deep"),
        (Lost("wall"), "analysis-wait", "its analysis is not done after 900 s, most of which it waited"),
        (Lost("killed", "SIGKILL"), "analysis-killed", "its analysis was killed (SIGKILL)"),
        (Lost("crash", "SIGBUS"), "analysis-crash", "its analysis crashed (SIGBUS), which is a bug in Planish"),
    ],
)
def test_each_end_has_a_reason_of_its_own(lost: Lost, id: str, message: str) -> None:
    function = read_file(Source("two.c", TWO), Options()).functions[0]
    (remark,) = functions._kept(function, lost, functions.BOUNDS).remarks
    assert (remark.id, remark.message) == (id, message)
    assert LOSSES[lost.cause] == id and ("report it" in help_for(id)) == (lost.cause == "crash")


def test_the_bounds_of_an_analysis_are_those_that_are_told(
    ending: Callable[[Callable[[], object]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(functions, "BOUNDS", Bounds(cpu=60, wall=0.5))
    ending(lambda: signal.pause())
    result = build_file(Source("two.c", TWO), Options(measure=False, target="generic", functions=("first",)))
    (remark,) = result.functions[0].remarks
    assert remark.id == "analysis-wait" and "is not done after 0.5 s" in remark.message
