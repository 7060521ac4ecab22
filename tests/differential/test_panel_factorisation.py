"""Eliminations that choose rows, directions taken out of columns, and reflections, by blocks: beside the C, from no row
on."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from planish.build.emit import make_replacement
from planish.build.read import read_file
from planish.core.span import Source
from planish.emit.dropin.replacement import Replacement, compose
from planish.library.driver import make_versions
from planish.library.registry import STRATEGIES
from planish.library.strategy import Context
from planish.options import Options
from planish.run.toolchains.toolchain import choose_compiler
from planish.schedule.auto.plan import Version
from planish.target.load import load_target

Matrix = np.ndarray[Any, Any]
NATIVE = load_target("native")
SIZES = (0, 1, 2, 63, 64, 65, 130)

pytestmark = [
    pytest.mark.usefixtures("few_registers"),
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

void gram(int m, int n, double A[m][n], double Q[m][n], double R[n][n])
{
    for (int k = 0; k < n; k++) {
        double norm = 0;
        for (int i = 0; i < m; i++)
            norm += A[i][k] * A[i][k];
        R[k][k] = sqrt(norm);
        for (int i = 0; i < m; i++)
            Q[i][k] = A[i][k] / R[k][k];
        for (int j = k + 1; j < n; j++) {
            R[k][j] = 0;
            for (int i = 0; i < m; i++)
                R[k][j] += Q[i][k] * A[i][j];
            for (int i = 0; i < m; i++)
                A[i][j] -= Q[i][k] * R[k][j];
        }
    }
}

void inplace(int m, int n, double A[m][n], double R[n][n])
{
    for (int k = 0; k < n; k++) {
        R[k][k] = 0;
        for (int i = 0; i < m; i++)
            R[k][k] += A[i][k] * A[i][k];
        double scale = 1 / sqrt(R[k][k]);
        for (int i = 0; i < m; i++)
            A[i][k] *= scale;
        for (int j = k + 1; j < n; j++)
            R[k][j] = 0;
        for (int i = 0; i < m; i++)
            for (int j = k + 1; j < n; j++)
                R[k][j] += A[i][j] * A[i][k];
        for (int i = 0; i < m; i++)
            for (int j = k + 1; j < n; j++)
                A[i][j] -= R[k][j] * A[i][k];
    }
}

void mirror(int m, int n, double A[m][n], double d[n])
{
    for (int k = 0; k < n; k++) {
        double norm = 0;
        for (int i = k; i < m; i++)
            norm += A[i][k] * A[i][k];
        norm = sqrt(norm);
        if (norm != 0) {
            if (A[k][k] < 0)
                norm = -norm;
            for (int i = k; i < m; i++)
                A[i][k] /= norm;
            A[k][k] += 1;
            for (int j = k + 1; j < n; j++) {
                double s = 0;
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
        cx = Context.of(region.kernel, NATIVE)
        assert cx.searches == (function.name in NAMES)
        blocks = [x for x in STRATEGIES if x.name in ("panels", "histogram-private")]
        (candidate,) = make_versions(cx, blocks).versions
        assert isinstance(candidate, Version)
        made.append(counted(make_replacement(region, cx.prepared, candidate, source, options)))
    text = "int fallbacks;\n" + compose(FORMS, made, "")
    return calls(FORMS, tmp_path_factory.mktemp("plain")), calls(text, tmp_path_factory.mktemp("blocks"))


def fallbacks(library: ctypes.CDLL) -> int:
    """How often a nest was run as it is written."""
    return ctypes.c_int.in_dll(library, "fallbacks").value


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
    before = fallbacks(both[1])
    for n in reversed(SIZES):
        matrix = random.uniform(-1, 1, (n, n))
        (plain, rows, other), (blocks, chosen, same) = (run(x, name, matrix) for x in both)
        assert np.array_equal(rows, chosen)
        assert n < 2 or not np.array_equal(rows, np.arange(n))
        np.testing.assert_allclose(blocks, plain, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(same, other, rtol=1e-9)
        assert n < 2 or fallbacks(both[1]) == before


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


@pytest.mark.parametrize("name", ["gram", "inplace"])
def test_blocks_take_out_the_same_directions(both: tuple[ctypes.CDLL, ctypes.CDLL], name: str) -> None:
    random = np.random.default_rng(11)
    before = fallbacks(both[1])
    for n in reversed(SIZES):
        m = 2 * n + 3
        matrix, found = random.uniform(-1, 1, (m, n)), []
        for library in both:
            arrays = [matrix.copy(), np.ones((m, n)), np.ones((n, n))][:: 1 if name == "gram" else 2]
            getattr(library, name)(m, n, *(x.ctypes.data_as(ctypes.c_void_p) for x in arrays))
            found.append(arrays)
        for plain, blocks in zip(*found, strict=True):
            np.testing.assert_allclose(blocks, plain, rtol=1e-9, atol=1e-11)
        assert n < 2 or fallbacks(both[1]) == before
        if n:
            units = found[1][1 if name == "gram" else 0]
            np.testing.assert_allclose(units.T @ units, np.eye(n), atol=1e-12)


def test_directions_that_are_not_orthogonal_come_out_as_they_did(both: tuple[ctypes.CDLL, ctypes.CDLL]) -> None:
    """Columns that are nearly the same leave directions that are far from orthogonal: nothing relies on that."""
    random = np.random.default_rng(12)
    matrix = random.uniform(-1, 1, (150, 1)) + 1e-7 * random.uniform(-1, 1, (150, 100))
    found = []
    for library in both:
        arrays = [matrix.copy(), np.ones((150, 100)), np.ones((100, 100))]
        library.gram(150, 100, *(x.ctypes.data_as(ctypes.c_void_p) for x in arrays))
        found.append(arrays)
    (_, plain, shares), (_, blocks, same) = found
    np.testing.assert_allclose(np.triu(same), np.triu(shares), atol=1e-12)
    np.testing.assert_allclose(blocks @ np.triu(same), matrix, atol=1e-12)
    assert np.abs(blocks.T @ blocks - np.eye(100)).max() < 10 * np.abs(plain.T @ plain - np.eye(100)).max()


def test_blocks_reflect_alike(both: tuple[ctypes.CDLL, ctypes.CDLL]) -> None:
    """Also where a step has nothing to do, as in two of these columns; what is left in the triangle is R of A = Q R."""
    random = np.random.default_rng(13)
    before = fallbacks(both[1])
    for n in reversed(SIZES):
        m, found = 2 * n + 3, []
        matrix = random.uniform(-1, 1, (m, n))
        matrix[:, [x for x in (5, 40) if x < n]] = 0
        for library in both:
            own, kept = matrix.copy(), np.ones(n)
            library.mirror(m, n, *(x.ctypes.data_as(ctypes.c_void_p) for x in (own, kept)))
            found.append((own, kept))
        for plain, blocks in zip(*found, strict=True):
            np.testing.assert_allclose(blocks, plain, rtol=1e-9, atol=1e-11)
        assert n < 2 or fallbacks(both[1]) == before
        own, diagonal = found[1]
        triangle = np.triu(own[:n], 1) + np.diag(diagonal)
        np.testing.assert_allclose(triangle.T @ triangle, matrix.T @ matrix, atol=1e-10)
