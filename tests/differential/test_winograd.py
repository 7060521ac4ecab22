"""Convolutions by tiles, compiled and run beside numpy: in floats, at sizes with and without room for a tile."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
from test_raised_versions import NATIVE, compile_text, counted
from test_raised_versions import pytestmark as pytestmark

from planish.build.emit import make_replacement
from planish.build.read import read_file
from planish.core.cache import Cache
from planish.core.span import Source
from planish.emit.dropin.replacement import compose
from planish.library.conv.winograd.matrices import F23
from planish.library.conv.winograd.tiled_conv import tile_version
from planish.library.kernels.kernel_cache import KernelCache
from planish.options import Options
from planish.schedule.auto.plan import prepare

TEXT = """\
void conv(int h, int w, int c, int k, float out[restrict h][w][k], float in[restrict h + 2][w + 2][c],
          float weights[restrict 3][3][c][k])
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            for (int f = 0; f < k; f++) {
                float sum = 0;
                for (int r = 0; r < 3; r++)
                    for (int s = 0; s < 3; s++)
                        for (int p = 0; p < c; p++)
                            sum += in[y + r][x + s][p] * weights[r][s][p][f];
                out[y][x][f] = sum;
            }
}
"""


def test_tiles_find_what_the_loops_find(tmp_path: Path) -> None:
    options, source = Options(), Source("conv.c", TEXT)
    (region,) = read_file(source, options).functions[0].regions
    prepared = prepare(region.kernel)
    made = tile_version(region.kernel, prepared, region.scratch, NATIVE, "reassociate", KernelCache(Cache()))
    assert made is not None
    assert "2.25 times fewer multiplications" in next(x.message for x in made.remarks if x.id == "winograd")
    replacement = counted(make_replacement(region, prepared, made, source, options))
    drop_in = compile_text("int fallbacks;\n" + compose(TEXT, [replacement], ""), (), tmp_path, tmp_path)
    fallbacks = 0
    for h, w, c, k in (
        (0, 4, 3, 3), (1, 5, 3, 2), (6, 1, 2, 2), (2, 2, 1, 1), (3, 3, 5, 7), (2, 9, 17, 33), (11, 8, 16, 64),
        (13, 15, 40, 65), (4, 4, 0, 3), (4, 4, 3, 0),
    ):  # fmt: skip
        rng = np.random.default_rng(h + w + c + k)
        image, weights = (rng.standard_normal(x).astype(np.float32) for x in ((h + 2, w + 2, c), (3, 3, c, k)))
        out = np.full((h, w, k), np.nan, np.float32)
        drop_in.library.conv(h, w, c, k, *(ctypes.c_void_p(x.ctypes.data) for x in (out, image, weights)))
        wanted = np.zeros((h, w, k))
        for r in range(3):
            for s in range(3):
                wanted += image[r : r + h, s : s + w].astype(float) @ weights[r, s].astype(float)
        largest = float(np.abs(image).max(initial=0.0) * np.abs(weights).max(initial=0.0))
        assert np.abs(out - wanted).max(initial=0.0) <= F23.growth * c * (c + 12) * 2.0**-24 * largest
        fallbacks += h < 2 or w < 2
        assert drop_in.fallbacks == fallbacks
