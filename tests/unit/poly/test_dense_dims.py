"""Subscripts that count through several dimensions are told apart, and mean the same."""

from __future__ import annotations

import numpy as np
import pytest

from planish.ir.nest import Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_kernel
from planish.poly.canonical.dense_dims import with_dense_dims
from planish.poly.scop.extents import evaluate_extent

HEAD = "kernel k(n; w: f64[?], v: f64[n, 12 * n], y: f64[12]) "
ROWS = "for c in 0 .. n { for p in 0 .. 3 { for q in 0 .. 4 { %s } } }"
TOLD_APART = {
    ROWS % "y[p] += w[12 * c + 4 * p + q]": "w: f64[?, 3, 4]",
    ROWS % "w[q + 12 * c + 4 * p] = y[q]": "w: f64[?, 3, 4]",
    ROWS % "y[3 * q + p] += v[c, 12 * c + 4 * p + q] y[3 * q + p] += v[0, 4 * p + q + 12 * c]": "v: f64[n, n, 3, 4]",
    ROWS % "y[4 * p + q] = w[12 * c + 4 * p + q]": "y: f64[3, 4]",
}
LEFT = (
    ROWS % "y[p] += w[13 * c + 4 * p + q]",
    ROWS % "y[p] += w[12 * c + 3 * p + q]",
    ROWS % "y[p] += w[12 * c + 4 * p + q] + w[4 * p + q]",
    ROWS % "y[p] += w[12 * c + 4 * p + q + 1]",
    ROWS % "y[p] += w[12 * c - 4 * p + q + 8]",
    "for c in 0 .. n { for p in 1 .. 3 { for q in 0 .. n { y[p] += w[12 * c + 4 * p + q] } } }",
    "for c in 0 .. n { for q in 0 .. 4 { y[q] += w[4 * c + q] } for q in 0 .. 3 { y[q] += w[4 * c + q] } }",
)


def run(kernel: Kernel) -> list[np.ndarray]:
    """What is in all arrays behind a kernel, where n is 3."""
    random, sizes = np.random.default_rng(2), {"n": 3}
    arrays = {x: random.random(y) for x, y in (("w", 36), ("v", 108), ("y", 12))}
    shapes = {x.name: [-1 if y is None else evaluate_extent(y, sizes) for y in x.shape] for x in kernel.arrays}
    run_kernel(kernel, {**sizes, **{name: x.reshape(shapes[name]) for name, x in arrays.items()}})
    return list(arrays.values())


@pytest.mark.parametrize("body", TOLD_APART)
def test_they_are_told_apart(body: str) -> None:
    kernel = parse_kernel(HEAD + "{ " + body + " }")
    made = with_dense_dims(kernel)
    assert TOLD_APART[body] in print_kernel(made)
    assert all(np.array_equal(a, b) for a, b in zip(run(kernel), run(made), strict=True))


@pytest.mark.parametrize("body", LEFT)
def test_what_counts_otherwise_is_left(body: str) -> None:
    kernel = parse_kernel(HEAD + "{ " + body + " }")
    made = with_dense_dims(kernel)
    assert made is kernel or made.array("w").shape == kernel.array("w").shape
