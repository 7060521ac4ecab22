"""`planish trials`: what it prints, exports and drops."""

from __future__ import annotations

from pathlib import Path

import pytest

from planish.cli import main
from planish.schedule.arguments import Point
from planish.tuning.store.trial_store import TrialStore
from planish.tuning.trial import TuningTask, TuningTrial

TASK = TuningTask("kernel nest(v0; )\n{\n}\n", "native", "0f" * 32, "gcc 12.2", "--fp reassociate")
BEST = TuningTrial(
    "ok", 1e-3, 2e-3, (1e-3,), calls=12, task=TASK, point=Point.of({"rows": 8}), label="f.c: f", made="2030-01-01"
)
FAILED = TuningTrial(
    "wrong", message="y[3] differs", task=TASK, point=Point.of({"rows": 4}), label="f.c: f", made="2020-01-01"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    TrialStore(tmp_path / "a").add_all([FAILED, BEST])
    return tmp_path / "a"


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = main(["trials", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def test_listing(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "list", "--store", path)
    assert code == 0 and "f.c: f" in out and "2.00x" in out and TASK.digest[:12] in out
    code, out, _ = run(capsys, "list", "--store", path, "--task", TASK.digest[:6])
    assert code == 0 and "rows=8" in out and "wrong" in out
    code, out, _ = run(capsys, "best", "--store", path)
    assert code == 0 and "rows=8" in out and "rows=4" not in out


def test_showing(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "show", FAILED.digest[:10], "--store", path)
    assert code == 0 and "wrong: y[3] differs" in out
    code, out, _ = run(capsys, "show", TASK.digest[:10], "--store", path)
    assert code == 0 and "rows=8" in out and "1 ms" in out
    code, _, err = run(capsys, "show", "zz", "--store", path)
    assert code == 1 and "E0924" in err


def test_a_way_to_another_store(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines, other, third = tmp_path / "a.jsonl", tmp_path / "b", tmp_path / "c"
    assert run(capsys, "export", "-o", lines, "--store", path)[0] == 0
    code, out, _ = run(capsys, "import", lines, "--store", other)
    assert code == 0 and "2 trials added" in out
    code, out, _ = run(capsys, "merge", other, path, "--store", third)
    assert code == 0 and "0 trials added, 2 were there" in out
    assert run(capsys, "export", "--store", third)[1] == lines.read_text()
    code, _, err = run(capsys, "merge", tmp_path / "none", "--store", third)
    assert code == 1 and "E0101" in err


def test_dropping(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "prune", "--store", path)
    assert code == 1 and "E0925" in err
    code, out, _ = run(capsys, "prune", "--older", "100", "--store", path)
    assert code == 0 and "1 trial dropped" in out
    assert [*TrialStore(path).trials()] == [BEST]


def test_a_damaged_line_is_shown(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = tmp_path / "a.jsonl"
    lines.write_text("{}\n")
    code, _, err = run(capsys, "import", lines, "--store", path)
    assert code == 1 and "E0923" in err and f"{lines}:1:1" in err
