"""Reductions in strips whose instructions are selected, beside the loops as they are: sums, counts, dots, extrema."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_vector_strips import FLAGS, compiled, missing

from planish.core.diagnostic import Remark
from planish.ir.expr import Const
from planish.ir.text.parser import parse_kernel
from planish.ir.types import Type
from planish.library.loops.vector_strips.selected_strips import strip_versions
from planish.schedule.auto.plan import prepare
from planish.target.load import load_target

CELLS = {
    "sum": ("a: u8", "s: u32", "s[] += u32(a[y, x])"),
    "squares": ("a: i8", "s: i32", "s[] += i32(a[y, x]) * i32(a[y, x])"),
    "count": ("a: u16", "s: u32", "s[] += select(a[y, x] > k, 1:u32, 0:u32)"),
    "distance": ("a: u8, b: u8", "s: u64", "s[] += u64(abs(i32(a[y, x]) - i32(b[y, x])))"),
    "signed": ("a: i16, b: i16", "s: i64", "s[] += i64(i32(a[y, x]) * i32(b[y, x]) >> 3:i32)"),
    "dot": ("a: i8, b: i8", "s: i64", "s[] += i64(i32(a[y, x]) * i32(b[y, x]))"),
    "mixed": ("a: u8, b: i8", "s: i32", "s[] += i32(a[y, x]) * i32(b[y, x]) + i32(b[y, x])"),
    "turned": ("a: u8, b: i8", "s: u64", "s[] += u64(i32(a[y, x]) * i32(b[y, x]))"),
    "least": ("a: i16, b: i16", "s: i16", "s[] = i16(min(i32(s[]), i32(max(a[y, x], b[y, x]))))"),
    "greatest": ("a: u8", "s: i32", "s[] = max(i32(a[y, x]), s[])"),
    "narrow": ("a: u8, b: i8", "s: u8, t: i16", "s[] += a[y, x] t[] += i16(i32(b[y, x]) * i32(a[y, x]))"),
    "kept": ("a: u8, b: u8", "s: u32", "b[y, x] = u8(i32(a[y, x]) + 3:i32 >> 1:i32) s[] += u32(b[y, x])"),
    "in place": (
        "a: i16", "s: i16, t: i64",
        "a[y, x] = i16(i32(a[y, x]) - 9:i32) s[] = i16(max(i32(s[]), i32(a[y, x]))) t[] += i64(a[y, x])",
    ),
    "any": ("a: u8", "s: u8", "s[] |= u8(i32(i32(a[y, x]) == 77:i32))"),
    "marked": ("p: bool, a: u8", "s: i32, t: u8", "s[] += i32(p[y, x]) + i32(a[y, x]) t[] |= u8(i32(!p[y, x]))"),
    "all": ("a: i16", "s: i32", "s[] &= i32(a[y, x]) | 5:i32"),
    "both": ("a: u8", "s: u8, t: u64", "s[] = u8(min(i32(a[y, x]), i32(s[]))) t[] += u64(a[y, x])"),
}


def text_of(name: str) -> str:
    arrays, cells, body = CELLS[name]
    given = ", ".join(f"{x.strip()}[h, w] distinct" for x in arrays.split(","))
    kept = ", ".join(f"{x.strip()}[] distinct" for x in cells.split(","))
    return f"kernel f(h, w; k: u16; {given}, {kept}) {{ for y in 0 .. h {{ for x in 0 .. w {{ {body} }} }} }}"


def _range(kind: Type) -> tuple[int, int]:
    info = np.iinfo(kind.numpy) if kind.is_int else None
    return (0, 1) if info is None else (info.min, info.max)


def check(text: str, target: str, folder: Path, guarded: Any, shapes: tuple[tuple[int, int], ...]) -> None:
    """Both leave the same in all arrays, whatever the cells hold before."""
    if missing(target):
        pytest.skip(f"this machine has no {target}")
    kernel = parse_kernel(text)
    functions = compiled(text, target, folder)
    for h, w in shapes:
        random = np.random.default_rng(h + w)
        values = []
        for x in kernel.arrays:
            fixed = x.shape[0].value if len(x.shape) == 1 and isinstance(x.shape[0], Const) else h
            count = {0: 1, 1: int(fixed), 2: h * w}[len(x.shape)]
            values.append(random.integers(*_range(x.type), count, x.type.numpy, endpoint=True))
        results = []
        for function in functions:
            given = [guarded(x, 0) for x in values]
            kinds = [ctypes.c_ssize_t] * 2 + [ctypes.c_uint16] * len(kernel.scalars) + [ctypes.c_void_p] * len(given)
            scalars = [1000] * len(kernel.scalars)
            ctypes.CFUNCTYPE(None, *kinds)(function)(h, w, *scalars, *(x.ctypes.data for x in given))
            results.append([x.tobytes() for x in given])
        assert all(x == results[0] for x in results), (h, w)


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("target", FLAGS)
def test_reductions_are_the_same(name: str, target: str, tmp_path: Path, guarded: Any) -> None:
    check(text_of(name), target, tmp_path, guarded, ((0, 9), (3, 0), (1, 1), (2, 31), (3, 64), (5, 333), (2, 1100)))


ROWS = "for x in 0 .. w { r[y] += u32(a[y, x]) * u32(a[y, x]) }"

STORED = "for x in 0 .. w { r[y] += u32(a[y, x]) b[y, x] = u16(a[y, x]) + 1:u16 }"

SIGNED = "for x in 0 .. w { r[y] += (i32(a[y, x]) - 200:i32) * 7:i32 }"


@pytest.mark.parametrize(
    ("body", "cells"),
    [
        (f"alloc r: u32[max(h, 0)] for y in 0 .. h {{ r[y] = 0:u32 {ROWS} s[] += u64(r[y]) }}", "s: u64[] distinct"),
        (f"alloc r: i32[max(h, 0)] for y in 0 .. h {{ r[y] = 0:i32 {SIGNED} s[] += u64(r[y]) }}", "s: u64[] distinct"),
        (
            f"alloc r: u32[max(h, 0)] for y in 0 .. h {{ r[y] = 0:u32 {STORED} s[] += u64(r[y]) }}",
            "b: u16[h, w] distinct, s: u64[] distinct",
        ),
        (f"for y in 0 .. h {{ {ROWS} }}", "r: u32[h] distinct"),
        (
            "for y in 0 .. h { for x in 0 .. w - 2 { s[0] += u32(abs(i32(a[y, x + 2]) - i32(a[y, x]))) } }",
            "s: u32[1] distinct",
        ),
        (
            "alloc t: i32[2] for y in 0 .. h { for c in 0 .. 2 { t[c] = 0:i32 } for x in 0 .. w {"
            " t[0] += i32(a[y, x]) t[1] += 7:i32 - i32(a[y, x]) } for c in 0 .. 2 { s[c] += u64(t[c]) } }",
            "s: u64[2] distinct",
        ),
        (
            "for y in 0 .. h { for x in 0 .. w { for c in 0 .. 3 { s[c] += u32(a[y, x]) >> u32(c) } } }",
            "s: u32[3] distinct",
        ),
        (
            "for y in 0 .. h { alloc t: u16[] t[] = 0:u16 for x in 0 .. w {"
            " m[] = max(m[], i32(a[y, x])) t[] += u16(a[y, x]) } s[] += u64(t[]) }",
            "m: i32[] distinct, s: u64[] distinct",
        ),
        ("for y in 0 .. h { m[y] = 0:u8 for x in 0 .. w { m[y] max= a[y, x] } }", "m: u8[h] distinct"),
    ],
    ids=["sums of rows are added", "with a sign", "beside stores", "a sum for each row", "neighbours",
         "two cells of an array", "three cells of an array", "beside an extremum", "the greatest of each row"],
)
def test_rows_are_the_same(body: str, cells: str, tmp_path: Path, guarded: Any) -> None:
    """The squares of 255 in a row of 70,000 do not fit 32 bits."""
    text = f"kernel f(h, w; a: u8[h, w] distinct, {cells}) {{ {body} }}"
    check(text, "x86-avx512", tmp_path, guarded, ((0, 9), (2, 31), (5, 333), (2, 150_000)))


@pytest.mark.parametrize(
    ("cell", "body"),
    [
        ("u32", "s[] += u32(a[i]) b[i] = s[]"), ("u64", "s[] += u64(a[i]) * u64(b[i])"),
        ("u32", "b[i + 1] = u32(a[i]) s[] += b[i]"),
        ("u32", "alloc v: u8[] register v[] = a[i] a[i] = v[] + 1:u8 b[i] = u32(v[]) s[] += b[i] * u32(v[])"),
    ],
    ids=["cells that are read on the way", "terms that do not fit 32 bits", "elements that others store",
         "what was there before and what is there now"],
)  # fmt: skip
def test_what_is_left_to_compilers(cell: str, body: str) -> None:
    text = f"kernel f(n; a: u8[n], b: u32[n + 1], s: {cell}[] distinct) {{ for i in 0 .. n {{ {body} }} }}"
    found = list(strip_versions(prepare(parse_kernel(text)), load_target("x86-avx512")))
    assert all(isinstance(x, Remark) for x in found)
