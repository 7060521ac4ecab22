"""Claims count what was obtained: by this very planish, in all settings, within the budgets, and compared and timed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.property.listings import judge as judging

from bench.guards import build_time, reported
from bench.guards.build_time import Build
from bench.guards.reported import AFTER, BEFORE, Row, race
from bench.harness.contest import compiler_state
from bench.promises import correctness
from bench.promises.claim import Claim, Note
from bench.sweeps import fuzz, selected_strips
from planish.core.diagnostic import Diagnostic
from planish.core.span import Source
from planish.options import Options
from planish.run.timing.clock import ClockError, Timing

FOUR = ("strict", "default", "clang", "measured")
SAMPLED = ("any", "any-strict")
"""The settings of a sample."""


def record(seed: int, *settings: str, state: str | None = None, kinds: tuple[str, ...] = ()) -> str:
    faults = [{"kind": x, "where": "", "setting": settings[0], "detail": ""} for x in kinds]
    data = {"seed": seed, "state": state or compiler_state(), "faults": faults, "seconds": dict.fromkeys(settings, 1.0)}
    return json.dumps(data | {"taken": {}, "left": []}) + "\n"


def claims(items: Iterator[Claim | Note]) -> dict[str, Claim]:
    return {x.name.removeprefix("soundness."): x for x in items if isinstance(x, Claim)}


def test_random_files_count_in_all_settings_and_of_this_planish_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        record(0, *FOUR, *SAMPLED, kinds=("late",)), record(1, *FOUR, *SAMPLED, state="another", kinds=("crash",)),
        record(2, "default"),
        record(3, *FOUR), record(3, *FOUR, state="another"),
    ]  # fmt: skip
    (tmp_path / "judged.jsonl").write_text("".join(lines))
    parse = fuzz.parse
    monkeypatch.setattr(fuzz, "parse", lambda x: parse([*x, "--store", str(tmp_path)]))
    mine, others = fuzz.recall(fuzz.parse(["--count", "9", "--settings", ",".join(FOUR)]))
    assert [x["seed"] for x in mine] == [0, 3] and [x["seed"] for x in others] == [1]
    assert [x["seed"] for x in fuzz.recall(fuzz.parse(["--count", "9", "--settings", "default", "--turns"]))[0]] == [
        0, 2, 3
    ]  # fmt: skip
    items = list(correctness.examine_listings(quick=True, stored=True))
    found = claims(iter(items))
    assert found["files_run"].value == 1 and not found["files_run"].ok
    assert found["files_over_budget"].value == 1 and found["files_wrong_or_crashed"].ok
    assert "note 1 random files by another state alone: {'crash': 1} then" in map(str, items)


@pytest.mark.parametrize(
    ("rows", "short"),
    [
        ([], {"functions_timed", "reported_off", "over_best_compiler_least"}),
        ([Row("f.c", "f", "strict", "v", 2.0, 2.0, 1.0, ())], set()),
        ([Row("f.c", "f", "strict", "v", 2.0, 0.0, 0.0, ("it dies",)), "g.c: not built"],
         {"not_built_or_not_timed", "drop_ins_wrong", "reported_off", "over_best_compiler_least"}),
    ],
)  # fmt: skip
def test_what_was_not_timed_is_short(rows: list[Row | str], short: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reported, "judge_all", lambda *_: iter(rows))
    found = claims(correctness.examine_times(quick=True))
    assert {name for name, x in found.items() if not x.ok} == short


@pytest.mark.parametrize(
    ("dying", "times", "faults"),
    [((), 4, 0), (("gcc -ffast-math",), 3, 0), (("gcc", "gcc -ffast-math"), 2, 2), ((AFTER,), 3, 1), ((BEFORE,), 3, 1)],
)
def test_who_dies_in_a_race(dying: tuple[str, ...], times: int, faults: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(libraries: list[tuple[str, Path]], *_: object) -> list[Timing]:
        for label, _path in libraries:
            if label in dying:
                raise ClockError(Diagnostic("E0806", f"{label} crashed"), label, too_large=True)
        return [Timing(label, 1.0, 1.0, 1.0, 5) for label, _ in libraries]

    monkeypatch.setattr(reported, "measure_afresh", measure)
    libraries = dict.fromkeys((BEFORE, AFTER, "gcc", "gcc -ffast-math"), Path())
    found, wrong = race(libraries, SimpleNamespace(signature=None), None)  # type: ignore[arg-type]
    assert (len(found), len(wrong)) == (times, faults)
    assert math.isinf(Row("f.c", "f", "strict", "v", 2.0, 0.0, 0.0, tuple(wrong)).deviation)


def test_builds_over_their_budget_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_time, "STORE", tmp_path / "builds.jsonl")
    monkeypatch.setattr(build_time, "RESULTS", tmp_path)
    monkeypatch.setattr(build_time, "time_help", lambda: 0.1)
    seconds = {"fir": 1.0, "sobel": 10.5}
    made: list[str] = []

    def build(file: Path, *_: object, measured: bool | None = None) -> Build:
        made.extend([] if measured is None else [file.stem])  # what is built for its modules alone says nothing of it
        return Build(file.stem, 1.0, 1 << 20, 0, "", seconds[file.stem] * (4 if measured else 1), 2)

    monkeypatch.setattr(build_time, "time_build", build)
    monkeypatch.setattr(build_time, "prepare", lambda: None)
    assert build_time.main(["--suite", "dsp", "--kernels", "fir"]) == 0
    assert build_time.main(["--suite", "dsp", "--kernels", "fir,sobel"]) == 1
    assert made == ["fir", "sobel"], "what is stored is not built again"
    assert build_time.main(["--suite", "dsp", "--kernels", "sobel", "--measured"]) == 1, "42 s are over 2 x 20 s"
    assert build_time.main(["--suite", "dsp", "--kernels", "fir", "--measured"]) == 0


def test_a_build_may_time_each_function(monkeypatch: pytest.MonkeyPatch) -> None:
    def built(source: Source, options: Options, setting: str) -> judging.Built:
        return judging.Built("", (), (), (), 50.0, 3)

    monkeypatch.setattr(judging, "_build", built)
    source = Source("f.c", "")
    for options, kinds in ((Options(measure=False), ["late"]), (Options(), [])):
        assert [x.kind for x in judging.build_apart(source, options, "s", 10.0).faults] == kinds
    assert [x.kind for x in judging.build_apart(source, Options(), "s", 8.0).faults] == ["late"]


def test_programs_in_strips_are_kept_when_it_is_interrupted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    turns: list[int] = []

    def judge(seed: int, target: str, options: object) -> dict[str, object]:
        turns.append(seed)
        if len(turns) == 2:
            raise KeyboardInterrupt
        return {"seed": seed, "target": target, "fault": ""}

    monkeypatch.setattr(selected_strips, "judge", judge)
    options = selected_strips.parse(["--store", str(tmp_path)])
    wanted = [(seed, "x86-avx2") for seed in range(3)]
    with pytest.raises(KeyboardInterrupt):
        list(selected_strips.judge_all(wanted, options))
    assert [x["seed"] for x in selected_strips.judge_all(wanted, options)] == [0, 1, 2]
    assert turns == [0, 1, 1, 2]
    options.again = True
    assert len(list(selected_strips.judge_all(wanted, options))) == 3 and turns[4:] == [0, 1, 2]
