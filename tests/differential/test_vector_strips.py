"""Strips whose instructions are selected, compiled and run beside the loops as they are: from no row to several blocks
of rows, from no column to several strips and what is left, in memory before and behind which none may be touched."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import compile_text
from test_nontemporal import flags

from planish.core.diagnostic import Remark
from planish.emit.c.instruction_calls import headers_of
from planish.emit.c.kernel_text import emit_function
from planish.emit.c.prologue import emit_prologue
from planish.ir.text.parser import parse_kernel
from planish.isa.shipped import shipped
from planish.library.loops.vector_strips.selected_strips import strip_versions
from planish.schedule.auto.plan import prepare
from planish.target.load import load_target

FLAGS = {"x86-avx2": ("avx2",), "x86-avx512": ("avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx512vbmi")}
LOCAL = "alloc t: i32[] register alloc u: i32[] register"
LINES = {
    "average": ("a: u8[n], b: u8[n]", "b[i] = u8(i32(a[i]) + i32(b[i]) + 1:i32 >> 1:i32)"),
    "difference": ("a: u8[n], c: u8[n], b: u8[n]", "b[i] = u8(abs(i32(a[i]) - i32(c[i])))"),
    "doubled": ("a: u8[n], b: u8[n]", "b[i] = u8(min(2:i32 * i32(a[i]) + 3:i32, 255:i32))"),
    "third": ("a: u16[n], b: u16[n]", "b[i] = a[i] // 3:u16"),
    "scaled": ("x: i16; a: i16[n], b: i32[n]", "b[i] = b[i] + i32(a[i]) * i32(x)"),
    "filled": ("x: i16; b: i8[n]", "b[i] = max(100:i8, i8(x))"),
    "lowest": ("a: i8[n], c: i8[n], b: i8[n]", "b[i] = select(a[i] < c[i], a[i], c[i])"),
}
LINES |= {
    "threshold": ("x: u8; a: u8[n], b: u8[n]", "b[i] = u8(select(i32(a[i]) > i32(x), 255:i32, 0:i32))"),
    "chosen": (
        "a: u8[n], c: i16[n], b: i16[n]",
        "alloc t: i16[] register t[] = c[i] b[i] = select(a[i] >= 9:u8 && c[i] != 0:i16, t[], -t[])",
    ),
    "bits": (
        "a: u16[n], b: u16[n]",
        "b[i] = select((a[i] & 1:u16) != 0:u16, a[i] >> 1:u16 ^ 40961:u16, a[i] >> 1:u16)",
    ),
    "counted": ("x: u8; a: u8[n], b: u16[n]", "b[i] = b[i] + u16(a[i] > x)"),
    "apart": ("a: u16[n], c: u16[n], b: u16[n]", "b[i] = select(a[i] > c[i], a[i] - c[i], c[i] - a[i])"),
    "turned": ("x: u16; a: u16[n], b: u16[n]", "b[i] = a[i] >> (x & 15:u16)"),
    "rounded": ("a: i16[n], b: i16[n]", "b[i] = i16(i32(a[i]) + 8:i32 >> 4:i32)"),
    "bounded": ("x: i16; a: i16[n], b: i16[n]", "b[i] = max(a[i], i16(1:i32 << (i32(x) & 7:i32)))"),
    "limited": (
        "x: i16; a: u8[n], b: u8[n]",
        "b[i] = u8(select(i32(a[i]) < i32(x) * -9:i32, i32(x), min(i32(a[i]), i32(x) * i32(x) * 20:i32)) - i32(x))",
    ),
    "cut": ("a: u16[n], b: u8[n]", "b[i] = u8(a[i] >> 8:u16)"),
}
LINES |= {
    "swapped": ("a: u8[n], b: u8[n]", "alloc t: u8[] register t[] = a[i] a[i] = b[i] b[i] = t[]"),
    "mixed": ("a: u8[n], b: u8[n]", "alloc t: u8[] register t[] = max(a[i], b[i]) b[i] = min(a[i], b[i]) a[i] = t[]"),
    "named": ("i_lane: i16; a: i16[n], b: i16[n]", "b[i] = max(a[i], i_lane)"),
}
ROWS = {
    "smoothed": (
        "t[] = i32(a[y, x]) + 2:i32 * i32(a[y, x + 1]) + i32(a[y, x + 2])"
        " u[] = i32(a[y + 1, x]) + 2:i32 * i32(a[y + 1, x + 1]) + i32(a[y + 1, x + 2])"
        " b[y, x] = u8(t[] + u[] + 4:i32 >> 3:i32)"
    ),
    "edges": (
        "t[] = i32(a[y, x]) + i32(a[y + 1, x]) + i32(a[y + 2, x])"
        " u[] = i32(a[y, x + 2]) + i32(a[y + 1, x + 2]) + i32(a[y + 2, x + 2])"
        " b[y, x] = u8(min(abs(t[] - u[]), 255:i32))"
    ),
    "greatest": "b[y, x] = max(max(a[y, x], a[y + 1, x + 1]), max(a[y + 2, x], a[y + 2, x + 2]))",
    "middle": (
        "t[] = i32(min(a[y, x], a[y + 1, x])) u[] = i32(max(a[y, x], a[y + 1, x]))"
        " b[y, x] = u8(max(t[], min(u[], i32(a[y + 2, x + 1]))))"
    ),
    "pattern": (
        "b[y, x] = u8(i32(a[y, x] >= a[y + 1, x + 1]) + (i32(a[y, x + 1] >= a[y + 1, x + 1]) << 3:i32)"
        " + (i32(a[y + 2, x + 2] >= a[y + 1, x + 1]) << 7:i32))"
    ),
    "window": (
        "t[] = 0:i32 for j in 0 .. 3 { for k in 0 .. 3 { t[] += i32(a[y + j, x + k]) } }"
        " b[y, x] = u8(t[] // 9:i32)"
    ),
}  # fmt: skip


def line(name: str) -> str:
    head, statement = LINES[name]
    scalars, _, arrays = head.rpartition("; ")
    operands = "; ".join(x for x in (scalars, arrays.replace("]", "] distinct")) if x)
    return f"kernel k(n; {operands}) {{ for i in 0 .. n {{ {statement} }} }}"


def rows(name: str) -> str:
    arrays = "a: u8[h + 2, w + 2] distinct, b: u8[h, w] distinct"
    return f"kernel k(h, w; {arrays}) {{ for y in 0 .. h {{ for x in 0 .. w {{ {LOCAL} {ROWS[name]} }} }} }}"


def compiled(text: str, target: str, folder: Path) -> list[list[Any]]:
    """The kernel as it is, and beside it each version, as functions of addresses."""
    machine, kernel = load_target(target), parse_kernel(text)
    versions = [x for x in strip_versions(prepare(kernel), machine) if not isinstance(x, Remark)]
    assert versions
    texts, headers, names = [emit_function(kernel, "plain", noalias=True)], [], ["plain"]
    for at, x in enumerate(versions):
        known = shipped().joined(x.catalogue)
        names.append(f"strips_{at}")
        texts.append(emit_function(x.kernel, names[-1], noalias=True, catalogue=known))
        headers += headers_of(x.kernel, known)
    exports = "".join(f"void *get_{x}(void) {{ return (void *){x}; }}\n" for x in names)
    whole = emit_prologue(texts, headers=tuple(dict.fromkeys(headers))) + exports
    library = compile_text(whole, folder, flags=(*machine.flags_for("gcc"), "-O2", "-Wno-psabi"))
    found = []
    for x in names:
        getter = getattr(library, f"get_{x}")
        getter.restype = ctypes.c_void_p
        found.append(getter())
    return found


def missing(target: str) -> bool:
    return not all(x in flags() for x in FLAGS[target])


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("target", FLAGS)
def test_strips_of_lines_are_the_same(name: str, target: str, tmp_path: Path, guarded: Any) -> None:
    if missing(target):
        pytest.skip(f"this machine has no {target}")
    kernel = parse_kernel(line(name))
    functions = compiled(line(name), target, tmp_path)
    for n in (0, 1, 7, 16, 63, 64, 65, 130, 257):
        random = np.random.default_rng(n)
        values = [random.integers(*_range(x.type), n).astype(x.type.numpy) for x in kernel.arrays]
        results = []
        for function in functions:
            given = [guarded(x, 0) for x in values]
            scalars = [ctypes.c_int16(-3) for _ in kernel.scalars]
            kinds = [ctypes.c_ssize_t, *(ctypes.c_int16 for _ in scalars), *(ctypes.c_void_p for _ in given)]
            ctypes.CFUNCTYPE(None, *kinds)(function)(n, *scalars, *(x.ctypes.data for x in given))
            results.append([x.tobytes() for x in given])
        assert all(x == results[0] for x in results), n


CHANNELS = {
    "grey": (
        {"a": 4, "b": 1},
        "b[i] = u8(7:i32 * i32(a[4*i]) + 38:i32 * i32(a[4*i + 1]) + 19:i32 * i32(a[4*i + 2]) + 32:i32 >> 6:i32)",
    ),
    "apart": ({"a": 3, "b": 1, "c": 1, "d": 1}, "b[i] = a[3*i] c[i] = a[3*i + 1] d[i] = a[3*i + 2]"),
    "together": ({"a": 1, "b": 1, "c": 3}, "c[3*i + 2] = a[i] c[3*i] = b[i] c[3*i + 1] = 9:u8"),
    "turned round": ({"a": 3}, "t[] = a[3*i] a[3*i] = a[3*i + 2] a[3*i + 2] = t[] a[3*i + 1] = a[3*i + 1]"),
    "mixed": ({"a": 2, "b": 2}, "b[2*i] = u8(i32(a[2*i]) + i32(a[2*i + 1]) + 1:i32 >> 1:i32)"
              " b[2*i + 1] = u8(max(i32(a[2*i]) - i32(a[2*i + 1]), 0:i32))"),
    "widened": (
        {"a": 4, "b": 4},
        " ".join(f"b[4*i + {n}] = u8(i32(a[4*i + {n}]) * i32(a[4*i + 3]) >> 8:i32)" for n in range(4)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANNELS)
@pytest.mark.parametrize("target", ["x86-avx512"])
def test_strips_of_channels_are_the_same(name: str, target: str, tmp_path: Path, guarded: Any) -> None:
    """Elements side by side that belong to one iteration, read and written."""
    if missing(target):
        pytest.skip(f"this machine has no {target}")
    arrays, statement = CHANNELS[name]
    head = ", ".join(f"{x}: u8[{count} * n] distinct" for x, count in arrays.items())
    text = f"kernel k(n; {head}) {{ for i in 0 .. n {{ alloc t: u8[] register {statement} }} }}"
    functions = compiled(text, target, tmp_path)
    for n in (0, 1, 15, 16, 63, 64, 65, 130, 257):
        random = np.random.default_rng(n)
        values = [random.integers(0, 256, n * count).astype(np.uint8) for count in arrays.values()]
        results = []
        for function in functions:
            given = [guarded(x, 0) for x in values]
            kinds = [ctypes.c_ssize_t, *(ctypes.c_void_p for _ in given)]
            ctypes.CFUNCTYPE(None, *kinds)(function)(n, *(x.ctypes.data for x in given))
            results.append([x.tobytes() for x in given])
        assert all(x == results[0] for x in results), n


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("target", FLAGS)
def test_strips_of_several_rows_are_the_same(name: str, target: str, tmp_path: Path, guarded: Any) -> None:
    if missing(target):
        pytest.skip(f"this machine has no {target}")
    functions = compiled(rows(name), target, tmp_path)
    assert len(functions) == 3
    for h, w in ((0, 9), (1, 0), (1, 1), (3, 40), (8, 64), (9, 65), (16, 63), (17, 200)):
        random = np.random.default_rng(h * w)
        source = random.integers(0, 256, (h + 2) * (w + 2)).astype(np.uint8)
        results = []
        for function in functions:
            given, result = guarded(source, 0), guarded(np.full(h * w, 7, np.uint8), 0)
            kinds = [ctypes.c_ssize_t, ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_void_p]
            ctypes.CFUNCTYPE(None, *kinds)(function)(h, w, given.ctypes.data, result.ctypes.data)
            results.append(result.tobytes())
        assert all(x == results[0] for x in results), (h, w)


PAIRS = """kernel k(h, w; a: u8[2 * h, 2 * w] distinct, b: u8[{}, 2 * w] distinct, c: u8[h, w] distinct) {{
    for y in 0 .. h {{ for x in 0 .. 2 * w - 1 step 2 {{
        b[2 * y, x] = a[2 * y, x + 1] b[2 * y, x + 1] = a[2 * y, x]
        b[{}, x] = max(a[2 * y, x], a[2 * y + 1, x]) b[{}, x + 1] = a[2 * y + 1, x + 1]
        c[y, x // 2] = u8(i32(a[2 * y, x]) + i32(a[2 * y + 1, x + 1]) + 1:i32 >> 1:i32)
    }} }}
}}"""


@pytest.mark.parametrize("second", [1, 2])
def test_pairs_of_rows_and_columns_are_the_same(second: int, tmp_path: Path, guarded: Any) -> None:
    """Loops by two: an iteration stores to two rows, which are those of no other one; or of the next one as well."""
    if missing("x86-avx512"):
        pytest.skip("this machine has no x86-avx512")
    functions = compiled(PAIRS.format(f"2 * h + {second}", *[f"2 * y + {second}"] * 2), "x86-avx512", tmp_path)
    for h, w in ((0, 5), (1, 0), (1, 1), (2, 63), (2, 64), (3, 100), (5, 130)):
        source = np.random.default_rng(h * w).integers(0, 256, 4 * h * w).astype(np.uint8)
        results = []
        for function in functions:
            given = [
                guarded(x, 0)
                for x in (source, np.full((2 * h + second) * 2 * w, 7, np.uint8), np.full(h * w, 7, np.uint8))
            ]
            kinds = [ctypes.c_ssize_t] * 2 + [ctypes.c_void_p] * 3
            ctypes.CFUNCTYPE(None, *kinds)(function)(h, w, *(x.ctypes.data for x in given))
            results.append([x.tobytes() for x in given])
        assert all(x == results[0] for x in results), (h, w)


@pytest.mark.parametrize("target", FLAGS)
def test_loops_that_end_before_they_begin_do_nothing(target: str, tmp_path: Path, guarded: Any) -> None:
    if missing(target):
        pytest.skip(f"this machine has no {target}")
    statement = "b[i] = max(b[i], a[i - 5])"
    text = f"kernel k(n; a: u8[n] distinct, b: u8[n] distinct) {{ for i in 5 .. n {{ {statement} }} }}"
    functions = compiled(text, target, tmp_path)
    for n in (0, 3, 5, 6, 68, 69, 70, 140):
        random = np.random.default_rng(n)
        values = [random.integers(0, 256, n).astype(np.uint8) for _ in "ab"]
        results = []
        for function in functions:
            given = [guarded(x, 0) for x in values]
            ctypes.CFUNCTYPE(None, ctypes.c_ssize_t, *[ctypes.c_void_p] * 2)(function)(
                n, *(x.ctypes.data for x in given)
            )
            results.append([x.tobytes() for x in given])
        assert all(x == results[0] for x in results), n


def _range(type: Any) -> tuple[int, int]:
    signed = str(type).startswith("i")
    return (-(1 << (type.bits - 1)), 1 << (type.bits - 1)) if signed else (0, 1 << type.bits)


def test_scalars_that_would_be_read_where_nothing_runs_are_refused() -> None:
    value = "max(a[i] * f[0], select(i8(a[i]) == i8(a[i]), a[i + 1], f[1]))"
    head = "kernel k(n; a: u8[n + 1] distinct, f: u8[2] distinct, b: u8[n] distinct)"
    kernel = parse_kernel(f"{head} {{ for i in 0 .. n {{ b[i] = {value} }} }}")
    found = list(strip_versions(prepare(kernel), load_target("x86-avx2")))
    assert all(isinstance(x, Remark) for x in found)


def test_what_costs_more_than_plain_lanes_is_refused():
    """A seventh of a sum in 16 bits is found in lanes of 64 bits only: a C compiler does better."""
    total = " + ".join(f"i32(a[i + {k}])" for k in range(7))
    statement = f"b[i] = u16(quo(i32(u16({total})), 7:i32))"
    text = f"kernel k(n; a: u16[n + 6] distinct, b: u16[n] distinct) {{ for i in 0 .. n {{ {statement} }} }}"
    made = list(strip_versions(prepare(parse_kernel(text)), load_target("x86-avx512")))
    assert [x.id for x in made if isinstance(x, Remark)] == ["select-none"] and "lanes of 32 bits" in made[0].message


def test_nests_that_store_under_conditions_stay_as_they_are_without_masked_stores() -> None:
    """A strip stores all lanes; what the original stores to in some iterations alone might be read by others."""
    text = "kernel k(n; a: u8[n] distinct, b: u8[n] distinct) { for i in 0 .. n { b[i] = max(a[i], b[i]) } }"
    prepared, neon = prepare(parse_kernel(text)), load_target("aarch64-neon")
    assert [*strip_versions(prepared, neon)]
    assert all(isinstance(x, Remark) for x in strip_versions(prepared, neon, conditional={"b"}))
