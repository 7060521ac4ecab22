"""Local arrays that only hold copies: which are read from where they came, and which are not."""

from __future__ import annotations

import numpy as np
import pytest

from planish.ir.nest import Alloc, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import walk
from planish.poly.canonical.copy_propagation import without_copies

HEAD = "kernel k(n; A: f64[n, n], x: f64[n]) assume n >= 2 {{ alloc m: f64[n] distinct {} }}"
GONE = {
    "beside what is written": "for i in 0 .. n { m[i] = A[i, 0] for j in 1 .. n { A[i, j] += -(m[i] * A[0, j]) } }",
    "written before": "for i in 0 .. n { A[i, 0] = 2.0 m[i] = A[i, 0] x[i] = m[i] }",
    "written after": "for i in 0 .. n { m[i] = A[i, 0] x[i] = m[i] A[i, 0] = 2.0 }",
    "another row": "for i in 0 .. n - 1 { m[i] = A[i + 1, 0] for j in 0 .. n { A[i, j] = m[i] } }",
    "where it is read": "for i in 0 .. n { m[i] = x[i] x[i] = m[i] + m[i] }",
}
KEPT = {
    "written in between": "for i in 0 .. n { m[i] = A[i, 0] A[i, 0] = 2.0 x[i] = m[i] }",
    "written while it is read": "for i in 0 .. n { m[i] = A[i, 0] for j in 0 .. n { A[i, j] += -(m[i] * A[0, j]) } }",
    "read in another loop": "for i in 0 .. n { m[i] = A[i, 0] } for i in 0 .. n { x[i] = m[i] }",
    "read in a later iteration": "m[0] = x[0] for i in 1 .. n { m[i] = A[i, 0] x[i] = m[i - 1] }",
    "no copy": "for i in 0 .. n { m[i] = A[i, 0] + 1.0 x[i] = m[i] }",
    "it grows": "for i in 0 .. n { m[i] = A[i, 0] m[i] += 1.0 x[i] = m[i] }",
    "not all is set": "for i in 1 .. n { m[i] = A[i, 0] x[i] = m[i] + m[0] }",
}


def run(kernel: Kernel) -> list[np.ndarray]:
    random = np.random.default_rng(1)
    values = {"A": random.random((5, 5)), "x": random.random(5)}
    run_kernel(kernel, {"n": 5, **values})
    return [*values.values()]


@pytest.mark.parametrize("name", GONE)
def test_a_cell_is_read_in_place_of_its_copy(name: str) -> None:
    kernel = parse_kernel(HEAD.format(GONE[name]))
    made = without_copies(kernel)
    assert not any(isinstance(x, Alloc) for x in walk(made.body))
    assert all(np.array_equal(a, b) for a, b in zip(run(kernel), run(made), strict=True))


@pytest.mark.parametrize("name", KEPT)
def test_what_is_not_sure_to_be_the_same_is_kept(name: str) -> None:
    kernel = parse_kernel(HEAD.format(KEPT[name]))
    assert without_copies(kernel) is kernel
