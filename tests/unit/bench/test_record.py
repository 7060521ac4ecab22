"""What is concluded from times, and that it survives on disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bench.harness.record import Heat, LeftOut, Result, Team, Time, geometric_mean, load, own_ratios, ratios, save


def make_time(label: str, team: Team, compiler: str, median: float) -> Time:
    return Time(label, team, compiler, median, 0.9 * median, 1.1 * median, 7)


TIMES = (
    make_time("gcc", "compiler", "gcc", 4.0),
    make_time("gcc fast-math", "compiler", "gcc", 3.0),
    make_time("clang-19", "compiler", "clang-19", 2.0),
    make_time("clang-19 polly", "polly", "clang-19", 1.0),
    make_time("ours gcc", "ours", "gcc", 0.75),
    make_time("ours clang-19", "ours", "clang-19", 0.5),
)
HEAT = Heat("kernel_x", {"n": 9}, TIMES, (), "tiled", "gcc", kept=False, worst_relative=1e-15)
RESULT = Result("x", "MINI", "state", "source", "machine", ("gcc", "clang-19"), "2000-01-01", 1.0, 2.0, (HEAT,))


def test_each_team_is_taken_at_its_best() -> None:
    assert HEAT.ratio("compiler") == 4.0
    assert HEAT.ratio("polly") == 2.0
    assert HEAT.own_ratio == 4.0  # 3.0 over 0.75: both under gcc


def test_a_file_kept_as_written_has_the_times_of_the_original() -> None:
    kept = replace(HEAT, times=TIMES[:4], kept=True)
    assert (kept.ratio("compiler"), kept.ratio("polly"), kept.own_ratio) == (1.0, 0.5, 1.0)
    assert kept.verified


def test_without_polly_there_is_no_ratio_over_it() -> None:
    alone = replace(HEAT, times=tuple(t for t in TIMES if t.team != "polly"))
    assert alone.ratio("polly") is None
    assert ratios([replace(RESULT, heats=(alone, HEAT))], "polly") == [2.0]


def test_a_wrong_drop_in_is_not_verified() -> None:
    wrong = LeftOut("ours gcc fast-math", "ours", "gcc", "mismatch: A[0] is 1.0 instead of 2.0")
    assert HEAT.verified
    assert not replace(HEAT, left_out=(wrong,)).verified
    assert replace(HEAT, left_out=(replace(wrong, team="polly"),)).verified
    assert not replace(HEAT, times=TIMES[:4]).verified
    assert not replace(RESULT, heats=(HEAT, replace(HEAT, left_out=(wrong,)))).verified
    assert not replace(RESULT, error="no such file").verified


def test_a_result_comes_back_from_disk(tmp_path: Path) -> None:
    path = tmp_path / "results" / "x.json"
    left_out = (LeftOut("clang-19 polly fast-math", "polly", "clang-19", "mismatch"),)
    result = replace(RESULT, heats=(HEAT, replace(HEAT, left_out=left_out)))
    save(path, result)
    assert load(path) == result
    assert [p.name for p in path.parent.iterdir()] == ["x.json"]


def test_what_is_no_result_counts_as_none(tmp_path: Path) -> None:
    assert load(tmp_path / "missing.json") is None
    for text in ("", "{}", "[1]", '{"heats": [], "unknown": 1}', '{"heats": [1], "compilers": []}'):
        (tmp_path / "bad.json").write_text(text)
        assert load(tmp_path / "bad.json") is None, text


def test_means() -> None:
    assert geometric_mean([]) == 0.0
    assert abs(geometric_mean([2.0, 8.0, 4.0]) - 4.0) < 1e-12
    assert own_ratios([RESULT]) == {"kernel_x": 4.0}
