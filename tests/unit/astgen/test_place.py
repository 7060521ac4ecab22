"""What users add while code is generated: hooks see loops, statements and marks, and generate within them."""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl
import pytest

from planish.astgen.checking.verify import record, trace_nest
from planish.astgen.generate import generate, generate_at, generate_map
from planish.astgen.place import Hooks, Place
from planish.ir.expr import Expr, index
from planish.ir.nest import Assign, Block, For, Let, Stmt
from planish.ir.text.printer import print_expr
from planish.ir.traverse import walk

TILES = """
domain: "[n] -> { S[i, j] : 0 <= i < n and 0 <= j < n }"
child:
  schedule: "[n] -> [{ S[i, j] -> [(i - i mod 4)] }, { S[i, j] -> [(j - j mod 4)] }]"
  permutable: 1
  coincident: [ 1, 0 ]
  child:
    mark: "kernel"
    child:
      schedule: "[n] -> [{ S[i, j] -> [(i)] }, { S[i, j] -> [(j)] }]"
"""
CUBE = {("S", (i, j)) for i in range(10) for j in range(10)}
NAMES = frozenset({"n", "t"})


def tree(text: str = TILES) -> isl.Schedule:
    return isl.Schedule(text)


def test_loops_carry_what_the_schedule_says() -> None:
    loops = [x for x in walk(generate(tree(), record, NAMES)) if isinstance(x, For)]
    assert [x.facts.coincident for x in loops] == [True, False, False, False]


def test_the_isolated_part_is_told() -> None:
    text = """
domain: "[n] -> { S[i] : 0 <= i < n }"
child:
  schedule: "[n] -> [{ S[i] -> [(i)] }]"
  options: "[n] -> { isolate[[] -> [i]] : 0 <= i <= n - 8 }"
"""
    seen: list[bool] = []
    hooks = Hooks(leave=lambda place, loop: seen.append(loop.facts.isolated) or loop)  # type: ignore[func-returns-value]
    generate(tree(text), record, NAMES, hooks=hooks)
    assert seen == [True, False]


def test_loops_are_entered_and_left_in_turn() -> None:
    log: list[str] = []

    def enter(place: Place) -> None:
        dimension = place.dimensions[-1]
        log.append(f"enter {dimension.kind} {print_expr(dimension.value)} {dimension.stride}")

    def leave(place: Place, loop: For) -> Stmt:
        log.append(f"leave {loop.var} at {len(place.dimensions)}")
        return loop

    schedule = isl.UnionMap("[n] -> { S[i, j] -> [i, j] : 0 <= i < n and i mod 2 = 0 and j = 2i }")
    generate_map(schedule, isl.Set("[n] -> { : }"), isl.UnionMap("{ }"), record, NAMES, hooks=Hooks(enter, leave))
    assert log == ["enter loop c0 2", "enter degenerate 2 * c0 1", "leave c0 at 0"]


def test_copies_of_an_unrolled_loop_are_numbered() -> None:
    seen: list[tuple[str, int]] = []

    def enter(place: Place) -> None:
        seen.append((place.dimensions[-1].kind, place.dimensions[-1].copy))

    schedule, options = isl.UnionMap("[n] -> { S[i] -> [i] : n <= i < n + 3 }"), isl.UnionMap("{ [i] -> unroll[0] }")
    generate_map(schedule, isl.Set("[n] -> { : }"), options, record, NAMES, hooks=Hooks(enter))
    assert seen == [("unrolled", 0), ("unrolled", 1), ("unrolled", 2)]


def test_statements_and_loops_may_be_replaced() -> None:
    hooks = Hooks(
        leave=lambda place, loop: Block((record("before", ()), loop)),
        statement=lambda place, stmt: (stmt, record("after", tuple(d.value for d in place.dimensions))),
    )
    schedule = isl.UnionMap("[n] -> { S[i] -> [i] : 0 <= i < n }")
    nest = generate_map(schedule, isl.Set("[n] -> { : n >= 1 }"), isl.UnionMap("{ }"), record, NAMES, hooks=hooks)
    assert trace_nest(nest, {"n": 2}) == [("before", ()), ("S", (0,)), ("after", (0,)), ("S", (1,)), ("after", (1,))]


