"""The whole matrix product as a header, for small tiles, where its instructions are (Arm's under an emulator)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.property.sampling import slow

from planish.cli import main

TARGETS = {
    "x86-avx512": (["gcc", "-march=native"], [], {"avx512f"}),
    "x86-avx2": (["gcc", "-march=native"], [], {"avx2", "fma"}),
    "aarch64-neon": (["aarch64-linux-gnu-gcc", "-march=armv8.2-a", "-static"], ["qemu-aarch64"], set()),
}

TYPES = {
    "f32": ("sgemm", "float", "float", "float"), "f64": ("dgemm", "double", "double", "double"),
    "bf16": ("bgemm", "uint16_t", "uint16_t", "float"), "i16": ("i16gemm", "int16_t", "int16_t", "int32_t"),
    "u8s8": ("u8gemm", "uint8_t", "int8_t", "int32_t"),
}  # fmt: skip
MORE = {
    "bf16": ", {5, 1100, 70}, {3, 5, 3601}, {4, 5, 4900}, {2200, 3, 9}"
            ", {7, 64, 91}, {4, 32, 3700}, {5, 32, 4901}, {4, 1056, 70}, {4, 1056, 3700}",
    "i16": ", {23, 1100, 70}, {20, 5, 4001}, {3, 1100, 1301}, {3, 1100, 1701}"
           ", {23, 64, 91}, {12, 16, 4001}, {13, 1040, 70}, {9, 1040, 1301}",
    "u8s8": ", {5, 1100, 70}, {3, 5, 7301}, {4, 5, 9701}, {2200, 3, 9}"
            ", {7, 64, 91}, {4, 32, 7301}, {5, 32, 9701}, {4, 1056, 70}, {4, 1056, 7301}",
}  # fmt: skip
"""Sizes at which A is copied, and which are larger than blocks in k (shallower ones, and the others) and in rows; then
such of whole panels, which are woven by sweeps."""
FEATURES = {"bf16": {"avx512_bf16"}, "i16": {"avx512_vnni"}, "u8s8": {"avx512_vnni", "avx512bw"}}
"""What a processor needs besides, by the type."""

CHECK = """
#include "gemm.h"
#include "gemm.h"
#include <stdio.h>
#include <stdint.h>
#include <string.h>
enum { MOST = 1 << 23, BF16 = IS_BF16, WHOLE = (SUM)1 / 2 == 0 };
static LEFT A[MOST];
static RIGHT B[MOST];
static SUM C[MOST], D[MOST];
static double sums[1 << 12];
static unsigned state = 1;
/* Small numbers, so that sums are exact in whatever order; integers of any size, whose sums wrap around. */
static double any(void)
{
  const int bits = (int)((state = state * 1103515245u + 12345u) >> 16);
  return WHOLE ? bits - (1 << 15) : (bits % 9 - 4) / 4.0;
}
static uint16_t to_bf16(float value)
{
  uint32_t word;
  memcpy(&word, &value, sizeof word);
  return (uint16_t)(word >> 16);
}
static double from_bf16(uint16_t bits)
{
  const uint32_t word = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &word, sizeof value);
  return value;
}
#define MADE(type) (BF16 ? (type)to_bf16((float)any()) : (type)(WHOLE ? (long)any() : any()))
#define READ(x) (BF16 ? from_bf16((uint16_t)(x)) : (double)(x))
static int check(int m, int n, int k, int more, SUM alpha, SUM beta)
{
  const int lda = k + more, ldb = n + 2 * more, ldc = n + more, size = m * ldc + 8;
  for (int i = 0; i < m * lda; i++) A[i] = MADE(LEFT);
  for (int i = 0; i < k * ldb; i++) B[i] = MADE(RIGHT);
  for (int i = 0; i < size; i++) C[i] = D[i] = (SUM)any();
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < n; j++) sums[j] = 0;
    for (int p = 0; p < k; p++) {
      const double a = READ(A[i * lda + p]);
      for (int j = 0; j < n; j++) sums[j] += a * READ(B[p * ldb + j]);
    }
    for (int j = 0; j < n; j++) {
      const double sum = (double)beta * (double)D[i * ldc + j] + (double)alpha * sums[j];
      D[i * ldc + j] = WHOLE ? (SUM)(uint32_t)(int64_t)sum : (SUM)sum;
      if (beta == 0) C[i * ldc + j] = WHOLE ? (SUM)12345 : (SUM)__builtin_nan("");
    }
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
                                 {64, 33, 50}, {33, 70, 300}, {2, 2, 700}, {40, 37, 700}, {300, 300, 300}MORE};
  int wrong = 0;
  for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    const int *const z = sizes[s], large = (double)z[0] * z[1] * z[2] > 1e6;
    for (int more = 0; more < 6; more += 5)
      for (int kind = 0; kind < 3; kind++)
        if (!large || (kind + (int)s) % 3 == 2 * (more > 0))
          wrong += check(z[0], z[1], z[2], more, kind == 1 ? 1 : 2, (SUM)kind);
  }
  return wrong > 0;
}
"""


@pytest.mark.parametrize(
    ("target", "element", "tile"),
    [
        ("x86-avx512", "u8s8", (2, 16)), ("aarch64-neon", "f64", (2, 4)), slow("x86-avx512", "f32", (3, 32)),
        slow("x86-avx512", "bf16", (3, 32)), slow("x86-avx512", "u8s8", (3, 32)), slow("x86-avx512", "f64", (2, 8)),
        slow("x86-avx2", "f32", (3, 16)), slow("x86-avx512", "i16", (9, 16)), slow("aarch64-neon", "f32", (4, 8)),
    ],
)  # fmt: skip
def test_the_whole_product(target: str, element: str, tile: tuple[int, int], tmp_path: Path) -> None:
    compiler, emulator, features = TARGETS[target]
    for program in (compiler[0], *emulator):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here")
    known = Path("/proc/cpuinfo")
    features = features | FEATURES.get(element, set())
    if not features <= set(known.read_text().split() if known.exists() else ()):
        pytest.skip(f"this processor has not all of {', '.join(sorted(features))}")
    rows, columns = map(str, tile)
    given = ["kernel", "gemm", "--header", "--target", target, "--dtype", element, "--mr", rows, "--nr", columns, "-q"]
    assert main([*given, "-o", str(tmp_path / "gemm.h")]) == 0
    name, *types = TYPES[element]
    values = (f"planish_{name}", *types, int(element == "bf16"))
    defined = zip(("NAME", "LEFT", "RIGHT", "SUM", "IS_BF16"), values, strict=True)
    (tmp_path / "check.c").write_text(CHECK.replace("MORE", MORE.get(element, "")))
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-fopenmp-simd", "-Wno-unused-function"]
    defines = [f"-D{name}={value}" for name, value in defined]
    command = [*compiler, *flags, *defines, str(tmp_path / "check.c"), "-o", str(tmp_path / "check")]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr[:2000]
    done = subprocess.run([*emulator, str(tmp_path / "check")], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[:2000]
