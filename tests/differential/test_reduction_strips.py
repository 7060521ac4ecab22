"""Nests that reduce over inner loops, in strips of selected instructions, run beside the nests as they are: from no
iteration to several blocks of rows and strips, with windows of no element, of one and of an odd number."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_vector_strips import FLAGS, compiled, missing

from planish.core.diagnostic import Remark
from planish.ir.expr import index
from planish.ir.index.polynomial import constant, place
from planish.ir.text.parser import parse_kernel
from planish.library.loops.vector_strips.selected_strips import strip_versions
from planish.schedule.auto.plan import prepare
from planish.target.load import load_target

NESTS = {
    "greatest": (
        "n, m; a: u8[m, n] distinct, b: u8[n] distinct",
        "for c in 0 .. n { alloc s: u8[] register s[] = 9:u8 for i in 0 .. m"
        " { s[] = select(i32(a[i, c]) > i32(s[]), a[i, c], s[]) } b[c] = s[] }",
    ),
    "means": (
        "n, m; a: u8[m, n] distinct, b: u8[n] distinct",
        "for c in 0 .. n { alloc s: u16[] register s[] = 0:u16 for i in 0 .. m { s[] += u16(a[i, c]) }"
        " b[c] = u8(min(u32(s[]) * 4681:u32 + 32768:u32 >> 16:u32, 255:u32)) }",
    ),
    "products": (
        "n, m, k; a: i16[n, k] distinct, b: i16[k, m] distinct, d: i32[m] distinct, c: i32[n, m] distinct",
        "for i in 0 .. n { for j in 0 .. m { alloc s: i32[] register s[] = d[j]"
        " for p in 0 .. k { s[] += i32(a[i, p]) * i32(b[p, j]) } c[i, j] = max(s[], 0:i32) } }",
    ),
    "weighted": (
        "n, m; w: i8[m, n] distinct, a: u8[m, n] distinct, d: i32[n] distinct, b: i32[n] distinct",
        "for c in 0 .. n { alloc s: i32[] register s[] = d[c] for i in 0 .. m"
        " { s[] += (i32(a[i, c]) - 77:i32) * i32(w[i, c]) } b[c] = s[] }",
    ),
}
SIZES = ((0, 3, 2), (1, 1, 1), (3, 0, 4), (2, 64, 0), (8, 32, 3), (9, 65, 5), (17, 130, 2), (31, 40, 7))


@pytest.mark.parametrize("name", NESTS)
@pytest.mark.parametrize("target", FLAGS)
def test_reductions_in_strips_are_the_same(name: str, target: str, tmp_path: Path, guarded: Any) -> None:
    if missing(target):
        pytest.skip(f"this machine has no {target}")
    head, body = NESTS[name]
    text = f"kernel k({head}) {{ {body} }}"
    kernel = parse_kernel(text)
    functions = compiled(text, target, tmp_path)
    for given in SIZES:
        # A row of one dimension is what strips run along; the others are windows.
        sizes = dict(zip(kernel.sizes, given if len(kernel.sizes) == 3 else (given[1], given[0]), strict=True))
        random = np.random.default_rng(sum(given))
        values = []
        for x in kernel.arrays:
            shape = [constant(place(y, {k: index(v) for k, v in sizes.items()})) for y in x.shape if y is not None]
            low, high = (-(1 << (x.type.bits - 1)), 1 << (x.type.bits - 1)) if str(x.type)[0] == "i" else (0, 256)
            values.append(random.integers(low, high, int(np.prod(shape))).astype(x.type.numpy))
        results = []
        for function in functions:
            arrays = [guarded(x, 0) for x in values]
            kinds = [*(ctypes.c_ssize_t for _ in sizes), *(ctypes.c_void_p for _ in arrays)]
            ctypes.CFUNCTYPE(None, *kinds)(function)(*sizes.values(), *(x.ctypes.data for x in arrays))
            results.append([x.tobytes() for x in arrays])
        assert all(x == results[0] for x in results), sizes


def test_cells_that_iterations_share_are_refused() -> None:
    """A sum over all iterations is no cell of one."""
    body = "for c in 0 .. n { for i in 0 .. m { s[] += i32(a[i, c]) } b[c] = s[] }"
    text = f"kernel k(n, m; a: u8[m, n] distinct, b: i32[n] distinct) {{ alloc s: i32[] distinct s[] = 0:i32 {body} }}"
    made = list(strip_versions(prepare(parse_kernel(text)), load_target("x86-avx2")))
    assert all(isinstance(x, Remark) for x in made)
