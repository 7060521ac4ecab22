"""Stencils in time tiles on 2, 3 and 7 threads, compiled, beside the loops as written; tiles are small."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from test_parallel_chunks import compile_whole, framed
from test_raised_versions import NATIVE
from test_raised_versions import pytestmark as pytestmark

from planish.build.emit import make_replacement
from planish.build.read import read_file
from planish.core.span import Source
from planish.emit.dropin.replacement import compose
from planish.library.strategies.parallel.parallel_time_tiles import POLICY
from planish.options import Options
from planish.poly.scop.dependence import movable_updates
from planish.schedule.auto.parallel_time_tiles import find_time_tiles
from planish.schedule.auto.plan import draft_version, lower_draft, prepare

TEXT = """\
void star(int s, int n, float A[restrict n][n], float B[restrict n][n])
{
    for (int t = 0; t < s; t++) {
        for (int i = 2; i < n - 2; i++)
            for (int j = 2; j < n - 2; j++)
                B[i][j] = 0.5f * A[i][j] + 0.0625f * (A[i-2][j] + A[i-1][j] + A[i+1][j] + A[i+2][j]
                    + A[i][j-2] + A[i][j-1] + A[i][j+1] + A[i][j+2]);
        for (int i = 2; i < n - 2; i++)
            for (int j = 2; j < n - 2; j++)
                A[i][j] = B[i][j];
    }
}
void relax(int s, int n, float A[restrict n][n], float F[restrict n][n])
{
    for (int t = 0; t < s; t++)
        for (int y = 1; y < n - 1; y++)
            for (int x = 1; x < n - 1; x++)
                A[y][x] = 0.25f * (A[y-1][x-1] + A[y-1][x] + A[y][x-1] + A[y+1][x+1] - F[y][x]);
}
void waves(int s, int n, float p[restrict n][n], float v[restrict n][n])
{
    for (int t = 0; t < s; t++) {
        for (int j = 0; j < n; j++)
            v[0][j] = 0.5f * t;
        for (int i = 1; i < n; i++)
            for (int j = 0; j < n; j++)
                v[i][j] -= 0.5f * (p[i][j] - p[i-1][j]);
        for (int i = 0; i < n - 1; i++)
            for (int j = 0; j < n; j++)
                p[i][j] -= 0.25f * (v[i+1][j] - v[i][j]);
    }
}
void ping(int s, int n, float A[restrict n][n], float B[restrict n][n])
{
    float (*a)[n] = A;
    for (int t = 0; t < s; t++)
        for (int i = 0; i < n; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = 0.5f * a[i][j] + 0.25f * B[i][j - 1];
}
void line(int s, int n, float A[restrict n], float B[restrict n])
{
    for (int t = 0; t < s; t++) {
        for (int i = 1; i < n - 1; i++)
            B[i] = 0.5f * A[i] + 0.25f * (A[i-1] + A[i+1]);
        for (int i = 1; i < n - 1; i++)
            A[i] = B[i];
    }
}
"""
TILED = {"star": True, "relax": False, "waves": True, "line": True}
"""Those that have tiles, and whether all tiles of a wave start at once."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[ctypes.CDLL, ...]:
    folder = tmp_path_factory.mktemp("tiles")
    source, options, made = Source("tiles.c", TEXT), Options(threads=3), []
    for region in (x for f in read_file(source, options).functions for x in f.regions):
        prepared = prepare(region.kernel)
        movable = movable_updates(prepared.scop, prepared.dependences, True)
        found = find_time_tiles(prepared.scop, prepared.dependences.order.subtract(movable))
        assert (found is not None) == (region.function in TILED), region.function
        if found is None:
            continue
        assert found.starts_at_once == TILED[region.function]
        schedule = found.cut(7, 3, 16)
        draft = draft_version(prepared, NATIVE, POLICY, schedule, movable)
        version = lower_draft(prepared, draft, 3, True)
        assert version is not None
        made.append(make_replacement(region, prepared, version, source, options))
    text = compose(TEXT, made, "")
    assert text.count("#pragma omp parallel for") == len(TILED)
    return compile_whole(TEXT, folder), compile_whole(text, folder)


@pytest.mark.parametrize("threads", [2, 3, 7])
@pytest.mark.parametrize("name", TILED)
def test_tiles_compute_the_same(name: str, threads: int, built: tuple[ctypes.CDLL, ...]) -> None:
    built[1]["omp_set_num_threads"](threads)
    for s, n in ((0, 9), (1, 0), (1, 1), (2, 3), (5, 6), (11, 33), (4, 130), (40, 21)):
        results = []
        for library in built:
            for _ in range(2):
                shape = (n,) if name == "line" else (n, n)
                arrays = [framed(shape, seed) for seed in range(2)]
                library[name](s, n, *(ctypes.c_void_p(x.ctypes.data) for x, _ in arrays))
                results.append(np.concatenate([whole for _, whole in arrays]))
        for other in results[1:]:
            np.testing.assert_allclose(other, results[0], rtol=1e-4, atol=1e-5, err_msg=f"{s}, {n}")
        np.testing.assert_array_equal(results[2], results[3])
