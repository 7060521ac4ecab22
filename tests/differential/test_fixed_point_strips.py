"""Fixed-point programs with intermediates of 64 bits in strips of selected instructions, run beside the nests as they
are: products scaled by fractions, with rounding, shifts by scalars, and saturation."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_vector_strips import compiled, missing

from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_kernel
from planish.library.loops.vector_strips import selected_strips
from planish.library.loops.vector_strips.selected_pieces import select_nests
from planish.schedule.auto.plan import prepare
from planish.select.instruction import extension_of
from planish.target.load import load_target

TARGET = "x86-avx512"
HIGH = "(i64(a[i]) * i64({}) + 1073741824:i64) >> 31:i64"
PROGRAMS = {
    "a fraction of each channel": (
        "a: i32, k: i32, o: u8", f"u8(min(max(i32({HIGH.format('k[i]')}) >> 5:i32, 0:i32), 255:i32))",
    ),
    "a fraction of all": ("a: i32, o: i16", f"i16(max(min({HIGH.format('x')}, 32767:i64), -32768:i64))"),
    "scaled": ("a: i16, o: i32", "i32((i64(a[i]) * i64(x) + 32768:i64) >> 16:i64)"),
    "less a zero": ("a: u8, o: i16", "i16((i64(i32(a[i]) - 7:i32) * i64(x) + 128:i64) >> 8:i64)"),
    "shifted by a scalar": ("a: i16, o: i16", "i16((i64(a[i]) * 77777:i64 + (1:i64 << i64(n) >> 1:i64)) >> i64(n))"),
    "shifted if at all": (
        "a: i32, o: i16",
        "i16(max(min(select(n == 0:i32, a[i], i32((i64(a[i]) + (1:i64 << i64(n) - 1:i64)) >> i64(n))), 32767:i32),"
        " -32768:i32))",
    ),
    "cut if shifted": (
        "a: i32, k: u8, o: i32",
        "select((i32(k[i]) & 31:i32) != 0:i32, i32(u8((a[i] + (1:i32 << (i32(k[i]) & 31:i32) - 1:i32))"
        " >> (i32(k[i]) & 31:i32))), a[i])",
    ),
    "two taps": (
        "a: i16, b: i16, o: i16",
        "i16(max(min((i64(a[i]) * 23170:i64 + i64(b[i]) * i64(x) + 16384:i64) >> 15:i64, 32767:i64), -32768:i64))",
    ),
}


def kernel_of(name: str) -> tuple[str, Kernel]:
    arrays, value = PROGRAMS[name]
    given = ", ".join(f"{x.strip()}[m] distinct" for x in arrays.split(","))
    text = f"kernel f(m; x: i32, n: i32; {given}) {{ for i in 0 .. m {{ o[i] = {value} }} }}"
    return text, parse_kernel(text)


@pytest.mark.parametrize("name", PROGRAMS)
def test_fixed_point_is_the_same(name: str, tmp_path: Path, guarded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selected_strips, "_PLAINLY", float("inf"))  # whatever plain lanes cost
    if missing(TARGET):
        pytest.skip(f"this machine has no {TARGET}")
    text, kernel = kernel_of(name)
    functions = compiled(text, TARGET, tmp_path)
    for m, x, n in ((0, 1, 0), (1, -(2**31), 1), (31, 2**31 - 1, 14), (64, 10000, 0), (130, -3, 7), (331, 1 << 30, 15)):
        random = np.random.default_rng(m)
        values = []
        for y in kernel.arrays:
            info = np.iinfo(y.type.numpy)
            drawn = [info.min, info.max, *random.integers(info.min, info.max, 9)]
            values.append(random.choice(drawn, m).astype(y.type.numpy))
        results = []
        for function in functions:
            given = [guarded(y, 0) for y in values]
            kinds = [ctypes.c_ssize_t, ctypes.c_int32, ctypes.c_int32, *(ctypes.c_void_p for _ in given)]
            ctypes.CFUNCTYPE(None, *kinds)(function)(m, x, n, *(y.ctypes.data for y in given))
            results.append([y.tobytes() for y in given])
        assert all(y == results[0] for y in results), (m, x, n)


ON_HVX = ("a fraction of all", "less a zero")
ON_X86 = ("cut if shifted",)
EVERYWHERE = [("x86-avx512", name) for name in PROGRAMS]
EVERYWHERE += [("aarch64-neon", name) for name in PROGRAMS if name not in ON_X86]


@pytest.mark.parametrize(("target", "name"), EVERYWHERE + [("hexagon-hvx", name) for name in ON_HVX])
def test_instructions_are_found_and_proven(target: str, name: str) -> None:
    _, kernel = kernel_of(name)
    (found,) = select_nests(prepare(kernel).kernel, extension_of(load_target(target)))
    assert found.pieces and not found.left
