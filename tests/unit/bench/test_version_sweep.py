"""All versions on all targets: what is run, and that what is wrong, or never runs, is seen."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.harness import every_version
from bench.harness.every_version import Found, Program, Setting, pack, run_versions, unpack
from bench.sweeps import version_sweep
from planish.core.span import Source

SETTING = Setting("generic", "strict", 1)
TEXT = "void twice(int n, double *a, double *b) { for (int i = 0; i < n; i++) b[i] = 2.0 * a[i]; }\n"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc here")
    monkeypatch.setattr(every_version, "RESULTS", tmp_path / "results")
    path = tmp_path / "version_sweep" / "small.c"
    path.parent.mkdir()
    path.write_text(TEXT)
    return Program(path, large={"twice": [{"n": 1000}]})


def test_a_right_version_is_ok_and_did_run(program: Program, tmp_path: Path) -> None:
    found = list(run_versions(program, "twice", SETTING, tmp_path))
    assert found and all(x.function == "small.twice" and x.verdict == "ok" for x in found)
    # What is asked when it runs, whether the arrays overlap, is noted; they never do.
    assert all(x.done > 10 and not x.fallen for x in found)
    assert [unpack(pack(x)) for x in found] == found


def test_a_wrong_version_is_seen(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = every_version.make_drop_ins

    def wrong(*given: Any) -> Any:
        versions, remarks = made(*given)
        spoilt = [replace(x.shipped[0], function=x.shipped[0].function.replace("2.0 *", "2.5 *")) for x in versions]
        return tuple(replace(x, shipped=(y,)) for x, y in zip(versions, spoilt, strict=True)), remarks

    monkeypatch.setattr(every_version, "make_drop_ins", wrong)
    found = list(run_versions(program, "twice", SETTING, tmp_path, tmp_path / "failed"))
    assert found and all(x.failed and x.verdict == "mismatch" for x in found)
    assert len(list((tmp_path / "failed").glob("*.c"))) == len(found)
    command = version_sweep.tell_how(found[0])
    assert command.startswith("python -m bench.sweeps.version_sweep small.twice --targets generic")


def test_what_a_function_does_not_name_is_cut_out() -> None:
    text = """#define EACH third
static int first(int x) { return x + 1; }
void second(int n, int *a) { for (int i = 0; i < n; i++) a[i] = first(a[i]); }
void third(int n, int *a)
{
    for (int i = 0; i < n; i++) a[i] = 2;
}
void fourth(int n, int *a) { for (int i = 0; i < n; i++) a[i] = 3; }
"""
    file = every_version.read_file(Source("all.c", text), every_version.Options())
    lines = every_version.cut_out("second", file).splitlines()
    assert lines[:7] == text.splitlines()[:7] and lines[7].rstrip() == "void fourth(int n, int *a) ;"
    lines = every_version.cut_out("fourth", file).splitlines()
    assert [x.rstrip().endswith(") ;") for x in lines] == [False, True, True, False, False, False, False, False]


def test_that_planish_fails_is_a_finding(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(every_version, "lower_region", lambda *given: 1 / 0)
    (found,) = run_versions(program, "twice", SETTING, tmp_path)
    assert found.failed and "ZeroDivisionError" in found.message


def test_jobs_run_on_all_cores_and_are_stored_in_their_order(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(version_sweep, "STORE", tmp_path / "store")
    jobs = [version_sweep.Job(program, "twice", replace(SETTING, fp=x)) for x in version_sweep.MODES]
    found = version_sweep.run_jobs(jobs, show=False)
    assert [x.setting.fp for x in found] == sorted((x.setting.fp for x in found), key=version_sweep.MODES.index)
    assert {x.setting.fp for x in found} == set(version_sweep.MODES) and not any(x.failed for x in found)
    assert version_sweep.stored(jobs) == found
    # What is stored is taken, and nothing is run.
    monkeypatch.setattr(version_sweep, "_run", lambda work: 1 / 0)
    assert version_sweep.run_jobs(jobs, show=False) == found


def test_the_summary_counts_what_is_right() -> None:
    found = [Found("a.b", x, SETTING, y, 0.0) for x, y in (("fused", "ok"), ("apart", "crashed"), ("other", "weak"))]
    assert [x.split() for x in version_sweep.summarise(found)] == [["generic", "strict", "1"], ["a", "2/3"]]


def test_the_sample_and_the_calls_are_of_programs_that_there_are() -> None:
    programs = {x.name: x for x in version_sweep.load_programs(version_sweep.FOLDERS[0])}
    text = {x: y.path.read_text() for x, y in programs.items()}
    wanted = [*version_sweep.QUICK, *(f"{x}.{z}" for x, y in programs.items() for z in (*y.large, *y.given))]
    for name, _, function in (x.partition(".") for x in wanted):
        assert f" {function}(" in text[name], (name, function)
    assert "polybench-gemm" in {x.name for x in version_sweep.all_programs()}
    assert len(version_sweep.settings(version_sweep.TARGETS, version_sweep.MODES, version_sweep.THREADS)) == 18