def launched(make: Callable[[Place], Block]) -> Block:
    """The nest whose kernels are what `make` generates, each after a statement that launches it."""

    def mark(place: Place, name: str, inner: Callable[[], Block]) -> Block:
        assert name == "kernel"
        at = tuple(dimension.value for dimension in place.dimensions)
        return Block((record("launch", at), make(place)))

    return generate(tree(), record, NAMES, hooks=Hooks(mark=mark))


def test_below_a_mark_the_code_may_be_generated_anew() -> None:
    columns = isl.UnionMap("[n] -> { S[i, j] -> [j, i] }")
    nest = launched(lambda place: generate_at(place, columns, record))
    ran = trace_nest(nest, {"n": 10})
    assert [x for x in ran if x[0] == "launch"] == [("launch", (i, j)) for i in (0, 4, 8) for j in (0, 4, 8)]
    kernels = [x for x in ran if x[0] == "S"]
    assert sorted(kernels) == sorted(CUBE) and kernels[:5] == [("S", (i % 4, i // 4)) for i in range(5)]


def test_where_nothing_is_scheduled_anew_nothing_runs() -> None:
    nest = launched(lambda place: generate_at(place, isl.UnionMap("[n] -> { }"), record))
    assert {name for name, _ in trace_nest(nest, {"n": 10})} == {"launch"}


def test_a_kernel_may_use_the_hosts_values_and_a_thread_of_its_own() -> None:
    rows = isl.UnionMap("[n, t] -> { S[i, j] -> [i, j] : j mod 4 = t }")
    nest = launched(lambda place: generate_at(place, rows, record, isl.UnionMap("{ [i, j] -> unroll[0] }")))
    ran = [trace_nest(nest, {"n": 10, "t": thread}) for thread in range(4)]
    parts = [{x for x in trace if x[0] == "S"} for trace in ran]
    assert set.union(*parts) == CUBE and sum(map(len, parts)) == len(CUBE)
    assert all(j % 4 == thread for thread, part in enumerate(parts) for _, (_, j) in part)
    loops = [x for x in walk(nest) if isinstance(x, For)]
    assert len(loops) == 2 and not any(isinstance(x, Let) for x in walk(nest))


def test_a_kernel_may_run_more_than_was_scheduled() -> None:
    added = isl.UnionMap("[n] -> { [i, j] -> load[i, j, k] : 0 <= k < 4 }")
    order = isl.UnionMap("[n] -> { load[i, j, k] -> [0, k, 0]; S[i, j] -> [1, i, j] }")
    nest = launched(lambda place: generate_at(place, order, record, added=added))
    ran = trace_nest(nest, {"n": 5})
    first = ran.index(("S", (0, 0)))
    assert ran[:first] == [("launch", (0, 0)), *(("load", (0, 0, k)) for k in range(4))]
    assert sum(x[0] == "load" for x in ran) == 4 * sum(x[0] == "launch" for x in ran)


def test_expressions_at_a_place() -> None:
    found: list[tuple[Expr, ...]] = []

    def statement(place: Place, stmt: Stmt) -> tuple[Stmt, ...]:
        cell = place.subscripts(isl.Map("[n] -> { S[t, i] -> A[t mod 2, i + 1] }"))
        found.append((*cell, place.condition(isl.Set("[n] -> { [a, b] : b >= 1 and a - 2b < n }"))))
        return (Assign("A", cell, index(0)),)

    skewed = isl.UnionMap("[n] -> { S[t, i] -> [2t + i, t] : 0 <= t < n and 0 <= i < n }")
    generate_map(
        skewed, isl.Set("[n] -> { : n >= 1 }"), isl.UnionMap("{ }"), record, NAMES, hooks=Hooks(statement=statement)
    )
    assert [print_expr(x) for x in found[0]] == ["c1 % 2", "c0 - 2 * c1 + 1", "c1 > 0"]


def test_an_access_to_several_elements_is_refused() -> None:
    def statement(place: Place, stmt: Stmt) -> tuple[Stmt, ...]:
        place.subscripts(isl.Map("{ S[i] -> A[j] : 0 <= j < i }"))
        return (stmt,)

    schedule = isl.UnionMap("[n] -> { S[i] -> [i] : 0 <= i < n }")
    with pytest.raises(ValueError, match="not to one element"):
        generate_map(
            schedule, isl.Set("[n] -> { : }"), isl.UnionMap("{ }"), record, NAMES, hooks=Hooks(statement=statement)
        )
