"""`planish astgen` as a user calls it: what it prints and returns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planish.astgen.code_size.sized import SizeBound, improve
from planish.astgen.formats import CodegenInput, load_input
from planish.cli import astgen, main
from planish.ir.nest import Block, For

REVERSED = "[n] -> { S[i] -> [-i] : 0 <= i < n }\n{ : }\n{ }\n"
TREE = """\
# two statements, one after the other
domain: "[n] -> { S[i] : 0 <= i < n; T[i] : 0 <= i < n }"
child:
  sequence:
  - filter: "[n] -> { S[i] }"
    child:
      schedule: "[n] -> [{ S[i] -> [(i)] }]"
  - filter: "[n] -> { T[i] }"
    child:
      schedule: "[n] -> [{ T[i] -> [(i)] }]"
"""
TREE_C = """\
{
  for (int64_t i = 0; i < n; i += 1)
    S(i);
  for (int64_t i = 0; i < n; i += 1)
    T(i);
}
"""
SHORT = "{ S[i] -> [i] : 0 <= i < 3 }\n{ : }\n{ }\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    for name, text in (("reversed.in", REVERSED), ("tree.st", TREE), ("short.in", SHORT)):
        (tmp_path / name).write_text(text)
    yield


def test_c_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["astgen", "tree.st"]) == 0
    printed = capsys.readouterr()
    assert printed.out == TREE_C
    assert printed.err == ""


def test_each_of_several_files_has_a_head(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["astgen", "tree.st", "reversed.in", "tree.st"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"/* tree.st */\n{TREE_C}/* reversed.in */\nfor (")


def test_isl_prints_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["astgen", "--isl", "reversed.in"]) == 0
    assert capsys.readouterr().out == "for (int c0 = -n + 1; c0 <= 0; c0 += 1)\n  S(-c0);\n"


def test_a_proof_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    for extra in ([], ["--isl"]):
        assert main(["astgen", "--verify", "reversed.in", *extra]) == 0
        assert capsys.readouterr().out.startswith("/* proven: ")


def test_a_difference_is_an_error(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def shortened(found: CodegenInput, **options: Any) -> Block:
        nest = generate(found, **options)
        loop = nest.body[0]
        assert isinstance(loop, For)
        return Block((For(loop.var, loop.lower, loop.lower, 1, loop.body),))

    generate = astgen.generate_input
    monkeypatch.setattr(astgen, "generate_input", shortened)
    assert main(["astgen", "--verify", "short.in"]) == 1
    printed = capsys.readouterr()
    assert "error[E0516]: the loops for short.in do not run what is scheduled: S(0) is scheduled" in printed.err
    assert "proven" not in printed.out


def test_options_take_the_place_of_the_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["astgen", "short.in", "--options", "{ [i] -> unroll[0] }", "--isl"]) == 0
    assert capsys.readouterr().out == "{\n  S(0);\n  S(1);\n  S(2);\n}\n"


def test_figures_are_set_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["astgen", "tree.st", "--compare", "--param", "n=5", "--param", "n=0"]) == 0
    out = capsys.readouterr().out
    rows = {" ".join(line.split()[:-2]): line.split()[-2:] for line in out.splitlines()}
    assert rows["tree"] == ["planish", "isl"]
    assert rows["copies of statements"] == ["2", "2"]
    assert rows["loop control, for n = 5"] == ["24", "24"]
    assert "loop control, for n = 0" in rows


def test_idle_options_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    Path("idle.in").write_text(SHORT.replace("{ }", "{ [i, j] -> unroll[0] }"))
    assert main(["astgen", "idle.in"]) == 0
    printed = capsys.readouterr()
    assert "warning[E0518]: `unroll` is said of schedules with 2 dimensions; this one has 1" in printed.err
    assert " --> idle.in:3:13" in printed.err
    assert "S(" in printed.out


TWO = """[n] -> { A[i] -> [i] : 0 <= i < n; B[i] -> [i] : 2 <= i < 9 }
[n] -> { : n >= 3 }
{ }
"""


def test_cuts_are_chosen_within_a_size(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "two.in").write_text(TWO)
    assert main(["astgen", "two.in", "--copies", "2", "--param", "n=40", "--verify"]) == 0
    small = capsys.readouterr().out
    assert main(["astgen", "two.in", "--copies", "5", "--param", "n=40", "--verify"]) == 0
    large = capsys.readouterr().out
    assert small.startswith("/* proven") and large.startswith("/* proven")
    assert small.count("A(") == small.count("B(") == 1 and "if (" in small
    assert large.count("A(") > 1 and large.count("(c0);") <= 5


def test_a_size_that_cannot_be_kept_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "two.in").write_text(TWO)
    assert main(["astgen", "two.in", "--copies", "1"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "error[E0520]: the smallest nest found for two.in has 2 copies and 1 loops" in printed.err


def test_what_was_found_is_printed_where_the_search_is_interrupted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> Iterator[object]:
        yield next(improve(load_input("two.in"), SizeBound(), [{"n": 9}]))
        raise KeyboardInterrupt

    (tmp_path / "two.in").write_text(TWO)
    monkeypatch.setattr(astgen, "improve", stop)
    assert main(["astgen", "two.in", "--copies", "4"]) == 0
    printed = capsys.readouterr()
    assert "stopped; the best of two.in so far follows" in printed.err
    assert printed.out.count("A(") == 1


def test_what_is_known_of_loops_stands_beside_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "bands.st").write_text(
        'domain: "{ S[i, j] : 0 <= i < 9 and 0 <= j < 9 }"\n'
        "child:\n"
        '  schedule: "[{ S[i, j] -> [(i)] }, { S[i, j] -> [(j)] }]"\n'
        "  coincident: [ 1, 0 ]\n"
        '  options: "{ isolate[[] -> [i, j]] : 0 <= i < 8 and 0 <= j < 8 }"\n'
    )
    assert main(["astgen", "bands.st", "--facts"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum("/* coincident, isolated */" in x for x in lines) == 1
    assert sum("/* isolated */" in x for x in lines) == 1


@pytest.mark.parametrize(("limit", "depth"), [(0, 0), (1, 1), (2, 2), (3, 3)])
def test_conditions_stay_inside_so_many_loops(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, limit: int, depth: int
) -> None:
    text = "[n, m] -> { S[i, j, k] -> [i, j, k] : 0 <= i, j, k < n and m >= 4 } { : } { [i, j, k] -> atomic[x] }"
    (tmp_path / "cube.in").write_text(text)
    assert main(["astgen", "cube.in", "--hoist", str(limit), "--verify"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (test,) = (x for x in lines if "if (" in x)
    assert len(test) - len(test.lstrip()) == 2 * depth and lines[0].startswith("/* proven")


def test_options_that_cannot_be_followed_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["astgen", "reversed.in", "--options", "{ [i] -> unroll[0] }"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("for (")
    assert "refused[astgen-unroll]: the loop of dimension 0 is not unrolled" in printed.err


def test_values_that_are_too_large_to_choose_cuts_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["astgen", "reversed.in", "--copies", "4", "--param", "n=9000000000"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "error[E0521]: the loops of reversed.in take more than 2000000 steps for n = 9000000000" in printed.err
