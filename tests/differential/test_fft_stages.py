"""Loops that double, or halve, their counter: drop-ins that do several stages at a time beside what is written."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_raised_versions import MARGIN, NATIVE, DropIn, compile_text
from test_raised_versions import pytestmark as pytestmark

from planish.build.read import read_file
from planish.core.span import Source
from planish.emit.c.compiler_attributes import CompilerSettings
from planish.emit.dropin.multiversion_dispatch import replace_by_ladder
from planish.emit.dropin.replacement import Replacement, compose
from planish.library.signal.fft_stages.radix_stages import stage_versions
from planish.options import Options
from planish.pipeline import build_file

TEXT = """\
#include <stddef.h>
#define LENGTH 512
void walsh(float *a, int n)
{
    for (int h = 1; h < n; h *= 2)
        for (int i = 0; i < n; i += 2 * h)
            for (int j = i; j < i + h; j++) {
                float x = a[j], y = a[j + h];
                a[j] = x + y;
                a[j + h] = x - y;
            }
}
void falling(double *a, size_t n)
{
    for (size_t h = n >> 1; h >= 1; h >>= 1)
        for (size_t j = 0; j < h; j++)
            for (size_t i = j; i < n; i += 2 * h) {
                double x = a[i], y = a[i + h];
                a[i] = (x + y) * 0.7;
                a[i + h] = (x - y) * 0.7;
            }
}
void held(double *data, size_t n)
{
    size_t most = 1, step, m, i;
    while (n > most) {
        step = most << 1;
        for (i = 0; i < n; i += step)
            for (m = 0; m < most; m++) {
                double t = 0.5 * data[i + m + most];
                data[i + m + most] = data[i + m] - t;
                data[i + m] += t;
            }
        most = step;
    }
}
void sinking(float *a, int n)
{
    int m = n;
    while (m > 1) {
        int h = m / 2;
        for (int i = 0; i < n; i += m)
            for (int j = i; j < i + h; j++) {
                float x = a[j], y = a[j + h];
                a[j] = x + y;
                a[j + h] = x - y;
            }
        m = h;
    }
}
void counted(int *a, int n)
{
    int s, i, j, h, m = 0;
    while (1 << (m + 1) <= n)
        m++;
    for (s = 0; s < m; s++) {
        h = 1 << s;
        for (i = 0; i < n; i += 2 * h)
            for (j = i; j < i + h; j++) {
                int x = a[j];
                a[j] = 3 * a[j + h] - x;
                a[j + h] += x;
            }
    }
}
void lengths(short *all, int n)
{
    for (int r = 0; r < 2; r++) {
        short *a = all + r * n;
        for (unsigned len = 2; len <= (unsigned)n; len <<= 1) {
            unsigned half = len >> 1;
            for (unsigned i = 0; i + len <= (unsigned)n; i += len)
                for (unsigned j = 0; j < half; j++) {
                    short x = a[i + j], y = a[i + j + half];
                    a[i + j] = x + y;
                    a[i + j + half] = x - y;
                }
        }
    }
}
void rows(size_t n, float a[2][n])
{
    for (size_t h = 1; h < n; h += h)
        for (int r = 0; r < 2; r++)
            for (size_t i = 0; i < n; i += 2 * h)
                for (size_t j = 0; j < h; j++) {
                    float x = a[r][i + j], y = a[r][i + j + h];
                    a[r][i + j] = x + y;
                    a[r][i + j + h] = y - x;
                }
}
void pairs(double *a, double *b, int n)
{
    for (int h = 1; h <= n / 2; h = 2 * h)
        for (int i = 0; i < n; i += 2 * h)
            for (int j = i; j < i + h; j++) {
                double x = a[j], y = b[j + h];
                a[j] = x > y ? x : y;
                b[j + h] = y - b[j];
                a[j + h] -= x;
            }
}
void complex_numbers(float *x, const float *w, int n)
{
    for (int len = 2; len <= n; len <<= 1) {
        int half = len >> 1, step = n / len;
        for (int i = 0; i < n; i += len) {
            float *a = x + 2 * i, *b = a + 2 * half;
            const float *pw = w;
            for (int k = 0; k < half; k++, a += 2, b += 2, pw += 2 * step) {
                float br = b[0] * pw[0] - b[1] * pw[1], bi = b[0] * pw[1] + b[1] * pw[0];
                b[0] = a[0] - br;
                b[1] = a[1] - bi;
                a[0] += br;
                a[1] += bi;
            }
        }
    }
}
void shifted(unsigned *a, const unsigned *w, int n)
{
    int m = 0;
    while (1 << (m + 1) <= n)
        m++;
    for (int s = 1; s <= m; s++) {
        int len = 1 << s, half = len / 2, step = n >> s;
        for (int i = 0; i < n; i += len)
            for (int k = 0; k < half; k++) {
                unsigned t = a[i + k + half] * w[k * step];
                a[i + k + half] = a[i + k] - t;
                a[i + k] += t;
            }
    }
}
void two_counters(double *a, const double *w, int n)
{
    int span, step;
    for (span = n >> 1, step = 1; span > 0; span >>= 1, step <<= 1)
        for (int j = 0; j < span; j++) {
            double c = w[j * step], d = w[2 * j * step];
            for (int i = j; i < n; i += 2 * span) {
                double x = a[i] + a[i + span], y = a[i] - a[i + span];
                a[i] = x;
                a[i + span] = y * c - x * d;
            }
        }
    a[0] += step;
}
void later(float *a, int n)
{
    int h = 1;
    while (h < n) {
        for (int i = 0; i < n; i += 2 * h)
            for (int j = i; j < i + h; j++) {
                float x = a[j];
                a[j] += a[j + h];
                a[j + h] = x - a[j + h];
            }
        h *= 2;
    }
    a[0] += h;
}
void both_later(double *a, const double *w, int n)
{
    int step = n / 2, half;
    for (half = 1; half < n; half *= 2) {
        for (int i = 0; i < n; i += 2 * half)
            for (int j = 0; j < half; j++) {
                double x = a[i + j], y = a[i + j + half] * w[j * step];
                a[i + j] = x + y;
                a[i + j + half] = x - y;
            }
        step >>= 1;
    }
    a[0] += half - 3 * step;
}
void counted_apart(double *a, const double *w, int n)
{
    int n1, n2 = n, ie = 1, ia, i, j, k, m = 0;
    while (1 << (m + 1) <= n)
        m++;
    for (k = 0; k < m; k++) {
        n1 = n2;
        n2 = n2 / 2;
        ia = 0;
        for (j = 0; j < n2; j++) {
            double c = w[ia];
            ia = ia + ie;
            for (i = j; i < n; i += n1) {
                double t = a[i] - a[i + n2];
                a[i] += a[i + n2];
                a[i + n2] = c * t;
            }
        }
        ie = 2 * ie;
    }
    a[0] += n2 - 3 * ie;
}
void halved_apart(float *a, int n)
{
    int n1, n2 = n, k;
    for (k = n; k > 1; k = k >> 1) {
        n1 = n2;
        n2 >>= 1;
        for (int j = 0; j < n2; j++)
            for (int i = j; i < n; i += n1) {
                float t = a[i] - a[i + n2];
                a[i] += a[i + n2];
                a[i + n2] = t;
            }
    }
    a[0] += n2;
}
void seen_before(float *a, int n)
{
    int n1, n2 = n;
    while (n2 > 1) {
        n1 = n2;
        n2 /= 2;
        for (int j = 0; j < n2; j++)
            for (int i = j; i < n; i += n1) {
                float t = a[i] - a[i + n2];
                a[i] += a[i + n2];
                a[i + n2] = t;
            }
    }
    a[0] += n2;
}
void turned_counter(double *a, const double *w, int n)
{
    int half = 1, stride = n >> 1;
    while (stride > 0) {
        for (int g = 0; g < n; g += 2 * half)
            for (int b = 0; b < half; b++) {
                double t = a[g + b + half] * w[b * stride];
                a[g + b + half] = a[g + b] - t;
                a[g + b] += t;
            }
        half <<= 1;
        stride >>= 1;
    }
    a[0] += half;
}
void of_one_length(unsigned *a, const unsigned *w, int n)
{
    if (n < LENGTH)
        return;
    for (int len = 2; len <= LENGTH; len <<= 1) {
        int half = len / 2, step = LENGTH / 2 / half;
        for (int i = 0; i < LENGTH; i += len)
            for (int k = 0; k < half; k++) {
                unsigned t = a[i + k + half] * w[k * step];
                a[i + k + half] = a[i + k] - t;
                a[i + k] += t;
            }
    }
}
void of_nine_stages(unsigned *a, const unsigned *w, int n)
{
    if (n < LENGTH)
        return;
    for (int s = 1; s <= 9; s++) {
        int len = 1 << s, half = len >> 1, step = LENGTH >> s;
        for (int i = 0; i < LENGTH; i += len)
            for (int k = 0; k < half; k++) {
                unsigned t = a[i + k + half] * w[k * step];
                a[i + k + half] = a[i + k] - t;
                a[i + k] += t;
            }
    }
}
void spans(double *a, const double *w, int n)
{
    for (int len = 2; len <= n; len *= 2)
        for (int i = 0; i + len <= n; i += len)
            for (int k = 0; k < len / 2; k++) {
                double t = a[i + k + len / 2] * w[k * (n / len)];
                a[i + k + len / 2] = a[i + k] - t;
                a[i + k] += t;
            }
}
void strides(float *a, const float *w, int n)
{
    for (int h = n / 2; h > 0; h >>= 1)
        for (int i = 0; i + 2 * h <= n; i += 2 * h)
            for (int k = 0; k < h; k++) {
                float x = a[i + k], y = a[i + k + h];
                a[i + k] = x + y;
                a[i + k + h] = (x - y) * w[k * (n / 2 / h)];
            }
}
void fractions(double *a, const double *w, int n)
{
    for (int len = 2; len <= n; len *= 2)
        for (int i = 0; i + len <= n; i += len)
            for (int k = 0; k < len / 2; k++) {
                double t = a[i + k + len / 2] * w[k * n / len];
                a[i + k + len / 2] = a[i + k] - t;
                a[i + k] += t;
            }
}
void fractions_of_pairs(float *a, const float *w, int n)
{
    for (int h = 1; h < n; h <<= 1)
        for (int i = 0; i + 2 * h <= n; i += 2 * h)
            for (int k = 0; k < h; k++) {
                float t = a[i + k + h] * w[n * k / (2 * h)];
                a[i + k + h] = a[i + k] - t;
                a[i + k] += t;
            }
}
"""
TYPES = {"walsh": "f4", "falling": "f8", "counted": "i4", "lengths": "i2", "rows": "f4", "pairs": "f8"}
TYPES |= {"complex_numbers": "f4", "shifted": "u4", "two_counters": "f8", "of_one_length": "u4", "of_nine_stages": "u4"}
TYPES |= {"later": "f4", "both_later": "f8", "counted_apart": "f8", "halved_apart": "f4", "turned_counter": "f8"}
TYPES |= {"seen_before": "f4", "held": "f8", "sinking": "f4", "spans": "f8", "strides": "f4"}
TYPES |= {"fractions": "f8", "fractions_of_pairs": "f4"}
OF_TWO = ("pairs", "complex_numbers", "shifted", "two_counters", "both_later", "counted_apart", "turned_counter")
OF_TWO += ("of_one_length", "of_nine_stages", "spans", "strides", "fractions", "fractions_of_pairs")
"""Functions of two arrays."""
NUMBERS = (0, 1, 2, 3, 4, 8, 12, 16, 32, 48, 64, 96, 512, 1024, 2048)
Vector = np.ndarray[Any, Any]


def tallied(made: Replacement) -> Replacement:
    """What counts how often a stage is done as it is written."""
    head, found, tail = made.patch.text.rpartition("} else {")
    return replace(made, patch=replace(made.patch, text=f"{head}{found} fallbacks++;{tail}"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[DropIn, DropIn]:
    """The loops as they are written, and the most promising versions of them."""
    folder = tmp_path_factory.mktemp("stages")
    file, made = read_file(Source("stages.c", TEXT), Options(fp="strict")), []
    for region in (x for f in file.functions for x in f.regions):
        version = stage_versions(region, NATIVE)[0][0]
        ladder = replace_by_ladder(
            region, version, TEXT, True, "stages", frozenset(), settings=CompilerSettings("strict")
        )
        made.append(tallied(ladder))
    assert len(made) == len(TYPES)
    text = "int fallbacks;\n" + compose(TEXT, made, "")
    plain, blocks = ((x, (), folder / name, folder) for x, name in ((TEXT, "plain"), (text, "made")))
    return compile_text(*plain, level="-O1"), compile_text(*blocks, level="-O1")


def run(library: DropIn, name: str, number: int, near: int | None = None) -> Vector:
    """What a function leaves in two arrays, or one that is twice as long, and behind them."""
    count = 4 * max(number, 2)
    whole: Vector = np.full(2 * count + 2 * MARGIN, 7, TYPES[name])
    whole[MARGIN:-MARGIN] = np.random.default_rng(number).integers(-99, 99, 2 * count)
    if name == "complex_numbers":
        # Sums of whole numbers are exact, whether or not a compiler adds products without rounding them.
        whole[MARGIN + count :] = np.sign(whole[MARGIN + count :])
    elif TYPES[name][0] == "f":
        whole[MARGIN:-MARGIN] /= 7
    at = whole.ctypes.data + MARGIN * whole.itemsize
    second = at + whole.itemsize * (count if near is None else near)
    count_of = ctypes.c_size_t(number)
    arrays = [ctypes.c_void_p(x) for x in ((at, second) if name in OF_TWO else (at,))]
    getattr(library.library, name)(*((count_of, *arrays) if name == "rows" else (*arrays, count_of)))
    return whole


@pytest.mark.parametrize("name", TYPES)
def test_all_numbers_are_the_same(name: str, built: tuple[DropIn, DropIn]) -> None:
    plain, made = built
    for number in NUMBERS:
        before = made.fallbacks
        assert np.array_equal(run(plain, name, number), run(made, name, number)), number
        power = number & (number - 1) == 0
        assert not power or made.fallbacks == before, number


@pytest.mark.parametrize("name", OF_TWO)
def test_overlapping_arrays_are_done_as_written(name: str, built: tuple[DropIn, DropIn]) -> None:
    plain, made = built
    before = made.fallbacks
    near = 29 if name == "complex_numbers" else 3
    stages = 9 if name.startswith("of_") else 4
    want, got = (run(x, name, 1 << stages, near) for x in (plain, made))
    assert np.allclose(got, want, 1e-4, 1e-4 * np.abs(want).max())
    assert made.fallbacks == before + stages


def test_a_transform_of_one_length_is_called_with_as_much() -> None:
    """Nothing but the text says how long its arrays are."""
    text = "#define LENGTH 4096\n" + TEXT[TEXT.index("void of_one_length") : TEXT.index("void of_nine_stages")]
    text = text.replace(", int n)", ")").replace("    if (n < LENGTH)\n        return;\n", "")
    (function,) = build_file(Source("once.c", text), Options(measure=False)).functions
    assert function.selection is not None and function.selection.version is not None
    assert function.selection.version.label.startswith("fft-radix")
