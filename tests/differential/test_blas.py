"""Drop-ins that call a BLAS: verified, linked with what is here, and loops where the BLAS cannot be asked."""

from __future__ import annotations

import ctypes
import shutil
import signal
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from tests.property.sampling import slow

from planish.build.assemble import FileResult
from planish.cli import main
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file
from planish.run.toolchains.blas import Blas, find_blas
from planish.run.toolchains.toolchain import choose_compiler

HERE = Path(__file__).parents[1] / "raising"
FILES = {
    "gemm/order_kji": "sgemm", "gemm/transposed_both": "dgemm", "gemm/reversed": "sgemm", "gemm/linearised": "dgemm",
    "darknet/tt": "sgemm", "programs/gemver": "dgemv", "programs/atax": "dgemv", "programs/3mm": "dgemm",
    "programs/contraction_abc_acd_db": "dgemm", "programs/contraction_abcd_aebf_dfce": "dgemm",
}  # fmt: skip
LIBRARIES = [("openblas", False), ("openblas", True), ("blis", False), ("cblas", False), ("mkl", False)]
FORMS = [x for x in FILES if not x.startswith("gemm/")]
CORPUS = [
    (file, *library) if (library == LIBRARIES[0] and file in FORMS) or at == turn else slow(file, *library)
    for turn, library in enumerate(LIBRARIES) for at, file in enumerate(FILES)
]  # fmt: skip
"""All files but those of one and the same product with one library; one file with each of the others, and the rest
behind the marker."""

