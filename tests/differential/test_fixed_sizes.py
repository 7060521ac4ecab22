"""Matrices of fixed sizes that are lines of memory in C, `a[i * 96 + j]`: the library has kernels for them, too."""

from __future__ import annotations

import pytest
from test_raised_versions import pytestmark as pytestmark
from tests.property.sampling import slow

from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file

PROGRAMS = {
    "product": """
        for (int i = 0; i < 70; i++)
            for (int j = 0; j < 90; j++)
                for (int k = 0; k < 96; k++)
                    z[i * 96 + j] += x[i * 96 + k] * y[k * 96 + j];""",
    "transposition": """
        for (int i = 0; i < 130; i++)
            for (int j = 0; j < 150; j++)
                z[j * 130 + i] = x[i * 150 + j];""",
    "convolution": """
        for (int o = 0; o < 6; o++)
            for (int r = 0; r < 22; r++)
                for (int c = 0; c < 22; c++) {
                    float s = 0;
                    for (int l = 0; l < 5; l++)
                        for (int i = 0; i < 3; i++)
                            for (int j = 0; j < 3; j++)
                                s += x[(l * 24 + r + i) * 24 + c + j] * y[((o * 5 + l) * 3 + i) * 3 + j];
                    z[(o * 22 + r) * 22 + c] = s;
                }""",
    "steps": """
        for (int o = 0; o < 16; o++)
            for (int r = 0; r < 13; r++)
                for (int c = 0; c < 13; c++)
                    for (int l = 0; l < 7; l++)
                        for (int i = 0; i < 3; i++)
                            for (int j = 0; j < 3; j++)
                                z[(o * 13 + r) * 13 + c] += x[(l * 28 + 2 * r + i) * 28 + 2 * c + j]
                                    * y[((o * 7 + l) * 3 + i) * 3 + j];""",
    "factorisation": """
        for (int i = 0; i < 100; i++) {
            for (int j = 0; j < i; j++) {
                for (int k = 0; k < j; k++)
                    z[i * 100 + j] -= z[i * 100 + k] * z[j * 100 + k];
                z[i * 100 + j] /= z[j * 100 + j];
            }
            for (int k = 0; k < i; k++)
                z[i * 100 + i] -= z[i * 100 + k] * z[i * 100 + k];
            z[i * 100 + i] = sqrt(z[i * 100 + i]);
        }""",
}


@pytest.mark.parametrize("name", [slow(x) if x == "steps" else x for x in PROGRAMS])
def test_the_library_does_it(name: str) -> None:
    type = "double" if name == "factorisation" else "float"
    head = f"#include <math.h>\nvoid f(const {type} *restrict x, const {type} *restrict y, {type} *restrict z)"
    (function,) = build_file(Source("fixed.c", f"{head}\n{{{PROGRAMS[name]}\n}}\n"), Options(measure=False)).functions
    assert function.selection is not None and function.selection.version is not None, function.remarks
    assert function.selection.version.label == "operations"
    assert function.selection.verdict is not None and function.selection.verdict.status == "ok"
