"""All functions of a product's header, beside plain loops: operands transposed, of columns, many, on threads.

Matrices lie between pages that must not be touched, at the end of what may be or at its beginning.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.property.sampling import slow
from tests.targets.test_gemm import TARGETS

from planish.cli import main
from planish.library.kernels.gemm.blocked import HEIGHT
from planish.library.kernels.gemm.functions import Request
from planish.library.kernels.gemm.operands import OPS

CHECK = """
#include "gemm.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
enum { ROOM = 1 << 24, GUARD = 1 << 16, MATRICES = 3 };
typedef void product(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, ptrdiff_t lda, ptrdiff_t ldb, ptrdiff_t ldc, ptrdiff_t ra,
                     ptrdiff_t rb, ptrdiff_t rc, REAL alpha, REAL beta, void *A, void *B, void *C);
#define CALLER(word, f, ...) \\
  static void word##f(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, ptrdiff_t lda, ptrdiff_t ldb, ptrdiff_t ldc, \\
                      ptrdiff_t ra, ptrdiff_t rb, ptrdiff_t rc, REAL alpha, REAL beta, void *A, void *B, void *C) \\
  { (void)(ra + rb + rc); f(__VA_ARGS__, alpha, beta, A, B, C); }
#define ONE(f) CALLER(one_, f, m, n, k, lda, ldb, ldc)
#define MANY(f) CALLER(many_, f, MATRICES, m, n, k, lda, ldb, ldc, ra, rb, rc)
struct function { product *call; const char *name; int a, b, column, many; };
@CALLERS@
static const struct function functions[] = {@TABLE@};
static unsigned state = 1;
/* Small numbers, so that sums are exact in whatever order. */
static REAL any(void) { return (REAL)((int)((state = state * 1103515245u + 12345u) >> 16) % 9 - 4) / 4; }

