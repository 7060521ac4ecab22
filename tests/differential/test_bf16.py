"""Products and convolutions of a compiler's own bf16, compiled and called beside numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_raised_versions import MARGIN, NATIVE, DropIn, Matrix, call, make

from planish.core.span import Source
from planish.ir.types import BF16
from planish.run.sizes.random_arguments import from_memory, to_memory
from planish.run.toolchains.toolchain import find_compilers, knows

COMPILER = next((x for x in find_compilers() if knows(x, BF16)), None)
FLAGS = Path("/proc/cpuinfo")
HAS_DOTS = NATIVE.vector_bits == 512 and FLAGS.exists() and "avx512_bf16" in FLAGS.read_text().split()
pytestmark = [
    pytest.mark.usefixtures("few_registers"),
    pytest.mark.skipif(COMPILER is None, reason="no compiler here has the type"),
    pytest.mark.skipif(not HAS_DOTS, reason="this machine adds no products of bf16 up"),
]
SOURCE = """\
typedef __bf16 half;
void product(int m, int n, int k, float C[restrict m][n], const half A[restrict m][k], const half B[restrict k][n])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int p = 0; p < k; p++)
                sum += (float)A[i][p] * B[p][j];
            C[i][j] = sum;
        }
}
void bordered(int nf, int nc, int h, int w, float O[restrict nf][h][w], const half X[restrict nc][h][w],
              const half W[restrict nf][nc][3][3])
{
    for (int f = 0; f < nf; f++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                float sum = O[f][y][x];
                for (int c = 0; c < nc; c++)
                    for (int r = 0; r < 3; r++)
                        for (int s = 0; s < 3; s++)
                            if (y + r >= 1 && y + r < h + 1 && x + s >= 1 && x + s < w + 1)
                                sum += (float)X[c][y + r - 1][x + s - 1] * (float)W[f][c][r][s];
                O[f][y][x] = sum;
            }
}
"""


def fill(seed: int, *shape: int) -> tuple[Matrix, Matrix]:
    """The bits of random numbers in the middle of nothing but 7, and the numbers."""
    count = int(np.prod(shape))
    whole = np.full(count + 2 * MARGIN, 7, "uint16")
    out = whole[MARGIN : MARGIN + count]
    out[...] = to_memory(np.random.default_rng(seed).uniform(-1, 1, count), BF16)
    return out.reshape(shape), from_memory(out, BF16).reshape(shape)


def blank(*shape: int) -> Matrix:
    """An array of ones in the middle of nothing but 7."""
    count = int(np.prod(shape))
    whole = np.full(count + 2 * MARGIN, 7.0, "float32")
    whole[MARGIN : MARGIN + count] = 1
    return whole[MARGIN : MARGIN + count].reshape(shape)


def agree(mine: Matrix, wanted: Matrix, terms: int) -> None:
    """Products are exact, so that only sums of so many terms, none of which is larger than one, are rounded."""
    assert np.abs(mine - wanted).max(initial=0.0) <= terms * (terms + 1) * 2.0**-24


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> DropIn:
    assert COMPILER is not None
    place = tmp_path_factory.mktemp("bf16")
    made = make(Source("halves.c", SOURCE), place / "made", place, compiler=COMPILER)
    # One in each function.
    assert made.kinds.count("raise-gemm") == 2
    assert made.text.count("(void *)A, (void *)B") == 1
    return made


@pytest.mark.parametrize(
    ("m", "n", "k"),
    [(1, 1, 1), (3, 5, 4), (7, 65, 13), (13, 200, 131), (6, 64, 2), (12, 131, 2000), (0, 4, 4), (4, 4, 0)],
)
def test_products(made: DropIn, m: int, n: int, k: int) -> None:
    (a, left), (b, right) = fill(m, m, k), fill(n, k, n)
    c = blank(m, n)
    call(made, "product", (m, n, k, c, a, b))
    agree(c, left @ right, k)


@pytest.mark.parametrize(("nf", "nc", "h", "w"), [(1, 1, 1, 1), (5, 3, 4, 7), (64, 2, 9, 33), (7, 30, 5, 5)])
def test_convolutions(made: DropIn, nf: int, nc: int, h: int, w: int) -> None:
    weights, factors = fill(nf, nf, nc, 3, 3)
    (x, image), out = fill(nc, nc, h, w), blank(nf, h, w)
    call(made, "bordered", (nf, nc, h, w, out, x, weights))
    seen = np.lib.stride_tricks.sliding_window_view(np.pad(image, ((0, 0), (1, 1), (1, 1))), (3, 3), axis=(1, 2))
    agree(out, 1 + np.einsum("cyxrs,fcrs->fyx", seen, factors), 9 * nc + 1)
