"""How far a kernel reaches, and with which sizes it may be called."""

from __future__ import annotations

import pytest

from planish.ir.expr import Binary, index
from planish.ir.index.evaluate import evaluate
from planish.ir.text.parser import parse_kernel
from planish.poly.scop.extents import (
    busy_sizes,
    byte_extent,
    count_elements,
    count_instances,
    evaluate_extent,
    most_instances,
    negative_sizes,
    pick_sizes,
    reach_elements,
    valid_sizes,
)
from planish.poly.scop.extraction import Scop, extract_scop

BOUNDED = "kernel k(n; A: f64[40, 40]) { for i in 0 .. n { for j in 0 .. n { A[i, j] = 0.0 } } }"
SHIFTED = "kernel k(n, s; A: f64[?]) { for i in 0 .. n { A[i + s] = 0.0 } }"
TRIANGLE = "kernel k(n; A: f64[?, 7]) { for i in 2 .. n { for j in 0 .. i { A[i, 0] = 0.0 } } }"


def scop(text: str) -> Scop:
    return extract_scop(parse_kernel(text))


@pytest.mark.parametrize(("wanted", "picked"), [(5, 5), (40, 40), (41, 40), (10**9, 40), (0, 0), (-3, -3)])
def test_sizes_stay_inside_the_arrays(wanted: int, picked: int) -> None:
    assert pick_sizes(valid_sizes(scop(BOUNDED)), {"n": wanted}) == {"n": picked}


def test_busy_sizes_make_every_statement_run() -> None:
    busy = busy_sizes(scop(TRIANGLE))
    assert pick_sizes(busy, {"n": 0}) == {"n": 3}


def test_no_size_fits_an_access_that_always_leaves() -> None:
    never = scop("kernel k(n; A: f64[3]) { A[3] = 0.0 }")
    assert pick_sizes(valid_sizes(never), {"n": 1}) is None


def test_elements_are_declared_or_reached() -> None:
    assert count_elements(scop(BOUNDED), {"n": 3}) == {"A": 1600}
    assert reach_elements(scop(BOUNDED), {"n": 3}) == {"A": 2 * 40 + 3}
    assert count_elements(scop(SHIFTED), {"n": 3, "s": 4}) == {"A": 7}
    assert count_elements(scop(TRIANGLE), {"n": 5}) == {"A": 4 * 7 + 1}


@pytest.mark.parametrize("count", [count_elements, reach_elements])
def test_arrays_whose_sizes_are_unknown_are_left_out(count: object) -> None:
    assert callable(count)
    assert count(scop(SHIFTED), {"n": 3}) == {}


def test_negative_subscripts_are_told() -> None:
    bad = negative_sizes(scop(SHIFTED))
    assert pick_sizes(bad, {"n": 5, "s": 3}) == {"n": 5, "s": -1}
    assert negative_sizes(scop(BOUNDED)).is_empty()


def test_instances_are_those_of_the_bounding_box() -> None:
    assert count_instances(scop(BOUNDED), {"n": 6}) == 36
    assert count_instances(scop(BOUNDED), {"n": 0}) == 0
    assert 15 <= count_instances(scop(TRIANGLE), {"n": 7}) <= 35


def test_the_first_extent_that_is_reached_is_an_expression() -> None:
    kernel = scop(SHIFTED)
    highest = byte_extent(kernel, kernel.kernel.array("A"))
    assert highest is not None
    assert evaluate(highest, {"n": 5, "s": 2}) == 6


def test_an_array_that_no_instance_accesses_has_no_extent() -> None:
    loops = "for i in 0 .. n { A[i] = 1.0 } for i in 9 .. 4 { B[i] = A[i] }"
    kernel = scop(f"kernel k(n; A: f32[n], B: f32[n]) {{ {loops} }}")
    assert byte_extent(kernel, kernel.kernel.array("A")) is not None
    assert byte_extent(kernel, kernel.kernel.array("B")) is None


def test_extents_have_values() -> None:
    n = index("n")
    assert evaluate_extent(Binary("add", Binary("mul", index(2), n), index(1)), {"n": 4}) == 9
    assert evaluate_extent(n, {}) is None
    assert evaluate_extent(Binary("mul", n, n), {"n": 4}) == 16
    assert evaluate_extent(Binary("floordiv", index(8), n), {"n": 0}) is None
    assert evaluate_extent(n, {"n": -4}) == 0


def test_the_most_instances_there_can_be() -> None:
    nest = "for i in 0 .. min(8, n - b) { for j in 0 .. i { A[i] = 0.0 } B[i] = 0.0 }"
    kernel = f"kernel k(n, b; A: f64[n], B: f64[n]) assume b >= 0 {{ {nest} }}"
    assert most_instances(extract_scop(parse_kernel(kernel))) == 7 * 7 + 8
    assert most_instances(scop(BOUNDED)) is None
