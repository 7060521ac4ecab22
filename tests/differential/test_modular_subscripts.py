"""Loops around a ring, compiled in several versions beside the original: sizes from none, and ends that meet."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
from test_raised_versions import NATIVE
from test_raised_versions import pytestmark as pytestmark

from planish.build.emit import make_replacement
from planish.build.read import read_file
from planish.core.span import Source
from planish.emit.dropin.replacement import Replacement, compose
from planish.frontend.c.reader import read_c
from planish.options import Options
from planish.run.toolchains.toolchain import choose_compiler
from planish.schedule.auto.plan import plan, prepare

TEXT = """\
#include <stddef.h>
/* Whole numbers, so that every order gives the same. */
void heat(int steps, int n, unsigned a[restrict n][n], unsigned b[restrict n][n])
{
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < n; i++)
            b[0][i] = a[0][(i + n - 1) % n] + 2 * a[0][i] + 3 * a[0][(i + 1) % n];
        for (int i = 0; i < n; i++)
            a[0][i] = b[0][i];
    }
}
void inplace(int steps, int n, unsigned a[restrict n][n], unsigned b[restrict n][n])
{
    for (int t = 0; t < steps; t++)
        for (int i = 0; i < n; i++) {
            int l = i - 2, r = i + 1;
            if (l < 0)
                l += n;
            if (r == n)
                r = 0;
            a[0][i] += a[0][l] + 5 * a[0][r];
            b[0][(2 * i + 1) % n] += a[0][i];
        }
}
void leapfrog(int steps, int n, unsigned a[restrict n][n], unsigned b[restrict n][n])
{
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < n; i++)
            a[0][i] += b[0][i] - b[0][(i > 0 ? i - 1 : n - 1)];
        for (int i = 0; i < n; i++)
            b[0][i] += a[0][(i + 1) % n] - a[0][i];
    }
}
void square(int steps, int n, unsigned a[restrict n][n], unsigned b[restrict n][n])
{
    for (int t = 0; t < steps; t++)
        for (int i = 0; i < n; i++) {
            int u = i == 0 ? n - 1 : i - 1, d = i == n - 1 ? 0 : i + 1;
            for (int j = 0; j < n; j++) {
                unsigned s = a[u][j] + 3 * a[d][j];
                s += 5 * a[i][(j + n - 1) % n] + 7 * a[i][(j + 1) % n];
                b[j][i] += s;
            }
        }
}
void closed(int steps, int n, unsigned a[restrict n][n], unsigned b[restrict n][n])
{
    for (int t = 0; t < steps; t++) {
        int last = n - 1, older = n > 1 ? n - 2 : 0, next = 0;
        for (int i = 0; i < n; i++) {
            b[0][i] += a[0][last] + 3 * a[0][i] + 5 * a[0][older];
            older = last;
            last = i;
        }
        for (int i = 0, j = n - 1; i < n; j = i++)
            a[0][i] += b[0][j] > b[0][i] ? a[0][j] : 7;
        for (int i = n - 1; i >= 0; next = i, i -= 2)
            b[0][i] = 3 * b[0][next] + a[0][i];
    }
}
static void around(int steps, size_t n, const unsigned *restrict a, unsigned *restrict b)
{
    for (int t = 0; t < steps; t++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                size_t u = (i + n - 1) % n, l = j == 0 ? n - 1 : j - 1, r = j + 1 < n ? j + 1 : 0;
                unsigned s = a[u * n + j] + 3 * a[i * n + l];
                b[i * n + j] += s + 5 * a[u * n + r] + 7 * a[u * n + l];
            }
}
void rows(int steps, int n, unsigned *a, unsigned *b)
{
    around(steps, (size_t)n, a, b);
}
"""
NAMES = ("heat", "inplace", "leapfrog", "square", "closed", "rows")


def compiled(text: str, place: Path, name: str) -> ctypes.CDLL:
    (place / f"{name}.c").write_text(text)
    compiler = choose_compiler("gcc")
    flags = [*NATIVE.flags_for(compiler.kind), "-std=c11", "-O1", "-fopenmp-simd", "-shared", "-fPIC"]
    command = [str(compiler.path), *flags, f"{name}.c", "-o", f"{name}.so"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(place / f"{name}.so"))


def versions(source: Source) -> list[list[Replacement]]:
    """Replacements of all nests of a file: the most promising version of each, then the second one."""
    options = Options()
    regions = [region for f in read_file(source, options).functions for region in f.regions]
    assert [region.function for region in regions] == [*NAMES[:-1], "around"]
    made = []
    for region in regions:
        prepared = prepare(region.kernel)
        candidates = plan(prepared, NATIVE, reassociate=True, most=2)
        made.append([make_replacement(region, prepared, x, source, options) for x in candidates])
    most = max(len(x) for x in made)
    return [[x[min(n, len(x) - 1)] for x in made] for n in range(most)]


def results(library: ctypes.CDLL, name: str, steps: int, n: int) -> np.ndarray:
    whole = np.random.default_rng(n).integers(0, 1 << 32, 2 * n * n + 192, "uint32")
    a, b = (ctypes.c_void_p(whole.ctypes.data + 4 * at) for at in (64, n * n + 128))
    getattr(library, name)(steps, n, a, b)
    return whole


def test_versions_go_around_as_the_original_does(tmp_path: Path) -> None:
    source = Source("ring.c", TEXT)
    original = compiled(TEXT, tmp_path, "original")
    made = versions(source)
    assert len(made) == 2
    for number, replacements in enumerate(made):
        library = compiled(compose(TEXT, replacements, ""), tmp_path, f"version_{number}")
        for name in NAMES:
            for n in (0, 1, 2, 3, 4, 17):
                for steps in (0, 1, 5):
                    wanted, found = (results(x, name, steps, n) for x in (original, library))
                    assert (wanted == found).all(), (name, number, n, steps)


LINES = """\
#define GIVEN int n, unsigned m, unsigned at, const int *restrict line, int *restrict y
long one_based(GIVEN)
{ for (int i = 0; i < n; i++) { y[i] = line[at]; if (at - 5 < m - 5) at++; else at = 5; } return at; }
long mixed(GIVEN)
{ int k = at; for (int i = 0; i < n; i++) { y[i] = line[k]; if (k - 3 < m) k++; else k = 0; } return k; }
long below(GIVEN)
{ int i; unsigned e = 0u - m; for (i = -90; i < e; i++) { y[i + 90] = line[at]; if (++at >= 40) at = 0; } return at; }
"""
LINED = ["one_based", "mixed", "below"]


def test_loops_that_are_cut_set_back_where_numbers_go_around(tmp_path: Path) -> None:
    file = read_c(Source("lines.c", LINES))
    assert len({x.span for x in file.remarks if x.id == "c-ring"}) == len(LINED)
    libraries = []
    for name, written in (("original", LINES), ("cut", file.source.text)):
        (tmp_path / f"{name}.c").write_text(written)
        command = ["gcc", "-O1", "-shared", "-fPIC", f"{name}.c", "-o", f"{name}.so"]
        subprocess.run(command, cwd=tmp_path, check=True)
        libraries.append(ctypes.CDLL(str(tmp_path / f"{name}.so")))
    line = np.arange(1 << 17, dtype=np.int32)
    for name in LINED:
        for n, m, at in ((0, 3, 0), (100, 1, 0), (100, 3, 4), (130, 60, 7), (90, 50, 41), (99, 120, 65500)):
            found = []
            for library in libraries:
                y = np.zeros(200, dtype=np.int32)
                given = (ctypes.c_void_p(x.ctypes.data) for x in (line, y))
                got = getattr(library, name)(n, m, at, *given)
                found.append((got, y.tolist()))
            assert found[0] == found[1], (name, n, m, at)
