"""Convolutions that are summed where the image lies, beside numpy, for sizes from one to several blocks and tiles."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from test_raised_versions import MARGIN, DropIn, Matrix, call, make
from test_raised_versions import pytestmark as pytestmark
from tests.property.sampling import slow

from planish.core.span import Source

ONE = """\
void conv(int nf, int nc, int oh, int ow, int ih, int iw, TYPE O[restrict nf][oh][ow], TYPE X[restrict nc][ih][iw],
          TYPE W[restrict nf][nc][R][S])
{
    for (int f = 0; f < nf; f++)
        for (int y = 0; y < oh; y++)
            for (int x = 0; x < ow; x++) {
                TYPE sum = 0;
                for (int c = 0; c < nc; c++)
                    for (int r = 0; r < R; r++)
                        for (int s = 0; s < S; s++)
                            sum += X[c][STEP * y + APART * r][STEP * x + APART * s] * W[f][c][r][s];
                O[f][y][x] = sum;
            }
}
"""
IN_A_LINE = ONE.replace("W[restrict nf][nc][R][S]", "W[restrict]").replace(
    "W[f][c][r][s]", "W[((f * nc + c) * R + r) * S + s]"
)
"""The same, where windows of weights lie behind each other in one line."""
MANY = """\
void conv(int nb, int ng, int nf, int nc, int oh, int ow, int wo, TYPE O[restrict nb][ng][nf][oh + 1][wo],
          TYPE X[restrict nb][ng][nc][oh + 2][ow + 4], TYPE W[restrict ng][nf][nc][3][3])
{
    for (int b = 0; b < nb; b++)
        for (int g = 0; g < ng; g++)
            for (int f = 0; f < nf; f++)
                for (int c = 0; c < nc; c++)
                    for (int r = 0; r < 3; r++)
                        for (int s = 0; s < 3; s++)
                            for (int y = 0; y < oh; y++)
                                for (int x = 0; x < ow; x++)
                                    O[b][g][f][y + 1][x] += X[b][g][c][y + r][x + s + 2] * W[g][f][c][r][s];
}
"""
TYPES = {"float": "float32", "double": "float64"}
EPS = {"float": 2.0**-23, "double": 2.0**-52}
SIZES = [(32, 1, 1, 1), (8, 3, 2, 5), (33, 2, 3, 14), (64, 5, 4, 17), (31, 4, 3, 15), (70, 16, 2, 33), (32, 7, 1, 130)]
DEEP = (10, 700, 2, 9)
"""More channels than are summed at a time."""


@dataclass(frozen=True, slots=True)
class Moved:
    """How a window moves, and how far its elements are apart."""

    rows: int
    columns: int
    step: int
    apart: int

    @property
    def macros(self) -> str:
        wanted = {"R": self.rows, "S": self.columns, "STEP": self.step, "APART": self.apart}
        return "".join(f"#define {name} {value}\n" for name, value in wanted.items())


def fill(type: str, seed: int, *shape: int) -> Matrix:
    """Random numbers in the middle of nothing but 7."""
    count = int(np.prod(shape))
    whole = np.full(count + 2 * MARGIN, 7.0, TYPES[type])
    out = whole[MARGIN : MARGIN + count].reshape(shape)
    out[...] = np.random.default_rng(seed).uniform(-1, 1, shape)
    return out


def build(text: str, type: str, place: Path) -> DropIn:
    """The drop-in, in which the library's kernel is called."""
    made = make(Source("conv.c", text.replace("TYPE", type)), place / "made", place)
    assert "planish_conv" in made.text and "im2col" not in made.kinds
    return made


@pytest.mark.parametrize(
    ("type", "moved"),
    [slow("float", Moved(3, 3, 1, 1)), slow("float", Moved(7, 7, 2, 1)), slow("double", Moved(2, 5, 3, 2))],
)  # fmt: skip
def test_an_image_is_seen_through_a_window(type: str, moved: Moved, tmp_path: Path) -> None:
    made = build(moved.macros + (ONE if type == "float" else IN_A_LINE), type, tmp_path)
    for nf, nc, oh, ow in (*SIZES, DEEP):
        ih, iw = (moved.step * (n - 1) + moved.apart * (m - 1) + 1 for n, m in ((oh, moved.rows), (ow, moved.columns)))
        x, w = fill(type, nf, nc, ih + 1, iw + 2), fill(type, nc, nf, nc, moved.rows, moved.columns)
        out, wanted = fill(type, ow, nf, oh, ow), np.zeros((nf, oh, ow))
        for r, s in np.ndindex(moved.rows, moved.columns):
            y0, x0 = moved.apart * r, moved.apart * s
            seen = x[:, y0 : y0 + moved.step * oh : moved.step, x0 : x0 + moved.step * ow : moved.step][:, :oh, :ow]
            wanted += np.einsum("chw,fc->fhw", seen.astype("float64"), w[:, :, r, s].astype("float64"))
        before = made.fallbacks
        call(made, "conv", (nf, nc, oh, ow, ih + 1, iw + 2, out, x, w))
        assert np.abs(out - wanted).max() <= EPS[type] * nc * moved.rows * moved.columns, (nf, nc, oh, ow)
        assert made.fallbacks == before


