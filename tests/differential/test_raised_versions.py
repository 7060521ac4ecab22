"""Drop-ins that call kernels of the library: compiled beside what numpy computes, for sizes from none to blocks."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examples import FOLDER

from planish.build.emit import make_replacement
from planish.build.read import read_file
from planish.core.cache import Cache
from planish.core.span import Source
from planish.emit.dropin.replacement import Replacement, compose
from planish.ir.types import Floats
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.raise_operations import raise_version
from planish.options import Options
from planish.run.toolchains.toolchain import Compiler, choose_compiler
from planish.schedule.auto.plan import Prepared, Version, prepare
from planish.target.load import load_target

Matrix = np.ndarray[Any, Any]
NATIVE = load_target("native")
MARGIN = 64
"""Elements in front of and behind each array that nothing may touch."""

pytestmark = [
    pytest.mark.usefixtures("few_registers"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here"),
    pytest.mark.skipif(not (NATIVE.fma or NATIVE.isa.startswith("arm")), reason="no instructions for this machine"),
]

GEMM = """\
void gemm(int m, int n, int k, double alpha, double beta, double C[m][n], double A[m][k], double B[k][n])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            C[i][j] *= beta;
            for (int p = 0; p < k; p++)
                C[i][j] += alpha * A[i][p] * B[p][j];
        }
}
"""
TWO = """\
void two(int m, int n, int k, int l, double T[m][n], double A[m][k], double B[k][n], double C[n][l], double D[m][l])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            T[i][j] = 0;
            for (int p = 0; p < k; p++)
                T[i][j] += 1.5 * A[i][p] * B[p][j];
        }
    for (int i = 0; i < m; i++)
        for (int j = 0; j < l; j++) {
            D[i][j] *= 0.5;
            for (int p = 0; p < n; p++)
                D[i][j] += T[i][p] * C[p][j];
        }
}
"""
NT = """\
void gemm_nt(int M, int N, int K, double ALPHA, double *A, int lda, double *B, int ldb, double *C, int ldc)
{
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) {
            register double sum = 0;
            for (int k = 0; k < K; ++k)
                sum += ALPHA * A[i * lda + k] * B[j * ldb + k];
            C[i * ldc + j] += sum;
        }
}
"""
CONTRACTION = """\
void contract(int na, int nb, int nc, int nd, double C[na][nb], double A[nc][na][nd], double B[nd][nc][nb])
{
    for (int a = 0; a < na; a++)
        for (int b = 0; b < nb; b++)
            for (int c = 0; c < nc; c++)
                for (int d = 0; d < nd; d++)
                    C[a][b] += A[c][a][d] * B[d][c][b];
}
"""
TRIANGLES = """\
void lower(int n, int l, double a, double b, double C[n][n], double A[n][l])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++)
            C[i][j] *= b;
        for (int k = 0; k < l; k++)
            for (int j = 0; j <= i; j++)
                C[i][j] += a * A[i][k] * A[j][k];
    }
}
void upper(int n, int l, double a, double b, double C[n][n], double A[l][n])
{
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) {
            C[i][j] *= b;
            for (int k = 0; k < l; k++)
                C[i][j] += a * A[k][i] * A[k][j];
        }
}
void both(int n, int l, double a, double b, double C[n][n], double A[n][l], double B[n][l])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++)
            C[i][j] *= b;
        for (int k = 0; k < l; k++)
            for (int j = 0; j <= i; j++)
                C[i][j] += A[j][k] * a * B[i][k] + B[j][k] * a * A[i][k];
    }
}
"""
SWITCH = """\
void chain(int a, int b, int c, int d, double A[a][b], double B[b][c], double C[c][d], double D[a][d])
{
    double S[a][c];
    for (int i = 0; i < a; i++)
        for (int j = 0; j < c; j++) {
            S[i][j] = 0;
            for (int k = 0; k < b; k++)
                S[i][j] += A[i][k] * B[k][j];
        }
    for (int i = 0; i < a; i++)
        for (int j = 0; j < d; j++) {
            D[i][j] = 0;
            for (int k = 0; k < c; k++)
                D[i][j] += S[i][k] * C[k][j];
        }
}
"""


@dataclass(frozen=True, slots=True)
class DropIn:
    """A raised version, compiled; `fallbacks` counts the calls in which the original ran."""

    text: str
    library: ctypes.CDLL
    kinds: tuple[str, ...]

    @property
    def fallbacks(self) -> int:
        return ctypes.c_int.in_dll(self.library, "fallbacks").value


def make(
    source: Source, place: Path, include: Path, fp: str = "reassociate", compiler: Compiler | None = None
) -> DropIn:
    """The drop-in with the raised version of each nest of a file, whatever the clock would say of it."""
    options = Options(fp=fp)  # type: ignore[arg-type]
    file = read_file(source, replace(options, include_dirs=(include,)))
    made, kinds = [], []
    for region in (x for f in file.functions for x in f.regions):
        prepared = prepare(region.kernel)
        candidate, remarks = raise_version(
            region.kernel, prepared, region.scratch, NATIVE, options.fp, KernelCache(Cache())
        )
        assert candidate is not None, remarks
        kinds += [x.id for x in candidate.remarks]
        made.append(counted(make_replacement(region, prepared, candidate, source, options)))
    return compile_text("int fallbacks;\n" + compose(source.text, made, ""), tuple(kinds), place, include, compiler)


def counted(replacement: Replacement) -> Replacement:
    """What counts how often the nest is run as it is written."""
    head, found, tail = replacement.patch.text.partition("} else {")
    assert found or not replacement.guards
    text = f"{head}{found} fallbacks++;{tail}" if found else head
    return replace(replacement, patch=replace(replacement.patch, text=text))


def compile_text(
    text: str, kinds: tuple[str, ...], place: Path, include: Path, compiler: Compiler | None = None,
    threads: bool = False, level: str = "-O2",
) -> DropIn:  # fmt: skip
    """The drop-in of a text, by gcc where no compiler is given; long texts take gcc half as long with `-O1`."""
    compiler = compiler or choose_compiler("gcc")
    place.mkdir(exist_ok=True)
    (place / "drop_in.c").write_text(text)
    flags = [*NATIVE.flags_for(compiler.kind), f"-I{include}", "-std=c11", level, "-Wall", "-Wextra"]
    flags += ["-Werror", "-fopenmp" if threads else "-fopenmp-simd", "-shared", "-fPIC"]
    command = [str(compiler.path), *flags, "drop_in.c", "-o", "drop_in.so"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return DropIn(text, ctypes.CDLL(str(place / "drop_in.so")), kinds)


def compile_both(
    text: str, choose: Callable[[Prepared], Version], folder: Path, fp: Floats = "reassociate"
) -> tuple[DropIn, DropIn]:
    """A text as it is written, and with a version of each region that was chosen for it, whatever the clock says."""
    source, options, made = Source("text.c", text), Options(fp=fp), []
    for region in (x for f in read_file(source, options).functions for x in f.regions):
        prepared = prepare(region.kernel)
        made.append(counted(make_replacement(region, prepared, choose(prepared), source, options)))
    whole = "int fallbacks;\n" + compose(text, made, "")
    return compile_text(text, (), folder / "plain", folder), compile_text(whole, (), folder / "made", folder)


def enclosed(dtype: str, count: int, seed: int) -> tuple[Matrix, Matrix]:
    """Numbers in the middle of nothing but 7, and all of it."""
    whole: Matrix = np.full(count + 2 * MARGIN, 7.0, dtype)
    out = whole[MARGIN : MARGIN + count]
    out[...] = np.random.default_rng(seed).uniform(-1, 1, count)
    return out, whole


@pytest.fixture(scope="module")
def drop_in(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], DropIn]:
    place = tmp_path_factory.mktemp("raised")

    @cache
    def get(text: str) -> DropIn:
        name = str(abs(hash(text)))
        return make(Source("nest.c", text), place / name, place)

    return get


def fill(seed: int, **shapes: tuple[int, ...]) -> dict[str, Matrix]:
    """Arrays of random numbers, each in the middle of a larger one of nothing but 7."""
    random = np.random.default_rng(seed)
    out = {}
    for name, shape in shapes.items():
        count = int(np.prod(shape))
        whole = np.full(count + 2 * MARGIN, 7.0)
        out[name] = whole[MARGIN : MARGIN + count].reshape(shape)
        out[name][...] = random.uniform(-1, 1, shape)
    return out


def call(made: DropIn, name: str, arguments: tuple[int | float | Matrix, ...], fallbacks: int = 0) -> None:
    """Call a function, in which so many nests run as they were written; what lies around its arrays is as it was
    before."""
    passed: list[Any] = []
    for x in arguments:
        if isinstance(x, np.ndarray):
            passed.append(ctypes.c_void_p(x.ctypes.data))
        else:
            passed.append(ctypes.c_double(x) if isinstance(x, float) else ctypes.c_int(x))
    before = made.fallbacks
    getattr(made.library, name)(*passed)
    for x in arguments:
        if isinstance(x, np.ndarray) and x.size:
            whole = x.base if x.base is not None else x
            while whole.base is not None and isinstance(whole.base, np.ndarray):
                whole = whole.base
            assert (whole[:MARGIN] == 7.0).all() and (whole[-MARGIN:] == 7.0).all()
    assert made.fallbacks == before + fallbacks


def agree(mine: Matrix, wanted: Matrix, depth: int) -> None:
    assert mine.shape == wanted.shape
    assert np.abs(mine - wanted).max(initial=0.0) <= 1e-14 * (depth + 4)


CHOLESKY = """\
#include <math.h>
void cholesky(int n, double A[n][n])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++)
                A[i][j] -= A[i][k] * A[j][k];
            A[i][j] /= A[j][j];
        }
        for (int k = 0; k < i; k++)
            A[i][i] -= A[i][k] * A[i][k];
        A[i][i] = sqrt(A[i][i]);
    }
}
"""
LU = """\
void lu(int n, double A[n][n])
{
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++) {
            A[i][k] /= A[k][k];
            for (int j = k + 1; j < n; j++)
                A[i][j] -= A[i][k] * A[k][j];
        }
}
"""
SOLVE = """\
void solve(int m, int n, double A[m][m], double B[m][n])
{
    for (int i = m - 1; i >= 0; i--)
        for (int j = 0; j < n; j++) {
            for (int k = i + 1; k < m; k++)
                B[i][j] -= A[i][k] * B[k][j];
            B[i][j] /= A[i][i];
        }
}
"""
TURNED = """\
void turned(int m, int n, double A[n][n], double B[m][n])
{
    for (int i = 0; i < m; i++)
        for (int j = n - 1; j >= 0; j--) {
            B[i][j] *= A[j][j];
            for (int k = 0; k < j; k++)
                B[i][j] += B[i][k] * A[k][j];
        }
}
"""
ONE_ARRAY = """\
void inside(int n, int l, double C[n][n + l])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < l; k++)
                C[i][j] += C[i][n + k] * C[j][n + k];
}
void strict(int n, int l, double C[n][n + l], double D[n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < l; k++)
                D[i][j] += C[i][n + k] * C[j][n + k];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            for (int k = 0; k < l; k++)
                C[i][j] += C[i][n - 1 + k] * C[j][n - 1 + k];
}
void planes(int na, int nb, int nc, int nd, double C[na][nb], double A[na][nc][nd], double B[nc][nd][nb])
{
    for (int i = 0; i < nc; i++)
        for (int j = 0; j < nd; j++)
            for (int p = 0; p < nd; p++)
                A[0][i][j] += A[1][i][p] * A[2][p][j];
    for (int a = 0; a < na; a++)
        for (int b = 0; b < nb; b++)
            for (int c = 0; c < nc; c++)
                for (int d = 0; d < nd; d++)
                    C[a][b] += A[a][c][d] * B[c][d][b];
}
"""
SYMMETRIC = """\
void left(int m, int n, double alpha, double beta, double C[m][n], double A[m][m], double B[m][n])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < i; k++) {
                C[k][j] += alpha * B[i][j] * A[i][k];
                sum += B[k][j] * A[i][k];
            }
            C[i][j] = beta * C[i][j] + alpha * B[i][j] * A[i][i] + alpha * sum;
        }
}
void right(int m, int n, double C[m][n], double A[n][n], double B[m][n])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            for (int k = 0; k <= j; k++)
                C[i][j] += B[i][k] * A[k][j];
            for (int k = j + 1; k < n; k++)
                C[i][j] += B[i][k] * A[j][k];
        }
}
"""
CONV = """\
void conv(int n, int f, int c, int h, int w, int v, int r, int s, double O[n][f][h][v],
          double X[n][c][2 * h + r][w + s], double W[f][c][r][s])
{
    for (int b = 0; b < n; b++)
        for (int o = 0; o < f; o++)
            for (int y = 0; y < h; y++)
                for (int x = 0; x < w; x++) {
                    O[b][o][y][x] *= 0.5;
                    for (int i = 0; i < c; i++)
                        for (int p = 0; p < r; p++)
                            for (int q = 0; q < s; q++)
                                O[b][o][y][x] += X[b][i][2 * y + p][x + q] * W[o][i][p][q];
                }
}
"""


SIZES = [
    (0, 5, 4), (5, 0, 4), (5, 4, 0), (1, 1, 1), (7, 5, 3), (6, 32, 8), (13, 31, 33), (12, 64, 449), (3, 200, 17),
    (97, 193, 905), (2200, 33, 17), (50, 400, 950),
]  # fmt: skip


@pytest.mark.parametrize(("m", "n", "k"), SIZES)
def test_a_product_with_factors(drop_in: Callable[[str], DropIn], m: int, n: int, k: int) -> None:
    made = drop_in(GEMM)
    assert "planish_dgemm_add(" in made.text and "raise-gemm" in made.kinds
    x = fill(m + n + k, C=(m, n), A=(m, k), B=(k, n))
    wanted = 0.75 * x["C"] + 1.5 * (x["A"] @ x["B"])
    call(made, "gemm", (m, n, k, 1.5, 0.75, x["C"], x["A"], x["B"]))
    agree(x["C"], wanted, k)


@pytest.mark.parametrize(("m", "n", "k"), SIZES)
def test_two_products(drop_in: Callable[[str], DropIn], m: int, n: int, k: int) -> None:
    made, last = drop_in(TWO), 21
    assert made.kinds.count("raise-gemm") == 2
    x = fill(m + n + k, T=(m, n), A=(m, k), B=(k, n), C=(n, last), D=(m, last))
    between = 1.5 * (x["A"] @ x["B"])
    wanted = 0.5 * x["D"] + between @ x["C"]
    call(made, "two", (m, n, k, last, x["T"], x["A"], x["B"], x["C"], x["D"]))
    agree(x["T"], between, k)
    agree(x["D"] / (k + 1), wanted / (k + 1), n)


@pytest.mark.parametrize(("m", "n", "k"), SIZES)
def test_rows_with_any_distance_and_a_transposed_factor(
    drop_in: Callable[[str], DropIn], m: int, n: int, k: int
) -> None:
    made = drop_in(NT)
    assert "planish_dgemm_nt_add(" in made.text
    x = fill(m + n + k, A=(m, k + 2), B=(n, k + 3), C=(m, n + 5))
    wanted = x["C"].copy()
    wanted[:, :n] += 0.25 * (x["A"][:, :k] @ x["B"][:, :k].T)
    call(made, "gemm_nt", (m, n, k, 0.25, x["A"], k + 2, x["B"], k + 3, x["C"], n + 5))
    agree(x["C"], wanted, k)


@pytest.mark.parametrize(
    ("na", "nb", "nc", "nd"), [(0, 3, 2, 2), (3, 2, 0, 4), (1, 1, 1, 1), (7, 5, 3, 9), (40, 70, 31, 33)]
)
def test_a_contraction(drop_in: Callable[[str], DropIn], na: int, nb: int, nc: int, nd: int) -> None:
    made = drop_in(CONTRACTION)
    assert "planish_dgemm_add(" in made.text and "algebra-contraction" in made.kinds
    x = fill(na + nb + nc, C=(na, nb), A=(nc, na, nd), B=(nd, nc, nb))
    wanted = x["C"] + np.einsum("cad,dcb->ab", x["A"], x["B"])
    call(made, "contract", (na, nb, nc, nd, x["C"], x["A"], x["B"]))
    agree(x["C"], wanted, nc * nd)


FACTOR_SIZES = [(0, 3), (1, 1), (5, 9), (63, 4), (64, 64), (65, 1), (200, 33), (331, 270)]


def dominant(n: int, seed: int) -> dict[str, Matrix]:
    """A matrix that is large on its diagonal."""
    x = fill(seed, A=(n, n))
    x["A"] += (n + 1.0) * np.eye(n)
    return x


def check_blocks(made: DropIn) -> None:
    """That the version is by blocks, and that products are the library's."""
    assert made.kinds.count("raise-factor") == 1 and "raise-gemm" in made.kinds and "raise-loops" not in made.kinds


