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


SUMS = {
    "squares": ("a: u8[n]", "s[] += (i32(a[i]) - 128:i32) * (i32(a[i]) - 128:i32)"),
    "dots": ("a: u8[n], b: i8[n]", "s[] += i32(a[i]) * i32(b[i])"),
    "products": ("z: i16; b: i16[n], a: i16[n]", "s[] += (i32(b[i]) >> 2:i32) * i32(a[i])"),
    "greatest": ("a: i8[n]", "s[] max= i32(a[i])"),
    "least": ("a: u16[n], b: u16[n]", "s[] min= i32(a[i]) + i32(b[i])"),
    "kept": ("a: u8[n], b: u8[n]", "b[i] = u8(i32(a[i]) + 3:i32 >> 1:i32) s[] += i32(u8(i32(a[i]) + 3:i32 >> 1:i32))"),
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("target", FLAGS)
def test_lanes_that_reduce_are_the_same(name: str, target: str, tmp_path: Path, guarded: Any) -> None:
    if missing(target):
        pytest.skip(f"this machine has no {target}")
    head, statement = SUMS[name]
    scalars, _, arrays = head.rpartition("; ")
    operands = "; ".join(x for x in (scalars, arrays.replace("]", "] distinct") + ", s: i32[] distinct") if x)
    text = f"kernel k(n; {operands}) {{ for i in 0 .. n {{ {statement} }} }}"
    kernel = parse_kernel(text)
    functions = compiled(text, target, tmp_path)
    for n in (0, 1, 31, 64, 127, 128, 129, 300):
        random = np.random.default_rng(n)
        values = []
        for x in kernel.arrays:
            low, high = (-(1 << (x.type.bits - 1)), 1 << (x.type.bits - 1)) if str(x.type)[0] == "i" else (0, 200)
            values.append(random.integers(low, high, n if x.shape else 1).astype(x.type.numpy))
        results = []
        for function in functions:
            given = [guarded(x, 0) for x in values]
            scalars_ = [ctypes.c_int16(5) for _ in kernel.scalars]
            kinds = [ctypes.c_ssize_t, *(ctypes.c_int16 for _ in scalars_), *(ctypes.c_void_p for _ in given)]
            ctypes.CFUNCTYPE(None, *kinds)(function)(n, *scalars_, *(x.ctypes.data for x in given))
            results.append([x.tobytes() for x in given])
        assert all(x == results[0] for x in results), n


def test_elements_that_depend_on_iterations_are_no_cell() -> None:
    """What pairs of iterations add to is no sum of lanes."""
    text = "kernel k(n; a: u8[2*n] distinct, h: i32[n] distinct) { for i in 0 .. 2*n { h[i // 2] += i32(a[i]) } }"
    made = list(strip_versions(prepare(parse_kernel(text)), load_target("x86-avx2")))
    assert all(isinstance(x, Remark) for x in made)


def test_cells_that_iterations_share_are_refused() -> None:
    """A sum over all iterations is no cell of one."""
    body = "for c in 0 .. n { for i in 0 .. m { s[] += i32(a[i, c]) } b[c] = s[] }"
    text = f"kernel k(n, m; a: u8[m, n] distinct, b: i32[n] distinct) {{ alloc s: i32[] distinct s[] = 0:i32 {body} }}"
    made = list(strip_versions(prepare(parse_kernel(text)), load_target("x86-avx2")))
    assert all(isinstance(x, Remark) for x in made)


@pytest.mark.parametrize("value", ["7:i32", "i32(x)", "i32(i)"])
def test_a_sum_that_reads_no_array_is_no_strip(value: str) -> None:
    text = f"kernel k(n; x: i8; s: i32[]) {{ for i in 0 .. n {{ s[] += {value} }} }}"
    assert not [*strip_versions(prepare(parse_kernel(text)), load_target("x86-avx512"))]
