"""Variables that end in an array which is filled from itself: the versions in which they live there."""

from __future__ import annotations

import numpy as np
import pytest

from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.schedule.auto.plan import prepare
from planish.schedule.auto.rewrites.scalar_promotion import fed_back, settled_versions
from planish.target.load import load_target

CHAIN = (
    "kernel chain(n; m: f64[n, n], p: f64[n + 1]) { for l in 1 .. n { for i in 0 .. n - l { alloc b: f64[] b[] = 1e30"
    " for k in i .. i + l { b[] min= m[i, k] + m[k + 1, i + l] + p[i] * p[k + 1] * p[i + l + 1] }"
    " m[i, i + l] = b[] } } }"
)
PRODUCT = (
    "kernel product(n; A: f64[n, n], B: f64[n, n], C: f64[n, n]) { for i in 0 .. n { for j in 0 .. n {"
    " alloc s: f64[] s[] = 0.0 for k in 0 .. n { s[] += A[i, k] * B[k, j] } C[i, j] = s[] } } }"
)
TARGET = load_target("x86-avx512")


def test_a_chain_of_products_is_done_in_the_orders_for_what_is_filled_from_itself() -> None:
    kernel = parse_kernel(CHAIN)
    versions = settled_versions(prepare(kernel), TARGET, reassociate=False)
    assert {x.name for x in versions} == {"block-wavefront, scalar-promote", "interchange, scalar-promote"}
    assert all(x.remarks[-1].message == "m: accumulated in the array, in place of a scalar" for x in versions)
    random = np.random.default_rng(0)
    for n in (0, 1, 2, 3, 9, 67):
        p, m = random.integers(1, 9, n + 1).astype(np.float64), np.zeros((n, n))
        wanted = m.copy()
        run_kernel(kernel, {"n": n, "p": p, "m": wanted})
        for version in versions:
            found = m.copy()
            run_kernel(version.kernel, {"n": n, "p": p, "m": found})
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("change", [("m[i, i + l] = b[]", "m[i, i] = b[]"), ("m[i, k] +", "m[i, i + l] +")])
def test_a_variable_stays_where_its_place_is_used_meanwhile(change: tuple[str, str]) -> None:
    assert CHAIN.count(change[0]) == 1
    versions = settled_versions(prepare(parse_kernel(CHAIN.replace(*change))), TARGET, reassociate=False)
    assert versions == ()


def test_products_of_other_arrays_have_no_such_versions() -> None:
    kernel = parse_kernel(PRODUCT)
    assert settled_versions(prepare(kernel), TARGET, reassociate=True) == ()
    assert fed_back(kernel) == set()
