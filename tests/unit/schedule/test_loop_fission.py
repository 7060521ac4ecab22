"""Loops are distributed and merged where that is legal, and left alone where it is not."""

from __future__ import annotations

import islpy as isl
import pytest

from planish.ir.text.parser import parse_kernel
from planish.poly.isl.schedule_tree import Kind, find_node, find_paths, kind_of
from planish.poly.scop.dependence import find_dependences, movable_updates
from planish.poly.scop.extraction import extract_scop
from planish.poly.scop.legality import find_violation, schedule_map
from planish.schedule.auto.rewrites.loop_fission import distribute, exchange, join_chains, merge_bands

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


CHAIN = """kernel k(n; O: f64[n, n], X: f64[n + 2, n + 2], W: f64[3, 3]) {
  for y in 0 .. n { for x in 0 .. n { for r in 0 .. 3 { for s in 0 .. 3 { O[y, x] += X[y + r, x + s] * W[r, s] } } } }
}"""


def test_loops_that_wait_for_nothing_join_the_chain_in_them() -> None:
    schedule, order = schedule_of(CHAIN)
    merged = merge_bands(schedule, order)
    assert bands(merged) == [3, 1]
    joined = join_chains(merged, order)
    assert joined is not None and bands(joined) == [4]
    assert not joined.get_root().get_child(0).band_get_permutable()
    assert schedule_map(joined).is_equal(schedule_map(schedule))


@pytest.mark.parametrize("text", [PRODUCT, SEIDEL, TWO_NESTS])
def test_nothing_joins_where_loops_wait_or_are_free_already(text: str) -> None:
    schedule, order = schedule_of(text)
    assert join_chains(merge_bands(schedule, order), order) is None


PREFIXES = """kernel k(n; T: i32[n, n]) {
  for i in 0 .. n { for j in 1 .. n { T[i, j] max= T[i, j - 1]  for k in 1 .. j { T[i, j] OP= T[i, k] + T[k, j] } } }
}"""


@pytest.mark.parametrize(("op", "legal"), [("max", True), ("min", False)])
def test_what_is_there_is_used_at_once(op: str, legal: bool) -> None:
    text = PREFIXES.replace("OP", op).replace("for i in 0 .. n", "for i in n .. 2 * n").replace("n, n]", "2 * n, n]")
    scop = extract_scop(parse_kernel(text))
    found = find_dependences(scop)
    order = found.order.subtract(movable_updates(scop, found, False))
    changed = exchange(scop.schedule, order)
    # Of updates by one operation, the order does not matter.
    assert (changed is not None) == legal
    if changed is not None:
        assert find_violation(schedule_map(changed), order) is None
        assert changed.get_domain().is_equal(scop.domain)
        inner = find_node(changed, max(find_paths(changed.get_root(), lambda x: kind_of(x) == Kind.band), key=len))
        assert str(inner.band_get_partial_schedule().get_at(0)) == "[n] -> { S1[i, j, k] -> [(j)] }"


def test_no_loop_changes_places_without_a_loop_in_a_sequence() -> None:
    assert exchange(*schedule_of(PRODUCT)) is None


def test_a_loop_stays_where_later_values_are_used() -> None:
    text = "kernel k(n; A: f64[n]) { for j in 0 .. n { A[j] = 1.0 for k in 0 .. j { A[j] = A[j] * 2.0 + A[k] } } }"
    assert exchange(*schedule_of(text)) is None
