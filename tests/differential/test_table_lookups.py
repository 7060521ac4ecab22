"""Tables that bytes choose from, a register at a time: no element before the first one that is read, or behind the
last one, is touched."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_vector_strips import compiled, missing

from planish.ir.text.parser import parse_kernel
from planish.library.loops.vector_strips.table_lookups import with_copied_tables

MACHINE = "x86-avx512"
pytestmark = pytest.mark.skipif(missing(MACHINE), reason="this processor has no AVX-512 with permutations of bytes")
ARRAYS = "T: u8[?] distinct, U: u8[?] distinct, a: u8[3 * n] distinct, b: u8[3 * n] distinct"
BODIES = {
    "levels": "b[i] = T[i64(a[i])]",
    "of a mean": "b[i] = 255:u8 - T[i64(u8(i32(a[i]) + i32(a[i + n]) + 1:i32 >> 1:i32))]",
    "two tables": "b[i] = max(T[i64(a[i])], U[i64(i32(a[i]))])",
    "in place": "a[i] = T[i64(a[i])] ^ a[i]",
    "channels": "b[3 * i] = T[i64(a[3 * i])] b[3 * i + 1] = U[i64(a[3 * i + 1])] b[3 * i + 2] = T[i64(a[3 * i + 2])]",
}


@pytest.mark.parametrize("name", BODIES)
def test_they_are_the_same(name: str, tmp_path: Path, guarded: Any) -> None:
    functions = compiled(f"kernel k(n; {ARRAYS}) {{ for i in 0 .. n {{ {BODIES[name]} }} }}", MACHINE, tmp_path)
    for n in (0, 1, 63, 64, 65, 200):
        for entries in (1, 100, 256):
            source = np.random.default_rng(n + entries)
            tables = [source.integers(0, 256, entries).astype(np.uint8) for _ in "TU"]
            rows = [source.integers(0, entries, 3 * n).astype(np.uint8) for _ in "ab"]
            results = []
            for function in functions:
                given = [guarded(x, 0) for x in (*tables, *rows)]
                kinds = [ctypes.c_ssize_t, *(ctypes.c_void_p for _ in given)]
                ctypes.CFUNCTYPE(None, *kinds)(function)(n, *(x.ctypes.data for x in given))
                results.append([x.tobytes() for x in given])
            assert all(x == results[0] for x in results), (n, entries)


@pytest.mark.parametrize(
    "value",
    [
        "select(a[i] < 100:u8, T[i64(a[i])], 7:u8)",
        "select(a[i] < 100:u8 && T[i64(a[i])] > 9:u8, 1:u8, 7:u8)",
        "select(i < 9, b[i], T[i64(a[i])])",
    ],
)
def test_no_table_is_copied_of_which_only_some_iterations_read(value: str) -> None:
    always = parse_kernel(f"kernel k(n; {ARRAYS}) {{ for i in 0 .. n {{ b[i] = T[i64(a[i])] }} }}")
    kernel = parse_kernel(f"kernel k(n; {ARRAYS}) {{ for i in 0 .. n {{ b[i] = {value} }} }}")
    assert with_copied_tables(always) != always
    assert with_copied_tables(kernel) == kernel
