"""Reads of what later iterations overwrite go first where that leaves no dependence that points up; results stay."""

from __future__ import annotations

import numpy as np
import pytest

from planish.ir.checker import check_kernel
from planish.ir.nest import Let
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import walk
from planish.schedule.auto.rewrites.node_splitting import split_nodes

SPLIT = {
    "next": "for i in 0 .. n - 1 { x[i] = 2.0 * z[i] y[i] = x[i] + x[i + 1] }",
    "after next": "for i in 0 .. n - 2 { x[i] = z[i] y[i] = x[i] + x[i + 2] }",
    "backwards": "for i in 0 .. n - 1 { x[n - i - 1] = z[i] y[i] = x[n - i - 1] + x[n - i - 2] }",
    "steps": "for i in 0 .. n - 4 step 2 { x[i] = z[i] y[i] = x[i] + x[i + 4] }",
    "updated": "for i in 0 .. n - 1 { x[i] = z[i] y[i] += x[i + 1] x[i] = x[i + 1] * y[i] }",
    "under a condition": "for i in 0 .. n - 1 { if z[i] > 1.0 { x[i] = z[i] } y[i] = x[i] + x[i + 1] }",
}
KEPT = {
    "read first": "for i in 0 .. n - 1 { y[i] = x[i + 1] x[i] = y[i] }",
    "read behind": "for i in 1 .. n { x[i] = z[i] y[i] = x[i] + x[i - 1] }",
    "recurrence": "for i in 1 .. n - 1 { x[i] = x[i - 1] y[i] = x[i + 1] }",
    "stored again": "for i in 0 .. n - 1 { x[i] = z[i] x[i + 1] = x[i + 1] * z[i] }",
    "never the same": "for i in 0 .. n - 3 step 2 { x[i] = z[i] y[i] = x[i + 1] }",
    "same element": "for i in 0 .. n - 1 { x[i] = z[i] y[i] = x[i] }",
    "read under a condition": "for i in 0 .. n - 1 { x[i] = z[i] y[i] = select(z[i] > 1.0, x[i + 1], z[i]) }",
    "stored under a condition": (
        "for i in 0 .. n - 1 { x[i] = z[i] y[i] = select(z[i] > 1.0, x[i] * x[i + 1], y[i]) }"
    ),
    "unknown distance": "for i in 0 .. n - 1 { x[i] = z[i] y[i] = x[n - i - 1] }",
}


@pytest.mark.parametrize("name", [*SPLIT, *KEPT])
def test_overwritten_elements_are_read_first(name: str) -> None:
    kernel = parse_kernel(f"kernel k(n; x: f64[n], y: f64[n], z: f64[n]) {{ {(SPLIT | KEPT)[name]} }}")
    made = split_nodes(kernel)
    check_kernel(made, "splitting")
    assert any(isinstance(x, Let) for x in walk(made.body)) == (name in SPLIT)
    for n in (4, 5, 9):
        found = []
        for each in (kernel, made):
            x, y, z = np.arange(n) + 0.5, np.arange(n) * 0.25, np.arange(n) % 3 + 0.125
            run_kernel(each, {"n": n, "x": x, "y": y, "z": z})
            found.append((x, y))
        assert np.array_equal(found[0], found[1])
