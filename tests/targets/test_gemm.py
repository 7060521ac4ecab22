"""The whole matrix product as a header, for small tiles, where its instructions are (Arm's under an emulator)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from planish.cli import main

TARGETS = {
    "x86-avx512": (["gcc", "-march=native"], [], {"avx512f"}),
    "x86-avx2": (["gcc", "-march=native"], [], {"avx2", "fma"}),
    "aarch64-neon": (["aarch64-linux-gnu-gcc", "-march=armv8.2-a", "-static"], ["qemu-aarch64"], set()),
}

CHECK = """
#include "gemm.h"
#include "gemm.h"
#include <stdio.h>
#include <string.h>
enum { MOST = 400 * 760 };
static REAL A[MOST], B[MOST], C[MOST], D[MOST];
static unsigned state = 1;
/* Small numbers, so that sums are exact in whatever order. */
static REAL any(void) { return (REAL)((int)((state = state * 1103515245u + 12345u) >> 16) % 9 - 4) / 4; }
static int check(int m, int n, int k, int more, REAL alpha, REAL beta)
{
  const int lda = k + more, ldb = n + 2 * more, ldc = n + more, size = m * ldc + 8;
  for (int i = 0; i < m * lda; i++) A[i] = any();
  for (int i = 0; i < k * ldb; i++) B[i] = any();
  for (int i = 0; i < size; i++) C[i] = D[i] = any();
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      REAL sum = 0;
      for (int p = 0; p < k; p++) sum += A[i * lda + p] * B[p * ldb + j];
      D[i * ldc + j] = beta * D[i * ldc + j] + alpha * sum;
      if (beta == 0) C[i * ldc + j] = __builtin_nan("");
    }
  NAME(m, n, k, lda, ldb, ldc, alpha, beta, (void *)A, (void *)B, (void *)C);
  for (int i = 0; i < size; i++)
    if (!(C[i] == D[i])) return printf("%d x %d x %d, alpha %g, beta %g, at %d: %g, not %g\\n", m, n, k, (double)alpha,
                                       (double)beta, i, (double)C[i], (double)D[i]), 1;
  return 0;
}
int main(void)
{
  static const int sizes[][3] = {{0, 3, 2}, {3, 0, 2}, {3, 2, 0}, {1, 1, 1}, {4, 8, 7}, {5, 9, 3}, {17, 23, 31},
                                 {64, 33, 50}, {33, 70, 300}, {2, 2, 700}, {40, 37, 700}, {300, 300, 300}};
  int wrong = 0;
  for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int more = 0; more < 6; more += 5)
      for (int kind = 0; kind < 3; kind++)
        wrong += check(sizes[s][0], sizes[s][1], sizes[s][2], more, kind == 1 ? 1 : 2, (REAL)kind);
  return wrong > 0;
}
"""


@pytest.mark.parametrize(
    ("target", "element", "tile"),
    [("x86-avx512", "f32", (3, 32)), ("x86-avx512", "f64", (2, 8)), ("x86-avx2", "f32", (3, 16)),
     ("aarch64-neon", "f32", (4, 8)), ("aarch64-neon", "f64", (2, 4))],
)  # fmt: skip
def test_the_whole_product(target: str, element: str, tile: tuple[int, int], tmp_path: Path) -> None:
    compiler, emulator, features = TARGETS[target]
    for program in (compiler[0], *emulator):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here")
    known = Path("/proc/cpuinfo")
    if not features <= set(known.read_text().split() if known.exists() else ()):
        pytest.skip(f"this processor has not all of {', '.join(sorted(features))}")
    rows, columns = map(str, tile)
    given = ["kernel", "gemm", "--header", "--target", target, "--dtype", element, "--mr", rows, "--nr", columns, "-q"]
    assert main([*given, "-o", str(tmp_path / "gemm.h")]) == 0
    kind, name = {"f32": ("float", "sgemm"), "f64": ("double", "dgemm")}[element]
    text = CHECK.replace("REAL", kind).replace("NAME", f"planish_{name}")
    (tmp_path / "check.c").write_text(text)
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-fopenmp-simd", "-Wno-unused-function"]
    command = [*compiler, *flags, str(tmp_path / "check.c"), "-o", str(tmp_path / "check")]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr[:2000]
    done = subprocess.run([*emulator, str(tmp_path / "check")], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[:2000]
