"""Copies in another order that the library's squares do, beside numpy, for sizes from none to several blocks."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from test_raised_versions import MARGIN, Matrix, call, make
from test_raised_versions import pytestmark as pytestmark

from planish.core.span import Source

TURNS = """\
void turn(int m, int n, TYPE A[m][n], TYPE B[n][m])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            B[j][i] = A[i][j];
}
void inner(int m, int n, TYPE A[m][n + 3], TYPE B[n + 1][m + 2])
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++)
            B[j + 1][i + 2] = A[i][j + 3];
}
"""
LAYOUTS = """\
void layout(int n, int h, int w, int c, TYPE A[n][c][h][w], TYPE B[n][h][w][c])
{
    for (int b = 0; b < n; b++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++)
                for (int z = 0; z < c; z++)
                    B[b][y][x][z] = A[b][z][y][x];
}
void part(int n, int h, int w, int c, TYPE A[n][c][h][w + 1], TYPE B[n][h + 1][w][c])
{
    for (int b = 0; b < n; b++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++)
                for (int z = 0; z < c; z++)
                    B[b][y + 1][x][z] = A[b][z][y][x + 1];
}
void rows(int n, int h, int w, int c, TYPE A[n][c][h + 1][w], TYPE B[n][h][w][c])
{
    for (int b = 0; b < n; b++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++)
                for (int z = 0; z < c; z++)
                    B[b][y][x][z] = A[b][z][y + 1][x];
}
"""
FLAT = """\
void flat(int n, int h, int w, int c, const double *restrict A, double *restrict B)
{
    for (int b = 0; b < n; b++)
        for (int z = 0; z < c; z++)
            for (int y = 0; y < h; y++)
                for (int x = 0; x < w; x++)
                    B[((b * h + y) * w + x) * c + z] = A[((b * c + z) * h + y) * w + x];
}
"""
TYPES = {"float": "float32", "double": "float64", "unsigned": "uint32", "long": "int64"}


def fill(type: str, seed: int, *shape: int) -> Matrix:
    """Random numbers in the middle of nothing but 7."""
    count = int(np.prod(shape))
    whole = np.full(count + 2 * MARGIN, 7.0, TYPES[type])
    out = whole[MARGIN : MARGIN + count].reshape(shape)
    out[...] = (np.random.default_rng(seed).uniform(0, 1, shape) * 2**31).astype(out.dtype)
    return out


@pytest.mark.parametrize("type", TYPES)
def test_matrices_are_turned(type: str, tmp_path: Path) -> None:
    made = make(Source("turn.c", TURNS.replace("TYPE", type)), tmp_path / "made", tmp_path)
    assert made.kinds == ("raise-gemm", "raise-gemm")
    for m, n in ((1, 1), (7, 9), (8, 8), (16, 16), (15, 17), (64, 8), (63, 65), (130, 71), (1, 90), (200, 3)):
        a, b = fill(type, m, m, n), fill(type, n, n, m)
        call(made, "turn", (m, n, a, b))
        assert (b == a.T).all(), (m, n)
        a, b = fill(type, m, m, n + 3), fill(type, n, n + 1, m + 2)
        wanted = b.copy()
        wanted[1:, 2:] = a[:, 3:].T
        call(made, "inner", (m, n, a, b))
        assert (b == wanted).all(), (m, n)


@pytest.mark.parametrize("type", ["float", "double"])
def test_channels_become_the_last_dimension(type: str, tmp_path: Path) -> None:
    made = make(Source("layout.c", LAYOUTS.replace("TYPE", type)), tmp_path / "made", tmp_path)
    for n, h, w, c in ((1, 1, 1, 1), (2, 3, 20, 9), (1, 5, 16, 64), (3, 2, 9, 17)):
        a, b = fill(type, c, n, c, h, w), fill(type, w, n, h, w, c)
        call(made, "layout", (n, h, w, c, a, b))
        assert (b == a.transpose(0, 2, 3, 1)).all(), (n, h, w, c)
        a, b = fill(type, c, n, c, h, w + 1), fill(type, w, n, h + 1, w, c)
        wanted = b.copy()
        wanted[:, 1:] = a[..., 1:].transpose(0, 2, 3, 1)
        call(made, "part", (n, h, w, c, a, b))
        assert (b == wanted).all(), (n, h, w, c)
        a, b = fill(type, c, n, c, h + 1, w), fill(type, w, n, h, w, c)
        call(made, "rows", (n, h, w, c, a, b))
        assert (b == a[:, :, 1:].transpose(0, 2, 3, 1)).all(), (n, h, w, c)


def test_two_extents_below_zero_are_not_one_above_it(tmp_path: Path) -> None:
    made = make(Source("flat.c", FLAT), tmp_path / "made", tmp_path)
    for n, h, w, c in ((1, -3, -4, 20), (2, 3, 4, 20), (1, 5, 9, 33)):
        count = n * h * w * c
        a, b = fill("double", 1, count), np.full(count, 7.0)
        made.library.flat(n, h, w, c, ctypes.c_void_p(a.ctypes.data), ctypes.c_void_p(b.ctypes.data))
        wanted = a.reshape(n, c, h, w).transpose(0, 2, 3, 1).ravel() if h > 0 else np.full(count, 7.0)
        assert (b == wanted).all(), (n, h, w, c)
