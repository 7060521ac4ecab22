"""Every version of every PolyBench kernel means what the kernel means: both are interpreted on the same data."""

from __future__ import annotations

from itertools import product

import pytest
from examples import POLYBENCH, find_difference, kernel_of, make_values, run_arrays, sizes_near, turn_back
from tests.property.sampling import one_in

from planish.ir.checker import check_kernel
from planish.schedule.auto.plan import plan, prepare
from planish.target.load import load_target

COMBINATIONS = tuple(product(("x86-avx512", "generic"), (False, True), (1, 2)))
"""Target, whether sums may be reordered, threads."""
HEAVY = frozenset({"3mm", "deriche", "heat-3d", "ludcmp", "adi", "correlation"})
"""These take long to plan or to interpret, and run in the wide sweep only."""


def check_versions(name: str, target: str, reassociate: bool, threads: int, around: tuple[int, ...]) -> None:
    kernel = kernel_of(name)
    prepared = prepare(kernel)
    candidates = plan(prepared, load_target(target), reassociate=reassociate, threads=threads)
    assert candidates
    for candidate in candidates:
        check_kernel(candidate.kernel, candidate.name)
    for number, value in enumerate(around):
        sizes = sizes_near(kernel, value)
        values = make_values(kernel, sizes, seed=number)
        before = run_arrays(kernel, values)
        assert find_difference(before, run_arrays(prepared.kernel, values), True) is None, f"prepared, {sizes}"
        for candidate in candidates:
            what = f"{candidate.name} for {target}, {threads} threads, {sizes}"
            found = find_difference(before, run_arrays(candidate.kernel, values), not reassociate)
            assert found is None, f"{what}: {found}"
            found = find_difference(before, run_arrays(turn_back(candidate.kernel), values), not reassociate)
            assert found is None, f"{what}, independent loops backwards: {found}"


@pytest.mark.parametrize("name", one_in(2, [n for n in POLYBENCH if n not in HEAVY]))
def test_versions_mean_the_same(name: str) -> None:
    target, reassociate, threads = COMBINATIONS[POLYBENCH.index(name) % len(COMBINATIONS)]
    check_versions(name, target, reassociate, threads, (0, 1, 9, 17))


@pytest.mark.slow
@pytest.mark.parametrize("name", POLYBENCH)
@pytest.mark.parametrize(("target", "reassociate", "threads"), COMBINATIONS)
def test_all_versions_mean_the_same(name: str, target: str, reassociate: bool, threads: int) -> None:
    check_versions(name, target, reassociate, threads, (0, 1, 2, 3, 5, 9, 17))


def test_a_wrong_version_is_noticed() -> None:
    kernel = kernel_of("gemm")
    values = make_values(kernel, sizes_near(kernel, 5), 0)
    before = run_arrays(kernel, values)
    after = {n: v.copy() for n, v in before.items()}
    after["C"][2, 1] *= 1 + 1e-7
    assert find_difference(before, after, False) is not None
    after["C"][2, 1] = before["C"][2, 1]
    assert find_difference(before, after, True) is None


def test_backward_runs_would_show_a_wrong_mark() -> None:
    kernel = kernel_of("gemm")
    (candidate, *_) = plan(prepare(kernel), load_target("generic"), reassociate=False)
    assert turn_back(candidate.kernel) != candidate.kernel
