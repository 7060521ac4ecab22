"""Products and convolutions of narrow integers, compiled and called beside numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_raised_versions import MARGIN, NATIVE, Matrix, call, make
from test_raised_versions import pytestmark as raised_versions
from tests.property.sampling import slow

from planish.core.span import Source

FLAGS = Path("/proc/cpuinfo")
HAS_DOTS = NATIVE.vector_bits == 512 and FLAGS.exists() and "avx512_vnni" in FLAGS.read_text().split()
pytestmark = [
    *raised_versions,
    pytest.mark.skipif(not HAS_DOTS, reason="this machine adds no products of bytes up"),
]

PRODUCT = """\
#include <stdint.h>
void product(int m, int n, int k, int32_t C[restrict m][n], const LEFT A[restrict m][k], const RIGHT B[restrict ROWS])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            int32_t sum = START;
            for (int p = 0; p < k; p++)
                sum += A[i][p] * AT;
            C[i][j] = sum;
        }
}
"""
WAYS = {"plain": ("k][n", "B[p][j]", "0"), "transposed": ("n][k", "B[j][p]", "C[i][j]")}
LAYER = """\
#include <stdint.h>
void layer(int nf, int nc, int oh, int ow, int32_t O[restrict nf][oh][ow],
           const uint8_t X[restrict nc][2 * oh + 1][2 * ow + 1], const int8_t W[restrict nf][nc][3][3])
{
    for (int f = 0; f < nf; f++)
        for (int y = 0; y < oh; y++)
            for (int x = 0; x < ow; x++) {
                int32_t sum = 0;
                for (int c = 0; c < nc; c++)
                    for (int r = 0; r < 3; r++)
                        for (int s = 0; s < 3; s++)
                            sum += X[c][2 * y + r][2 * x + s] * W[f][c][r][s];
                O[f][y][x] = sum;
            }
}
"""
SIZES = [(1, 1, 1), (3, 5, 4), (6, 64, 8), (7, 65, 13), (13, 200, 131), (40, 17, 4000), (6, 3, 2), (2, 70, 3)]


def fill(type: str, seed: int, *shape: int) -> Matrix:
    """Random numbers, some of them the least and the largest that there are, in the middle of nothing but 7."""
    count = int(np.prod(shape))
    whole = np.full(count + 2 * MARGIN, 7, type)
    rng, limits = np.random.default_rng(seed), np.iinfo(whole.dtype)
    out = whole[MARGIN : MARGIN + count]
    out[...] = rng.integers(limits.min, limits.max, count, endpoint=True, dtype=whole.dtype)
    ends = rng.random(count)
    out[ends < 0.2], out[ends > 0.8] = limits.min, limits.max
    return out.reshape(shape)


@pytest.mark.each_value
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("left", "right"), [("int16", "int16"), slow("uint8", "int8"), slow("int8", "uint8")])
def test_a_product(left: str, right: str, way: str, tmp_path: Path) -> None:
    rows, at, start = WAYS[way]
    text = PRODUCT.replace("LEFT", f"{left}_t").replace("RIGHT", f"{right}_t").replace("START", start)
    text = text.replace("ROWS", rows).replace("AT;", f"{at};")
    made = make(Source("product.c", text), tmp_path / "made", tmp_path)
    assert ("_gemm_first" if start == "0" else "_gemm_add") in made.text and made.kinds.count("raise-gemm") == 1
    for m, n, k in SIZES:
        # Sums of 16-bit products soon leave 32 bits, which C does not allow.
        a, b = fill(left, m, m, k), fill(right, n, *((k, n) if way == "plain" else (n, k)))
        if left == "int16":
            a[...] //= 64
            b[...] //= 64
        c = fill("int32", k, m, n)
        c[...] //= 1024
        factor = b.astype("int64") if way == "plain" else b.astype("int64").T
        wanted = a.astype("int64") @ factor + (0 if start == "0" else c)
        call(made, "product", (m, n, k, c, a, b))
        assert (c == wanted).all(), (m, n, k)
    # Without rows, nothing is read.
    made.library.product(0, 4, 4, None, None, None)


def test_a_layer(tmp_path: Path) -> None:
    made = make(Source("layer.c", LAYER), tmp_path / "made", tmp_path)
    assert "_gemm_first" in made.text
    for nf, nc, oh, ow in ((1, 1, 1, 1), (5, 3, 4, 7), (64, 2, 9, 33), (7, 30, 5, 5)):
        x, w = fill("uint8", nc, nc, 2 * oh + 1, 2 * ow + 1), fill("int8", nf, nf, nc, 3, 3)
        out = fill("int32", oh, nf, oh, ow)
        seen = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))[:, ::2, ::2]
        wanted = np.einsum("cyxrs,fcrs->fyx", seen.astype("int64"), w.astype("int64"))
        call(made, "layer", (nf, nc, oh, ow, out, x, w))
        assert (out == wanted).all(), (nf, nc, oh, ow)
