"""The race of code generators: which parameters are taken, who is judged how, and what is claimed from it."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import islpy as isl
import pytest

from bench.codegen import astgen
from bench.codegen.astgen import Row, Side
from bench.codegen.astgen_cases import choose_sizes, find_inputs, name_inputs, nearest_sizes, shrink_constants
from bench.promises.claim import Claim
from bench.promises.code_generation import judge
from planish.astgen.code_size.isl_codegen import rival_nest
from planish.astgen.formats import generate_input, parse_input
from planish.ir.nest import Block

SUM = "[n, m] -> { S[i] -> [i] : 0 <= i < n + m } [n, m] -> { : 3 <= n <= 1000 and m >= 2n } { }"
OURS = Side(guards=1, control=8, lines=3, copies=2, seconds=0.02)
ROW = Row("a.in", ({"n": 3},), 4, OURS, replace(OURS, control=9, seconds=0.02))


def test_sizes_are_those_that_the_context_allows() -> None:
    found = parse_input(SUM, "a.in")
    chosen = [(sizes, len(run.trace)) for sizes, run in choose_sizes(found, rival_nest(found), 4)]
    assert len(chosen) == 4
    assert all(x["n"] >= 3 and x["m"] >= 2 * x["n"] and count == x["n"] + x["m"] for x, count in chosen)


def test_the_nearest_value() -> None:
    region = isl.Set("[a, b] -> { : 10 <= a <= 20 and b = 3a }")
    assert nearest_sizes(region, ("a", "b"), [12, 0]) == {"a": 12, "b": 36}
    assert nearest_sizes(region, ("a", "b"), [99, 0]) == {"a": 20, "b": 60}
    assert nearest_sizes(isl.Set("[a] -> { : false }"), ("a",), [1]) is None


def test_constants_shrink_in_order() -> None:
    text = "# 100\n{ S8[i, i100] -> [100000i] : 3 <= i < 99996 or i = 250 }"
    assert shrink_constants(text, 8, 5).strip() == "{ S8[i, i100] -> [22i] : 3 <= i < 18 or i = 13 }"


def test_a_wrong_nest_is_noticed() -> None:
    found = parse_input(SUM, "a.in")
    judged = astgen.judge(found, generate_input(found), Block(()), 4)
    assert judged.ours is not None and judged.isl is not None
    assert judged.ours.wrong == "" and "missing" in judged.isl.wrong


def test_a_child_may_fail_or_take_too_long() -> None:
    assert astgen.in_child(lambda: 6 * 7, 5).value == 42
    assert astgen.in_child(lambda: [][1], 5).failure.startswith("IndexError")

    assert astgen.in_child(lambda: time.sleep(60), 1).failure == "no answer in 1 s"


def test_one_input_from_end_to_end(tmp_path: Path) -> None:
    for name in ("x/a.in", "b.in", "c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(SUM)
    paths = find_inputs(tmp_path)
    assert name_inputs(paths) == ["b.in", "x/a.in"]
    row = astgen.examine(paths[0], "b.in", wanted=2, rounds=1)
    assert row.verified and row.compared and len(row.sizes) == 2 and row.ours.seconds > 0
    assert "b.in" in astgen.describe(row)


def test_rows_are_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(astgen, "STORE", tmp_path / "deep" / "astgen.json")
    assert astgen.stored() == []
    astgen.store([ROW, ROW])
    assert astgen.stored() == [ROW, ROW] and not astgen.is_stale()


@pytest.mark.parametrize(
    ("row", "short"),
    [
        (ROW, set()),
        (replace(ROW, ours=replace(OURS, wrong="n = 3: …")), {"verified"}),
        (replace(ROW, ours=replace(OURS, control=20)), {"worse_share", "overhead_ratio"}),
        (replace(ROW, ours=replace(OURS, copies=3)), {"copies_share"}),
        (replace(ROW, ours=replace(OURS, seconds=6.0)), {"seconds_ratio", "worst_seconds"}),
        (replace(ROW, sizes=(), note="not verified"), {"verified"}),
    ],
)
def test_what_is_short(row: Row, short: set[str]) -> None:
    found = [x for x in judge([row], 1, [row]) if isinstance(x, Claim)]
    assert {x.name.removeprefix("astgen.") for x in found if not x.ok} == short
    assert len(found) == 6


def test_no_answer_is_no_success() -> None:
    row = replace(ROW, ours=Side(failure="no answer in 5 s"))
    short = {x.name.removeprefix("astgen.") for x in judge([row], 1, [row]) if isinstance(x, Claim) and not x.ok}
    assert short >= {"verified", "worse_share", "copies_share", "worst_seconds"}
    endless = Side(failure="a loop of a has no bound")
    refused = replace(ROW, ours=endless, isl=Side(failure="the loop over c0 has no upper bound"))
    assert refused.verified and not replace(refused, isl=OURS).verified