@pytest.mark.parametrize("n", [x for x, _ in FACTOR_SIZES])
def test_factorisations(drop_in: Callable[[str], DropIn], n: int) -> None:
    made = drop_in(LU)
    check_blocks(made)
    x = dominant(n, 1)
    old = x["A"].copy()
    call(made, "lu", (n, x["A"]))
    agree((np.tril(x["A"], -1) + np.eye(n)) @ np.triu(x["A"]), old, n)
    made = drop_in(CHOLESKY)
    check_blocks(made)
    x = dominant(n, 2)
    x["A"] += x["A"].T.copy()
    old = x["A"].copy()
    call(made, "cholesky", (n, x["A"]))
    agree(np.tril(x["A"]), np.linalg.cholesky(old), n)
    assert (np.triu(x["A"], 1) == np.triu(old, 1)).all()


@pytest.mark.parametrize(("n", "m"), FACTOR_SIZES)
def test_triangular_matrices(drop_in: Callable[[str], DropIn], n: int, m: int) -> None:
    made = drop_in(SOLVE)
    check_blocks(made)
    a, x = dominant(n, 3)["A"], fill(4, B=(n, m), T=(m, n))
    wanted = np.linalg.solve(np.triu(a), x["B"])
    call(made, "solve", (n, m, a, x["B"]))
    agree(x["B"], wanted, n)
    made = drop_in(TURNED)
    check_blocks(made)
    wanted = x["T"] @ np.triu(a)
    call(made, "turned", (m, n, a, x["T"]))
    agree(x["T"] / (n + 1), wanted / (n + 1), n)


