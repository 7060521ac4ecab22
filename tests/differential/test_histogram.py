"""Histograms in tables, compiled, with what lies around their arrays, beside the loops as written."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import numpy as np
import pytest
from test_raised_versions import MARGIN, NATIVE, DropIn, compile_text, counted
from test_raised_versions import pytestmark as pytestmark

from planish.build.emit import make_replacement
from planish.build.read import read_file
from planish.core.span import Source
from planish.emit.dropin.replacement import compose
from planish.library.loops.histogram import counting_versions
from planish.options import Options
from planish.schedule.auto.plan import prepare

TEXT = """\
typedef unsigned char byte;
void bytes(int n, const byte *restrict x, const int *restrict w, int *restrict h)
{
    (void)w;
    while (n-- > 0) h[*x++]++;
}
void weights(int n, const byte *restrict x, const int *restrict w, int *restrict h)
{
    for (int i = 1; i < n; i++) h[x[i] >> 1] += w[i];
}
void pairs(int n, const byte *restrict x, const int *restrict w, int *restrict h)
{
    for (int i = 0; i < n / 2; i++) {
        h[x[2 * i]] -= 3;
        h[x[2 * i + 1] & 7] += w[i];
    }
}
static byte mixed(byte v, int by)
{
    byte t = v;
    t -= by >> 5;
    if (t > 200) t /= 2;
    return t;
}
void called(int n, const byte *restrict x, const int *restrict w, int *restrict h)
{
    for (int i = 0; i < n; i++) h[mixed(x[i], w[i])]++;
}
void masked(int n, const byte *restrict x, const int *restrict w, int *restrict h)
{
    for (int i = 0; i < n; i++) if (w[i] > 0) h[x[i]]++;
}
void sides(int n, const byte *restrict x, const int *restrict w, int *restrict h)
{
    for (int i = 0; i < n; i++) { if (x[i] & 1) h[x[i] >> 1] += w[i]; else if (x[i] > 9) h[128 + (x[i] & 15)]--; }
}
void skipped(int n, const byte *restrict x, const int *restrict w, int *restrict h)
{
    for (int i = 0; i < n; i++) {
        if (w[i] == 0 || i % 3 == 0) continue;
        int b = x[i] >> 4;
        h[b] += w[i] & 255;
    }
}
void letters(int n, const byte *restrict x, const int *restrict w, int *restrict h)
{
    for (int i = 0; i < n; i++) {
        char c = x[i];
        if (c >= 'a' && c <= 'z') h[c - 'a'] += w[i];
        else if (!(c < 'A') && 'Z' >= c) { h[c - 'A']++; h[c - 'A' + 26] -= w[i]; }
    }
}
void clamped(int n, const byte *restrict x, const int *restrict w, int *restrict h)
{
    for (int i = 0; i < n; i++) {
        int k = w[i] / 1000003 - (x[i] & 1), g = w[i];
        if (k < 0) k = 0;
        else if (k > 99) k = 99;
        h[k]++;
        if (g < 100 || g > 355) continue;
        h[g - 100] += 5;
    }
}
void again(int n, const byte *restrict x, const int *restrict w, int *restrict h)
{
    for (int i = 0; i < n; i++) {
        int k = x[i] & 63;
        k = (k * 3 + 1) & 63;
        h[k] += w[i];
        unsigned d = x[i] - '0';
        if (d < 10) h[200 + d]--;
    }
}
void ranged(int n, const byte *restrict x, const int *restrict w, int *restrict h)
{
    for (int i = 0; i < n; i++) {
        int b = (int)(w[i] * 0.0000001f) + 60;
        if (b >= 0 && b < 200) h[b] += x[i];
    }
}
void within(int n, const byte *restrict x, const int *restrict w, int *restrict h)
{
    for (int i = 0; i < n; i++) if (x[i] && (unsigned)(w[i] >> 20) < 99u) h[(w[i] >> 20) + 150] -= 2;
}
void apart(int n, const byte *restrict x, const int *restrict w, int *restrict h)
{
    for (int i = 0; i < n; i++) { long b = w[i] - (long)x[i]; if (b < 1 || 250 <= b) continue; h[b + 5]++; }
}
"""
SIZES = (0, 1, 2, 3, 5, 8, 130, 2049, 8191, 8192, 300_001)


def make(threads: int, folder: Path) -> DropIn:
    """The drop-in for some threads, which counts the calls that it leaves to the loops as they are written."""
    source, options, made = Source("counts.c", TEXT), Options(threads=threads), []
    for region in (x for f in read_file(source, options).functions for x in f.regions):
        prepared = prepare(region.kernel)
        version = counting_versions(region.kernel, prepared, NATIVE, threads)[0]
        made.append(counted(make_replacement(region, prepared, version, source, options)))
    text = "int fallbacks;\n" + compose(TEXT, made, "")
    return compile_text(text, (), folder / "made", folder, threads=threads > 1)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_counts_in_tables(threads: int, tmp_path: Path) -> None:
    plain, built = compile_text(TEXT, (), tmp_path / "plain", tmp_path), make(threads, tmp_path)
    assert "_tables" in built.text
    for name in re.findall(r"^void (\w+)", TEXT, re.MULTILINE):
        for n in SIZES:
            results = []
            for made in (plain, built):
                random = np.random.default_rng(n)
                x = random.integers(0, 256, max(n, 1)).astype(np.uint8)
                w = random.integers(-(2**31), 2**31, max(n, 1)).astype(np.int32)
                w[::3] &= 511
                h = np.full(256 + 2 * MARGIN, 7, np.int32)
                places = (x.ctypes.data, w.ctypes.data, h.ctypes.data + 4 * MARGIN)
                getattr(made.library, name)(n, *map(ctypes.c_void_p, places))
                results.append(h)
            assert (results[0] == results[1]).all(), (name, n)
    assert built.fallbacks == 0



def test_what_no_condition_asks_for_is_not_there(tmp_path: Path) -> None:
    plain, built = compile_text(TEXT, (), tmp_path / "plain", tmp_path), make(1, tmp_path)
    none, h = np.zeros(9000, np.int32), np.zeros(256 + 2 * MARGIN, np.int32)
    for made in (plain, built):
        made.library.masked(9000, None, ctypes.c_void_p(none.ctypes.data), ctypes.c_void_p(h.ctypes.data + 4 * MARGIN))
    assert not h.any()
