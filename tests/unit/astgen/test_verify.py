"""The check of nests: every kind of tree is listed, every kind of fault is found."""

from __future__ import annotations

import islpy as isl
import pytest

from planish.astgen.checking.verify import check_nest, compare_traces, evaluate, list_instances, record, trace_nest
from planish.astgen.generate import generate
from planish.ir.expr import Binary, Load, index
from planish.ir.nest import Assign, Block, If, LoopFacts
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import walk
from planish.ir.types import I32


def test_instances_of_an_expansion() -> None:
    tree = isl.Schedule(
        '{ domain: "{ G[i] : 0 <= i < 2 }", child: { schedule: "[{ G[i] -> [(-i)] }]", child: {'
        ' contraction: "{ S[i, j] -> G[i] }", expansion: "{ G[i] -> S[i, j] : 0 <= j <= i }",'
        ' child: { schedule: "[{ S[i, j] -> [(-j)] }]" } } } }'
    )
    assert list_instances(tree, {}) == [((-1, -1), ("S", (1, 1))), ((-1, 0), ("S", (1, 0))), ((0, 0), ("S", (0, 0)))]
    assert check_nest(tree, {}) is None


def test_an_extension_runs_where_the_tree_is_reached() -> None:
    tree = isl.Schedule(
        '{ domain: "[n] -> { S[i] : 0 <= i < n and i mod 2 = 0 }", child: { schedule: "[{ S[i] -> [(i)] }]", child: {'
        ' extension: "[n] -> { [c] -> E[c] }", child: { sequence: [ { filter: "{ E[c] }" },'
        ' { filter: "{ S[i] }" } ] } } } }'
    )
    wanted = [((0, 0), ("E", (0,))), ((0, 1), ("S", (0,))), ((2, 0), ("E", (2,))), ((2, 1), ("S", (2,)))]
    assert list_instances(tree, {"n": 3}) == wanted
    assert check_nest(tree, {"n": 3}) is None


def test_guards_and_sequences() -> None:
    tree = isl.Schedule(
        '{ domain: "{ S[i] : 0 <= i < 4; T[] }", child: { sequence: [ { filter: "{ T[] }" },'
        ' { filter: "{ S[i] }", child: {'
        ' schedule: "[{ S[i] -> [(i)] }]", child: { guard: "{ [c] : c >= 2 }" } } } ] } }'
    )
    assert list_instances(tree, {}) == [((0,), ("T", ())), ((1, 2), ("S", (2,))), ((1, 3), ("S", (3,)))]
    assert check_nest(tree, {}) is None


@pytest.mark.parametrize(
    ("ran", "fault"),
    [
        ([("S", (0,)), ("S", (1,)), ("T", (1,))], None),
        ([("S", (0,)), ("T", (1,)), ("S", (1,))], None),
        ([("S", (1,)), ("S", (0,)), ("T", (1,))], "should run"),
        ([("S", (0,)), ("S", (1,))], "missing"),
        ([("S", (0,)), ("S", (1,)), ("T", (1,)), ("T", (1,))], "extra"),
        ([("S", (0,)), ("S", (1,)), ("T", (2,))], "extra"),
    ],
)
def test_traces(ran: list[tuple[str, tuple[int, ...]]], fault: str | None) -> None:
    found = compare_traces(ran, [((0,), ("S", (0,))), ((1,), ("S", (1,))), ((1,), ("T", (1,)))])
    assert found is None if fault is None else found is not None and fault in found


def test_values_round_as_in_the_language() -> None:
    for a in range(-7, 8):
        values = {"a": a}
        assert evaluate(Binary("floordiv", index("a"), index(3)), values) == a // 3
        assert evaluate(Binary("mod", index("a"), index(3)), values) == a % 3
        assert evaluate(Binary("quo", index("a"), index(3)), values) == int(a / 3)
        assert evaluate(Binary("rem", index("a"), index(3)), values) == a - 3 * int(a / 3)
    with pytest.raises(ValueError, match="no index expression|not an index expression"):
        evaluate(Load("A", (), I32), {})


def test_nests_of_the_language_are_traced() -> None:
    text = "kernel k(n; A: i32[n]) { for i in 0 .. n step 2 { if i > 0 { A[i] = 1 } else { A[0] = 2 } } }"
    kernel = parse_kernel(text)
    assert trace_nest(kernel.body, {"n": 5}) == [("A", (0,)), ("A", (2,)), ("A", (4,))]


def test_loops_get_free_names_and_the_facts_of_marks() -> None:
    tree = isl.Schedule(
        '{ domain: "[n] -> { S[i, j] : 0 <= i, j < n }", child: { mark: "both", child: {'
        ' schedule: "[{ S[i, j] -> [(i)] }, { S[i, j] -> [(j)] }]" } } }'
    )
    marks = {"both": LoopFacts(parallel=True)}
    block = generate(tree, record, frozenset({"n", "i"}), facts=marks.get)
    (outer,) = block.body
    assert getattr(outer, "var", "") == "i2" and getattr(outer, "facts", None) == LoopFacts(parallel=True)
    inner = [s for s in walk(block) if getattr(s, "var", "") == "j"]
    assert [getattr(s, "facts", None) for s in inner] == [LoopFacts()]


def test_what_the_context_says_is_not_tested() -> None:
    band = 'child: { schedule: "[{ S[i] -> [(i)] }]" }'
    tree = isl.Schedule('{ domain: "[n, m] -> { S[i] : 0 <= i < n and n >= m }", ' + band + " }")
    plain = generate(tree, record, frozenset())
    told = generate(tree, record, frozenset(), isl.Set("[n, m] -> { : n >= m }"))
    assert any(isinstance(s, If) for s in walk(plain))
    assert not any(isinstance(s, If) for s in walk(told))
    assert isinstance(told, Block) and any(isinstance(s, Assign) for s in walk(told))