pytestmark = [
    pytest.mark.usefixtures("few_registers"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here"),
]

GEMM = """
#include <stddef.h>
void gemm(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, ptrdiff_t lda, ptrdiff_t ldb, ptrdiff_t ldc,
          const double *A, const double *B, double *C)
{
  for (ptrdiff_t i = 0; i < m; i++)
    for (ptrdiff_t j = 0; j < n; j++)
      for (ptrdiff_t l = 0; l < k; l++)
        C[i * ldc + j] += A[i * lda + l] * B[l * ldb + j];
}
"""

BEHIND = """
#define _GNU_SOURCE
#include <sys/mman.h>
void {call}(int, int, int, {int}, {int}, {int}, {real}, const {real} *, {int}, const {real} *, {int}, {real}, {real} *,
            {int});
static {real} *at_the_end(int count)
{{
  const size_t page = 4096, room = 16 * page;
  char *block = mmap(0, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(block + room, page, PROT_NONE);
  return ({real} *)(block + room) - count;
}}
int main(void)
{{
  for (int n = 1; n < 40; n++)
    for (int way = 0; way < 4; way++)
      {call}(101, 111 + way % 2, 111 + way / 2, n, n, n, 1, at_the_end(n * n), n, at_the_end(n * n), n, 1,
             at_the_end(n * n), n);
  return 0;
}}
"""
"""Products whose operands end where memory does."""


@cache
def library(name: str, wide: bool) -> Blas:
    """A library of this machine; skips the test where there is none."""
    try:
        return find_blas(name, wide, choose_compiler("gcc"))
    except PlanishError as error:
        pytest.skip(f"{error.diagnostic.message}: {error.diagnostic.help}")


@cache
def reads_past(blas: Blas, function: str) -> bool:
    """Whether a product of a library, called from C written by hand, touches what lies behind its operands."""
    text = BEHIND.format(
        call=blas.interface.named(function), real="float" if function[0] == "s" else "double",
        int="long long" if blas.interface.wide else "int",
    )  # fmt: skip
    with TemporaryDirectory() as name:
        source, program = Path(name, "behind.c"), Path(name, "behind")
        source.write_text(text)
        subprocess.run(["gcc", "-w", str(source), "-o", str(program), *blas.link, "-lm"], check=True)
        return subprocess.run([str(program)], check=False, capture_output=True).returncode == -signal.SIGSEGV


def build(name: str, text: str, blas: Blas, **options: object) -> FileResult:
    given = Options(measure=False, blas=blas.name, ilp64=blas.interface.wide, compiler="gcc", **options)  # type: ignore[arg-type]
    return build_file(Source(name, text), given)


def compiled(text: str, place: Path, link: tuple[str, ...]) -> ctypes.CDLL:
    """A library of a text, built as its banner says, without a warning."""
    source = place / "made.c"
    source.write_text(text)
    path = place / f"made{len(list(place.iterdir()))}.so"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-fPIC", "-fopenmp-simd"]
    done = subprocess.run(
        ["gcc", *flags, "-c", str(source), "-o", str(place / "made.o")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    subprocess.run(["gcc", "-shared", str(place / "made.o"), "-o", str(path), *link], check=True)
    return ctypes.CDLL(str(path))


@pytest.mark.parametrize(("file", "name", "wide"), CORPUS, ids=lambda x: x if isinstance(x, str) else 32 + 32 * x)
def test_the_corpus(file: str, name: str, wide: bool, tmp_path: Path) -> None:
    blas = library(name, wide)
    path = HERE / f"{file}.c"
    result = build(str(path), path.read_text(), blas)
    (function,) = (f for f in result.functions if f.replacements)
    assert function.selection is not None and function.selection.version is not None
    crashed = any(x.message.startswith("blas: crashed") for x in function.selection.remarks)
    if crashed and FILES[file] in ("sgemm", "dgemm") and reads_past(blas, FILES[file]):
        pytest.skip(f"the {FILES[file]} of this {name} reads past the end of an operand on this processor")
    assert function.selection.version.label == "blas"
    assert function.selection.verdict is not None and function.selection.verdict.cases_run >= 6
    wanted = blas.interface.named(FILES[file])
    assert all(wanted in x.done for x in function.replacements)
    assert f"{wanted}(Cblas" in result.text
    assert f" *   link:    {' '.join(blas.link)}\n" in result.text
    compiled(result.text, tmp_path, blas.link)


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> tuple[ctypes.CDLL, ctypes.CDLL]:
    """A product that calls a BLAS of 32-bit integers, counted by a function in its place; and as it was."""
    blas = library("openblas", False)
    result = build("gemm.c", GEMM, blas)
    counted = """
int calls;
void counted(int a, int b, int c, int m, int n, int k, double x, const double *A, int l, const double *B, int o,
             double y, double *C, int p)
{
  calls++;
  cblas_dgemm(a, b, c, m, n, k, x, A, l, B, o, y, C, p);
}
"""
    place = tmp_path_factory.mktemp("product")
    head, brace, tail = result.text.partition("static void planish_gemm_1(")
    head = head.replace("cblas_dgemm(int", "counted(int, int, int, int, int, int, double, const double *, int, const "
                        "double *, int, double, double *, int);\nvoid cblas_dgemm(int", 1)  # fmt: skip
    text = head + brace + tail.replace("cblas_dgemm(", "counted(") + counted
    return compiled(text, place, blas.link), compiled(GEMM, place, ())


def call(library: ctypes.CDLL, sizes: tuple[int, ...], *arrays: np.ndarray) -> None:
    library.gemm.argtypes = [ctypes.c_ssize_t] * 6 + [ctypes.c_void_p] * 3
    library.gemm(*sizes, *(x.ctypes.data for x in arrays))


def both(
    product: tuple[ctypes.CDLL, ctypes.CDLL], sizes: tuple[int, ...], shared: bool = False
) -> tuple[int, np.ndarray, np.ndarray]:
    """How often the BLAS was called, what came out, and what the original makes; `shared`: A and C overlap."""
    made, original = product
    before = ctypes.c_int.in_dll(made, "calls").value
    out = []
    for library in product:
        values = np.random.default_rng(7)
        a, b, c = (values.uniform(-1, 1, 400) for _ in range(3))
        call(library, sizes, a, b, a[3:] if shared else c)
        out.append(a if shared else c)
    assert original is not made
    return ctypes.c_int.in_dll(made, "calls").value - before, out[0], out[1]


def test_what_fits_is_called(product: tuple[ctypes.CDLL, ctypes.CDLL]) -> None:
    for sizes in ((3, 5, 7, 7, 5, 5), (1, 1, 1, 1, 1, 1), (5, 3, 2, 9, 8, 11)):
        calls, found, wanted = both(product, sizes)
        assert calls == 1
        np.testing.assert_allclose(found, wanted, rtol=1e-13)


@pytest.mark.parametrize(
    "sizes",
    [
        (1, 5, 7, (1 << 32) + 7, 5, 5),
        (1, 5, 1, 7, (1 << 31), 5),
        (1, 5, 7, 7, 5, -(1 << 33)),
        (3, 5, 7, 6, 5, 5),
        (3, 5, 7, 7, 4, 5),
        (3, 0, 7, 7, 4, 5),
        (0, 5, 7, 7, 5, 5),
        (3, 5, -2, 7, 5, 5),
    ],
)
def test_what_does_not_fit_runs_as_loops(
    sizes: tuple[int, ...], product: tuple[ctypes.CDLL, ctypes.CDLL]
) -> None:
    """Leading dimensions of more than 32 bits, rows that overlap each other, and no rows at all."""
    _, found, wanted = both(product, sizes)
    np.testing.assert_allclose(found, wanted, rtol=1e-13)
    if max(map(abs, sizes)) > 1 << 30:
        assert both(product, sizes)[0] == 0


def test_operands_that_overlap_run_as_loops(product: tuple[ctypes.CDLL, ctypes.CDLL]) -> None:
    calls, found, wanted = both(product, (4, 5, 6, 6, 5, 5), shared=True)
    assert calls == 0
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("fp", ["strict", "contract"])
def test_sums_in_their_order_call_nothing(fp: str) -> None:
    result = build("gemm.c", GEMM, library("openblas", False), fp=fp)
    assert "cblas" not in result.text.partition("*/")[2]
    assert " link:" not in result.text
    (refused,) = (x for f in result.functions for x in f.remarks if x.id == "blas-refused")
    assert refused.message == f"--fp {fp} keeps sums in their order, which no BLAS does: openblas is not called"


def test_what_has_no_routine_says_so() -> None:
    text = "void f(int n, int *x) { for (int i = 0; i < n; i++) x[i] += x[i] * 3; }"
    result = build("f.c", text, library("openblas", False))
    (refused,) = (x for f in result.functions for x in f.remarks if x.id == "blas-refused")
    assert refused.message == "openblas is not called: no routine of a BLAS does what the nest does"


HEADER = """
enum CBLAS_ORDER { CblasRowMajor = 101, CblasColMajor = 102 };
void cblas_dscal(const int n, const double a, double *x, const int step);
"""
SCALED = """
#ifdef OWN
#include "vendor.h"
#endif
void half(int n, double *x) { for (int i = 0; i < n; i++) x[i] *= 0.5; }
void twice(int n, double *x) { for (int i = 0; i < n; i++) x[2 * i] *= 2; }
"""


def test_declarations_stand_once(tmp_path: Path) -> None:
    blas = library("openblas", False)
    (tmp_path / "vendor.h").write_text(HEADER)
    for defines in ((), ("OWN",)):
        result = build("scaled.c", SCALED, blas, defines=defines, include_dirs=(tmp_path,))
        assert len([f for f in result.functions if f.replacements]) == 2
        assert result.text.count("void cblas_dscal(int, double, double *, int);") == (0 if defines else 1)
        made = compiled("".join(f"#define {x}\n" for x in defines) + result.text, tmp_path, blas.link)
        x = np.arange(6.0)
        made.half.argtypes = made.twice.argtypes = [ctypes.c_int, ctypes.c_void_p]
        made.half(6, x.ctypes.data)
        made.twice(3, x.ctypes.data)
        assert x.tolist() == [0, 0.5, 2, 1.5, 4, 2.5]


def test_declarations_of_other_integers_are_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "vendor.h").write_text(HEADER)
    result = build("scaled.c", SCALED, library("openblas", True), defines=("OWN",), include_dirs=(tmp_path,))
    refused = [x.message for f in result.functions for x in f.remarks if x.id == "blas-refused"]
    assert len(refused) == 2
    assert all("the file declares routines of the BLAS itself" in x for x in refused)


def test_the_command_says_how_to_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    blas = library("openblas", False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gemm.c").write_text(GEMM)
    assert main(["build", "gemm.c", "--blas", "openblas", "--no-measure", "--force"]) == 0
    out = capfd.readouterr().out
    assert f"link gemm.c with: {' '.join(blas.link)}" in out
    assert "cblas_dgemm" in out


CHAIN = """
void chain(int m, int n, int k, int l, double A[m][n], double B[n][k], double C[k][l], double D[restrict m][l])
{
  double T[m][k];
  for (int i = 0; i < m; i++)
    for (int j = 0; j < k; j++) {
      T[i][j] = 0;
      for (int p = 0; p < n; p++)
        T[i][j] += A[i][p] * B[p][j];
    }
  for (int i = 0; i < m; i++)
    for (int j = 0; j < l; j++) {
      D[i][j] = 0;
      for (int p = 0; p < k; p++)
        D[i][j] += T[i][p] * C[p][j];
    }
}
"""


def test_the_order_of_a_chain_is_chosen_when_it_runs(tmp_path: Path) -> None:
    """Either product may come first; both ways are called here, and give what NumPy gives."""
    blas = library("openblas", False)
    result = build("chain.c", CHAIN, blas)
    (function,) = result.functions
    assert function.selection is not None and function.selection.version is not None
    assert function.selection.version.label == "blas"
    assert result.text.count("cblas_dgemm(Cblas") == 4
    made = compiled(result.text, tmp_path, blas.link)
    made.chain.argtypes = [ctypes.c_int] * 4 + [ctypes.c_void_p] * 4
    values = np.random.default_rng(3)
    for m, n, k, p in (
        (2, 40, 30, 3), (40, 3, 30, 2), (1, 1, 1, 1), (5, 7, 6, 9), (0, 3, 4, 5), (3, 0, 2, 4), (3, 4, 0, 2)
    ):  # fmt: skip
        a, b, c = (values.uniform(-1, 1, x) for x in ((m, n), (n, k), (k, p)))
        d = np.full((m, p), np.nan)
        made.chain(m, n, k, p, *(x.ctypes.data for x in (a, b, c, d)))
        np.testing.assert_allclose(d, a @ b @ c, rtol=1e-12, atol=1e-13)
