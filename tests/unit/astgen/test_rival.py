"""isl's own answer: every kind of node and expression comes over, and runs as the schedule says."""

from __future__ import annotations

import pytest

from planish.astgen.checking.verify import compare_traces
from planish.astgen.code_size.effort import compile_nest
from planish.astgen.code_size.isl_codegen import rival_nest
from planish.astgen.formats import list_input, parse_input
from planish.core.diagnostic import PlanishError
from planish.ir.nest import Block, For, If
from planish.ir.traverse import walk
from planish.poly.isl.affine import CONTEXT

TRIANGLE = "[n, m] -> { S[i, j] -> [i, j] : 0 <= i < n and i <= j < m and j < n + 2 } { : } { }"
GUARDED = "[n] -> { S[i] -> [i] : 0 <= i < n; T[i] -> [i] : 0 <= i < n and i mod 3 = 1 } { : } { }"
STRIDED = "[n, t] -> { S[i] -> [i] : 0 <= i < n and (i - t) mod 4 = 0 } { : } { }"
DIVIDED = "[n] -> { S[i] -> [j] : 0 <= i < n and j = floor(i / 3) + floor((n - i) / 2) } { : } { }"
CHOSEN = "[n] -> { S[i] -> [max(i, 5) + i] : 0 <= i < n; S[i] -> [-i] : 2n <= i < 2n + 2 and n >= 1 } { : } { }"
EITHER = "[n] -> { S[] -> [] : n >= 7 or n <= 2; T[] -> [] : n mod 2 = 0 and n >= 0 } { : } { }"


@pytest.mark.parametrize("text", [TRIANGLE, GUARDED, STRIDED, DIVIDED, CHOSEN, EITHER])
def test_it_runs_the_schedule(text: str) -> None:
    found = parse_input(text, "a.in")
    execute = compile_nest(rival_nest(found))
    for n in (1, 2, 7, 8, 13):
        sizes = {name: n if name == "n" else 5 for name in found.parameters}
        assert compare_traces(execute(sizes, 10_000).trace, list_input(found, sizes)) is None


def test_trees_with_marks() -> None:
    tree = """
domain: "[n] -> { S[i] : 0 <= i < n; T[i] : 0 <= i < n and n >= 3 }"
child:
  mark: outer
  child:
    schedule: "[n] -> [{ S[i] -> [(i)]; T[i] -> [(i)] }]"
    child:
      sequence:
      - filter: "[n] -> { T[i] }"
      - filter: "[n] -> { S[i] }"
"""
    found = parse_input(tree, "a.st")
    nest = rival_nest(found)
    for n in (0, 2, 4):
        assert compare_traces(compile_nest(nest)({"n": n}, 1000).trace, list_input(found, {"n": n})) is None


def test_branches() -> None:
    text = "[n, m] -> { S[i] -> [0, i] : 0 <= i < 9 and n > m; T[i] -> [1, i] : 0 <= i < 9 and n <= m } { : } { }"
    assert any(isinstance(x, If) and x.otherwise.body for x in walk(rival_nest(parse_input(text, "a.in"))))


def test_steps_and_names() -> None:
    (loop,) = rival_nest(parse_input("[n] -> { S[i] -> [i] : 0 <= i < n and i mod 3 = 0 } { : } { }", "a.in")).body
    assert isinstance(loop, For) and loop.step == 3 and loop.var == "c0"


def test_nothing_to_run() -> None:
    assert rival_nest(parse_input("{ S[i] -> [i] : false } { : } { }", "a.in")) == Block(())


def test_a_loop_without_a_bound_is_named() -> None:
    with pytest.raises(PlanishError, match="the loop over c0 has no upper bound") as caught:
        rival_nest(parse_input("{ S[i] -> [i] : i >= 0 } { : } { }", "a.in"))
    assert caught.value.diagnostic.code == "E0513"


def test_the_settings_of_isl_stay() -> None:
    before = CONTEXT.get_ast_build_detect_min_max()
    rival_nest(parse_input(TRIANGLE, "a.in"))
    assert CONTEXT.get_ast_build_detect_min_max() == before
