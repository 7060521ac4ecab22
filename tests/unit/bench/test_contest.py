"""A race of small programs, some of which are wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.harness import contest
from bench.harness.contest import Contestant, Rules, hold, qualify, recall
from bench.harness.record import Team
from bench.harness.suite import Suite
from planish.ir.types import F64, I32
from planish.run.calls.abi_wrapper import entry_text
from planish.run.calls.signature import CallCase, Parameter, Signature
from planish.run.toolchains.toolchain import choose_compiler, compile_library

SCALE = "void scale(int n, double *x) { for (int i = 0; i < n; i++) x[i] = 2.0 * x[i] + 1.0; }\n"
SIGNATURE = Signature("scale", (Parameter("n", I32, "value"), Parameter("x", F64, "array")), None)
SIZES = "mini = { n = 40 }\nsmall = { n = 4000 }\nmedium = { n = 5000 }\nlarge = { n = 6000 }\n"


@pytest.fixture(autouse=True)
def _private_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contest, "RESULTS", tmp_path / "results")


@pytest.fixture
def course(tmp_path: Path) -> contest.Course:
    compiler = choose_compiler(None)
    library = compile_library(compiler, SCALE + entry_text(SIGNATURE), ("-w",), tmp_path)
    cases = [CallCase({"n": n}, {"x": n}) for n in (40, 4000)]
    return contest.Course(library, SIGNATURE, cases[0], cases[1], tmp_path, tmp_path, Rules((compiler,), 0.05, 4.0))


def enter(text: str, course: contest.Course, team: Team = "polly", label: str = "") -> Contestant:
    return Contestant(label or team, team, course.rules.compilers[0], text, ("-O1",))


def test_wrong_contestants_are_left_out_and_the_others_timed(course: contest.Course) -> None:
    good = enter(SCALE, course, "compiler")
    wrong = enter(SCALE.replace("1.0", "1.5"), course, label="wrong")
    late = enter(SCALE.replace("{ for", "{ if (n > 1000) x[7] = 0; for"), course, label="late")
    endless = enter(SCALE.replace("{ for", "{ while (n > 1000) __asm__ volatile(\"\"); for"), course, label="endless")
    broken = enter(SCALE.replace("2.0", "two"), course, label="broken")
    times, left_out = contest.race([good, wrong, late, endless, broken], course, lambda text: None)
    assert [t.label for t in times] == [good.label]
    assert 0 < times[0].low <= times[0].median <= times[0].high
    reasons = {x.label: x.reason for x in left_out}
    assert reasons["wrong"].startswith("mismatch: x[") and "n=40" in reasons["wrong"]
    assert reasons["late"].startswith("mismatch: x[7]") and "n=4000" in reasons["late"]
    assert reasons["endless"].startswith("timeout")
    assert "failed with exit code" in reasons["broken"] and "two" in reasons["broken"]


def test_what_is_remembered_is_not_done_again(
    course: contest.Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, wrong = enter(SCALE, course), enter(SCALE.replace("1.0", "1.5"), course)
    first, reason = recall(good, course), recall(wrong, course)
    assert isinstance(first, Path) and isinstance(reason, str)

    def never(contestant: Contestant, course: contest.Course) -> Path | str:
        raise AssertionError(f"{contestant.label} is checked again")

    monkeypatch.setattr(contest, "qualify", never)
    again = recall(good, course)
    assert isinstance(again, Path) and again.read_bytes() == first.read_bytes()
    assert recall(wrong, course) == reason
    for other in (
        replace(course, full=replace(course.full, values={"n": 39})),
        replace(course, rules=replace(course.rules, remember=False)),
    ):
        with pytest.raises(AssertionError, match="checked again"):
            recall(good, other)
    (tmp_path / "shared.h").write_text("#define N 1\n")
    with pytest.raises(AssertionError, match="checked again"):
        recall(good, course)


def test_a_compiler_alone_is_checked_with_small_sizes(course: contest.Course) -> None:
    late = SCALE.replace("{ for", "{ if (n > 1000) x[7] = 0; for")
    assert isinstance(qualify(enter(late, course, "compiler"), course), Path)
    assert isinstance(qualify(enter(late, course, "ours"), course), str)


def test_a_file_from_end_to_end(tmp_path: Path) -> None:
    (tmp_path / "scale.c").write_text(SCALE)
    (tmp_path / "sizes.toml").write_text(f"[scale]\n{SIZES}")
    suite = Suite("one", tmp_path, lengths={"scale": {"x": "n"}})
    rules = Rules((choose_compiler(None),), 0.05, 20.0, 0.05)
    result = hold(suite, suite.files()[0], "SMALL", rules, lambda text: None)
    assert result.error == "" and result.verified
    heat = result.heats[0]
    assert (heat.function, heat.sizes) == ("scale", {"n": 4000})
    assert heat.best("compiler") is not None and heat.ratio("compiler") is not None


def test_a_file_that_cannot_be_built_is_an_error_not_the_end(tmp_path: Path) -> None:
    (tmp_path / "bad.c").write_text("void f(int n) { for (\n")
    (tmp_path / "sizes.toml").write_text(f"[bad]\n{SIZES}")
    suite = Suite("one", tmp_path)
    result = hold(suite, suite.files()[0], "MINI", Rules((choose_compiler(None),)), lambda text: None)
    assert result.error and not result.heats and not result.verified