struct matrix { REAL *at; ptrdiff_t rows, columns, distance, apart, count; };
static REAL *pages[3];
static struct matrix place(int which, int turned, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t more, ptrdiff_t matrices)
{
  struct matrix x = {.rows = turned ? columns : rows, .columns = turned ? rows : columns};
  x.distance = x.columns + more;
  x.apart = x.rows + more;
  const int none = x.rows == 0 || x.columns == 0;
  x.count = none ? 0 : ((matrices - 1) * x.apart + x.rows - 1) * x.distance + x.columns;
  x.at = more ? pages[which] : pages[which] + ROOM / sizeof(REAL) - x.count;
  for (ptrdiff_t i = 0; i < x.count; i++) x.at[i] = any();
  return x;
}
static REAL *element(const struct matrix *x, int turned, ptrdiff_t s, ptrdiff_t row, ptrdiff_t column)
{
  return &x->at[(s * x->apart + (turned ? column : row)) * x->distance + (turned ? row : column)];
}
static REAL D[ROOM / sizeof(REAL)], row[1 << 13], sums[1 << 13];
static int check(const struct function *f, int m, int n, int k, int more, REAL alpha, REAL beta)
{
  const int turned_a = f->a ^ f->column, turned_b = f->b ^ f->column, turned_c = f->column;
  const int matrices = f->many ? MATRICES : 1;
  const struct matrix A = place(0, turned_a, m, k, more, matrices), B = place(1, turned_b, k, n, 2 * more, matrices);
  const struct matrix C = place(2, turned_c, m, n, more, matrices);
  struct matrix wanted = C;
  wanted.at = D;
  memcpy(D, C.at, sizeof(REAL) * (size_t)C.count);
  for (int s = 0; s < matrices; s++)
    for (int i = 0; i < m; i++) {
      for (int j = 0; j < n; j++) sums[j] = 0;
      for (int p = 0; p < k; p++) row[p] = *element(&A, turned_a, s, i, p);
      /* In the order in which B lies. */
      for (int j = 0; turned_b && j < n; j++) {
        const REAL *const b = element(&B, turned_b, s, 0, j);
        for (int p = 0; p < k; p++) sums[j] += row[p] * b[p];
      }
      for (int p = 0; !turned_b && p < k; p++) {
        const REAL *const b = element(&B, turned_b, s, p, 0);
        for (int j = 0; j < n; j++) sums[j] += row[p] * b[j];
      }
      for (int j = 0; j < n; j++) {
        REAL *const c = element(&wanted, turned_c, s, i, j);
        *c = beta * *c + alpha * sums[j];
        if (beta == 0) *element(&C, turned_c, s, i, j) = (REAL)__builtin_nan("");
      }
    }
  f->call(m, n, k, A.distance, B.distance, C.distance, A.apart, B.apart, C.apart, alpha, beta, A.at, B.at, C.at);
  for (ptrdiff_t i = 0; i < C.count; i++)
    if (!(C.at[i] == D[i])) return printf("%s: %d x %d x %d, %d more, alpha %g, beta %g, at %d: %g, not %g\\n", f->name,
                                          m, n, k, more, (double)alpha, (double)beta, (int)i, (double)C.at[i],
                                          (double)D[i]), 1;
  return 0;
}
int main(void)
{
  static const int sizes[][3] = {@SIZES@};
  static const REAL factors[][2] = {{2, 0}, {1, 1}, {2, 2}, {0, 0}, {0, 1}, {-1, 0.5}};
  for (int i = 0; i < 3; i++) {
    char *const block = mmap(NULL, ROOM + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED || mprotect(block + GUARD, ROOM, PROT_READ | PROT_WRITE) != 0) return 2;
    pages[i] = (REAL *)(block + GUARD);
  }
  int wrong = 0;
  for (unsigned f = 0; f < sizeof functions / sizeof *functions; f++)
    for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      const int *const z = sizes[s], large = (double)z[0] * z[1] * z[2] > 1e6;
      if (large && functions[f].many) continue;
      for (unsigned kind = 0; kind < (large ? 3 : 6); kind++)
        for (int more = 0; more < 6; more += 5)
          if (!large || (kind + f + s) % 3 == (more > 0))
            wrong += check(&functions[f], z[0], z[1], z[2], more, factors[kind][0], factors[kind][1]);
    }
  return wrong > 0;
}
"""

SMALL = "{0, 3, 2}, {3, 0, 2}, {3, 2, 0}, {1, 1, 1}, {4, 8, 7}, {5, 9, 3}, {16, 16, 16}, {17, 23, 31}, {2, 2, 700}, "
SMALL += "{1, 40, 37}, {64, 33, 50}, {33, 70, 90}, {520, 8, 90}, {8, 520, 90}"
LARGE = ", {300, 300, 300}, {80, 80, 3000}, {60, 70, 4100}, {2200, 40, 210}, {40, 2100, 210}"
"""Of blocks that are shallower, and larger than a block in each direction."""
assert HEIGHT < 2200


def write_check(product: str, request: Request, element: str, sizes: str) -> str:
    """The program that runs all functions of a header."""
    callers, rows = "", []
    for op in request.ops:
        for word in request.words:
            name, many = request.name(product, op, word), word == "batch"
            callers += f"{'MANY' if many else 'ONE'}({name})\n"
            flags = [op[0] == "t", op[1] == "t", word == "column", many]
            rows.append(f'{{{"many_" if many else "one_"}{name}, "{name}", {", ".join(str(int(x)) for x in flags)}}}')
    text = CHECK.replace("@CALLERS@", callers).replace("@TABLE@", ", ".join(rows)).replace("@SIZES@", sizes)
    return text.replace("REAL", element)


@pytest.mark.parametrize(
    ("target", "element", "tile", "sizes", "request_"),
    [
        ("x86-avx512", "f32", (2, 16), SMALL + LARGE, Request(("nn", "tt"), column=True, batch=True, threads=True)),
        slow("x86-avx512", "f32", (2, 16), SMALL + LARGE, Request(OPS, column=True, batch=True, threads=True)),
        slow("x86-avx2", "f64", (2, 8), SMALL + LARGE, Request(("nt", "tn", "tt"))),
        slow("aarch64-neon", "f32", (3, 8), SMALL, Request(OPS, column=True, batch=True)),
    ],
)
def test_all_functions_of_a_header(
    target: str, element: str, tile: tuple[int, int], sizes: str, request_: Request, tmp_path: Path
) -> None:
    compiler, emulator, features = TARGETS[target]
    for program in (compiler[0], *emulator):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here")
    known = Path("/proc/cpuinfo")
    if not features <= set(known.read_text().split() if known.exists() else ()):
        pytest.skip(f"this processor has not all of {', '.join(sorted(features))}")
    rows, columns = map(str, tile)
    given = ["kernel", "gemm", "--header", "--target", target, "--dtype", element, "--mr", rows, "--nr", columns, "-q"]
    given += [x for op in request_.ops for x in ("--op", op)] + ["--order", "column"] * request_.column
    given += ["--batch"] * request_.batch + ["--threads"] * request_.threads
    assert main([*given, "-o", str(tmp_path / "gemm.h")]) == 0
    kind, name = {"f32": ("float", "sgemm"), "f64": ("double", "dgemm")}[element]
    (tmp_path / "check.c").write_text(write_check(f"planish_{name}", request_, kind, sizes))
    for flags in (["-O2", "-fopenmp-simd"], ["-O1", "-fopenmp"])[: 1 + request_.threads]:
        command = [*compiler, "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", *flags]
        command += [str(tmp_path / "check.c"), "-o", str(tmp_path / "check")]
        made = subprocess.run(command, capture_output=True, text=True)
        assert made.returncode == 0, made.stderr[:2000]
        done = subprocess.run([*emulator, str(tmp_path / "check")], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout[:2000]
