"""Sums that are the same in every iteration are computed in the first one, and only where nothing can tell."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.raising.interpreted import assert_same, make_values

from planish.ir.checker import check_kernel
from planish.ir.nest import Block, For, Stmt
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_kernel
from planish.ir.traverse import map_block, walk
from planish.poly.canonical.hoist_reduction import compute_once

ARRAYS = "A: f64[n, p + m], B: f64[n + m, p + m], C: f64[n, n + m], x: f64[n]"
HEAD = f"kernel k(n, m, p; a: f64; {ARRAYS}) {{ alloc s: f64[n, n + m] "
SUM = "s[i, j] = 0.0 for k in 0 .. p { s[i, j] += A[i, k] * A[i, k] }"
COLUMN = "s[i, j] = 1.0 for k in 0 .. p { if k != 2 { s[i, j] += B[j, k] } }"
USE = "C[i, j] = C[i, j] * s[i, j]"


def nest(*body: str, upper: str = "m") -> str:
    return f"for i in 0 .. n {{ for j in 0 .. {upper} {{ {' '.join(body)} }} }}"


def once(text: str) -> str:
    """The nest afterwards, which leaves what it left before."""
    kernel = parse_kernel(HEAD + text + " }")
    check_kernel(kernel, "before")
    fresh = compute_once(kernel)
    check_kernel(fresh, "after")
    for n, m, p in ((0, 3, 2), (3, 0, 2), (1, 1, 1), (2, 3, 0), (4, 5, 6)):
        assert_same(kernel, fresh, make_values(kernel, {"n": n, "m": m, "p": p}))
    return "same" if fresh is kernel else print_kernel(fresh)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (nest(SUM, USE), ["alloc s: f64[n]", "if j == 0 {", "s[i] += A[i, k] * A[i, k]", "C[i, j] * s[i]"]),
        (nest(COLUMN, USE), ["alloc s: f64[n + m]", "if i == 0 {", "s[j] += B[j, k]", "C[i, j] * s[j]"]),
        (nest(SUM, "s[i, j] = sqrt(s[i, j])", USE), ["s[i] = sqrt(s[i])"]),
        (nest(SUM, USE, upper="i + 1"), ["if j == 0 {", "s[i] += "]),
        (nest(SUM, "for k in 0 .. p { C[i, j] += s[i, j] * B[j, k] }"), ["C[i, j] += s[i] * B[j, k]"]),
        (nest("if i < 2 { " + SUM + " " + USE + " }"), ["s[i] += A[i, k]"]),
    ],
)
def test_what_does_not_depend_on_a_loop_is_computed_once(text: str, wanted: list[str]) -> None:
    fresh = once(text)
    assert [x for x in wanted if x not in fresh] == []


@pytest.mark.parametrize(
    "text",
    [
        nest(SUM.replace("A[i, k] * A", "B[j, k] * A"), USE),
        nest(SUM, "A[i, 0] = 2.0", USE),
        nest(SUM.replace("0 .. p", "0 .. j"), USE),
        nest("if j > 1 { " + SUM + " }", "if j > 1 { " + USE + " }"),
        nest("s[i, j] = x[i]", "s[i, j] = s[i, j] * a", USE),
        nest(COLUMN, USE, upper="i + 1"),
        nest("s[i, j] = 0.0 for k in 0 .. p { s[i, j] += A[i, k] C[i, j] += s[i, j] }"),
        nest(SUM, USE, "s[i, j] = 3.0", "C[i, j] += s[i, j]"),
        nest(SUM) + " " + nest(USE),
        "for i in 0 .. n { for j in 0 .. m { s[i, j] = 0.0 } for j in 0 .. m { for k in 0 .. p { s[i, j] += A[i, k] } "
        + USE
        + " } }",
        nest("s[i, j] = 0.0 for k in 0 .. p { let v = B[j, k] s[i, j] += v }", USE),
    ],
)
def test_what_may_differ_stays(text: str) -> None:
    assert once(text) == "same"


def test_one_statement_in_two_places_counts_twice() -> None:
    kernel = parse_kernel(HEAD + nest(SUM, "C[i, j] += s[i, j]") + " }")

    def twice(stmt: Stmt) -> Stmt:
        sums = isinstance(stmt, For) and stmt.var == "j"
        return replace(stmt, body=Block((*stmt.body.body, *stmt.body.body[1:]))) if sums else stmt

    doubled = replace(kernel, body=map_block(twice, kernel.body))
    assert len(list(walk(doubled.body))) > len(list(walk(kernel.body)))
    assert compute_once(doubled) is doubled


def test_memory_of_each_iteration_is_not_shared() -> None:
    text = nest("alloc s: f64[n, n + m]", SUM, USE)
    kernel = parse_kernel(HEAD.partition(" alloc ")[0] + " " + text + " }")
    assert compute_once(kernel) is kernel


@pytest.mark.parametrize("lower", ["min(t, 4 - t)", "t", "0"])
def test_an_element_is_in_every_iteration_that_it_is_carried_through(lower: str) -> None:
    body = "if t == 0 { s[c] = 0.0 } for k in 0 .. 2 { s[c] += x[t] } y[t, c] = s[c]"
    head = "kernel k(n; x: f64[n], y: f64[n, n]) { alloc s: f64[n]"
    kernel = parse_kernel(f"{head} for t in 0 .. n {{ for c in {lower} .. n {{ {body} }} }} }}")
    fresh = compute_once(kernel)
    assert (fresh is kernel) == ("t" in lower)
    assert_same(kernel, fresh, make_values(kernel, {"n": 5}))


def test_iterations_of_loops_have_elements_of_their_own() -> None:
    body = "for k in 0 .. 2 { s[c, w, 0] += x[w] } y[c, w] += s[c, 0, w] s[c, 0, w] = x[w]"
    head = "kernel k(n; x: f64[n], y: f64[n, n]) { alloc s: f64[n, n, n]"
    clear = "for a in 0 .. n { for b in 0 .. n { s[c, a, b] = 0.0 } }"
    kernel = parse_kernel(f"{head} for c in 0 .. n {{ {clear} for w in 0 .. n {{ {body} }} }} }}")
    assert compute_once(kernel) is kernel
    alone = parse_kernel(f"{head} for c in 0 .. n {{ for w in 0 .. n {{ {body.rpartition(' s[')[0]} }} }} }}")
    assert compute_once(alone) is alone