@pytest.mark.parametrize(("m", "n"), [(0, 3), (1, 1), (9, 5), (65, 40), (130, 277)])
def test_symmetric_matrices(drop_in: Callable[[str], DropIn], m: int, n: int) -> None:
    made = drop_in(SYMMETRIC)
    assert made.kinds.count("raise-gemm") == 2
    x = fill(m + n, C=(m, n), A=(m, m), B=(m, n), D=(m, n), S=(n, n))
    below, above = np.tril(x["A"]), np.triu(x["S"])
    wanted = 0.25 * x["C"] + 1.5 * ((below + np.tril(below, -1).T) @ x["B"])
    call(made, "left", (m, n, 1.5, 0.25, x["C"], x["A"], x["B"]))
    agree(x["C"], wanted, 2 * m)
    wanted = x["D"] + x["B"] @ (above + np.triu(above, 1).T)
    call(made, "right", (m, n, x["D"], x["S"], x["B"]))
    agree(x["D"], wanted, n)


@pytest.mark.parametrize(("n", "k"), [(0, 3), (1, 1), (9, 5), (97, 40), (130, 77)])
def test_operands_in_one_array(drop_in: Callable[[str], DropIn], n: int, k: int) -> None:
    made = drop_in(ONE_ARRAY)
    assert "planish_dgemm_nt_add(" in made.text and "raise-loops" in made.kinds
    x = fill(n + k, C=(n, n + k), S=(n, n + k), D=(n, n), A=(3, k, k), B=(k, k, n), O=(3, n))
    right = x["C"][:, n:]
    wanted = x["C"][:, :n] + right @ right.T
    call(made, "inside", (n, k, x["C"]))
    agree(x["C"][:, :n], wanted, k)
    wanted, product = x["S"].copy(), x["D"] + x["S"][:, n:] @ x["S"][:, n:].T
    for i in range(n):
        for j in range(i):
            wanted[i, j] += wanted[i, n - 1 : n - 1 + k] @ wanted[j, n - 1 : n - 1 + k]
    call(made, "strict", (n, k, x["S"], x["D"]))
    agree(x["S"] / (k + 1), wanted / (k + 1), k)
    agree(x["D"], product, k)
    first = x["A"].copy()
    first[0] += first[1] @ first[2]
    wanted = x["O"] + np.einsum("acd,cdb->ab", first, x["B"])
    call(made, "planes", (3, n, k, k, x["O"], x["A"], x["B"]))
    agree(x["A"], first, k)
    agree(x["O"] / (k * k + 1), wanted / (k * k + 1), k)


