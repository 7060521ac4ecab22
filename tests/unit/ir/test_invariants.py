"""Bounds that move out of loops: where they are named, and that the nest still means the same."""

from __future__ import annotations

import pytest

from planish.ir.nest import Block, For, Let
from planish.ir.passes.invariants import move_bounds
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_expr
from planish.ir.traverse import walk

HEAD = "kernel nest(n, m; A: f32[n, m])\n{\n"


def moved(body: str) -> Block:
    return move_bounds(parse_kernel(f"{HEAD}{body}\n}}\n").body, frozenset({"n", "m", "A"}))


def lets(block: Block) -> list[str]:
    return [f"{x.var} = {print_expr(x.value)}" for x in walk(block) if isinstance(x, Let)]


def test_a_bound_moves_out_of_the_loops_that_do_not_change_it() -> None:
    nest = moved("for i in 0 .. n { for j in i .. n { for k in 0 .. min(m, i + 4) { A[j, k] = 0.0:f32 } } }")
    (outer,) = nest.body
    assert isinstance(outer, For)
    first, inner = outer.body.body
    assert isinstance(first, Let) and isinstance(inner, For)
    assert lets(nest) == ["k_end = min(m, i + 4)"]


def test_a_bound_of_the_outermost_loop_stays() -> None:
    nest = moved("for i in 0 .. min(n, m) { A[i, i] = 0.0:f32 }")
    assert lets(nest) == []


def test_equal_bounds_share_a_name() -> None:
    body = "for j in 0 .. min(n, m) { A[i, j] = 0.0:f32 }"
    nest = moved(f"for i in 0 .. n {{ {body} {body} }}")
    assert lets(nest) == ["j_end = min(n, m)"]
    assert len({print_expr(x.upper) for x in walk(nest) if isinstance(x, For) and x.var == "j"}) == 1


def test_a_bound_that_is_tested_first_is_computed_once() -> None:
    nest = moved(
        "for i in 0 .. n { if max(i, 3) < min(n, i + 8) { for j in max(i, 3) .. min(n, i + 8) { A[i, j] = 0.0:f32 } } }"
    )
    assert sorted(lets(nest)) == ["bound = max(i, 3)", "bound2 = min(n, i + 8)"]


def test_a_bound_waits_for_the_names_that_it_uses() -> None:
    nest = moved(
        "for i in 0 .. n { let e = i + 3 for j in 0 .. m { for k in 0 .. min(e, j) { A[j, k] = 0.0:f32 } "
        "for k in 0 .. min(e, m) { A[j, k] = 0.0:f32 } } }"
    )
    (outer,) = nest.body
    assert isinstance(outer, For)
    names = [x.var if isinstance(x, Let | For) else "" for x in outer.body.body]
    assert names == ["e", "k_end", "j"]
    assert lets(nest) == ["e = i + 3", "k_end = min(e, m)"]


def test_names_that_are_in_use_are_spared() -> None:
    nest = move_bounds(
        parse_kernel(f"{HEAD}for i in 0 .. n {{ for j in 0 .. min(n, m) {{ A[i, j] = 0.0:f32 }} }}\n}}\n").body,
        frozenset({"n", "m", "A", "j_end"}),
    )
    assert lets(nest) == ["j_end2 = min(n, m)"]


@pytest.mark.parametrize("bound", ["n", "i + 4", "n - m"])
def test_what_takes_no_work_stays(bound: str) -> None:
    body = f"for k in 0 .. {bound} {{ A[j, k] = 0.0:f32 }}"
    assert lets(moved(f"for i in 0 .. n {{ for j in 0 .. m {{ {body} }} }}")) == []
