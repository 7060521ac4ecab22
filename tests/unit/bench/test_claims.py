"""What is claimed, and how the exit code tells of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench import claims
from bench.harness.record import Heat, LeftOut, Result, Time
from bench.promises import drop_ins, faults, kernels, reach, selection
from bench.promises.claim import Claim, Note, at_least, below
from bench.promises.drop_ins import count_inputs, count_programs, find_unread, judge
from bench.races import streams, untimed
from bench.races.dsp import DSP
from bench.races.polybench import POLYBENCH

TIMES = (
    Time("gcc", "compiler", "gcc", 3.0, 3.0, 3.0, 5),
    Time("clang-19 polly", "polly", "clang-19", 1.2, 1.2, 1.2, 5),
    Time("ours gcc", "ours", "gcc", 1.5, 1.5, 1.5, 5),
)
HEAT = Heat("kernel_a", {"n": 2}, TIMES, (), "tiled", "gcc", kept=False)
RESULT = Result("a", "LARGE", "s", "s", "m", ("gcc",), "d", 1.0, 2.0, (HEAT,))


def test_bars() -> None:
    assert at_least("x", 30, 30).ok and not at_least("x", 0.9699, 0.97).ok
    assert below("x", 1.49, 1.5).ok and not below("x", 1.5, 1.5).ok


def test_unknown_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert claims.main(["no-such-group"]) == 2
    assert "no claims are known for `no-such-group`; there are:\ndrop-ins" in capsys.readouterr().err


def test_groups_are_listed_with_their_old_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert claims.main([]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed and group.alias in listed for name, group in claims.GROUPS.items())
    assert set(claims.ALIASES.values()) <= set(claims.GROUPS)


@pytest.mark.parametrize(("value", "code"), [(2.0, 0), (1.0, 1)])
def test_one_short_claim_fails(value: float, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def examine(quick: bool, stored: bool) -> Iterator[Claim | Note]:
        assert quick and not stored
        yield Note("a sample")
        yield at_least("a", value, 1.5)
        yield at_least("b", 7, 1)

    monkeypatch.setattr(claims, "GROUPS", {"drop-ins": claims.Group("", examine, "spine")})
    assert claims.main(["spine", "--quick"]) == code


def test_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    def examine(quick: bool, stored: bool) -> Iterator[Claim | Note]:
        yield at_least("a", 1, 1)
        raise KeyboardInterrupt

    monkeypatch.setattr(claims, "GROUPS", {"drop-ins": claims.Group("", examine, "spine")})
    assert claims.main(["spine"]) == 130


def test_judgement_of_results() -> None:
    found = {c.name: c for c in judge(POLYBENCH, [RESULT], 2) if isinstance(c, Claim)}
    assert (found["polybench.verified"].value, found["polybench.verified"].ok) == (1, False)
    assert (found["polybench.never_slower"].value, found["polybench.never_slower"].ok) == (2.0, True)
    assert found["polybench.over_compilers"].ok
    assert abs(found["polybench.over_polly"].value - 0.8) < 1e-12 and not found["polybench.over_polly"].ok
    assert {c.name for c in judge(DSP, [RESULT], 1) if isinstance(c, Claim)} == {"dsp.verified", "dsp.never_slower"}


def test_a_wrong_result_is_named() -> None:
    wrong = LeftOut("ours gcc", "ours", "gcc", "mismatch: x[1] is 0 instead of 1")
    result = replace(RESULT, heats=(replace(HEAT, times=TIMES[:2], left_out=(wrong,)),))
    items = list(judge(POLYBENCH, [result], 1))
    assert "note a is not verified: ours gcc: mismatch: x[1] is 0 instead of 1" in map(str, items)
    assert [c.ok for c in items if isinstance(c, Claim)] == [False, False, False, False]


@pytest.mark.parametrize("rows", [[], [untimed.Row("f", "gcc", 64, 3.0, 2.0, "maxfuse")]])
def test_files_that_compilers_fail_on_are_wrong(rows: list[untimed.Row], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "race_all", lambda only, rounds: iter([*rows, "a.c: gcc failed", "g: 3 are wrong"]))
    short = [str(x) for x in faults.examine(quick=True, stored=False) if isinstance(x, Claim) and not x.ok]
    assert short == ["claim faults.untimed.wrong value=2 bar=0 short"]


def test_targets_that_do_not_run_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [{"seed": 1, "target": "here", "fault": "wrong", "detail": "at 3"}, {"fault": ""}]
    monkeypatch.setattr(selection, "runnable", lambda targets: (["here"], ["there is left out: no emulator"]))
    monkeypatch.setattr(selection, "judge_all", lambda wanted, options: iter(records))
    assert list(map(str, selection.examine_fuzz(quick=True))) == [
        "note there is left out: no emulator",
        "note here seed 1: wrong: at 3",
        f"claim selection.here.fuzz_faults_of_{selection.FUZZ_SAMPLE} value=1 bar=0 short",
    ]


def test_extraction_sees_a_loop_that_was_left(tmp_path: Path) -> None:
    assert find_unread(POLYBENCH.files(["gemm"])[0]) == ""
    assert find_unread(DSP.files(["histogram"])[0]) == ""
    lonely = tmp_path / "lonely.c"
    loops = "for (int i = 0; i < n; i++) h[i] = 0; for (int i = 0; i < n; i++) h[x[i]]++;"
    lonely.write_text(f"void f(int n, const int *x, int *h) {{ {loops} }}\n")
    assert "is in no region" in find_unread(lonely)
    lonely.write_text("int f(int n) { /* for ever */ return n; }\n")
    assert "no loop" in find_unread(lonely)
    lonely.write_text("int f(int n) { for (;\n")
    assert find_unread(lonely)


def test_counts(tmp_path: Path) -> None:
    (tmp_path / "test_random.py").write_text("PROGRAMS = 512\nLIMIT = 9999\n")
    (tmp_path / "programs.py").write_text("PROGRAMS = 7000\n")
    for name in ("a.c", "deep/b.py.txt", "deep/__init__.py", "test_errors.py", "__pycache__/x.pyc", ".hidden"):
        (tmp_path / "errors" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "errors" / name).write_text("")
    assert count_programs(tmp_path) == 512
    assert count_programs(tmp_path / "errors") == 0
    assert count_inputs(tmp_path / "errors") == 2


def test_the_sample_is_part_of_the_suites() -> None:
    for suite, name in drop_ins.SAMPLE:
        assert suite.files([name])


def test_families_of_the_library_are_taken_from_the_suites(monkeypatch: pytest.MonkeyPatch) -> None:
    stencil = replace(RESULT, file="adi")
    monkeypatch.setattr(kernels, "race_suite", lambda suite, quick, stored: ([stencil], [Note("one")]))
    found = list(kernels.examine(quick=True, stored=True))
    by_name = {x.name: x for x in found if isinstance(x, Claim)}
    assert by_name["library.stencils_over_best"].value == by_name["library.polybench_least"].value == 1.2 / 1.5
    assert "library.nussinov_over_best" not in by_name and "library.cholesky_over_openblas" not in by_name


def test_every_program_has_a_rival() -> None:
    dense = [*kernels.DENSE.glob("*.c"), *POLYBENCH.files(kernels.ONE_CALL)]
    for rivals, paths in ((kernels.WITH_BLAS, dense), (streams.RIVAL, streams.STREAMS.glob("*.c"))):
        text = rivals.read_text()
        for path in paths:
            assert f"defined PROGRAM_{path.stem}\n" in text
            (name,) = re.findall(r"^void (\w+)\(", path.read_text(), re.MULTILINE)
            assert f"void {name}(" in text


def test_what_only_moves_bytes_or_a_library_is_the_bar() -> None:
    assert streams.Streamed("copy", 0.004, 0.002, None).ratio == 0.5
    found = streams.Streamed("dot", 0.004, 0.005, 0.003)
    assert found.ratio == 0.75 and str(found) == "dot: 4 ms, the bytes moved 5 ms, OpenBLAS 3 ms: 0.75"


def test_reach_claims_nothing_of_bases_that_are_not_there(tmp_path: Path) -> None:
    items = list(reach.examine(True, True, tmp_path, tmp_path))
    assert items and all(isinstance(x, Note) for x in items)
    assert "`apt-get source lz4=1.9.4-1`" in "".join(map(str, items))


def test_reach_weighs_functions_and_files() -> None:
    functions = [{"loops": 1, "taken": x, "reasons": ["scop-call: a call of \u2026"]} for x in (2, 0)]
    files = [{"file": "a.c", "seconds": 0.1}, {"file": "b.c", "seconds": 9.0, "hang": "over 60 s"}]
    found = {x.name: (x.value, x.ok) for x in reach.weigh(functions, files) if isinstance(x, Claim)}
    assert found["reach.coverage"] == (0.5, False)
    assert found["reach.read_seconds_worst"] == (9.0, False)
    assert found["reach.crashes"] == (1, False)