@pytest.mark.parametrize(("n", "k"), [(0, 3), (1, 0), (1, 1), (7, 5), (95, 20), (96, 3), (97, 40), (301, 460)])
def test_triangles(drop_in: Callable[[str], DropIn], n: int, k: int) -> None:
    made = drop_in(TRIANGLES)
    assert made.kinds.count("raise-triangle") == 3 and made.kinds.count("raise-gemm") == 8
    x = fill(n + k, C=(n, n), A=(n, k), T=(k, n), B=(n, k))
    a, b, old = 1.5, 0.25, x["C"].copy()
    for name, factors, inside in (
        ("lower", ("A",), np.tril), ("upper", ("T",), np.triu), ("both", ("A", "B"), np.tril)
    ):  # fmt: skip
        x["C"][...] = old
        first, last = x[factors[0]], x[factors[-1]]
        product = first.T @ first if name == "upper" else first @ last.T
        product = product + product.T if name == "both" else product
        wanted = old - inside(old) + inside(b * old + a * product)
        call(made, name, (n, k, a, b, x["C"], *(x[y] for y in factors)))
        agree(x["C"], wanted, 4 * k)


def test_a_chain_in_its_best_order(tmp_path: Path) -> None:
    path = FOLDER / "chains" / "chain4.c"
    made = make(Source(str(path), path.read_text()), tmp_path, path.parent)
    assert "algebra-chain" in made.kinds and made.kinds.count("raise-gemm") == 3
    shapes: Mapping[str, tuple[int, int]] = {
        "A": (500, 600), "B": (600, 550), "C": (550, 640), "D": (640, 60), "out": (500, 60)
    }  # fmt: skip
    x = fill(4, **shapes)
    wanted = x["A"] @ (x["B"] @ (x["C"] @ x["D"]))
    call(made, "chain4", tuple(x[name] for name in shapes))
    assert np.abs(x["out"] - wanted).max() <= 1e-11 * np.abs(wanted).max()


