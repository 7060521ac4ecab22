"""Reflections by blocks, interpreted beside the steps one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.ir.checker import check_kernel
from planish.ir.nest import Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.library.dense import householder
from planish.library.dense.householder import raise_reflecting
from planish.poly.canonical.delinearise import delinearise
from planish.raising.expansion import expand

Matrix = np.ndarray[Any, Any]

FORMS = """\
#include <math.h>

void jama(int m, int n, double A[m][n], double d[m])
{
    double s, norm;
    for (int k = 0; k < n; k++) {
        norm = 0;
        for (int i = k; i < m; i++)
            norm = hypot(norm, A[i][k]);
        if (norm != 0) {
            if (A[k][k] < 0)
                norm = -norm;
            for (int i = k; i < m; i++)
                A[i][k] /= norm;
            A[k][k] += 1;
            for (int j = k + 1; j < n; j++) {
                s = 0;
                for (int i = k; i < m; i++)
                    s += A[i][k] * A[i][j];
                s = -s / A[k][k];
                for (int i = k; i < m; i++)
                    A[i][j] += s * A[i][k];
            }
        }
        d[k] = -norm;
    }
}

void lapack(int m, int n, float A[n][m], float d[m])
{
    int i, j, k;
    float alpha, beta, norm, s;
    for (k = 0; k < n; k++) {
        norm = 0;
        for (i = k + 1; i < m; i++)
            norm += A[k][i] * A[k][i];
        if (norm == 0) {
            d[k] = 0;
            continue;
        }
        alpha = A[k][k];
        beta = -copysignf(sqrtf(alpha * alpha + norm), alpha);
        d[k] = (beta - alpha) / beta;
        for (i = k + 1; i < m; i++)
            A[k][i] /= alpha - beta;
        A[k][k] = beta;
        for (j = k + 1; j < n; j++) {
            s = A[j][k];
            for (i = k + 1; i < m; i++)
                s += A[k][i] * A[j][i];
            s *= d[k];
            A[j][k] -= s;
            for (i = k + 1; i < m; i++)
                A[j][i] -= s * A[k][i];
        }
    }
}

void apart(int m, int n, double A[m][n], double d[m])
{
    for (int k = 0; k < n; k++) {
        double norm = 0, square = 0;
        for (int i = k; i < m; i++)
            norm += A[i][k] * A[i][k];
        for (int i = k; i < m; i++)
            d[i] = A[i][k];
        d[k] += A[k][k] < 0 ? -sqrt(norm) : sqrt(norm);
        for (int i = k; i < m; i++)
            square += d[i] * d[i];
        for (int j = k; j < n; j++) {
            double s = 0;
            for (int i = k; i < m; i++)
                s += d[i] * A[i][j];
            s = 2 * s / square;
            for (int i = k; i < m; i++)
                A[i][j] -= s * d[i];
        }
    }
}

void rows(int m, int n, double A[m][n], double d[m])
{
    double w[n];
    for (int k = 0; k < n; k++) {
        double norm = 0;
        for (int i = k; i < m; i++)
            norm += A[i][k] * A[i][k];
        double sign = A[k][k] < 0 ? -1 : 1, u = A[k][k] + sign * sqrt(norm);
        for (int i = k + 1; i < m; i++)
            A[i][k] /= u;
        d[k] = sign * u / sqrt(norm);
        A[k][k] = -sign * sqrt(norm);
        for (int j = k + 1; j < n; j++)
            w[j] = A[k][j];
        for (int i = k + 1; i < m; i++)
            for (int j = k + 1; j < n; j++)
                w[j] += A[i][k] * A[i][j];
        for (int j = k + 1; j < n; j++)
            A[k][j] -= d[k] * w[j];
        for (int i = k + 1; i < m; i++)
            for (int j = k + 1; j < n; j++)
                A[i][j] -= d[k] * A[i][k] * w[j];
    }
}

void back(int m, int n, int p, double Q[m][n], double d[m], double A[m][p])
{
    for (int k = n - 1; k >= 0; k--) {
        if (d[k] == 0)
            continue;
        for (int j = 0; j < p; j++) {
            double s = A[k][j];
            for (int i = k + 1; i < m; i++)
                s += Q[i][k] * A[i][j];
            A[k][j] -= d[k] * s;
            for (int i = k + 1; i < m; i++)
                A[i][j] -= d[k] * s * Q[i][k];
        }
    }
}
"""
FUNCTIONS = {x.name: x for x in read_c(Source("qr.c", FORMS)).functions}
NAMES = tuple(FUNCTIONS)


def both(name: str) -> tuple[Kernel, Kernel]:
    """The steps as they are read, and by blocks."""
    (region,) = FUNCTIONS[name].regions
    raised = raise_reflecting(delinearise(region.kernel), region.scratch)
    assert raised is not None
    blocks = expand(raised)
    check_kernel(blocks, "raised")
    return region.kernel, blocks


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(householder, "WIDTH", 3)
    monkeypatch.setattr(householder, "_JAM", 2)


def outcome(kernel: Kernel, matrix: Matrix) -> tuple[Matrix, Matrix]:
    """What a kernel makes of a matrix, and what it keeps of each step."""
    m, n = matrix.shape
    array = kernel.array("A")
    own = matrix.T if kernel.name == "lapack" else matrix
    arrays = {"A": own.astype(array.type.numpy, order="C"), "d": np.linspace(0.5, 1.5, m).astype(array.type.numpy)}
    arrays |= {"Q": matrix[::-1].copy(), "w": np.zeros(n)}
    arrays["d"][m // 2] = 0
    used = {x.name for x in kernel.arrays}
    with np.errstate(all="ignore"):
        run_kernel(kernel, {"m": m, "n": n, "p": n, **{x: y for x, y in arrays.items() if x in used}})
    return arrays["A"], arrays["d"]


def compare(name: str, matrix: Matrix) -> Matrix:
    """Have a matrix made both ways; gives what the steps make of it."""
    steps, blocks = both(name)
    plain, found = outcome(steps, matrix), outcome(blocks, matrix)
    tolerance = 1e-4 if name == "lapack" else 1e-10
    for x, y in zip(found, plain, strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)
    return plain[0]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(2, 2), (4, 3), (6, 6), (9, 7), (8, 4)])
def test_blocks_reflect_as_the_steps_do(name: str, shape: tuple[int, int]) -> None:
    matrix = np.random.default_rng(7).uniform(-1, 1, shape)
    made = compare(name, matrix)
    assert np.abs((made.T if name == "lapack" else made) - matrix).max() > 0.1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
def test_what_is_not_finite_goes_where_it_did(name: str, value: float) -> None:
    """A column of zeros is skipped or becomes what it did; what is no number spoils no other row or column."""
    matrix = np.random.default_rng(3).uniform(-1, 1, (9, 8))
    if value == 0:
        matrix[:, 4] = 0
    matrix[5, 6] = value
    made = compare(name, matrix)
    # Only those that look first make numbers of a column of zeros.
    assert np.isnan(made).any() == (value != 0 or name in ("apart", "rows"))
