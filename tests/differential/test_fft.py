"""Fourier transforms from their definition in C, built and called beside numpy."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from test_raised_versions import pytestmark as pytestmark

from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file
from planish.run.processes.process import Limits
from planish.run.toolchains.toolchain import choose_compiler, compile_library

TEXT = """\
#include <math.h>
void dft(int b, const TYPE x[b][N][2], TYPE y[b][N][2])
{
    for (int i = 0; i < b; i++)
        for (int k = 0; k < N; k++) {
            TYPE re = 0, im = 0;
            for (int n = 0; n < N; n++) {
                const double a = SIGN * 2 * M_PI * (k * n % N) / N;
                const TYPE c = cos(a), s = sin(a);
                re += x[i][n][0] * c - x[i][n][1] * s;
                im += x[i][n][0] * s + x[i][n][1] * c;
            }
            y[i][k][0] = re;
            y[i][k][1] = im;
        }
}
"""
TYPES = {"float": "float32", "double": "float64"}
EPS = {"float": 2.0**-23, "double": 2.0**-52}


@pytest.mark.parametrize(
    ("size", "kind", "sign"),
    [(3, "double", -1), (8, "float", 1), (30, "double", 1), (64, "float", -1), (77, "double", -1), (360, "float", -1)],
)
def test_a_transform(size: int, kind: str, sign: int, tmp_path: Path) -> None:
    text = TEXT.replace("N", str(size)).replace("SIG" + str(size), str(sign)).replace("TYPE", kind)
    built = build_file(Source("dft.c", text), Options(measure=False))
    (function,) = built.functions
    assert function.selection is not None and function.selection.version is not None, function.remarks
    assert function.selection.version.label.startswith("fft-passes")
    library = compile_library(choose_compiler(None), built.text, ("-O2", "-fopenmp-simd"), tmp_path, Limits(60.0), ())
    for rows in (0, 1, 5):
        x = np.random.default_rng(size).standard_normal((rows, size, 2)).astype(TYPES[kind])
        y = np.full_like(x, np.nan)
        ctypes.CDLL(str(library)).dft(rows, *(ctypes.c_void_p(z.ctypes.data) for z in (x, y)))
        numbers = (x[..., 0] + 1j * x[..., 1]).astype(complex)
        want = np.fft.fft(numbers) if sign < 0 else np.fft.ifft(numbers) * size
        assert (abs(y[..., 0] + 1j * y[..., 1] - want) <= 4 * EPS[kind] * size).all()
