"""Sums along several rows at a time, compiled, with what lies around their arrays, beside the loops as written."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from test_raised_versions import NATIVE, DropIn, compile_both, enclosed
from test_raised_versions import pytestmark as pytestmark
from tests.property.sampling import slow

from planish.library.dense.gemv.unroll_and_jam import dot_versions

ROWS = """\
void apply(int m, int n, int lda, const TYPE *a, const TYPE *x, TYPE *y)
{
    for (int i = 0; i < m; i++) {
        TYPE acc = 0;
        for (int k = 0; k < n; k++)
            acc += a[i * lda + k] * x[k];
        y[i] = acc;
    }
}
void both(int m, int n, int lda, const TYPE *a, const TYPE *b, const TYPE *x, TYPE *y)
{
    for (int i = 0; i < m; i++) {
        TYPE s = y[i], t = 0;
        for (int k = 0; k < n; k++) {
            s -= 3 * a[i * lda + k] * x[k];
            t += x[k] * b[i * lda + k];
        }
        y[i] = s / 2 + t;
    }
}
void against(int m, int n, int lda, const TYPE *a, const TYPE *b, TYPE *y)
{
    for (int i = m - 1; i >= 0; i--)
        for (int k = 1; k < n; k++)
            y[i] += a[i * lda + k] * b[i * lda + k - 1];
}
void whole(int m, int n, int lda, const TYPE *a, const TYPE *x, TYPE *y)
{
    for (int i = 0; i < m; i++)
        for (int k = 0; k < n; k++)
            y[i] += x[k] * a[i * lda + k];
}
void later(int m, int n, int lda, const TYPE *a, const TYPE *x, TYPE *y)
{
    TYPE last = 1;
    for (int i = 1; i < m; i++) {
        last = 0;
        for (int k = 1; k < n; k++)
            last += a[i * lda + k] * x[k - 1];
        y[i - 1] = last;
    }
    if (m > 0)
        y[m - 1] = last;
}
void cleared(int m, int n, int lda, const TYPE *a, const TYPE *x, TYPE *y)
{
    for (int i = 1; i < m; i++) {
        y[i] = 2;
        for (int k = 1; k < n; k++)
            y[i] += a[i * lda + k] * x[k - 1];
    }
}
"""
OPERANDS = {"apply": "axy", "whole": "axy", "later": "axy", "cleared": "axy", "both": "abxy", "against": "aby"}
CALLED = ("apply", "whole", "cleared")
TYPES = {"float": ("float32", 1e-4), "double": ("float64", 1e-12)}
SIZES = ((0, 0), (0, 7), (7, 0), (1, 1), (5, 16), (12, 1), (13, 3), (27, 31), (33, 33), (64, 64), (50, 100))


WAYS = [("float", 0, 1), ("double", 1, 1), ("double", 0, 2), slow(("float", 0, 4)), slow(("float", 1, 1)),
        slow(("double", 0, 1))]  # fmt: skip
"""Types, whether there are fewer rows at a time, and how many accumulators each row has."""


@pytest.fixture(scope="module", params=WAYS)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, DropIn, DropIn]:
    """The type, the loops as they are written, and the drop-in with many or fewer rows at a time, whatever the clock
    would say of it."""
    folder = tmp_path_factory.mktemp("dots")
    type, which, accumulators = request.param
    text = ROWS.replace("TYPE", type)
    plain, made = compile_both(text, lambda x: dot_versions(x, NATIVE, accumulators=accumulators)[-which], folder)
    return type, plain, made


@pytest.mark.parametrize("name", OPERANDS)
def test_rows_are_summed_together(name: str, built: tuple[str, DropIn, DropIn]) -> None:
    type, plain, made = built
    _, _, function = made.text.partition(f" planish_{name}_1(")
    # What is nothing but a product of a matrix and a row is a call.
    assert ("planish_gemv_" in function.partition("\n}\n")[0]) == (name in CALLED)
    near = TYPES[type][1]
    for m, n in SIZES:
        for apart in (0, 3):
            lda, before = n + apart, made.fallbacks
            counts = {"a": m * lda, "b": m * lda, "x": n, "y": m}
            results = []
            for library in (plain, made):
                arrays = [enclosed(TYPES[type][0], counts[x], seed) for seed, x in enumerate(OPERANDS[name])]
                pointers = (ctypes.c_void_p(x.ctypes.data) for x, _ in arrays)
                getattr(library.library, name)(m, n, lda, *pointers)
                results.append([whole for _, whole in arrays])
            assert all(np.allclose(a, b, near, near) for a, b in zip(*results, strict=True)), (m, n, lda)
            # Rows that no declaration gives are no array type of C where they are empty.
            assert made.fallbacks - before == (lda == 0), (m, n, lda)
