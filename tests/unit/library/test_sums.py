"""Sums that grow along a row, made in lanes: which loops are some, and what is run in their place."""

from __future__ import annotations

import re

import numpy as np
import pytest

from planish.ir.interpreter import run_kernel
from planish.ir.nest import Kernel
from planish.ir.parser import parse_kernel
from planish.library.scans.lanes import STRIP
from planish.library.scans.sums import find_sum
from planish.library.scans.versions import scan_versions
from planish.schedule.automatic.plan import prepare
from planish.target.load import load_target

TARGETS = [load_target(x) for x in ("aarch64-neon", "x86-avx2", "x86-avx512")]
SUMS = {
    "all before": "x[j] = x[j - 1] + y[j]",
    "in place": "x[j] += x[j - 1]",
    "half is lost": "x[j] = x[j - 1] * T(0.5) + y[j] * y[j - 1]",
    "a parameter": "x[j] = y[j] + a * x[j - 1]",
    "it changes its sign": "x[j] = y[j + 1] - x[j - 1]",
    "both are divided": "x[j] = (x[j - 1] + y[j]) / T(3.0)",
    "what is there comes in": "x[j] = x[j - 1] - a * x[j - 1] + a * x[j]",
}
NEAR_MISSES = {
    "a factor that moves": "x[j] = x[j - 1] * y[j]",
    "two before": "x[j] = x[j - 2] + y[j]",
    "two of them": "x[j] = x[j - 1] + x[j - 2] + y[j]",
    "no sum": "x[j] = max(x[j - 1], y[j])",
    "a square": "x[j] = x[j - 1] * x[j - 1] + y[j]",
    "one cell": "x[0] = x[0] + y[j]",
    "integers": "i[j] = i[j - 1] + 3:i32",
}


def kernel_of(body: str, type: str = "f32") -> Kernel:
    head = f"kernel k(n; a: {type}; x: {type}[n + 2], y: {type}[n + 2], i: i32[n + 2])"
    body = re.sub(r"T\((.*?)\)", rf"\1:{type}", body)
    return parse_kernel(f"{head} assume n >= 0 {{ for j in 1 .. n {{ {body} }} }}")


def run(kernel: Kernel, n: int, *special: float) -> np.ndarray:
    """What is in x after it, where some values of y, if there are so many, are special."""
    random = np.random.default_rng(n)
    kind = kernel.array("x").type.numpy
    x, y = (random.uniform(-1, 1, n + 2).astype(kind) for _ in "xy")
    for place, value in enumerate(special):
        y[min(7 + 20 * place, n)] = value
    with np.errstate(all="ignore"):
        run_kernel(kernel, {"n": n, "a": 0.75, "x": x, "y": y, "i": np.zeros(n + 2, np.int32)})
    return x


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("type", ["f32", "f64"])
def test_sums_in_lanes_are_what_they_are_one_by_one(name: str, type: str) -> None:
    kernel = kernel_of(SUMS[name], type)
    for target in TARGETS if name == "half is lost" else TARGETS[-1:]:
        (made,) = scan_versions(prepare(kernel), target, reassociate=True)
        for n in (0, 1, 2, 9, 16, 17, 18, 33, STRIP, STRIP + 1, STRIP + 20):
            wanted, found = run(kernel, n), run(made.kernel, n)
            np.testing.assert_allclose(found, wanted, rtol=1e-4 if type == "f32" else 1e-12, atol=1e-5)


@pytest.mark.parametrize("name", SUMS)
def test_what_is_no_number_stays_so_from_where_it_comes_in(name: str) -> None:
    kernel = kernel_of(SUMS[name])
    (made,) = scan_versions(prepare(kernel), TARGETS[-1], reassociate=True)
    for special in ((np.inf,), (np.inf, -np.inf), (np.nan,), (3e38, -3e38, 3e38), (3e38, 3e38, -3e38)):
        wanted, found = run(kernel, 70, *special), run(made.kernel, 70, *special)
        largest = np.max(np.abs(wanted), where=np.isfinite(wanted), initial=1.0)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5 * largest)


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_what_is_no_such_sum(name: str) -> None:
    kernel = kernel_of(NEAR_MISSES[name])
    assert find_sum(kernel.body.body[0], {"a"}) is None
    assert not scan_versions(prepare(kernel), TARGETS[-1], reassociate=True)


def test_the_order_of_sums_is_kept_where_it_matters() -> None:
    assert not scan_versions(prepare(kernel_of(SUMS["all before"])), TARGETS[-1])


def test_rows_have_sums_of_their_own() -> None:
    nest = "for i in 0 .. m { for j in 1 .. n { x[i, j] = x[i, j - 1] + y[i, j] } }"
    kernel = parse_kernel(f"kernel k(m, n; x: f32[m, n], y: f32[m, n]) {{ {nest} }}")
    (made,) = scan_versions(prepare(kernel), TARGETS[-1], reassociate=True)
    for m, n in ((0, 5), (3, 1), (3, 40)):
        results = []
        for each in (kernel, made.kernel):
            x, y = (np.random.default_rng(seed).random((m, n), np.float32) for seed in range(2))
            run_kernel(each, {"m": m, "n": n, "x": x, "y": y})
            results.append(x)
        np.testing.assert_allclose(*results, rtol=1e-5)
