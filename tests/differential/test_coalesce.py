"""Rows of few columns as one loop, compiled beside the loops as they are: from no row to several blocks and what is
left, with operands of every kind that recur in each row; and loops that only seem to be such."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from compiled import compile_text
from test_vector_strips import compiled, missing

from planish.emit.c.kernel_text import emit_function
from planish.emit.c.prologue import emit_prologue
from planish.ir.expr import Expr
from planish.ir.index.evaluate import evaluate
from planish.ir.text.parser import parse_kernel
from planish.library.loops.coalesce.coalesced import coalesce

WIDTHS = (128, 512)
ROWS = {
    "bias of 3": ("a: u8[n, 3], b: u8[3]", 3, "a[i, c] = u8(min(i32(a[i, c]) + i32(b[c]), 255:i32))"),
    "scale and shift of 4": ("a: f32[n, 4], s: f32[4], t: f32[4]", 4, "a[i, c] = a[i, c] * s[c] + t[c]"),
    "key of 8": ("a: i8[8 * n], b: i8[8]", 8, "a[8 * i + c] ^= i8(i32(b[c]) + 1:i32)"),
    "rows of 5 added": ("a: i16[n, 5], b: i16[n, 5], r: i16[5]", 5, "b[i, c] = a[i, c] - r[4 - c]"),
    "thresholds of 16": (
        "a: u8[n, 16], t: u8[16]", 16, "a[i, c] = select(i32(a[i, c]) < i32(t[c]), 0:u8, a[i, c])",
    ),
    "one column kept": ("a: u8[n, 4], b: u8[n, 4]", 4, "b[i, c] = select(c == 3, a[i, c], 255:u8 - a[i, c])"),
    "number of the column": ("a: f64[n, 6]", 6, "a[i, c] = a[i, c] + f64(c)"),
    "nothing recurs": ("a: u8[n, 7], b: u8[n, 7]", 7, "b[i, c] = a[i, c] ^ 129:u8"),
    "table of a table": ("a: u16[n, 3], q: u8[3], b: u16[256]", 3, "a[i, c] += b[q[c]]"),
    "doubles of a bound": ("a: f64[n, 2], l: f64[2], h: f64[2]", 2, "a[i, c] = min(max(a[i, c], l[c]), h[c])"),
    "any columns": ("a: f32[n, m], s: f32[m]", 0, "a[i, c] *= s[c]"),
    "any columns of bytes": ("a: u8[n * m], s: u8[m]", 0, "a[i * m + c] += s[c]"),
}  # fmt: skip
ELEMENTS = {
    "key": ("a: u8[n], k: u8[4]", "a[i] ^= k[i % 4]"),
    "key of 7": ("a: u8[n], k: u8[7]", "a[i] = a[i] ^ k[(i % 7)] ^ 3:u8"),
    "two tables": ("a: i32[n], s: i32[3], t: i32[3]", "a[i] = a[i] * s[i % 3] + t[i % 3]"),
    "dithered": ("a: u8[n], d: u8[8]", "a[i] = select(a[i] > d[i % 8], 255:u8, 0:u8)"),
}
COLUMNS = (1, 2, 3, 8, 33, 128, 129)


def kernels() -> dict[str, tuple[str, tuple[int, ...]]]:
    """The text of each kernel, and the numbers of columns that it is run with."""
    made = {}
    for name, (arrays, columns, body) in ROWS.items():
        head, bound = ("n", str(columns)) if columns else ("n, m", "m")
        text = f"kernel k({head}; {distinct(arrays)}) {{ for i in 0 .. n {{ for c in 0 .. {bound} {{ {body} }} }} }}"
        made[name] = text, (0,) if columns else COLUMNS
    for name, (arrays, body) in ELEMENTS.items():
        for first in (0, 5):
            text = f"kernel k(n; {distinct(arrays)}) {{ for i in {first} .. n {{ {body} }} }}"
            made[f"{name} from {first}"] = text, (0,)
    return made


def distinct(arrays: str) -> str:
    return arrays.replace("]", "] distinct")


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    """The address of each kernel as it is, and coalesced for vectors of several widths; in one library."""
    texts, names = [], {}
    for at, (name, (text, _)) in enumerate(kernels().items()):
        kernel = parse_kernel(text)
        names[name] = [f"plain_{at}"]
        texts.append(emit_function(kernel, f"plain_{at}", noalias=True))
        for bits in WIDTHS:
            made = coalesce(kernel, bits)
            assert made is not None, name
            names[name].append(f"flat_{at}_{bits}")
            texts.append(emit_function(made.kernel, f"flat_{at}_{bits}", noalias=True))
    every = [x for found in names.values() for x in found]
    exports = "".join(f"void *get_{x}(void) {{ return (void *){x}; }}\n" for x in every)
    library = compile_text(emit_prologue(texts) + exports, tmp_path_factory.mktemp("coalesce"), flags=("-O2", "-w"))
    found = {}
    for x in every:
        getter = getattr(library, f"get_{x}")
        getter.restype = ctypes.c_void_p
        found[x] = getter()
    return {name: [found[x] for x in each] for name, each in names.items()}


def extent(shape: tuple[Expr | None, ...], sizes: dict[str, int]) -> int:
    count = 1
    for x in shape:
        assert x is not None
        count *= evaluate(x, sizes)
    return count


def run(text: str, addresses: list[int], sizes: dict[str, int], guarded: Any) -> list[list[bytes]]:
    """What each function leaves in all arrays."""
    kernel, random = parse_kernel(text), np.random.default_rng(sum(sizes.values()))
    values = []
    for x in kernel.arrays:
        count, kind = extent(x.shape, sizes), np.dtype(x.type.numpy)
        if x.type.is_float:
            values.append(random.normal(size=count).astype(kind))
        else:
            values.append(random.integers(np.iinfo(kind).min, np.iinfo(kind).max, count, kind, endpoint=True))
    results = []
    for address in addresses:
        given = [guarded(x, 0) for x in values]
        kinds = [ctypes.c_ssize_t] * len(kernel.sizes) + [ctypes.c_void_p] * len(given)
        ctypes.CFUNCTYPE(None, *kinds)(address)(*(sizes[x] for x in kernel.sizes), *(x.ctypes.data for x in given))
        results.append([x.tobytes() for x in given])
    return results


@pytest.mark.parametrize("name", kernels())
def test_flat_loops_are_the_same(name: str, functions: dict[str, list[int]], guarded: Any) -> None:
    text, columns = kernels()[name]
    for m in columns:
        for n in (0, 1, 3, 31, 64, 65, 257, 517):
            results = run(text, functions[name], {"n": n, "m": m}, guarded)
            assert all(x == results[0] for x in results), (n, m)


@pytest.mark.parametrize("name", ["bias of 3", "key of 8", "thresholds of 16", "any columns of bytes", "key from 5"])
def test_flat_loops_in_strips_are_the_same(name: str, tmp_path: Any, guarded: Any) -> None:
    if missing("x86-avx512"):
        pytest.skip("this machine has no x86-avx512")
    text, columns = kernels()[name]
    addresses = compiled(text, "x86-avx512", tmp_path)
    for m in columns:
        for n in (0, 1, 31, 64, 257, 517):
            results = run(text, addresses, {"n": n, "m": m}, guarded)
            assert all(x == results[0] for x in results), (n, m)


@pytest.mark.parametrize(
    ("arrays", "body"),
    [
        ("a: u8[n, 3], b: u8[n]", "a[i, c] += b[i]"),
        ("a: u8[n, 3], b: u8[3]", "b[c] = a[i, c]"),
        ("a: u8[n + 1, 3], b: u8[3]", "a[i + 1, c] = a[i, c] + b[c]"),
        ("a: u8[n, 4], b: u8[3]", "a[i, c] = a[i, c] + b[c]"),
        ("a: u8[n, 3], b: u8[?]", "a[i, c] = select(a[i, c] > 9:u8, b[c], 0:u8)"),
        ("a: u8[3, n], b: u8[3]", "a[c, i] += b[c]"),
        ("a: u8[n, 3], b: u8[3]", "if a[i, c] > 3:u8 { a[i, c] = b[c] }"),
        ("a: u8[n, 3], b: u8[3], q: u8[n]", "a[i, c] = b[q[i]]"),
    ],
)
def test_others_are_left_as_they_are(arrays: str, body: str) -> None:
    kernel = parse_kernel(f"kernel k(n; {distinct(arrays)}) {{ for i in 0 .. n {{ for c in 0 .. 3 {{ {body} }} }} }}")
    assert coalesce(kernel, 512) is None


def test_nests_beside_it_are_not_left_in_their_order() -> None:
    rows = "for i in 0 .. n { for c in 0 .. 3 { a[i, c] = a[i, c] - b[c] } }"
    sums = "for c in 0 .. 3 { for j in 0 .. n { b[c] = b[c] + a[j, c] } }"
    head = f"kernel k(n, m; {distinct('a: f32[n, 3], b: f32[3]')})"
    assert coalesce(parse_kernel(f"{head} {{ {sums} {rows} }}"), 512) is None
    for plain in (rows, f"for t in 0 .. m {{ {rows} }}", f"for c in 0 .. 3 {{ b[c] = 0.5:f32 }} {rows}"):
        assert coalesce(parse_kernel(f"{head} {{ {plain} }}"), 512) is not None
