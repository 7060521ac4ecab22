"""Recurrences by blocks give the same values; what is no number stays where it is; all else is left as it is."""

from __future__ import annotations

import re

import numpy as np
import pytest

from planish.ir.checker import check_kernel
from planish.ir.nest import For, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import walk
from planish.schedule.auto.recurrence import find_recurrence, use_blocks

FIRST = "for j in 1 .. n { x[j] = (x[j - 1] + y[j] + x[j]) / 9.0 }"
SECOND = "for j in 2 .. n { x[j] = a * x[j - 1] + y[j] - b * x[j - 2] }"
UPDATE = "for j in 2 .. n { x[j] += y[j] + b * x[j - 2] - 0.5 * x[j - 1] }"
BACKWARDS = "for j in 1 .. n { x[n - 1 - j] = a * (y[j] - x[n - j]) }"
PREFIX = "for j in 1 .. n { x[j] = x[j - 1] + y[j] * y[j] }"
ROWS = """for i in 1 .. 3 {
  for j in 1 .. n - 1 { z[i, j] = 0.5 * (z[i, j - 1] + z[i - 1, j] + z[i, j + 1] + z[i + 1, j]) }
}"""
GROWING = "for j in 1 .. n { x[j] = 3.0 * x[j - 1] + y[j] }"


def kernel_of(body: str, type: str = "f64") -> Kernel:
    head = "kernel k(n; a: f64, b: f64; x: f64[n], y: f64[n], z: f64[4, n])"
    text = f"{head} {{ {body} }}".replace("f64", type)
    return parse_kernel(re.sub(r"(\d\.\d) ", rf"\1:{type} ", text))


def by_blocks(kernel: Kernel) -> Kernel:
    found, (remark,) = use_blocks(kernel)
    assert "by blocks of 8" in remark.message
    check_kernel(found, "a recurrence by blocks")
    return found


def run(kernel: Kernel, n: int, spoilt: int | None = None) -> dict[str, np.ndarray]:
    random = np.random.default_rng(n)
    type = np.float32 if kernel.array("x").type.bits == 32 else np.float64
    values = {x: random.uniform(-1, 1, (4, n) if x == "z" else n).astype(type) for x in "xyz"}
    if spoilt is not None:
        values["y"][spoilt] = np.inf
    with np.errstate(all="ignore"):
        run_kernel(kernel, {"n": n, "a": 0.75, "b": -0.5, **values})
    return values


def close(found: np.ndarray, wanted: np.ndarray) -> None:
    """Equal but for the rounding of some operations."""
    assert np.abs(found - wanted).max(initial=0.0) <= 32 * np.finfo(wanted.dtype).eps * np.abs(wanted).max(initial=1.0)


@pytest.mark.parametrize("type", ["f64", "f32"])
@pytest.mark.parametrize("text", [FIRST, SECOND, UPDATE, BACKWARDS, PREFIX, ROWS, GROWING])
def test_the_values_are_the_same(text: str, type: str) -> None:
    kernel = kernel_of(text, type)
    blocked = by_blocks(kernel)
    assert sum(isinstance(x, For) and x.facts.simd for x in walk(blocked.body)) == 3
    for n in (0, 1, 2, 3, 8, 9, 10, 11, 17, 18, 40):
        before, after = run(kernel, n), run(blocked, n)
        for name, value in before.items():
            close(after[name], value)


@pytest.mark.parametrize("text", [FIRST, SECOND])
@pytest.mark.parametrize("spoilt", [3, 12, 21])
def test_what_is_no_number_does_not_spread_backwards(text: str, spoilt: int) -> None:
    kernel = kernel_of(text)
    before, after = run(kernel, 30, spoilt)["x"], run(by_blocks(kernel), 30, spoilt)["x"]
    assert not np.isfinite(before).all() and np.isfinite(before[:spoilt]).all()
    assert np.array_equal(np.isnan(after), np.isnan(before)) and np.array_equal(np.isinf(after), np.isinf(before))
    close(after[:spoilt], before[:spoilt])


def test_factors_that_overflow_are_not_used() -> None:
    kernel = kernel_of("for j in 1 .. n { x[j] = a * x[j - 1] + y[j] }")
    values = {x: np.zeros((4, 20) if x == "z" else 20) for x in "xyz"}
    values["y"][12] = 1.0
    wanted = {x: y.copy() for x, y in values.items()}
    with np.errstate(all="ignore"):
        run_kernel(kernel, {"n": 20, "a": 1e200, "b": 0.0, **wanted})
        run_kernel(by_blocks(kernel), {"n": 20, "a": 1e200, "b": 0.0, **values})
    assert np.array_equal(values["x"], wanted["x"])


@pytest.mark.parametrize(
    "body",
    [
        "x[j] = x[j - 3] + y[j]",  # three back
        "x[j] = x[j - 1] + x[j - 4]",  # one of its other values waits
        "x[j] = y[j] * x[j - 1] + y[j]",  # the factor moves
        "x[j] = x[j - 1] * x[j - 1]",
        "x[j] = 1.0 / x[j - 1]",
        "x[j] = y[j - 1]",
        "x[4] = x[4] * a + y[j]",
        "x[j] max= x[j - 1]",
        "x[j] = x[j - 1] + y[j] y[j] = x[j]",
        "x[j] = b * x[j - 2] + y[j]",  # two chains, which know nothing of each other
        "x[j // 3] = a * x[(j - 1) // 3] + b * x[(j - 2) // 3] + y[j]",  # three values in one cell
        "x[j % 5] = a * x[(j - 1) % 5] + y[j]",
        "x[n * j] = a * x[n * j - n] + y[j]",  # which does not move where n is 0
    ],
)
def test_what_is_left(body: str) -> None:
    kernel = kernel_of(f"for j in 4 .. n {{ {body} }}")
    assert find_recurrence(kernel.body.body[0]) is None
    assert use_blocks(kernel) == (kernel, ())


def test_whole_numbers_are_left() -> None:
    whole = parse_kernel("kernel k(n; x: i32[n]) { for j in 1 .. n { x[j] = x[j - 1] + 2 } }")
    assert use_blocks(whole) == (whole, ())