@pytest.mark.parametrize(
    ("a", "b", "c", "d"), [(40, 50, 60, 3), (3, 50, 40, 60), (9, 8, 7, 6), (1, 2, 0, 3), (5, 0, 5, 5)]
)
def test_a_chain_whose_order_the_sizes_decide(drop_in: Callable[[str], DropIn], a: int, b: int, c: int, d: int) -> None:
    made = drop_in(SWITCH)
    assert made.kinds.count("raise-gemm") >= 2
    x = fill(a + b + c, A=(a, b), B=(b, c), C=(c, d), D=(a, d))
    wanted = x["A"] @ x["B"] @ x["C"]
    call(made, "chain", (a, b, c, d, *(x[name] for name in "ABCD")))
    agree(x["D"] / (b + 1), wanted / (b + 1), c)


def test_a_first_call_that_needs_no_memory(drop_in: Callable[[str], DropIn], tmp_path: Path) -> None:
    made = drop_in(SWITCH)
    fresh = compile_text(made.text, made.kinds, tmp_path, tmp_path)
    x = fill(1, A=(1, 2), B=(2, 0), C=(0, 3), D=(1, 3))
    call(fresh, "chain", (1, 2, 0, 3, *(x[name] for name in "ABCD")))
    assert (x["D"] == 0).all()