def test_images_and_groups_are_added_to(tmp_path: Path) -> None:
    type = "float"
    made = build(MANY, type, tmp_path)
    for nb, ng, nf, nc, oh, ow in ((2, 1, 32, 3, 4, 9), (1, 3, 17, 2, 3, 30), (2, 2, 8, 5, 1, 14)):
        x, w = fill(type, nf, nb, ng, nc, oh + 2, ow + 4), fill(type, nc, ng, nf, nc, 3, 3)
        out = fill(type, ow, nb, ng, nf, oh + 1, ow + 1)
        wanted = out.astype("float64")
        for r, s in np.ndindex(3, 3):
            seen = x[..., r : r + oh, s + 2 : s + 2 + ow].astype("float64")
            wanted[..., 1:, :ow] += np.einsum("bgchw,gfc->bgfhw", seen, w[..., r, s].astype("float64"))
        call(made, "conv", (nb, ng, nf, nc, oh, ow, ow + 1, out, x, w))
        assert np.abs(out - wanted).max() <= EPS[type] * 9 * (nc + 1), (nb, ng, nf, nc, oh, ow)


PADDED = """\
void conv(int nb, int nf, int nc, int oh, int ow, float O[restrict nb][nf][oh][ow], float X[restrict nb][nc][oh][ow],
          float W[restrict nf][nc][3][5])
{
    for (int b = 0; b < nb; b++)
        for (int f = 0; f < nf; f++)
            for (int y = 0; y < oh; y++)
                for (int x = 0; x < ow; x++) {
                    float sum = 0;
                    for (int c = 0; c < nc; c++)
                        for (int r = 0; r < 3; r++)
                            for (int s = 0; s < 5; s++)
                                if (y + r - 1 >= 0 && y + r - 1 < oh && x + s >= 2 && x + s - 2 <= ow - 1)
                                    sum += X[b][c][y + r - 1][x + s - 2] * W[f][c][r][s];
                    O[b][f][y][x] = sum;
                }
}
"""


def test_what_lies_beyond_the_border_counts_as_nothing(tmp_path: Path) -> None:
    made = build(PADDED, "float", tmp_path)
    for nb, nf, nc, oh, ow in ((2, 32, 3, 4, 9), (1, 17, 2, 1, 1), (1, 40, 5, 20, 30), (3, 8, 1, 2, 14)):
        x, w = fill("float", nf, nb, nc, oh, ow), fill("float", nc, nf, nc, 3, 5)
        out, wanted = fill("float", ow, nb, nf, oh, ow), np.zeros((nb, nf, oh, ow))
        seen = np.pad(x.astype("float64"), ((0, 0), (0, 0), (1, 1), (2, 2)))
        for r, s in np.ndindex(3, 5):
            wanted += np.einsum("bchw,fc->bfhw", seen[:, :, r : r + oh, s : s + ow], w[:, :, r, s].astype("float64"))
        call(made, "conv", (nb, nf, nc, oh, ow, out, x, w))
        assert np.abs(out - wanted).max() <= EPS["float"] * 15 * (nc + 1), (nb, nf, nc, oh, ow)


def test_rows_of_an_image_are_joined_where_none_is_left_out(tmp_path: Path) -> None:
    place = tmp_path / "made"
    made = make(Source("conv.c", Moved(1, 1, 1, 1).macros + ONE.replace("TYPE", "float")), place, tmp_path)
    assert "planish_sgemm" in made.text and "iw" in made.text.partition("void conv")[0]
    for nf, nc, side, more in ((20, 7, 6, 0), (33, 40, 14, 0), (20, 7, 6, 2), (1, 1, 1, 0), (130, 3, 9, 1)):
        x, w = fill("float", nf, nc, side + more, side + more), fill("float", nc, nf, nc, 1, 1)
        out = fill("float", side, nf, side, side)
        wanted = np.einsum("chw,fc->fhw", x[:, :side, :side].astype("float64"), w[..., 0, 0].astype("float64"))
        call(made, "conv", (nf, nc, side, side, side + more, side + more, out, x, w))
        assert np.abs(out - wanted).max() <= EPS["float"] * (nc + 1), (nf, nc, side, more)
