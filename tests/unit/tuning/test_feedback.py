"""Points are compared by their time, by the bytes of their code, or by both: trials, their front, the command."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from planish.cli import main
from planish.core.cache import key
from planish.core.diagnostic import PlanishError
from planish.report.tuning import describe_front, describe_result
from planish.schedule.arguments import Point, TuningArgument, TuningArguments
from planish.tuning.measurement import Measurement
from planish.tuning.pareto import find_front
from planish.tuning.points.built_point import BuiltPoint, RaceSetup
from planish.tuning.points.feedback import Feedback, measure_library
from planish.tuning.points.timer import time_point, time_reference
from planish.tuning.searches.exhaustive import ExhaustiveSearch
from planish.tuning.session import TunedResult, TuningWishes
from planish.tuning.spaces.search_space import SearchSpace
from planish.tuning.store.trial_store import TrialStore, default_store
from planish.tuning.trial import TuningTask, TuningTrial, parse_trial, print_trial
from planish.tuning.tuner import Tuner, TuningBudget, TuningResult

TASK = TuningTask("kernel nest(; )", "native", "0f", "gcc 12")
SPACE = SearchSpace({"a": TuningArguments((TuningArgument("rows", (1, 2, 4), 1),))})
ADD = "void add(int n, const int *restrict a, int *restrict b) { for (int i = 0; i < n; i++) b[i] += a[i]; }\n"
SCALE = "void scale(int n, float *restrict a) { for (int i = 0; i < n; i++) a[i] *= 3; }\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "add.c").write_text(ADD)
    (tmp_path / "src" / "scale.c").write_text(SCALE)
    (tmp_path / "src" / "none.c").write_text("int one(void) { return 1; }\n")
    return tmp_path


def trial(rows: int, seconds: float, size: float, outcome: Any = "ok") -> TuningTrial:
    point = Point.of({"rows": rows})
    return TuningTrial(outcome, seconds, 1.0, more=(("bytes", size, 100.0),), point=point, task=TASK, code=f"{rows}")


def test_the_size_of_a_library_is_that_of_its_code_and_constants() -> None:
    program = Path(sys.executable).resolve().read_bytes()
    if program[:4] != b"\x7fELF":
        pytest.skip("programs here are no ELF files")
    assert 100 < measure_library("size", program) < len(program)
    for end in (3, 20, 63, 200):
        assert measure_library("size", program[:end]) == 0.0


def test_points_that_are_compared_by_size_alone_are_never_timed(tmp_path: Path) -> None:
    program = Path(sys.executable).resolve().read_bytes()
    setup = RaceSetup(None, (), feedback=("size",))  # type: ignore[arg-type]
    built = BuiltPoint("a", "0f", program, calls=3)
    first, _ = time_reference(setup, built, tmp_path)
    other = time_point(setup, replace(built, library=b""), built, 1.0, tmp_path)
    assert (first.metric, first.ratio, first.more, first.calls) == ("bytes", 1.0, (), 3)
    assert (other.outcome, other.value, other.reference) == ("ok", 0.0, first.value)


def test_what_else_a_trial_is_compared_by_is_kept_and_leaves_older_addresses_as_they_were() -> None:
    both, plain = trial(1, 0.5, 200.0), TuningTrial("ok", 0.5, 1.0, point=Point(), task=TASK)
    assert parse_trial(print_trial(both)) == both and both.digest != replace(both, more=()).digest
    assert "more" not in print_trial(plain) and parse_trial(print_trial(plain)) == plain
    named = (
        "outcome", "value", "reference", "samples", "metric", "calls", "worst", "script", "message", "code", "point",
        "label", "version", "search", "seed", "session", "number", "made",
    )  # fmt: skip
    assert plain.digest == key("trial", TASK.digest, *(getattr(plain, x) for x in named))
    for wrong in ('[["bytes", 1.0]]', '[["bytes", "1", 2.0]]', "3"):
        with pytest.raises(ValueError):
            parse_trial(print_trial(both).replace('[["bytes", 200.0, 100.0]]', wrong))


def test_the_front_has_what_nothing_else_is_better_than() -> None:
    tried = [trial(1, 1.0, 100.0), trial(2, 0.5, 150.0), trial(4, 0.6, 160.0), trial(8, 2.0, 60.0), trial(8, 2.0, 70.0)]
    front = find_front([*tried, trial(16, 0.1, 10.0, "wrong")])
    assert [(x.point.get("rows"), x.ratios) for x in front] == [(2, (0.5, 1.5)), (1, (1.0, 1.0)), (8, (2.0, 0.7))]
    assert find_front([]) == ()


def test_searches_hear_the_mean_of_all_that_counts(tmp_path: Path) -> None:
    from_rows = {1: (1.0, 1.0), 2: (0.5, 8.0), 4: (0.8, 0.5)}
    heard: dict[object, float] = {}

    class Heard(ExhaustiveSearch):
        def hear(self, point: Point, ratio: float) -> None:
            heard[point.get("rows")] = ratio

    def evaluate(point: Point, best: float) -> Measurement:
        seconds, size = from_rows[int(point.get("rows") or 0)]
        return Measurement("ok", seconds, 1.0, more=(("bytes", size, 1.0),))

    tuner = Tuner(TASK, SPACE, evaluate, TrialStore(tmp_path / "s"), things=2)
    result = tuner.run(Heard(SPACE), TuningBudget(trials=5))
    assert heard == pytest.approx({1: 1.0, 2: 2.0, 4: 0.4**0.5})
    assert result.best is not None and result.best.point.get("rows") == 2, "what decides is the first"


def test_what_is_compared_by_time_alone_is_bounded_by_times_where_sizes_are_known_too(tmp_path: Path) -> None:
    store = TrialStore(tmp_path / "s")
    point = SPACE.complete({"version": "a", "rows": 2})
    assert point is not None
    store.add(replace(trial(2, 0.8, 30.0), point=point))
    asked: list[float] = []
    told: list[str] = []

    def evaluate(point: Point, best: float) -> Measurement:
        asked.append(best)
        return Measurement("ok", 1.0, 1.0, more=(("bytes", 10.0, 100.0),))

    tuner = Tuner(TASK, SPACE, evaluate, store, tell=told.append)
    tuner.run(ExhaustiveSearch(SPACE), TuningBudget(trials=2))
    assert asked[:2] == [0.8, 0.8] and told[1].endswith("best so far 1.25x")


def test_the_best_says_by_what_it_is_better_than_the_default(tmp_path: Path) -> None:
    best, default = trial(2, 0.5, 1.0), trial(1, 1.0, 1.0)
    found = TunedResult(Mock(label="f"), SPACE, TuningResult(default, best, 2, 2, True))
    compared: dict[tuple[Feedback, ...], str] = {("time",): "", ("size",): " in size", ("time", "size"): " in time"}
    for feedback, said in compared.items():
        told = "\n".join(describe_result(found, TuningWishes(TuningBudget(), feedback=feedback), tmp_path))
        assert f"best 2.00x over the default{said}: rows=2" in told


def test_points_whose_size_alone_is_known_are_measured_again(tmp_path: Path) -> None:
    def evaluate(more: bool) -> Any:
        def measured(point: Point, best: float) -> Measurement:
            rows = float(point.get("rows") or 0)
            return Measurement("ok", 8 / rows, 8.0, more=(("seconds", rows, 1.0),) if more else (), code=str(rows))

        return measured

    store = TrialStore(tmp_path / "s")
    first = Tuner(TASK, SPACE, evaluate(False), store)
    first.run(ExhaustiveSearch(SPACE), TuningBudget(trials=5))
    second = Tuner(TASK, SPACE, evaluate(True), store, things=2)
    result = second.run(ExhaustiveSearch(SPACE), TuningBudget(trials=1))
    front = find_front(store.trials(TASK))
    assert result.best is not None and result.best.point == front[0].point, "the best is on the front"
    assert [x.ratios for x in front] == [(0.25, 4.0), (1.0, 1.0)]
    assert list(describe_front(front, ("size", "time")))[1].startswith("    4.00x size, 0.25x time (2 s, 4 s)")


def test_a_nest_is_tuned_for_the_size_of_its_code(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "src/scale.c", "--feedback", "size", "--budget", "1"]) == 0
    assert "the default is the best so far" in capsys.readouterr().out
    (found,) = TrialStore(default_store()).trials()
    assert found.metric == "bytes" and found.value and found.task.options.endswith(" --feedback size")


def test_a_folder_shares_one_budget(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["tune", "src", "--list"]) == 0
    listed = capsys.readouterr().out
    assert "add.c: add, line 1" in listed and "scale.c: scale, line 1" in listed
    asked = []

    def tune_units(units: Any, wishes: Any, store: Any, elsewhere: Any, tell: Any) -> Iterator[PlanishError]:
        asked.append(([x.source.name for x in units], elsewhere.wishes.all, elsewhere.wishes.weights))
        yield from ()

    monkeypatch.setattr("planish.cli.tuning.tune.tune_units", tune_units)
    (folder / "src" / "shut.c").write_text(ADD)
    (folder / "src" / "wrong.c").write_text("int f(int n, {\n")
    read = Path.open

    def refuse(path: Path, *more: Any, **named: Any) -> Any:
        if path.name == "shut.c":
            raise PermissionError(13, "Permission denied")
        return read(path, *more, **named)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", refuse)
        assert main(["tune", "src", "--list"]) == 1
        told = capsys.readouterr()
        assert told.out == listed and "wrong.c:1:14" in told.err and "cannot read src/shut.c" in told.err
        assert main(["tune", "src", "--budget", "7"]) == 1 and len(asked[0][0]) == 4
    for name in ("shut.c", "wrong.c"):
        (folder / "src" / name).unlink()
    asked.clear()
    (folder / "perf.txt").write_text("add 0.9\n")
    assert main(["tune", "src", "--budget", "7", "--profile", "perf.txt"]) == 0
    assert main(["tune", "src/add.c", "--budget", "7"]) == 0
    names = ["src/add.c", "src/none.c", "src/scale.c"]
    assert asked == [(names, TuningBudget(trials=7), {"add": 0.9}), (["src/add.c"], None, {})]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--feedback", "speed"), 2, "'speed' is none of time, size"),
        (("--profile", "perf.txt"), 1, "E0113"),
    ],
)
def test_what_cannot_be_asked_is_told(
    folder: Path, words: tuple[str, ...], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tune", "src/add.c", *words]) == code
    assert said in capsys.readouterr().err
