"""Portions of rows, sums and squares on two threads, compiled, beside the loops as written, however little there is to
do."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from test_raised_versions import MARGIN, NATIVE
from test_raised_versions import pytestmark as pytestmark

from planish.build.emit import make_replacement
from planish.build.read import read_file
from planish.core.cache import Cache
from planish.core.span import Source
from planish.emit.dropin.multiversion_dispatch import replace_by_ladder
from planish.emit.dropin.replacement import compose
from planish.library.dense.transpose_inplace.blocked_transpose import mirror_versions
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.loops.nontemporal.streaming_stores import stream_versions
from planish.library.parallel.chunks import portion_versions
from planish.library.parallel.parallel_marks import marked_versions
from planish.library.parallel.thread_threshold import WORTH, start_where_worth
from planish.library.raise_operations import raise_version
from planish.library.signal.fft_stages.radix_stages import stage_versions
from planish.options import Options
from planish.run.processes.process import Limits
from planish.run.toolchains.toolchain import choose_compiler, compile_library
from planish.schedule.auto.plan import Prepared, Version, plan, prepare

TEXT = """\
#include <math.h>
void shares(int m, int n, const float x[restrict m][n], float y[restrict m][n])
{
    for (int i = 0; i < m; i++) {
        float most = x[i][0], sum = 0;
        for (int j = 1; j < n; j++)
            if (x[i][j] > most)
                most = x[i][j];
        for (int j = 0; j < n; j++) {
            y[i][j] = expf(x[i][j] - most);
            sum += y[i][j];
        }
        for (int j = 0; j < n; j++)
            y[i][j] /= sum;
    }
}
void turned(int m, int n, float A[restrict m][n], float B[restrict n][m])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            B[j][i] = A[i][j];
}
void mirrored(int m, int n, float A[m][m])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < i; j++) {
            float t = A[i][j];
            A[i][j] = A[j][i];
            A[j][i] = t;
        }
}
float total(int m, int n, const float x[m][n], float y[m])
{
    float sum = 3;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            sum += x[i][j];
    for (int i = 0; i < m; i++)
        y[i] = sum;
    return sum;
}
void staged(int m, int n, float a[m])
{
    for (int h = 1; h < m; h *= 2)
        for (int i = 0; i < m; i += 2 * h)
            for (int j = i; j < i + h; j++) {
                float x = a[j], y = a[j + h];
                a[j] = x + y;
                a[j + h] = x - y;
            }
}
"""


def streamed(part: Prepared) -> tuple[Version, ...]:
    """Rows that are stored while the next ones are made, or the first version where this machine has none."""
    first = plan(part, NATIVE, reassociate=True)
    found = stream_versions(part, NATIVE, first, reassociate=True)
    return (next((x for x in found if "pipelined" in x.name), first[0]),)


def raised(part: Prepared) -> tuple[Version, ...]:
    """The version that calls kernels of the library."""
    made, _ = raise_version(part.kernel, part, (), NATIVE, "reassociate", KernelCache(Cache()))
    return () if made is None else (made,)


def in_portions(versions: Callable[[Prepared], tuple[Version, ...]]) -> Callable[[Prepared], tuple[Version, ...]]:
    return lambda prepared: portion_versions(prepared, versions, 2, reassociate=True, written=False)


MAKE: dict[str, Callable[[Prepared], tuple[Version, ...]]] = {
    "shares": in_portions(streamed), "turned": in_portions(raised),
    "mirrored": lambda prepared: marked_versions(mirror_versions(prepared, NATIVE)),
    "total": in_portions(lambda part: plan(part, NATIVE, reassociate=True, most=1)),
}  # fmt: skip
SIZES = [(0, 3), (1, 1), (2, 130), (33, 1), (67, 40), (300, 17), (64, 2), (1024, 1)]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, tuple[ctypes.CDLL, ...]]:
    """The drop-in, and what is compiled: the text as it is written, and the drop-in, which always starts threads."""
    folder = tmp_path_factory.mktemp("portions")
    source, options, made = Source("portions.c", TEXT), Options(threads=2), []
    for region in (x for f in read_file(source, options).functions for x in f.regions):
        if region.stages:
            version = stage_versions(region, NATIVE, threads=2)[0][0]
            made.append(replace_by_ladder(region, version, TEXT, False, "stages", frozenset(), threads=True))
            continue
        prepared = prepare(region.kernel)
        for x in start_where_worth(prepared, MAKE[region.function](prepared)):
            made.append(make_replacement(region, prepared, x, source, options))
    text = compose(TEXT, made, "")
    always = text.replace(f">= {WORTH}", ">= 0").replace(f">= {2 * WORTH}", ">= 0")
    return text, (compile_whole(TEXT, folder), compile_whole(always, folder))


def compile_whole(text: str, folder: Path) -> ctypes.CDLL:
    compiler = choose_compiler("gcc")
    flags = ("-w", "-O0", "-fopenmp", *NATIVE.flags_for(compiler.kind))
    return ctypes.CDLL(str(compile_library(compiler, text, flags, folder, Limits(60.0))))


def framed(shape: tuple[int, ...], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers in the middle of nothing but 7, and all of it."""
    count = int(np.prod(shape))
    whole = np.full(count + 2 * MARGIN, 7, np.float32)
    whole[MARGIN : MARGIN + count] = np.random.default_rng(seed).standard_normal(count)
    return whole[MARGIN : MARGIN + count], whole


SHAPES: dict[str, Callable[[int, int], tuple[tuple[int, ...], ...]]] = {
    "shares": lambda m, n: ((m, n), (m, n)), "turned": lambda m, n: ((m, n), (n, m)),
    "mirrored": lambda m, n: ((m, m),), "staged": lambda m, n: ((m,),), "total": lambda m, n: ((m, n), (m,)),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_two_threads_compute_the_same(name: str, built: tuple[str, tuple[ctypes.CDLL, ...]]) -> None:
    text, libraries = built
    start = text.index(f"planish_{name}_1")
    assert "#pragma omp parallel for" in text[start : text.index("\n}\n", start)]
    for m, n in SIZES:
        if name == "staged" and m & (m - 1):
            continue  # as it is written, it leaves its array
        results = []
        for library in libraries:
            function = library[name]
            function.restype = ctypes.c_float if name == "total" else None
            arrays = [framed(shape, seed) for seed, shape in enumerate(SHAPES[name](m, n))]
            value = function(m, n, *(ctypes.c_void_p(x.ctypes.data) for x, _ in arrays))
            results.append(np.concatenate([*(whole for _, whole in arrays), [value or 0]]))
        np.testing.assert_allclose(results[1], results[0], rtol=1e-5, atol=1e-4, err_msg=f"{m}, {n}")
