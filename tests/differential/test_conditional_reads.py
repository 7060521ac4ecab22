"""What is read under conditions, in lanes of machines without masked loads: nothing that need not exist is touched."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from compiled import compile_text
from test_masked_strips import Pages
from test_vector_strips import missing

from planish.core.span import Source
from planish.ir.conditional_accesses import read_always
from planish.ir.nest import Assign, Let, Reduce
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import loads, walk
from planish.library.loops.vector_strips.read_ends import between_reads
from planish.options import Options
from planish.pipeline import build_file
from planish.target.load import load_target

MACHINE = "x86-avx2"
TEXT = """
#include <stdint.h>
long both(int n, const uint8_t *m, const uint8_t *x, uint8_t *out)
{
    int count = *out;
    for (int i = n - 1; i >= 0; i--)
        count += m[i] > 7 && x[i] < 99;
    return count;
}
long chosen(int n, const uint8_t *m, const int16_t *x, uint8_t *out)
{
    for (int i = 0; i < n; i++)
        out[i] = m[i] > 7 ? x[i] : m[i] + 1;
    return 0;
}
long wide(int n, const uint8_t *m, const uint8_t *x, uint8_t *out)
{
    long sum = *out;
    for (int i = 0; i < n; i++)
        if (m[i] > 7)
            sum += x[i];
    return sum;
}
"""
FUNCTIONS = {"both": 1, "chosen": 2, "wide": 1}
"""Each function and the bytes of an element that is read under a condition."""
Libraries = tuple[ctypes.CDLL, ctypes.CDLL]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Libraries]:
    if missing(MACHINE):
        pytest.skip("this processor has no AVX2")
    folder: Path = tmp_path_factory.mktemp("reads")
    made = build_file(Source("reads.c", TEXT), Options(measure=False, target=MACHINE))
    assert made.text.count(": vector-strips */") == len(FUNCTIONS) - 1
    # Sums wider than strips have them are lanes of what compilers may read.
    assert "x_read = x[i];" in made.text
    libraries = []
    for name, text in (("original", TEXT), ("ours", made.text)):
        (folder / name).mkdir()
        libraries.append(compile_text(text, folder / name, flags=load_target(MACHINE).flags_for("gcc")))
    yield libraries[0], libraries[1]


@pytest.fixture(scope="module")
def between() -> Iterator[Pages]:
    """A page of data between two that cannot be touched."""
    pages = Pages.of(3 * mmap.PAGESIZE)
    pages.memory.write(np.random.default_rng(1).integers(0, 255, 3 * mmap.PAGESIZE, np.uint8).tobytes())
    outer = [Pages(pages.memory, pages.address + x * mmap.PAGESIZE) for x in (0, 2)]
    protect = ctypes.CDLL(None).mprotect
    for x in outer:
        assert protect(ctypes.c_void_p(x.address), ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    yield pages
    pages.allow(mmap.PROT_READ | mmap.PROT_WRITE)


def results(built: Libraries, name: str, n: int, mask: np.ndarray, address: int) -> list[tuple[int, bytes]]:
    made = []
    for library in built:
        out = np.zeros(n + 1, np.uint8)
        value = getattr(library, name)(n, mask.ctypes, ctypes.c_void_p(address), out.ctypes)
        made.append((value, out.tobytes()))
    return made


@pytest.mark.parametrize("name", FUNCTIONS)
def test_pages_before_and_behind_what_is_read_are_not_touched(built: Libraries, between: Pages, name: str) -> None:
    """Of the array only what lies between its first and its last element that is read exists."""
    size, (before, behind) = FUNCTIONS[name], (37, 90)
    inside = mmap.PAGESIZE // size
    source = np.random.default_rng(2)
    for left, right in ((0, 0), (5, 0), (0, 33), (inside // 2, inside // 2 - 3), (inside, 0)):
        mask = source.integers(0, 8, before + inside + behind).astype(np.uint8)
        held = mask[before + left : before + inside - right]
        held[source.integers(0, 2, len(held)) == 1] = 9
        held[:1], held[-1:] = 8, 8
        start = between.address + mmap.PAGESIZE - before * size
        original, ours = results(built, name, len(mask), mask, start)
        assert original == ours


@pytest.mark.parametrize("name", FUNCTIONS)
def test_few_iterations_and_none(built: Libraries, between: Pages, name: str) -> None:
    for n in (0, 1, 31, 32, 33, 64, 100):
        mask = np.full(n + 1, 20, np.uint8)
        for at in (0, n // 2, n):
            mask[at:] = 0
            original, ours = results(built, name, n, mask, between.address + mmap.PAGESIZE)
            assert original == ours
    assert len(set(results(built, name, 100, np.zeros(100, np.uint8), 0))) == 1


@pytest.mark.parametrize(
    "body",
    [
        "s[] += select(m[i] > 7:u8, x[m[i]], 0:u8)",  # places are data
        "s[] += select(k[] > 7:u8, x[i], 0:u8)",  # the condition is the same in all iterations
        "m[i] = select(m[i] > 7:u8, x[i], 0:u8)",  # what the condition is on changes
        "x[i + 1] = select(m[i] > 7:u8, x[i], 0:u8)",  # what is read changes
        "s[] += select(m[i] > 7:u8, y[i, 0], 0:u8)",  # rows need not be one object
        "f[] += select(m[i] > 7:u8, g[i], 0.0:f32)",  # nothing is gained: floats, whose sum with 0 is another for -0.0
    ],
)
def test_loops_whose_reads_have_no_ends(body: str) -> None:
    arrays = "m: u8[n + 300], x: u8[n + 300], y: u8[n, n], s: u8[] distinct, k: u8[], f: f32[] distinct, g: f32[n]"
    kernel = parse_kernel(f"kernel f(n; {arrays}) {{ for i in 0 .. n {{ {body} }} }}")
    assert between_reads(kernel) == kernel


def test_each_of_two_conditions_has_ends() -> None:
    text = "kernel f(n; m: u8[n], x: u8[n], y: u8[n], z: u8[n]) { for i in 0 .. n { z[i] = %s } }"
    made = between_reads(parse_kernel(text % "select(m[i] > 7:u8, x[i], y[i])"))
    whole = [x for x in walk(made.body) if isinstance(x, Let) and {*loads(x.value)} == {*read_always(x.value)}]
    assert {y.array for x in whole for y in loads(x.value) if y.index} == {"x", "y"}
    assert sum(isinstance(x, Assign | Reduce) and x.array == "z" for x in walk(made.body)) == 3
