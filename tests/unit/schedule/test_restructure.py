"""Loops are distributed and merged where that is legal, and left alone where it is not."""

from __future__ import annotations

import islpy as isl
import pytest

from planish.ir.parser import parse_kernel
from planish.poly.dependence import find_dependences
from planish.poly.legality import find_violation, schedule_map
from planish.poly.scop import extract_scop
from planish.poly.trees import Kind, find_node, find_paths, kind_of
from planish.schedule.automatic.restructure import distribute, merge_bands

TWO_NESTS = """kernel k(n; A: f64[n, n], B: f64[n, n]) {
  for i in 0 .. n { for j in 0 .. n { A[i, j] = 1.0 }  for j in 0 .. n { B[i, j] = A[i, j] } }
}"""
STEPS = """kernel k(t, n; A: f64[n], B: f64[n]) {
  for s in 0 .. t { for i in 1 .. n - 1 { B[i] = A[i - 1] + A[i + 1] }  for i in 1 .. n - 1 { A[i] = B[i] } }
}"""
SEIDEL = "kernel k(n; A: f64[n, n]) { for i in 1 .. n { for j in 0 .. n - 1 { A[i, j] = A[i - 1, j + 1] } } }"
PRODUCT = """kernel k(n; C: f64[n, n], A: f64[n, n], B: f64[n, n]) {
  for i in 0 .. n { for j in 0 .. n { for k in 0 .. n { C[i, j] += A[i, k] * B[k, j] } } }
}"""


def bands(schedule: isl.Schedule) -> list[int]:
    """The members of each band, outermost first."""
    paths = find_paths(schedule.get_root(), lambda node: kind_of(node) == Kind.band)
    return [int(find_node(schedule, p).band_n_member()) for p in sorted(paths, key=len)]


def schedule_of(text: str) -> tuple[isl.Schedule, isl.UnionMap]:
    scop = extract_scop(parse_kernel(text))
    return scop.schedule, find_dependences(scop).order


def test_independent_nests_are_distributed() -> None:
    schedule, order = schedule_of(TWO_NESTS)
    apart = distribute(schedule, order)
    assert kind_of(apart.get_root().get_child(0)) == Kind.sequence
    assert len(bands(apart)) == 4
    assert find_violation(schedule_map(apart), order) is None
    assert apart.get_domain().is_equal(schedule.get_domain())


def test_steps_that_feed_each_other_are_not_distributed() -> None:
    schedule, order = schedule_of(STEPS)
    assert str(distribute(schedule, order)) == str(schedule)


def test_the_same_steps_are_distributed_where_nothing_orders_them() -> None:
    schedule, _ = schedule_of(STEPS)
    free = distribute(schedule, isl.UnionMap("{ }"))
    assert kind_of(free.get_root().get_child(0)) == Kind.sequence


@pytest.mark.parametrize(("text", "members"), [(PRODUCT, [3]), (SEIDEL, [1, 1])])
def test_bands_merge_where_no_dependence_goes_backward(text: str, members: list[int]) -> None:
    schedule, order = schedule_of(text)
    assert bands(merge_bands(schedule, order)) == members


def test_merged_bands_are_permutable_and_run_in_the_same_order() -> None:
    schedule, order = schedule_of(PRODUCT)
    merged = merge_bands(schedule, order)
    assert merged.get_root().get_child(0).band_get_permutable()
    assert schedule_map(merged).is_equal(schedule_map(schedule))


def test_distribution_then_merging_gives_whole_bands() -> None:
    schedule, order = schedule_of(TWO_NESTS)
    assert bands(merge_bands(distribute(schedule, order), order)) == [2, 2]
