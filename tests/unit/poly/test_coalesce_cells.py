"""Copies of cells: those that are needed stay, and what is computed stays the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planish.ir.checker import check_kernel
from planish.ir.nest import Alloc
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import walk
from planish.poly.canonical.coalesce_cells import coalesce_cells

HEAD = "kernel k(n; x: f64[n], y: f64[n], last: f64[1]) { alloc s: f64[] register s[] = 1.0 for i in 0 .. n { "
TAIL = " } last[0] = s[] }"
CELL = "alloc t: f64[] register "


@pytest.mark.parametrize(
    ("body", "cells"),
    [
        (CELL + "t[] = s[] + x[i] y[i] = t[] s[] = t[]", 1),
        (CELL + "t[] = s[] t[] += x[i] s[] = t[] y[i] = s[]", 1),
        (CELL + "t[] = s[] for j in 0 .. 2 { t[] += x[i] } s[] = t[] * 0.5 y[i] = s[]", 1),
        (CELL + "t[] = x[i] alloc u: f64[] register u[] = t[] u[] *= u[] y[i] = u[]", 2),
        (CELL + "t[] = s[] + x[i] y[i] = s[] s[] = t[]", 2),
        (CELL + "t[] = s[] + x[i] s[] = t[] t[] += 1.0 y[i] = t[]", 2),
        (CELL + "t[] = s[] t[] += x[i] y[i] = t[] - s[] s[] = t[]", 2),
        (CELL + "t[] = s[] t[] += x[i] y[i] = t[]", 2),
        (CELL + "t[] = s[] t[] += x[i] s[] = t[] * s[] y[i] = s[]", 2),
        (CELL + "t[] = s[] t[] += x[i] s[] = 2.0 y[i] = t[]", 2),
        (CELL + "t[] = s[] if i > 1 { s[] = t[] + x[i] } y[i] = t[]", 2),
        ("alloc t: f32[] register t[] = f32(s[]) + f32(x[i]) y[i] = f64(t[]) s[] = f64(t[])", 2),
    ],
)  # fmt: skip
def test_cells_that_do_not_live_beside_each_other_are_one(body: str, cells: int) -> None:
    kernel = parse_kernel(HEAD + body + TAIL)
    fewer = replace(kernel, body=coalesce_cells(kernel.body))
    check_kernel(fewer, "the test")
    assert sum(isinstance(x, Alloc) for x in walk(fewer.body)) == cells
    results = []
    for made in (kernel, fewer):
        values = {"n": 5, "x": np.arange(1.0, 6.0), "y": np.zeros(5), "last": np.zeros(1)}
        run_kernel(made, values)
        results.append((values["y"], values["last"]))
    np.testing.assert_array_equal(np.concatenate(results[0]), np.concatenate(results[1]))