def test_no_memory_runs_the_original(drop_in: Callable[[str], DropIn], tmp_path: Path) -> None:
    made = drop_in(SWITCH)
    head = "static planish_apart void *planish_borrow(size_t bytes)\n{\n"
    assert head in made.text
    text = made.text.replace(head, f"{head}  if (bytes + 1) return NULL;\n")
    poor = compile_text(text, made.kinds, tmp_path, tmp_path)
    x = fill(2, A=(9, 8), B=(8, 7), C=(7, 6), D=(9, 6))
    poor.library.chain(9, 8, 7, 6, *(ctypes.c_void_p(x[name].ctypes.data) for name in "ABCD"))
    agree(x["D"], x["A"] @ x["B"] @ x["C"], 100)
    assert poor.fallbacks == 1


def test_arrays_that_overlap_run_the_original(drop_in: Callable[[str], DropIn]) -> None:
    made, n = drop_in(GEMM), 9
    x = fill(1, C=(n, n), B=(n, n))
    wanted = x["C"].copy()
    for i in range(n):
        for j in range(n):
            wanted[i, j] *= 0.5
            for p in range(n):
                wanted[i, j] += 2.0 * wanted[i, p] * x["B"][p, j]
    before = made.fallbacks
    pointers = [ctypes.c_void_p(x[name].ctypes.data) for name in "CCB"]
    made.library.gemm(n, n, n, ctypes.c_double(2.0), ctypes.c_double(0.5), *pointers)
    assert made.fallbacks == before + 1
    ctypes.c_int.in_dll(made.library, "fallbacks").value = before
    assert np.allclose(x["C"], wanted, rtol=1e-12)


