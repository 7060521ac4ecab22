"""Runs that stop and go on, and what they print."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.harness import run_suite
from bench.harness.contest import Rules, Tell, compiler_state, digest
from bench.harness.record import Heat, LeftOut, Result, Time, save
from bench.harness.run_suite import Campaign, format_summary, format_table
from bench.harness.suite import Suite
from planish.run.toolchains.toolchain import choose_compiler


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    """Three files that nobody compiles."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    for name in "abc":
        (folder / f"{name}.c").write_text(f"/* {name} */\n")
    return Suite("letters", folder)


class Stage:
    """Stands for the race: notes which files had their turn; interrupted at the file `trap`."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.trap = ""
        self.error = ""

    def hold(self, suite: Suite, file: Path, dataset: str, rules: Rules, tell: Tell) -> Result:
        if file.stem == self.trap:
            raise KeyboardInterrupt
        self.seen.append(file.stem)
        tell("running")
        return make_result(file, self.error)


def make_result(file: Path, error: str = "") -> Result:
    times = (Time("gcc", "compiler", "gcc", 3.0, 3.0, 3.0, 5), Time("ours gcc", "ours", "gcc", 1.5, 1.5, 1.5, 5))
    heat = Heat(f"kernel_{file.stem}", {"n": 2}, times, (), "tiled", "gcc", kept=False)
    source = digest(file.read_text())
    return Result(file.stem, "MINI", compiler_state(), source, "m", ("gcc",), "d", 1.0, 2.0, (heat,), error)


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    stage = Stage()
    monkeypatch.setattr(run_suite, "hold", stage.hold)
    return stage


@pytest.fixture
def races(suite: Suite, tmp_path: Path) -> Campaign:
    return Campaign(suite, "MINI", Rules(()), tmp_path / "results", show=False)


def test_an_interrupted_run_goes_on_where_it_stopped(races: Campaign, stage: Stage) -> None:
    stage.trap = "b"
    with pytest.raises(KeyboardInterrupt):
        races.run()
    assert [result.file for result in races.results()] == ["a"]
    stage.trap = ""
    assert [result.file for result in races.run()] == ["a", "b", "c"]
    assert stage.seen == ["a", "b", "c"]


def test_what_is_measured_again(races: Campaign, stage: Stage, suite: Suite) -> None:
    races.run()
    save(races.folder / "b.json", replace(make_result(suite.files(["b"])[0]), state="older"))
    for redo, expected in (("missing", []), ("nothing", []), ("stale", ["b"]), ("all", ["a", "b", "c"])):
        stage.seen.clear()
        if redo == "all":
            races.run(redo="all")
        elif redo == "stale":
            races.run(redo="stale")
        else:
            races.run(redo="nothing" if redo == "nothing" else "missing")
        assert stage.seen == expected, redo


def test_a_changed_file_is_measured_again(races: Campaign, stage: Stage, suite: Suite) -> None:
    races.run(["a"])
    suite.files(["a"])[0].write_text("/* other */\n")
    races.run(["a"])
    assert stage.seen == ["a", "a"]


def test_an_error_is_tried_again_only_with_another_planish(races: Campaign, stage: Stage, suite: Suite) -> None:
    stage.error = "it went wrong"
    races.run(["a"])
    races.run(["a"])
    assert stage.seen == ["a"]
    save(races.folder / "a.json", replace(make_result(suite.files(["a"])[0], "it went wrong"), state="older"))
    races.run(["a"])
    assert stage.seen == ["a", "a"]


def test_the_report_says_what_is_wrong(suite: Suite) -> None:
    a, b, c = (make_result(file) for file in suite.files())
    wrong = LeftOut("ours gcc", "ours", "gcc", "mismatch: x[1] is 0 instead of 1")
    results = [a, replace(b, heats=(replace(b.heats[0], left_out=(wrong,)),)), replace(c, heats=(), error="no region")]
    table = format_table(results).splitlines()
    assert [line.split()[0] for line in table] == ["function", "a", "b", "c"]
    assert "2.00" in table[1] and "NOT VERIFIED" in table[2] and "not built: no region" in table[3]
    summary = format_summary(results)
    assert "geometric mean over the best compiler: 2.00x (2 functions)" in summary
    assert "verified and timed: 1 of 3" in summary
    assert "left out: kernel_b: ours gcc: mismatch" in summary
    assert "Polly" not in summary


def test_the_command_line(suite: Suite, stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_suite, "RESULTS", tmp_path / "bench" / "results")
    monkeypatch.setattr(run_suite.Campaign, "folder", property(lambda self: tmp_path / "bench" / "results" / "letters"))
    name = choose_compiler(None).name
    asked = ["--dataset", "mini", "--compilers", name]
    assert run_suite.main(suite, [*asked, "--kernels", "a,c"]) == 0
    assert run_suite.main(suite, [*asked, "--report"]) == 1  # b has no result
    assert stage.seen == ["a", "c"]
    assert run_suite.main(suite, [*asked, "--kernels", "z"]) == 1
    assert run_suite.main(suite, [*asked, "--cc", "no-such-compiler"]) == 1
    stage.trap = "b"
    assert run_suite.main(suite, asked) == run_suite.INTERRUPTED
