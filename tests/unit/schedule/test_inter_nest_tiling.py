"""Nests that go through one array are blocked together where no later row is needed, and left alone where one is."""

from __future__ import annotations

import pytest

from planish.ir.text.parser import parse_kernel
from planish.poly.isl.schedule_tree import Kind, find_paths, kind_of
from planish.poly.scop.legality import find_violation, schedule_map
from planish.schedule.auto.inter_nest_tiling import find_runs
from planish.schedule.auto.plan import prepare
from planish.schedule.auto.policies import POLICIES, compute_schedule

HEAD = "kernel k(n; A: f64[n, n], B: f64[n, n], x: f64[n], y: f64[n]) "
BLOCKS = next(x for x in POLICIES if x.name == "inter-nest-tiling")


def count_bands(*nests: str) -> int:
    """The bands of the schedule in blocks, which is legal; 0 where there is none."""
    text = " ".join(f"for i in 0 .. n {{ for j in 0 .. n {{ {x} }} }}" if "for" not in x else x for x in nests)
    prepared = prepare(parse_kernel(HEAD + "{ " + text + " }"))
    order = prepared.dependences.order
    schedule = compute_schedule(prepared.scop, prepared.dependences, order, BLOCKS)
    if schedule is None:
        return 0
    assert find_violation(schedule_map(schedule), order) is None
    return len(find_paths(schedule.get_root(), lambda node: kind_of(node) == Kind.band))


@pytest.mark.parametrize(
    "nests",
    [
        ("x[i] += A[i, j]", "y[i] += A[j, i]"),
        ("x[i] += A[i, j]", "y[j] += A[i, j] * x[i]"),
        ("A[i, j] += x[i] * y[j]", "B[j, i] = A[i, j]"),
        ("x[i] += A[i, n - 1 - j]", "y[j] += A[i, j]"),
    ],
)
def test_each_block_of_rows_goes_through_both(nests: tuple[str, str]) -> None:
    assert count_bands(*nests) == 3


@pytest.mark.parametrize(
    "nests",
    [
        ("x[j] += A[i, j]", "B[i, j] = A[i, j] / x[j]"),
        ("y[j] += A[i, j]", "x[i] += A[i, j] * y[j]"),
        ("A[i, j] = x[i] * y[j]", "B[i, j] = A[n - 1 - i, j]"),
        ("x[i] += A[i, j]", "y[i] += B[i, j]"),
        ("for i in 0 .. n { x[i] = 0.0 }", "for i in 0 .. n { y[i] = x[i] }"),
    ],
)
def test_what_waits_for_later_rows_or_shares_no_array_stays(nests: tuple[str, str]) -> None:
    assert count_bands(*nests) == 0


def test_what_shares_a_loop_is_put_into_nests_first() -> None:
    assert count_bands("x[i] += A[i, j] y[j] += A[i, j]") == 3


def test_a_third_nest_joins_or_begins_anew() -> None:
    assert count_bands("x[i] += A[i, j]", "y[i] += A[j, i]", "B[i, j] = A[i, j]") == 4
    assert find_runs([{"A": 0}, {"A": 1, "B": 0}, {"B": 0}, {"B": 1}]) == [(0, (0, 1)), (2, (0, 1))]
    assert find_runs([{}, {"A": 0}, {}]) == []