@pytest.mark.parametrize("fp", ["strict", "contract"])
def test_sums_in_order_call_nothing(fp: str) -> None:
    file = read_file(Source("nest.c", GEMM), Options(fp=fp))  # type: ignore[arg-type]
    (region,) = file.functions[0].regions
    kernel = region.kernel
    candidate, remarks = raise_version(kernel, prepare(kernel), (), NATIVE, fp, KernelCache())  # type: ignore[arg-type]
    assert candidate is None and [x.id for x in remarks] == ["raise-floats"]


@pytest.mark.parametrize(
    ("n", "f", "c", "h", "w", "gap"),
    [(1, 1, 1, 1, 1, 0), (2, 3, 2, 5, 4, 0), (2, 7, 3, 33, 9, 0), (1, 70, 40, 3, 65, 0), (2, 5, 3, 9, 17, 3),
     (0, 3, 2, 5, 4, 0), (2, 3, 0, 5, 4, 0), (2, 0, 2, 4, 4, 1)],
)  # fmt: skip
def test_a_convolution(
    drop_in: Callable[[str], DropIn], n: int, f: int, c: int, h: int, w: int, gap: int
) -> None:
    made, (r, s) = drop_in(CONV), (3, 2)
    assert "raise-gemm" in made.kinds and "im2col" in made.kinds
    x = fill(n + f, O=(n, f, h, w + gap), X=(n, c, 2 * h + r, w + s), W=(f, c, r, s))
    wanted = x["O"].copy()
    wanted[..., :w] *= 0.5
    for p, q in np.ndindex(r, s):
        seen = x["X"][:, :, p : p + 2 * h : 2, q : q + w]
        wanted[..., :w] += np.einsum("nchw,fc->nfhw", seen, x["W"][:, :, p, q])
    call(made, "conv", (n, f, c, h, w, w + gap, r, s, x["O"], x["X"], x["W"]))
    agree(x["O"], wanted, c * r * s)


def chain_of(count: int) -> str:
    """C that multiplies so many matrices from left to right."""
    sizes = ", ".join(f"int n{i}" for i in range(count + 1))
    given = ", ".join(f"double M{i}[n{i}][n{i + 1}]" for i in range(count))
    names = ["M0", *(f"P{i}" for i in range(1, count - 1)), "out"]
    text = f"void chain({sizes}, {given}, double out[n0][n{count}])\n{{\n"
    text += "".join(f"    double {x}[n0][n{i + 2}];\n" for i, x in enumerate(names[1:-1]))
    for i in range(1, count):
        text += f"""\
    for (int i = 0; i < n0; i++)
        for (int j = 0; j < n{i + 1}; j++) {{
            {names[i]}[i][j] = 0;
            for (int k = 0; k < n{i}; k++)
                {names[i]}[i][j] += {names[i - 1]}[i][k] * M{i}[k][j];
        }}
"""
    return text + "}\n"


@pytest.mark.parametrize(
    "sizes", [(1,) * 7, (9, 2, 14, 3, 11, 5, 8), (3, 16, 5, 30, 2, 9, 4), (40, 30, 20, 10, 5, 2, 1)]
)
def test_a_long_chain_in_any_of_its_orders(drop_in: Callable[[str], DropIn], sizes: tuple[int, ...]) -> None:
    made, count = drop_in(chain_of(6)), 6
    shapes = {f"M{i}": (sizes[i], sizes[i + 1]) for i in range(count)}
    x = fill(sum(sizes), **shapes, out=(sizes[0], sizes[-1]))
    wanted = np.linalg.multi_dot([x[f"M{i}"] for i in range(count)])
    call(made, "chain", (*sizes, *(x[f"M{i}"] for i in range(count)), x["out"]))
    agree(x["out"] / np.abs(wanted).max(), wanted / np.abs(wanted).max(), sum(sizes))


def test_memory_of_the_thread_is_found_apart(drop_in: Callable[[str], DropIn]) -> None:
    # Where it is found among other code, clang expects xmm16 and those after it to stay as they are.
    text = drop_in(SWITCH).text
    functions = text.split("\nstatic ")
    assert [x.split("(")[0] for x in functions if "planish_kept[i]" in x] == [
        "planish_apart void *planish_borrow",
        "planish_apart void planish_return",
    ]
