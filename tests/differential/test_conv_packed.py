"""Convolutions of narrow numbers whose channels are woven, compiled and called beside numpy, between pages of 7."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from test_integers import fill
from test_integers import pytestmark as pytestmark
from test_raised_versions import NATIVE, compile_text, counted

from planish.build.emit import make_replacement
from planish.build.read import read_file
from planish.core.cache import Cache
from planish.core.span import Source
from planish.emit.dropin.replacement import compose
from planish.library.conv.conv_packed.packed_conv import woven_version
from planish.library.kernels.kernel_cache import KernelCache
from planish.options import Options
from planish.schedule.auto.plan import prepare

TEXT = """\
#include <stdint.h>
void layer(int nb, int nf, int nc, int oh, int ow, int32_t O[restrict nb][nf][oh][ow],
           const uint8_t X[restrict nb][nc][oh + 4][ow + 4], const int8_t W[restrict nf][nc][5][5])
{
    for (int b = 0; b < nb; b++)
        for (int f = 0; f < nf; f++)
            for (int y = 0; y < oh; y++)
                for (int x = 0; x < ow; x++) {
                    int32_t sum = 0;
                    for (int c = 0; c < nc; c++)
                        for (int r = 0; r < 5; r++)
                            for (int s = 0; s < 5; s++)
                                sum += X[b][c][y + r][x + s] * W[f][c][r][s];
                    O[b][f][y][x] = sum;
                }
}
"""
PLAIN = "void copy(int n, float A[restrict n], float B[restrict n]) { for (int i = 0; i < n; i++) A[i] = B[i]; }\n"
SIZES = ((0, 3, 2, 2, 2), (2, 8, 4, 1, 1), (1, 33, 7, 9, 15), (3, 66, 5, 2, 3), (1, 9, 3, 3, 117), (1, 2, 0, 2, 2))


def test_what_is_woven_finds_what_the_loops_find(tmp_path: Path) -> None:
    options, source = Options(), Source("layer.c", TEXT)
    (region,) = read_file(source, options).functions[0].regions
    prepared = prepare(region.kernel)
    made = woven_version(region.kernel, prepared, region.scratch, NATIVE, "strict", KernelCache(Cache()))
    assert made is not None
    assert "packs channels" in next(x.message for x in made.remarks if x.id == "conv-packed")
    replacement = counted(make_replacement(region, prepared, made, source, options))
    drop_in = compile_text("int fallbacks;\n" + compose(TEXT, [replacement], ""), (), tmp_path, tmp_path)
    for nb, nf, nc, oh, ow in SIZES:
        x, w = fill("uint8", nc, nb, nc, oh + 4, ow + 4), fill("int8", nf, nf, nc, 5, 5)
        out = fill("int32", oh, nb, nf, oh, ow)
        drop_in.library.layer(nb, nf, nc, oh, ow, *(ctypes.c_void_p(a.ctypes.data) for a in (out, x, w)))
        seen = np.lib.stride_tricks.sliding_window_view(x, (5, 5), axis=(2, 3))
        wanted = np.einsum("bcyxrs,fcrs->bfyx", seen.astype("int64"), w.astype("int64"))
        assert (out == wanted).all(), (nb, nf, nc, oh, ow)
        for array in (out, x, w):
            assert array.base is not None and (np.asarray(array.base).ravel()[[0, -1]] == 7).all()
    assert drop_in.fallbacks == sum(0 in x[1:] for x in SIZES)


@pytest.mark.parametrize("text", [PLAIN, TEXT.replace("uint8_t", "float").replace("int8_t", "float")])
def test_there_is_none_of_what_is_wide(text: str) -> None:
    (region,) = read_file(Source("layer.c", text.replace("int32_t", "float")), Options()).functions[0].regions
    prepared = prepare(region.kernel)
    assert woven_version(region.kernel, prepared, region.scratch, NATIVE, "reassociate", KernelCache(Cache())) is None
