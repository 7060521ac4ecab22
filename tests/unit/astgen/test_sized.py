"""Nests within a bound on their size: the bound holds, what runs is right, and more room never costs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from planish.astgen.checking.verify import compare_traces, trace_nest
from planish.astgen.code_size import sized
from planish.astgen.code_size.effort import Run, compile_nest, count_copies, count_loops
from planish.astgen.code_size.sized import SizeBound, Sizes, generate_sized, improve
from planish.astgen.formats import list_input, parse_input
from planish.core.diagnostic import PlanishError
from planish.ir.nest import Block, For, If
from planish.ir.traverse import walk

THREE = """[n, m] -> { A[i] -> [i] : 0 <= i < n; B[i] -> [i] : 2 <= i < m; C[i] -> [i] : 5 <= i < n }
[n, m] -> { : n >= 3 }
{ [i] -> separate[0] }"""
RUNS = [{"n": 50, "m": 40}]
OTHERS = [{"n": 3, "m": 0}, {"n": 4, "m": 9}, {"n": 50, "m": 40}, {"n": 9, "m": 9}]
DEEP = """[n, m] -> { A[i, j] -> [i, j] : 0 <= i < n and 0 <= j < n; B[i, j] -> [i, j] : 0 <= i < n and 2 <= j < m }
[n, m] -> { : }
{ }"""
TREE = """
domain: "[n, m] -> { A[i] : 0 <= i < n; B[i] : 3 <= i < m }"
child:
  schedule: "[n, m] -> [{ A[i] -> [(i)]; B[i] -> [(i)] }]"
"""


@pytest.mark.parametrize("copies", [3, 4, 5, 6, 9, 30])
def test_the_bound_on_copies_holds(copies: int) -> None:
    found = parse_input(THREE, "three.in")
    best = generate_sized(found, SizeBound(copies=copies), RUNS)
    assert best.copies == count_copies(best.nest) <= copies
    for sizes in OTHERS:
        assert compare_traces(trace_nest(best.nest, sizes), list_input(found, sizes)) is None


def test_the_bound_on_loops_holds() -> None:
    found = parse_input(DEEP, "deep.in")
    for loops in (2, 3, 4, 6):
        best = generate_sized(found, SizeBound(loops=loops), RUNS)
        assert best.loops == count_loops(best.nest) <= loops
        assert compare_traces(trace_nest(best.nest, OTHERS[1]), list_input(found, OTHERS[1])) is None


def test_more_room_never_costs() -> None:
    found = parse_input(THREE, "three.in")
    executed = [generate_sized(found, SizeBound(copies=k), RUNS).executed for k in range(3, 12)]
    assert executed == sorted(executed, reverse=True)
    assert executed[-1] < executed[0] / 2


def test_what_cannot_be_small_is_as_small_as_it_gets() -> None:
    best = generate_sized(parse_input(THREE, "three.in"), SizeBound(copies=1), RUNS)
    assert best.copies == 3 and not SizeBound(copies=1).holds(best)


def test_the_innermost_loop_of_most_instances_loses_its_tests() -> None:
    best = generate_sized(parse_input(DEEP, "deep.in"), SizeBound(copies=6), RUNS)
    sizes = RUNS[0]
    inner = [x for x in walk(best.nest) if isinstance(x, For) and not any(isinstance(y, For) for y in walk(x.body))]
    tested = [x for x in inner if any(isinstance(y, If) for y in walk(x.body))]
    assert not tested
    assert compile_nest(best.nest)(sizes, 10**6).effort.guards <= sizes["n"]


def test_trees_are_cut_as_well() -> None:
    found = parse_input(TREE, "tree.st")
    best = generate_sized(found, SizeBound(copies=6), RUNS)
    assert 2 < best.copies <= 6
    for sizes in OTHERS:
        assert compare_traces(trace_nest(best.nest, sizes), list_input(found, sizes)) is None


def test_each_better_nest_is_told() -> None:
    told: list[str] = []
    steps = list(improve(parse_input(THREE, "three.in"), SizeBound(copies=9), RUNS, told.append))
    assert len(steps) > 2 and [x.executed for x in steps] == sorted((x.executed for x in steps), reverse=True)
    assert told[0].startswith("1 nests tried, 3 statements")


ATOMIC = """[n, m] -> { A[i] -> [3i] : 0 <= i < n; B[i] -> [3i + 1] : 2 <= i < m }
[n, m] -> { : n > m > 2 }
{ [i] -> atomic[0] }"""


@pytest.mark.parametrize("text", [ATOMIC, ATOMIC.replace("3i + 1", "3i")])
def test_an_atomic_loop_is_not_cut(text: str) -> None:
    best = generate_sized(parse_input(text, "atomic.in"), SizeBound(copies=9), [{"n": 40, "m": 20}])
    assert (best.copies, best.loops) == (2, 1)


@pytest.mark.parametrize("runs", [[{"n": 9, "m": 5}, {"n": 10**9, "m": 5}], [{"n": 10**9, "m": 5}], []])
def test_runs_that_say_nothing_are_refused(runs: list[dict[str, int]]) -> None:
    with pytest.raises(PlanishError) as error:
        generate_sized(parse_input(THREE, "three.in"), SizeBound(copies=9), runs)
    assert error.value.diagnostic.code == "E0521"
    assert "--param" in error.value.diagnostic.help


def test_a_nest_that_takes_too_long_is_not_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    found = parse_input(THREE, "three.in")
    steps = generate_sized(found, SizeBound(copies=3), RUNS).executed

    def slow(nest: Block) -> Callable[[Sizes, int], Run]:
        cut, run = count_copies(nest) > 3, compile_nest(nest)
        return lambda sizes, limit: run(sizes, 1 if cut else limit)

    monkeypatch.setattr(sized, "compile_nest", slow)
    best = generate_sized(found, SizeBound(copies=9), RUNS)
    assert (best.copies, best.executed) == (3, steps)
