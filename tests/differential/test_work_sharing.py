"""Blocks of triangles and of factorisations that threads share out, beside numpy."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
from test_raised_versions import NATIVE
from test_raised_versions import pytestmark as pytestmark

from planish.build.emit import make_replacement
from planish.build.read import read_file
from planish.core.cache import Cache
from planish.core.span import Source
from planish.emit.dropin.replacement import compose
from planish.library.conv.winograd.tiled_conv import tile_version
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.raise_operations import raise_version
from planish.options import Options
from planish.run.toolchains.toolchain import choose_compiler
from planish.schedule.auto.plan import prepare

TEXT = """\
void both(int n, int k, double C[n][n], double A[n][k], double B[n][k])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            for (int p = 0; p < k; p++)
                C[i][j] += A[i][p] * B[j][p] + B[i][p] * A[j][p];
}
"""


def make(text: str, folder: Path, tiles: bool = False) -> tuple[str, ctypes.CDLL]:
    options = Options(threads=2)
    file = read_file(Source("nest.c", text), options)
    (region,) = file.functions[0].regions
    prepared = prepare(region.kernel)
    what = (region.kernel, prepared, region.scratch, NATIVE, "reassociate", KernelCache(Cache()), 2)
    made = tile_version(*what) if tiles else raise_version(*what)[0]
    assert made is not None
    whole = compose(text, [make_replacement(region, prepared, made, file.source, options)], "")
    (folder / "nest.c").write_text(whole)
    flags = [*NATIVE.flags_for(choose_compiler("gcc").kind), "-O2", "-fopenmp", "-shared", "-fPIC", "-w"]
    subprocess.run(["gcc", *flags, "nest.c", "-o", "nest.so"], cwd=folder, check=True)
    return whole, ctypes.CDLL(str(folder / "nest.so"))


def test_blocks_of_a_triangle_are_shared_out(tmp_path: Path) -> None:
    text, library = make(TEXT, tmp_path)
    assert "#pragma omp parallel for schedule(dynamic)" in text
    loop = text[text.index("parallel for schedule(dynamic)") :]
    assert "double diagonal[" in loop[: loop.index("planish_dgemm")]
    for n, k in ((1, 1), (5, 3), (95, 20), (97, 7), (400, 33), (517, 64), (0, 4), (4, 0)):
        random = np.random.default_rng(n + k)
        c, a, b = (random.standard_normal(x) for x in ((n, n), (n, k), (n, k)))
        wanted = c + np.tril(a @ b.T + b @ a.T)
        library.both(n, k, *(ctypes.c_void_p(x.ctypes.data) for x in (c, a, b)))
        assert np.abs(c - wanted).max(initial=0.0) <= 1e-12


FACTOR = """\
void lu(int n, double A[n][n])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++)
                A[i][j] -= A[i][k] * A[k][j];
            A[i][j] /= A[j][j];
        }
        for (int j = i; j < n; j++)
            for (int k = 0; k < i; k++)
                A[i][j] -= A[i][k] * A[k][j];
    }
}
"""


def test_rows_and_columns_beside_a_diagonal_are_shared_out(tmp_path: Path) -> None:
    text, library = make(FACTOR, tmp_path)
    loops = text.split("for (ptrdiff_t share = 0; share < 2; share++)")
    assert len(loops) == 3
    assert all(x.rstrip().splitlines()[-1].lstrip().startswith("#pragma omp parallel for") for x in loops[:2])
    for n in (0, 1, 2, 63, 64, 65, 97, 130, 261):
        random = np.random.default_rng(n)
        a = random.standard_normal((n, n)) + n * np.eye(n)
        found = a.copy()
        library.lu(n, ctypes.c_void_p(found.ctypes.data))
        product = (np.tril(found, -1) + np.eye(n)) @ np.triu(found)
        assert np.abs(product - a).max(initial=0.0) <= 1e-12 * max(n, 1)


CONVOLUTION = """\
void conv(int h, int w, int c, int k, float out[restrict k][h][w], float in[restrict c][h + 2][w + 2],
          float weights[restrict k][c][3][3])
{
    for (int f = 0; f < k; f++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                float sum = 0;
                for (int p = 0; p < c; p++)
                    for (int r = 0; r < 3; r++)
                        for (int s = 0; s < 3; s++)
                            sum += in[p][y + r][x + s] * weights[f][p][r][s];
                out[f][y][x] = sum;
            }
}
"""


def test_rows_of_tiles_are_shared_out(tmp_path: Path) -> None:
    text, library = make(CONVOLUTION, tmp_path, tiles=True)
    # Threads have the same shares each time: windows turned, transformed, and rows of tiles.
    assert text.count("#pragma omp parallel for\n") == 3
    for h, w, c, k in ((0, 4, 3, 3), (2, 2, 1, 1), (3, 3, 5, 7), (11, 8, 16, 64), (13, 15, 40, 65), (28, 5, 9, 33)):
        random = np.random.default_rng(h + w + c + k)
        image, weights = (random.integers(-9, 9, x).astype(np.float32) for x in ((c, h + 2, w + 2), (k, c, 3, 3)))
        out = np.full((k, h, w), np.nan, np.float32)
        library.conv(h, w, c, k, *(ctypes.c_void_p(x.ctypes.data) for x in (out, image, weights)))
        parts = (
            np.einsum("cyx,kc->kyx", image[:, r : r + h, s : s + w], weights[:, :, r, s])
            for r in range(3) for s in range(3)
        )  # fmt: skip
        assert np.array_equal(out, sum(parts))
