"""Loops that reverse the digits of numbers: drop-ins that exchange squares beside what is written."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from test_raised_versions import MARGIN, DropIn, compile_text, counted
from test_raised_versions import pytestmark as pytestmark

from planish.build.read import read_file
from planish.core.span import Source
from planish.emit.dropin.multiversion_dispatch import replace_by_ladder
from planish.emit.dropin.replacement import compose
from planish.ir.semantics.interpreter import run_kernel
from planish.library.signal.bit_reversal import reversal_versions
from planish.options import Options

TEXT = """\
void textbook(float *a, float *b, int n)
{
    int i, j, k;
    (void)b;
    for (i = 0, j = 0; i < n - 1; i++) {
        if (i < j) {
            float t = a[i];
            a[i] = a[j];
            a[j] = t;
        }
        for (k = n >> 1; k <= j; k >>= 1)
            j -= k;
        j += k;
    }
}
void bits(double *a, double *b, int n)
{
    (void)b;
    for (int i = 1, j = 0; i < n; i++) {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            double t = a[2 * i], u = a[1 + 2 * i];
            a[2 * i] = a[j << 1];
            a[2 * i + 1] = a[2 * j + 1];
            a[2 * j] = t;
            a[2 * j + 1] = u;
        }
    }
}
void entry(short *a, short *b, int n)
{
    int i, j = n & 1, k;
    for (i = 0; i <= n - 1; ++i) {
        if (j > i) {
            short t;
            t = a[i]; a[i] = a[j]; a[j] = t;
            t = b[j]; b[j] = b[i]; b[i] = t;
        }
        k = n / 2;
        while (k >= 1 && j >= k) {
            j = j - k;
            k = k / 2;
        }
        j = k + j;
    }
}
void fours(float *a, float *b, int n)
{
    long i, j, k;
    for (i = 0, j = 0; i < n - 1; i += 1) {
        if (i < j) {
            float t = a[i], u = b[i];
            a[i] = a[j]; b[i] = b[j];
            b[j] = u; a[j] = t;
        }
        for (k = n >> 2; 3 * k <= j; k >>= 2)
            j -= 3 * k;
        j += k;
    }
}
void sixteens(int *a, int *b, int n)
{
    (void)b;
    long i, j;
    for (i = 0, j = 0; i < n - 1; i++) {
        if (i < j) {
            int re = a[2 * i], im = a[2 * i + 1];
            a[2 * i] = a[2 * j];
            a[2 * i + 1] = a[2 * j + 1];
            a[2 * j] = re;
            a[2 * j + 1] = im;
        }
        long k = n / 16;
        while (k && k * 15 <= j) {
            j -= 15 * k;
            k /= 16;
        }
        j += k;
    }
}
void each(float *a, float *b, int n)
{
    int m = 0;
    (void)b;
    while (1 << m < n)
        m++;
    for (int i = 0; i < n; i++) {
        int r = 0;
        for (int k = 0; k < m; k++)
            if (i & (1 << k))
                r |= 1 << (m - 1 - k);
        if (r > i) {
            float t = a[i];
            a[i] = a[r];
            a[r] = t;
        }
    }
}
void shifted(char *a, char *b, int n)
{
    for (int i = 0; i < n; i++) {
        int r = 0, left = i;
        for (int m = 1; m < n; m <<= 1, left /= 2)
            r = 2 * r + left % 2;
        b[2 * i] = a[2 * r];
        b[2 * i + 1] = a[2 * r + 1];
    }
}
void scattered(double *a, double *b, int n)
{
    for (unsigned i = 0; i != (unsigned)n; i++) {
        unsigned r = 0;
        for (unsigned m = 1, h = n / 2; h; m += m, h >>= 1)
            r += i & m ? h : 0;
        b[r] = a[i];
    }
}
"""
TYPES = {"textbook": "f4", "bits": "f8", "entry": "i2", "fours": "f4", "sixteens": "i4", "each": "f4",
         "shifted": "i1", "scattered": "f8"}  # fmt: skip
BASES = {"fours": 4, "sixteens": 16}
NUMBERS = (4, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 65536, 1 << 20)
"""From the last one on, threads are started."""
Vector = np.ndarray[Any, Any]


@pytest.fixture(scope="module", params=[1, 2])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[DropIn, DropIn]:
    """The loops as they are written, and exchanges of squares, by one thread or two."""
    folder = tmp_path_factory.mktemp("reversals")
    file, made = read_file(Source("reversals.c", TEXT), Options(fp="strict")), []
    threads: int = request.param
    for region in (x for f in file.functions for x in f.regions):
        (version,), _ = reversal_versions(region, threads)
        made.append(
            counted(
                replace_by_ladder(region, version, TEXT, True, "reversal", frozenset(), threads=threads > 1)
            )
        )  # fmt: skip
    assert len(made) == len(TYPES)
    text = "int fallbacks;\n" + compose(TEXT, made, "")
    return compile_text(TEXT, (), folder / "plain", folder), compile_text(text, (), folder / "made", folder, None, True)


def run(library: DropIn, name: str, number: int, near: int | None = None) -> Vector:
    """What a function leaves in two arrays, and around them; the second one begins `near` the first one."""
    count = 2 * max(number, 2)
    whole: Vector = np.full(2 * count + 2 * MARGIN, 7, TYPES[name])
    whole[MARGIN:-MARGIN] = np.arange(2 * count) % 30011
    at = whole.ctypes.data + MARGIN * whole.itemsize
    second = at + whole.itemsize * (count if near is None else near)
    getattr(library.library, name)(ctypes.c_void_p(at), ctypes.c_void_p(second), ctypes.c_int(number))
    return whole


@pytest.mark.parametrize("name", TYPES)
def test_all_elements_are_where_they_belong(name: str, built: tuple[DropIn, DropIn]) -> None:
    plain, made = built
    base = BASES.get(name, 2)
    powers = [base**x for x in range(20)]
    for number in NUMBERS:
        if number not in powers:
            continue  # where it is none, some of these go on for ever
        before = made.fallbacks
        assert np.array_equal(run(plain, name, number), run(made, name, number)), number
        assert (made.fallbacks == before) == (number >= 256), number


@pytest.mark.parametrize("number", [0, 1, 255, 257, 300, 768])
def test_what_is_no_power_is_done_as_written(number: int, built: tuple[DropIn, DropIn]) -> None:
    plain, made = built
    before = made.fallbacks
    assert np.array_equal(run(plain, "bits", number), run(made, "bits", number))
    assert made.fallbacks == before + 1


def test_a_number_that_begins_elsewhere_is_done_as_written(built: tuple[DropIn, DropIn]) -> None:
    """`entry` begins with the second number at 1 where there is an odd number of elements, which is no power of two."""
    plain, made = built
    before = made.fallbacks
    assert np.array_equal(run(plain, "entry", 301), run(made, "entry", 301))
    assert made.fallbacks == before + 1


def test_overlapping_arrays_are_done_as_written(built: tuple[DropIn, DropIn]) -> None:
    plain, made = built
    before = made.fallbacks
    assert np.array_equal(run(plain, "fours", 1024, 100), run(made, "fours", 1024, 100))
    assert made.fallbacks == before + 1
    for near in (0, 1, 511):
        assert np.array_equal(run(plain, "scattered", 512, near), run(made, "scattered", 512, near))
    assert made.fallbacks == before + 4


@pytest.mark.parametrize("name", TYPES)
def test_kernels_mean_what_loops_do(name: str, built: tuple[DropIn, DropIn]) -> None:
    """The interpreter runs the kernel that was read, and the squares."""
    number = {"sixteens": 4096, "fours": 1024}.get(name, 512)
    (region,) = next(x for x in read_file(Source("a.c", TEXT), Options()).functions if x.name == name).regions
    (version,), _ = reversal_versions(region)
    want = run(built[0], name, number)[MARGIN:-MARGIN]
    for kernel in (region.kernel, version.pieces[0].kernel):
        whole = (np.arange(len(want)) % 30011).astype(want.dtype)
        parts = dict(zip(("a", "b"), np.split(whole, 2), strict=True))
        run_kernel(kernel, {"tiles": number // 256, **{x.name: parts[x.name] for x in kernel.arrays}})
        assert np.array_equal(whole, want)
