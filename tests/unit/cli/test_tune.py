"""`planish tune`, and builds that take what it found: the store, records, spaces, scripts with holes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import planish
from planish.build.lower import lower_region
from planish.build.read import read_file
from planish.cli import main
from planish.core.span import Source
from planish.frontend.c.translation_unit import Region
from planish.options import Options
from planish.run.timing import clock
from planish.run.toolchains.cross import compiler_for
from planish.schedule.arguments import NestChoice, Point
from planish.target.description import MACHINES
from planish.target.load import load_target
from planish.tuning import tasks
from planish.tuning.choices import TrialStoreWarning, read_record, with_known_choices
from planish.tuning.session import TuningWishes, tune_file
from planish.tuning.store.trial_store import TrialStore, default_store
from planish.tuning.tasks import task_of
from planish.tuning.trial import TuningTask, TuningTrial
from planish.tuning.tuner import TuningBudget

MATVEC = """\
void matvec(int m, int n, const double *restrict A, const double *restrict x, double *restrict y)
{
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++)
      y[i] += A[i * n + j] * x[j];
}
"""
FOUR_ROWS = Point.of({"version": "gemv-rows", "gemv-rows.rows": 4})


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "mv.c").write_text(MATVEC)
    yield


def region_of(options: Options) -> Region:
    return read_file(Source("mv.c", MATVEC), options).functions[0].regions[0]


def task(options: Options) -> TuningTask:
    target = load_target(options.target)
    return task_of(region_of(options), options, target, compiler_for(target, None))


def keep(point: Point, ratio: float, options: Options | None = None) -> TuningTrial:
    trial = TuningTrial(
        "ok", ratio, 1.0, (ratio,), task=task(options or Options()), point=point, label="mv.c: matvec, line 3"
    )
    TrialStore(default_store()).add(trial)
    return trial


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main([*arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_spaces_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "tune", "mv.c", "--list", "--target", "x86-avx512")
    assert code == 0
    assert "mv.c: matvec, line 3:" in out and "gemv-rows.rows = 12 of 1, 2, 4" in out
    assert "where at most 32 copies (loops.jam.1.1, loops.jam.1.2)" in out


def test_a_build_takes_the_best_trial_of_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "build", "mv.c", "--no-measure", "-o", "plain")[0] == 0
    trial = keep(FOUR_ROWS, 0.5)
    code, out, _ = run(capsys, "build", "mv.c", "--no-measure", "-o", "tuned")
    assert code == 0
    assert f"trial {trial.digest[:12]}" in " ".join(out.split())
    plain, tuned = Path("plain/mv.c").read_text(), Path("tuned/mv.c").read_text()
    assert plain != tuned and "gemv-rows, tuned" in tuned
    code, out, _ = run(capsys, "build", "mv.c", "--no-measure", "--stop-after", "schedule")
    assert code == 0 and "gemv-rows, tuned" in out
    code, _, _ = run(capsys, "build", "mv.c", "--no-measure", "--no-trials", "-o", "again")
    assert code == 0 and Path("again/mv.c").read_text() == plain


def test_what_gains_nothing_or_is_of_another_machine_is_not_taken(capsys: pytest.CaptureFixture[str]) -> None:
    keep(FOUR_ROWS, 0.99)
    keep(FOUR_ROWS, 0.5, Options(threads=2))
    keep(FOUR_ROWS, 0.5, Options(sizes={"m": 7}))
    assert run(capsys, "build", "mv.c", "--no-measure", "-q", "-o", "out")[0] == 0
    assert "tuned" not in Path("out/mv.c").read_text()


def test_a_point_of_another_machine_is_only_tried_beside_the_clock() -> None:
    store = TrialStore(default_store())
    store.add(TuningTrial("ok", 0.5, 1.0, task=replace(task(Options()), fingerprint="12" * 8), point=FOUR_ROWS))
    source = Source("mv.c", MATVEC)
    (choice,) = with_known_choices(source, Options(), store).choices
    assert choice.point == FOUR_ROWS and " of native (121212)" in choice.source
    assert with_known_choices(source, Options(measure=False), store).choices == ()
    options = with_known_choices(source, Options(), store)
    region = read_file(source, options).functions[0].regions[0]
    names = [x.name for x in lower_region(region, options, load_target("native")).versions]
    assert names[0] == "gemv-rows, tuned" and "gemv-rows" in names, "the default is raced as well"


def test_a_trial_that_nothing_makes_any_more_gives_way(capsys: pytest.CaptureFixture[str]) -> None:
    keep(Point.of({"version": "gemv-of-old"}), 0.5)
    code, _, _ = run(capsys, "build", "mv.c", "--no-measure", "-q", "-o", "out")
    assert code == 0
    text = Path("out/mv.c").read_text()
    assert "gemv-rows" in text and "tuned" not in text


def test_a_damaged_store_of_the_user_is_warned_of_and_one_that_was_asked_for_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    default_store().parent.mkdir(parents=True)
    default_store().write_text("this is no database of trials " * 9)
    code, _, err = run(capsys, "build", "mv.c", "--no-measure", "-q", "-o", "out")
    assert code == 0 and "warning[E0921]" in err and Path("out/mv.c").exists()
    code, _, err = run(capsys, "build", "mv.c", "--no-measure", "-q", "-o", "none", "--no-trials")
    assert (code, err) == (0, "")
    Path("own.sqlite").write_bytes(default_store().read_bytes())
    code, _, err = run(capsys, "build", "mv.c", "--no-measure", "-q", "-o", "other", "--store", "own.sqlite")
    assert code == 1 and "error[E0921]" in err and not Path("other").exists()
    with pytest.warns(TrialStoreWarning):
        planish.compile("mv.c")


def test_a_record_gives_the_same_code_on_another_machine_without_a_clock(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def timed(*arguments: object) -> None:
        raise AssertionError("nothing is to be timed")

    monkeypatch.setattr(clock, "_measure", timed)
    record = {
        "format": 1, "planish": "0",
        "nests": [{"nest": task(Options()).kernel, "point": FOUR_ROWS.as_dict(), "source": "trial 12"}],
    }  # fmt: skip
    Path("r.json").write_text(json.dumps(record))
    arguments = ("build", "mv.c", "--no-measure", "--replay", "r.json", "-q", "--target", "own.toml", "-o")
    Path("own.toml").write_bytes((MACHINES / "x86-avx2.toml").read_bytes())
    assert run(capsys, *arguments, "a", "--depfile", "mv.d")[0] == 0
    assert Path("mv.d").read_text() == "a/mv.c: mv.c own.toml r.json\nown.toml:\nr.json:\n"
    # Another machine: its processor has another fingerprint, and no cache of ours is there.
    monkeypatch.setattr(tasks, "fingerprint_of", lambda target: "another machine")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    assert run(capsys, *arguments, "b", "--force")[0] == 0
    assert Path("a/mv.c").read_bytes() == Path("b/mv.c").read_bytes()
    assert "gemv-rows, tuned" in Path("a/mv.c").read_text()
    record["nests"][0]["point"] = {"version": ""}  # type: ignore[index]
    Path("r.json").write_text(json.dumps(record))
    assert run(capsys, *arguments, "c")[0] == 0
    assert "gemv" not in Path("c/mv.c").read_text(), "the record says that the nest stays as it is written"


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 2}', '{"format": 1, "nests": [{"nest": 3}]}'])
def test_what_is_no_record_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("r.json").write_text(text)
    code, _, err = run(capsys, "build", "mv.c", "--no-measure", "--replay", "r.json")
    assert code == 1 and "E0929" in err and "r.json:1:" in err


@pytest.mark.parametrize(
    ("point", "code", "said"),
    [
        ("gemv-rows.rows=5", "E0931", "it is one of 1, 2, 4,"),
        ("gemv-rows.width=4", "E0931", "there are: gemv-rows.rows, gemv-rows.accumulators"),
        ("gemv-rows.rows=16 gemv-rows.accumulators=4 version=gemv-rows", "E0931", "sums, a row and a vector fit in"),
        ("version=fir", "E0931", "planish tune mv.c --list"),
        ("rows", "E0932", "version=fir"),
        ("gemw-rows.rows=4", "E0123", "gemv-rows"),
    ],
)
def test_arguments_that_a_version_does_not_take(
    point: str, code: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = run(capsys, "build", "mv.c", "--no-measure", "--target", "x86-avx2", "--point", point)
    assert status == 1 and code in err and said in err and not Path("planish-out").exists()
    assert code != "E0931" or "mv.c:3:3" in err, "the nest is shown"


def test_a_point_on_the_command_line_and_in_a_record(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("build", "mv.c", "--no-measure", "--target", "x86-avx2", "--stop-after", "c")
    made = run(capsys, *options, "--point", "gemv-rows.rows=2 gemv-rows.accumulators=2")
    assert made[0] == 0 and "planish_gemv_2_f64_by_2(" in made[1]
    five = FOUR_ROWS.joined({"gemv-rows.rows": 5})
    nest = {"nest": task(Options()).kernel, "point": five.as_dict()}
    for point in (five, Point.of({"version": "gemv-of-old"})):
        nest["point"] = point.as_dict()
        Path("r.json").write_text(json.dumps({"format": 1, "nests": [nest]}))
        status, _, err = run(capsys, *options, "--replay", "r.json")
        assert status == 1 and "E0931" in err and "mv.c:3:3" in err
    stale = NestChoice("", five, "trial 7")
    lowered = lower_region(region_of(Options()), Options(target="x86-avx2", choices=(stale,)), load_target("x86-avx2"))
    assert [x.id for x in lowered.remarks if x.kind == "refused"] == ["tuned-stale"] and lowered.versions
    assert run(capsys, *options, "--point", "version=gemv-rows", "--replay", "r.json")[0] == 1


@pytest.mark.parametrize("budget", ["0", "1.5", "fast", "-3s", ""])
def test_a_budget_is_a_time_or_a_number(budget: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "tune", "mv.c", f"--budget={budget}")
    assert code == 2 and "no time" in err


def test_nothing_to_tune_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    Path("walk.c").write_text(
        "double f(double);\nvoid g(int n, double *x) { for (int i = 0; i < n; i++) x[i] = f(x[i]); }\n"
    )
    code, _, err = run(capsys, "tune", "walk.c", "--budget", "2")
    assert code == 1 and "E0927" in err
    code, _, err = run(capsys, "tune", "mv.c", "--budget", "2", "--target", "hexagon")
    assert code == 1


def test_tuning_measures_keeps_and_is_taken_up(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("tune", "mv.c", "--budget", "1", "--size", "m=64,n=48", "--search", "random", "--record", "r.json")
    code, out, _ = run(capsys, *arguments)
    assert code == 0 and "points known" in out and "incomplete: the budget of 1 trial is spent" in out
    trials = [*TrialStore(default_store()).trials()]
    assert len(trials) == 1 and trials[0].outcome == "ok" and trials[0].calls > 0 and trials[0].samples
    assert all(x.version and x.made and x.session for x in trials)
    (choice,) = read_record(Source("r.json", Path("r.json").read_text()))
    assert choice.nest == trials[0].task.kernel


def test_a_script_with_holes_is_tuned(capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.sched").write_text('split("i", ?4|8, ("io", "ii"), tail="guard")\n')
    code, out, _ = run(capsys, "tune", "mv.c", "--script", "s.sched", "--list")
    assert code == 0 and "hole1 = 4 of 4, 8: `?4|8` in line 1" in out
    found = [
        *tune_file(
            Source("mv.c", MATVEC), Options(sizes={"m": 64, "n": 48}),
            TuningWishes(TuningBudget(trials=5), script=Source("s.sched", Path("s.sched").read_text()), seconds=0.05),
            TrialStore(Path("s.sqlite")),
        )
    ]  # fmt: skip
    assert len(found) == 1 and found[0].result is not None and found[0].result.complete
    scripts = [x.script for x in TrialStore(Path("s.sqlite")).trials()]
    assert 'split("i", 8   , ("io", "ii"), tail="guard")\n' in scripts


def test_from_python(tmp_path: Path) -> None:
    (found,) = planish.tune(MATVEC, trials=1, sizes={"m": 64, "n": 48}, store=tmp_path / "t.sqlite")
    assert found.result is not None and found.result.default is not None
    assert found.result.best == found.result.default
    with pytest.raises(ValueError, match="search must be one of"):
        planish.tune(MATVEC, search="luck")
