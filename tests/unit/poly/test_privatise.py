"""Local scalars get a cell for each iteration, and lose it again where cells are never alive together."""

from __future__ import annotations

import islpy as isl
import numpy as np
import pytest

from planish.ir.nest import Alloc, Array, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_expr
from planish.ir.traverse import walk
from planish.poly.canonical.privatise import contract, privatise
from planish.poly.scop.dependence import find_dependences
from planish.poly.scop.extraction import Scop, extract_scop
from planish.poly.scop.legality import schedule_map

PRODUCT = """kernel k(n, m; A: f64[n, m], B: f64[n]) {
  alloc t: f64[]
  for i in 0 .. n { t[] = 0.0  for j in 0 .. m { t[] += A[i, j] }  B[i] = t[] }
}"""
CHAIN = "kernel k(n; A: f64[n], B: f64[n]) { alloc t: f64[]  t[] = 0.0  for i in 0 .. n { t[] += A[i]  B[i] = t[] } }"


def local(kernel: Kernel, name: str) -> Array:
    return next(s.array for s in walk(kernel.body) if isinstance(s, Alloc) and s.array.name == name)


def shape(kernel: Kernel, name: str) -> list[str]:
    return [print_expr(x) for x in local(kernel, name).shape if x is not None]


def test_a_scalar_is_expanded_along_the_loops_in_which_it_does_not_flow() -> None:
    assert shape(privatise(parse_kernel(PRODUCT)), "t") == ["max(n, 0)"]


def test_a_scalar_that_carries_a_value_is_not() -> None:
    assert shape(privatise(parse_kernel(CHAIN)), "t") == []


def test_locals_of_one_name_in_two_blocks_are_told_apart() -> None:
    text = (
        "kernel k(n; B: f64[n]) { for i in 0 .. n { alloc t: f64[]  t[] = 1.0  B[i] = t[] }"
        " for i in 0 .. n { alloc t: f64[]  t[] = 2.0  B[i] += t[] } }"
    )
    kernel = privatise(parse_kernel(text))
    assert sorted(s.array.name for s in walk(kernel.body) if isinstance(s, Alloc)) == ["t", "t_2"]


def test_a_loop_without_a_first_cell_stops_the_expansion() -> None:
    text = "kernel k(a, b, n; B: f64[?]) { alloc t: f64[]  for i in max(a, b) .. n { t[] = 1.0  B[i] = t[] } }"
    assert shape(privatise(parse_kernel(text)), "t") == []


@pytest.mark.parametrize("text", [PRODUCT, CHAIN])
@pytest.mark.parametrize("n", [0, 1, 4])
def test_the_meaning_stays(text: str, n: int) -> None:
    kernel = parse_kernel(text)
    rng = np.random.default_rng(n)
    first = {"n": n, "m": 3, "A": rng.random((n, 3) if len(kernel.array("A").shape) == 2 else n), "B": rng.random(n)}
    first = {k: v for k, v in first.items() if k in (*kernel.sizes, "A", "B")}
    second = {k: np.copy(v) if isinstance(v, np.ndarray) else v for k, v in first.items()}
    run_kernel(kernel, first)
    run_kernel(privatise(kernel), second)
    assert np.array_equal(np.asarray(first["B"]), np.asarray(second["B"]))


def expanded(text: str) -> tuple[Scop, isl.UnionMap]:
    scop = extract_scop(privatise(parse_kernel(text)))
    return scop, find_dependences(scop).flow


def test_in_the_original_order_one_cell_is_enough() -> None:
    scop, flow = expanded(PRODUCT)
    assert contract(scop, flow, schedule_map(scop.schedule), scop.locals[0], frozenset({0}))


def test_cells_that_are_alive_together_are_not_merged() -> None:
    scop, flow = expanded(PRODUCT)
    distributed = isl.UnionMap("[n, m] -> { S0[i] -> [0, i, 0]; S1[i, j] -> [1, i, j]; S2[i] -> [2, i, 0] }")
    times = distributed.intersect_domain(scop.domain)
    assert not contract(scop, flow, times, scop.locals[0], frozenset({0}))
    assert contract(scop, flow, times, scop.locals[0], frozenset())


def test_an_interchanged_sum_needs_all_its_cells() -> None:
    scop, flow = expanded(PRODUCT)
    times = isl.UnionMap("[n, m] -> { S0[i] -> [0, 0, i]; S1[i, j] -> [1, j, i]; S2[i] -> [2, 0, i] }")
    assert not contract(scop, flow, times.intersect_domain(scop.domain), scop.locals[0], frozenset({0}))


def test_a_cell_read_in_the_next_iteration_is_kept() -> None:
    text = """kernel k(n; A: f64[n], B: f64[n]) {
      alloc t: f64[n]
      for i in 0 .. n { t[i] = A[i] }
      for i in 0 .. n { B[i] = t[i] }
    }"""
    scop, flow = expanded(text)
    apart = schedule_map(scop.schedule)
    assert not contract(scop, flow, apart, scop.locals[0], frozenset({0}))
    one_late = isl.UnionMap("[n] -> { S0[i] -> [i, 0]; S1[i] -> [i + 1, 1] }").intersect_domain(scop.domain)
    assert not contract(scop, flow, one_late, scop.locals[0], frozenset({0}))
    together = isl.UnionMap("[n] -> { S0[i] -> [i, 0]; S1[i] -> [i, 1] }").intersect_domain(scop.domain)
    assert contract(scop, flow, together, scop.locals[0], frozenset({0}))


def test_loops_that_begin_elsewhere_have_their_first_cell_first() -> None:
    text = """kernel k(from, to, n, m; A: f64[n, m], B: f64[n]) {
      alloc t: f64[]
      for i in from .. to { t[] = 0.0  for j in 0 .. m { t[] += A[i, j] }  B[i] = t[] }
    }"""
    kernel = parse_kernel(text)
    own = privatise(kernel)
    assert shape(own, "t") == ["max(to - from, 0)"]
    rows = np.arange(30.0).reshape(6, 5)
    for low, high in ((0, 6), (2, 5), (3, 3), (5, 1)):
        want, got = ({"A": rows, "B": np.zeros(6), "from": low, "to": high, "n": 6, "m": 5} for _ in range(2))
        run_kernel(kernel, want)
        run_kernel(own, got)
        np.testing.assert_array_equal(want["B"], got["B"])


def test_a_loop_from_a_negative_number_has_cells_too() -> None:
    kernel = parse_kernel("kernel k(n; B: f64[n + 2]) { alloc t: f64[] for i in -2 .. n { t[] = 1.0 B[i + 2] = t[] } }")
    assert shape(privatise(kernel), "t") == ["max(n + 2, 0)"]
