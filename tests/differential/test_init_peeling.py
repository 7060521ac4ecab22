"""The greatest and the least of floats, found in lanes, are what C finds one by one, also where there are NaNs."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file

EXTREMA = """\
void extrema(int n, float *restrict x, float *restrict out)
{
    float most = x[0], least = x[0], other = x[0];
    for (int i = 1; i < n; i++)
        most = x[i] > most ? x[i] : most;
    for (int i = 1; i < n; i++)
        if (x[i] < least)
            least = x[i];
    for (int i = 1; i < n; i++)
        other = other > x[i] ? other : x[i];
    out[0] = most;
    out[1] = least;
    out[2] = other;
}
"""
COLUMNS = """\
void columns(int n, int m, const float *restrict A, float *restrict t)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            t[j] = A[i * m + j] > t[j] ? A[i * m + j] : t[j];
}
"""
FLAGS = ("-O3", "-fopenmp-simd", "-shared", "-fPIC", "-w")

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here")


def compiled(text: str, place: Path, name: str) -> ctypes.CDLL:
    (place / f"{name}.c").write_text(text)
    subprocess.run(["gcc", *FLAGS, f"{name}.c", "-o", f"{name}.so", "-lm"], cwd=place, check=True)
    return ctypes.CDLL(str(place / f"{name}.so"))


def test_extrema_in_lanes(tmp_path: Path) -> None:
    result = build_file(Source("extrema.c", EXTREMA), Options(measure=False))
    assert re.search(r"planish_max_\d+_f32\(most", result.text)
    assert re.search(r"planish_min_\d+_f32\(least", result.text)
    # The third is another one where there is a NaN: it stays as it is written.
    assert "_lanes" not in result.text.partition("*other = ")[2].partition("}")[0]
    mine, original = compiled(result.text, tmp_path, "mine"), compiled(EXTREMA, tmp_path, "original")
    random = np.random.default_rng(1)
    for n in (1, 2, 15, 64, 1000):
        for nans in ((), (0,), (n - 1,), (n // 2,), range(n), range(1, n)):
            x = random.uniform(-1, 1, n).astype("float32")
            x[list(nans)] = np.nan
            x[random.integers(n)] *= np.float32(np.inf)
            found = [np.zeros(3, "float32") for _ in "ab"]
            for library, out in zip((mine, original), found, strict=True):
                library.extrema(n, ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(out.ctypes.data))
            assert np.array_equal(*found, equal_nan=True), (n, nans)


@pytest.mark.parametrize("fp", ["strict", "reassociate"])
def test_extrema_in_register_strips(fp: Literal["strict", "reassociate"], tmp_path: Path) -> None:
    result = build_file(Source("columns.c", COLUMNS), Options(measure=False, fp=fp))
    mine, original = compiled(result.text, tmp_path, "mine"), compiled(COLUMNS, tmp_path, "original")
    random = np.random.default_rng(2)
    for n, m in ((1, 1), (8, 16), (9, 17), (31, 33), (64, 5)):
        for share in (0.0, 0.1, 1.0):
            a = random.uniform(-1, 1, (n, m)).astype("float32")
            a[random.uniform(size=(n, m)) < share] = np.nan
            start = random.uniform(-1, 1, m).astype("float32")
            start[random.uniform(size=m) < share] = np.nan
            found = [start.copy(), start.copy()]
            for library, out in zip((mine, original), found, strict=True):
                library.columns(n, m, ctypes.c_void_p(a.ctypes.data), ctypes.c_void_p(out.ctypes.data))
            assert np.array_equal(*found, equal_nan=True), (n, m, share)


def test_strict_floats_stay_in_their_order() -> None:
    result = build_file(Source("extrema.c", EXTREMA), Options(measure=False, fp="strict"))
    assert "reduction(" not in result.text
