"""Marks for threads stand above independent loops only."""

from __future__ import annotations

import pytest
from bands import PRODUCT, STENCIL, SUM, TRANSPOSE

from planish.ir.nest import For, Kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import walk
from planish.poly.scop.dependence import find_dependences
from planish.poly.scop.extraction import Scop, extract_scop
from planish.schedule.auto.lower import lower
from planish.schedule.auto.tiling.parallel_loops import mark_threads

STEPS = """kernel k(t, n; A: f64[n], B: f64[n]) {
  for s in 0 .. t { for i in 1 .. n - 1 { B[i] = A[i - 1] + A[i + 1] }  for i in 1 .. n - 1 { A[i] = B[i] } }
}"""
OUTER_SUM = "kernel k(n, m; s: f64[m], A: f64[n, m]) { for i in 0 .. n { for j in 0 .. m { s[j] += A[i, j] } } }"


def parallel(text: str) -> tuple[list[str], Kernel]:
    """The variables of the loops that run on threads."""
    scop: Scop = extract_scop(parse_kernel(text))
    marked = mark_threads(scop.schedule, find_dependences(scop).order)
    kernel = lower(scop, marked, scop.locals)
    return [s.var for s in walk(kernel.body) if isinstance(s, For) and s.facts.parallel], kernel


MARKED = [(PRODUCT, ["i"]), (TRANSPOSE, ["i"]), (STEPS, ["i", "i"]), (OUTER_SUM, ["j"])]


@pytest.mark.parametrize(("text", "wanted"), MARKED)
def test_the_outermost_independent_loop_is_marked(text: str, wanted: list[str]) -> None:
    assert parallel(text)[0] == wanted


@pytest.mark.parametrize("text", [SUM, STENCIL, SUM.replace("f64", "i64")])
def test_a_sum_or_a_recurrence_is_never_marked(text: str) -> None:
    assert parallel(text)[0] == []


def test_only_one_loop_of_a_nest_is_marked() -> None:
    loops = [s for s in walk(parallel(PRODUCT)[1].body) if isinstance(s, For)]
    assert [s.facts.parallel for s in loops] == [True, False, False]
