"""Alignments and decaying peaks in lanes, compiled, with what lies around their arrays, beside the loops as written."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from test_raised_versions import MARGIN, NATIVE, DropIn, compile_text, counted
from test_raised_versions import pytestmark as pytestmark

from planish.build.emit import make_replacement
from planish.build.read import read_file
from planish.core.span import Source
from planish.emit.dropin.replacement import compose
from planish.library.loops.scan.vector_scan import scan_versions
from planish.options import Options
from planish.schedule.auto.plan import prepare

TEXT = """\
static inline int MAX(int a, int b) { return a > b ? a : b; }
void local(int n, int m, const signed char *restrict a, const signed char *restrict b, int H[restrict n + 1][m + 1])
{
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            int best = MAX(0, H[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 3 : -3));
            best = MAX(best, H[i - 1][j] - 2);
            H[i][j] = MAX(best, H[i][j - 1] - 2);
        }
}
void gaps(int n, int m, int c, const signed char *restrict a, const signed char *restrict b,
    int H[restrict n + 1][m + 1], int E[restrict n + 1][m + 1], int F[restrict n + 1][m + 1])
{
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            E[i][j] = MAX(E[i][j - 1] - 1, H[i][j - 1] - c);
            F[i][j] = MAX(F[i - 1][j] - 1, H[i - 1][j] - c);
            int best = H[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 3 : -3);
            if (E[i][j] > best) best = E[i][j];
            if (F[i][j] > best) best = F[i][j];
            H[i][j] = best;
        }
}
int running(int n, int m, const signed char *restrict a, int H[restrict n])
{
    int sum = m;
    for (int j = 0; j < n; j++) {
        sum += a[j];
        H[j] = sum;
    }
    return sum;
}
int behind(int n, int m, const signed char *restrict a, int H[restrict n])
{
    int sum = m;
    for (int j = 0; j < n; j++) {
        H[j] = sum * 3;
        sum += a[j];
    }
    return sum;
}
int starts(int n, int m, const signed char *restrict a, unsigned H[restrict n])
{
    unsigned at = m;
    for (int j = 0; j < n; j++) {
        unsigned here = H[j];
        H[j] = at;
        at += here * 3 + a[j];
    }
    return at;
}
int peaks(int n, int m, int c, const signed char *restrict a, int H[restrict n + 1][m + 1])
{
    int low = 50;
    for (int j = 0; j < m; j++) {
        if (low + c > a[j]) low = a[j]; else low = low + c;
        H[n][j] = low;
    }
    return low;
}
"""
COUNTS = (0, 1, 2, 15, 16, 17, 40)
SIZES = [*((n, m) for n in (0, 1, 2, 17, 40) for m in COUNTS), (15, 16), (16, 15), (3, 1100)]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[DropIn, DropIn]:
    """The loops as they are written, and the drop-in with chains in lanes, whatever the clock would say of it."""
    folder = tmp_path_factory.mktemp("scans")
    return compile_text(TEXT, (), folder / "plain", folder), make(1, folder)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> DropIn:
    """The drop-in with sums that two threads make."""
    return make(2, tmp_path_factory.mktemp("shared"))


def make(threads: int, folder: Path) -> DropIn:
    """The drop-in for some threads, which counts the calls that it leaves to the loops as they are written."""
    source, options, made = Source("scans.c", TEXT), Options(threads=threads), []
    for region in (x for f in read_file(source, options).functions for x in f.regions):
        prepared = prepare(region.kernel)
        for candidate in scan_versions(prepared, NATIVE, threads=threads):
            made.append(counted(make_replacement(region, prepared, candidate, source, options)))
    text = "int fallbacks;\n" + compose(TEXT, made, "")
    return compile_text(text, (), folder / "made", folder, threads=threads > 1)


def fill(kind: str, count: int, seed: int, bound: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers in the middle of nothing but 7, and all of it."""
    whole = np.full(count + 2 * MARGIN, 7, kind)
    out = whole[MARGIN : MARGIN + count]
    out[...] = np.random.default_rng(seed).integers(-bound, bound, count)
    return out, whole


@pytest.mark.parametrize("name", ["local", "gaps", "peaks"])
def test_chains_in_lanes(name: str, built: tuple[DropIn, DropIn]) -> None:
    assert f"planish_{name}" in built[1].text
    for n, m in SIZES:
        for cost in ((4,), (0,), (-2,)) if name != "local" else ((),):
            results = []
            for made in built:
                rows = 3 if name == "gaps" else 1
                arrays = [fill("int8", m if name == "peaks" else n, 0, 90 if name == "peaks" else 2)]
                arrays += [] if name == "peaks" else [fill("int8", m, 1, 2)]
                arrays += [fill("int32", (n + 1) * (m + 1), seed, 100) for seed in range(rows)]
                out = getattr(made.library, name)(n, m, *cost, *(ctypes.c_void_p(x.ctypes.data) for x, _ in arrays))
                results.append([whole for _, whole in arrays] + [np.array(out if name == "peaks" else 0)])
            assert all((a == b).all() for a, b in zip(*results, strict=True)), (n, m, cost)
    assert built[1].fallbacks == 0


@pytest.mark.parametrize("name", ["running", "behind", "starts"])
def test_running_sums(name: str, built: tuple[DropIn, DropIn], shared: DropIn) -> None:
    assert f"planish_{name}" in built[1].text and f"planish_{name}" in shared.text
    assert "omp parallel for" in shared.text
    # From two spans on, which depend on the second cache of this machine, threads have parts of them.
    for n in (*COUNTS, 1100, 2_000_003):
        results = []
        for made in (*built, shared):
            arrays = [fill("int8", n, 0, 90), fill("int32", n, 1, 100)]
            out = getattr(made.library, name)(n, -7, *(ctypes.c_void_p(x.ctypes.data) for x, _ in arrays))
            results.append([*(whole for _, whole in arrays), np.array(out)])
        for others in results[1:]:
            assert all((a == b).all() for a, b in zip(results[0], others, strict=True)), n
    assert built[1].fallbacks == shared.fallbacks == 0
