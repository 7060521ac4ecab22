"""Micro-kernels of every tile, run where their instructions are (Arm's under an emulator) beside the plain loops."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.property.sampling import slow

from planish.emit.c.instruction_calls import headers_of
from planish.emit.c.kernel_text import emit_function
from planish.emit.c.prologue import emit_prologue
from planish.emit.dropin.blis import emit_blis
from planish.ir.types import BY_NAME
from planish.library.kernels.gemm.microkernel import Panel, Tile, make_micro
from planish.library.kernels.vectors import Vectors, find_vectors

CASES = [
    ("avx512", "f64", 2, 3), ("avx2", "f32", 3, 2), ("neon", "f32", 3, 2), ("neon", "f16", 2, 2),
    slow("avx512", "f64", 3, 3), slow("avx2", "f32", 6, 2),
    slow("avx512", "f32", 14, 2), slow("avx2", "f64", 3, 2), slow("neon", "f32", 8, 3), slow("neon", "f64", 4, 2),
]  # fmt: skip
C_TYPES = {"f16": "_Float16", "f32": "float", "f64": "double"}
NEEDED = {"avx512": {"avx512f"}, "avx2": {"avx2", "fma"}}
ARM = "aarch64-linux-gnu-gcc"

CHECK = """
#include <stdio.h>
#include <math.h>
enum {{ DEPTH = 7, LDC = {ldc} }};
static {type} A[DEPTH * {rows} + 64], B[DEPTH * {width} + 64], C[{rows} * LDC + 64], D[{rows} * LDC + 64];
static unsigned state = 1;
static {type} any(void) {{ return ({type})((int)((state = state * 1103515245u + 12345u) >> 16) % 16 - 8) / 4; }}
/* Small numbers, so that sums are exact in whatever order. */
static int check(const char *name, int m, int n, int k, int first)
{{
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {{
      {type} sum = first ? 0 : D[i * LDC + j];
      for (int p = 0; p < k; p++) sum += {a} * B[p * {width} + j];
      D[i * LDC + j] = sum;
    }}
  for (int i = 0; i < {rows} * LDC + 64; i++)
    if (C[i] != D[i]) return printf("%s with n = %d, k = %d differs at %d: %g, not %g\\n", name, n, k, i, (double)C[i],
                                    (double)D[i]), 1;
  return 0;
}}
static void fill(void)
{{
  for (int i = 0; i < DEPTH * {rows} + 64; i++) A[i] = any();
  for (int i = 0; i < DEPTH * {width} + 64; i++) B[i] = any();
  for (int i = 0; i < {rows} * LDC + 64; i++) C[i] = D[i] = any();
}}
int main(void)
{{
  int wrong = 0;
{calls}
  return wrong;
}}
"""


def need(extension: str) -> tuple[list[str], list[str]]:
    """The compiler's command and what runs its programs, or a skip with the reason."""
    if extension == "neon":
        if shutil.which(ARM) is None or shutil.which("qemu-aarch64") is None:
            pytest.skip(f"no {ARM} or no qemu-aarch64 here")
        return [ARM, "-march=armv8.2-a+fp16", "-static"], ["qemu-aarch64"]
    try:
        known = Path("/proc/cpuinfo").read_text().split()
    except OSError:
        known = []
    if not NEEDED[extension] <= set(known):
        pytest.skip(f"this processor has no {extension}")
    return ["gcc", "-march=native"], []


def tiles_of(vectors: Vectors, rows: int, count: int) -> list[Tile]:
    """Every tile up to the largest, whole and in part."""
    return [
        Tile(vectors, m, c, masked, first)
        for m in range(1, rows + 1) for c in range(1, count + 1) for masked in (False, True)
        for first in ([False] if m < rows else [False, True])
    ]  # fmt: skip


def call(tile: Tile, columns: int, depth: int) -> str:
    """C that runs a kernel beside the plain loops."""
    given = [str(columns)] * tile.masked + [str(depth), "LDC", "(void *)A", "(void *)B", "(void *)C"]
    checked = f'check("{tile.name}", {tile.rows}, {columns}, {depth}, {int(tile.first)})'
    return f"  fill(); {tile.name}({', '.join(given)}); wrong |= {checked};\n"


def run(text: str, extension: str, folder: Path, *flags: str) -> None:
    """Compile a program and run it; what it prints is what is wrong."""
    compiler, emulator = need(extension)
    (folder / "check.c").write_text(text)
    command = [*compiler, "-O2", "-Wall", "-Werror", "-Wno-unused-function", *flags, str(folder / "check.c")]
    made = subprocess.run([*command, "-o", str(folder / "check"), "-lm"], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr[:2000]
    done = subprocess.run([*emulator, str(folder / "check")], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[:2000]


@pytest.mark.parametrize(("extension", "element", "rows", "count"), CASES)
def test_every_tile_does_what_the_loops_do(
    extension: str, element: str, rows: int, count: int, tmp_path: Path
) -> None:
    need(extension)
    vectors = find_vectors(extension, BY_NAME[element])
    width = count * vectors.lanes
    tiles = tiles_of(vectors, rows, count)
    kernels = [make_micro(tile, Panel(rows, width)).kernel for tile in tiles]
    texts = [emit_function(kernel, kernel.name, noalias=True) for kernel in kernels]
    headers = sorted({x for kernel in kernels for x in headers_of(kernel)})
    calls = ""
    for tile in tiles:
        least = tile.columns - vectors.lanes + 1 if tile.masked else tile.columns
        for columns in range(least, tile.columns + 1):
            calls += call(tile, columns, 1) + call(tile, columns, 7)
    check = CHECK.format(
        type=C_TYPES[element], rows=rows, width=width, ldc=width + 3, a=f"A[p * {rows} + i]", calls=calls
    )
    run(emit_prologue(texts, (), headers) + check, extension, tmp_path)


@pytest.mark.parametrize("extension", ["avx2", "avx512", "neon"])
def test_the_convention_of_blis(extension: str, tmp_path: Path) -> None:
    need(extension)
    tile = Tile(find_vectors(extension, BY_NAME["f32"]), 4, 2)
    width = tile.columns
    calls = ""
    for m, n, k, alpha, beta in ((4, width, 7, 1, 1), (4, width, 7, 1, 0), (3, 5, 7, 2, 3), (4, width, 0, 1, 2)):
        calls += (
            f"  {{ fill(); const float alpha = {alpha}, beta = {beta};\n"
            f"    for (int i = 0; i < {m}; i++) for (int j = 0; j < {n}; j++) {{ float s = 0;"
            f" for (int p = 0; p < {k}; p++) s += A[p * 4 + i] * B[p * {width} + j];"
            f" D[i * LDC + j] = {beta} * D[i * LDC + j] + {alpha} * s; }}\n"
            f"    {tile.name}_blis({m}, {n}, {k}, &alpha, A, B, &beta, C, LDC, 1, NULL, NULL);\n"
            '    for (int i = 0; i < 4 * LDC; i++) if (C[i] != D[i]) { printf("differs at %d\\n", i); wrong = 1; } }\n'
        )
    check = CHECK.format(type="float", rows=4, width=width, ldc=width + 3, a="A[p * 4 + i]", calls=calls)
    run(emit_blis(tile) + check, extension, tmp_path)
