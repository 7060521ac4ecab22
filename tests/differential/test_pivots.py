"""Eliminations that choose a row in each step, by blocks: beside the C as it is written, from no row to some blocks."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from planish.core.span import Source
from planish.emit.replacement import Replacement
from planish.library.pivots import NAME
from planish.pipeline import Options, compose, make_replacement, plan_region, read_file
from planish.run.toolchain import choose_compiler
from planish.target.load import load_target

Matrix = np.ndarray[Any, Any]
NATIVE = load_target("native")
SIZES = (0, 1, 2, 63, 64, 65, 130)

pytestmark = [
    pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here"),
    pytest.mark.skipif(not (NATIVE.fma or NATIVE.isa.startswith("arm")), reason="no instructions for this machine"),
]

FORMS = """\
#include <math.h>

void right(int n, double A[n][n], int piv[n], double *sign)
{
    double parity = 1;
    for (int k = 0; k < n; k++) {
        int p = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(A[i][k]) >= fabs(A[p][k]))
                p = i;
        piv[k] = p;
        if (p != k) {
            for (int j = k; j < n; j++) {
                double t = A[p][j];
                A[p][j] = A[k][j];
                A[k][j] = t;
            }
            parity = -parity;
        }
        double scale = 1.0 / A[k][k];
        for (int i = k + 1; i < n; i++)
            A[i][k] *= scale;
        for (int j = k + 1; j < n; j++)
            for (int i = k + 1; i < n; i++)
                A[i][j] = A[i][j] - A[k][j] * A[i][k];
    }
    *sign = parity;
}

void flat(int n, double *A, int *piv, double *b)
{
    int i, j, k, p, q;
    double best, t, f;
    for (k = 0; k < n - 1; k++) {
        p = k;
        best = 0;
        for (i = k; i < n; i++) {
            f = fabs(A[i * n + k]);
            if (f > best) {
                best = f;
                p = i;
            }
        }
        if (p != k) {
            for (j = 0; j < n; j++) {
                t = A[k * n + j];
                A[k * n + j] = A[p * n + j];
                A[p * n + j] = t;
            }
            q = piv[k];
            piv[k] = piv[p];
            piv[p] = q;
        }
        t = b[k];
        b[k] = b[p];
        b[p] = t;
        for (i = k + 1; i < n; i++) {
            f = A[i * n + k] / A[k * n + k];
            A[i * n + k] = f;
            for (j = k + 1; j < n; j++)
                A[i * n + j] -= f * A[k * n + j];
            b[i] -= f * b[k];
        }
    }
}
"""
NAMES = ("right", "flat")


def calls(text: str, place: Path) -> ctypes.CDLL:
    (place / "nest.c").write_text(text)
    compiler = choose_compiler("gcc")
    flags = [*NATIVE.flags_for(compiler.kind), "-std=c11", "-O0", "-Wall", "-Wextra", "-fopenmp-simd"]
    command = [str(compiler.path), *flags, "-shared", "-fPIC", "nest.c", "-o", "nest.so", "-lm"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return ctypes.CDLL(str(place / "nest.so"))


def counted(replacement: Replacement) -> Replacement:
    """What counts how often the nest is run as it is written."""
    text = replacement.patch.text.replace("} else {", "} else { fallbacks++;", 1)
    return replace(replacement, patch=replace(replacement.patch, text=text))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[ctypes.CDLL, ctypes.CDLL]:
    """The functions as they are, and by blocks."""
    source, options = Source("nest.c", FORMS), Options()
    made = []
    for function in read_file(source, options).functions:
        (region,) = function.regions
        plan = plan_region(region, options, NATIVE)
        (candidate,) = plan.candidates
        assert candidate.name == NAME
        assert plan.prepared is not None
        made.append(counted(make_replacement(region, plan.prepared, candidate, source, options)))
    text = "int fallbacks;\n" + compose(FORMS, made, "")
    return calls(FORMS, tmp_path_factory.mktemp("plain")), calls(text, tmp_path_factory.mktemp("blocks"))


def run(library: ctypes.CDLL, name: str, matrix: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """The matrix, the rows, and what else comes of it."""
    n = len(matrix)
    own, rows = matrix.copy(), np.arange(n, dtype=np.int32)
    other = np.linspace(1, 2, n + 1)
    getattr(library, name)(n, *(x.ctypes.data_as(ctypes.c_void_p) for x in (own, rows, other)))
    return own, rows, other


@pytest.mark.parametrize("name", NAMES)
def test_blocks_choose_the_same_rows(both: tuple[ctypes.CDLL, ctypes.CDLL], name: str) -> None:
    random = np.random.default_rng(7)
    for n in reversed(SIZES):
        matrix = random.uniform(-1, 1, (n, n))
        (plain, rows, other), (blocks, chosen, same) = (run(x, name, matrix) for x in both)
        assert np.array_equal(rows, chosen)
        assert n < 2 or not np.array_equal(rows, np.arange(n))
        np.testing.assert_allclose(blocks, plain, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(same, other, rtol=1e-9)
        assert n < 2 or ctypes.c_int.in_dll(both[1], "fallbacks").value == 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("column", [0, 40, 70, 99])
def test_a_column_without_a_pivot_comes_out_as_it_did(
    both: tuple[ctypes.CDLL, ctypes.CDLL], name: str, column: int
) -> None:
    """A zero column stays one, exactly, so that what is divided by its pivot is the same in both."""
    matrix = np.random.default_rng(column).uniform(-1, 1, (100, 100))
    matrix[:, column] = 0.0
    (plain, rows, other), (blocks, chosen, same) = (run(x, name, matrix) for x in both)
    assert np.array_equal(rows, chosen)
    np.testing.assert_allclose(blocks, plain, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(same, other, rtol=1e-9)
    if column < 99:
        assert np.isnan(plain).any()
