"""Products of one small size, run where their instructions are beside the plain loops, between forbidden pages."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.property.sampling import slow
from tests.targets.test_microkernels import C_TYPES, need

from planish.emit.dropin.kernel_file import emit_file
from planish.ir.types import BY_NAME
from planish.isa.instruction import Catalogue, Instruction
from planish.isa.shipped import shipped
from planish.library.kernels.gemm.small import GemmSize, choose_pieces, make_small
from planish.library.kernels.vectors import find_vectors

SIZES = [
    (1, 1, 1), (1, 1, 32), (1, 33, 8), (2, 3, 5), (3, 2, 16), (4, 4, 32), (5, 6, 48), (7, 7, 16), (9, 23, 16),
    (13, 5, 64), (15, 17, 32), (16, 16, 7), (29, 20, 3), (33, 33, 32), (31, 1, 64), (6, 50, 4), (40, 18, 16),
]  # fmt: skip
KINDS = [("avx512", "f32"), ("avx512", "f64"), ("avx2", "f32"), ("avx2", "f64")]
CASES = [x if at == 3 * turn else slow(*x) for turn in range(2) for at, x in enumerate((*y, turn) for y in KINDS)]
"""The vectors, and which half of the sizes: the even ones, or the odd ones."""

CHECK = """
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
enum {{ ROOM = 1 << 16, GUARD = 1 << 12 }};
static unsigned state = 1;
/* Small numbers, so that sums are exact in whatever order. */
static {type} any(void) {{ return ({type})((int)((state = state * 1103515245u + 12345u) >> 16) % 9 - 4) / 4; }}
/* The last element is the last one that may be touched. */
static {type} *take(int count)
{{
  char *const block = mmap(NULL, ROOM + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED || mprotect(block + GUARD, ROOM, PROT_READ | PROT_WRITE) != 0) return NULL;
  {type} *const first = ({type} *)(void *)(block + GUARD + ROOM) - count;
  for (int i = 0; i < count; i++) first[i] = any();
  return first;
}}
static int check(void (*call)(), int m, int n, int k, int lda, int ldb, int ldc, int first, {type} alpha)
{{
  {type} *A = take((m - 1) * lda + k), *B = take((k - 1) * ldb + n), *C = take((m - 1) * ldc + n);
  static {type} D[ROOM];
  memcpy(D, C, sizeof({type}) * (size_t)((m - 1) * ldc + n));
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {{
      {type} sum = 0;
      for (int p = 0; p < k; p++) sum += A[i * lda + p] * B[p * ldb + j];
      D[i * ldc + j] = (first ? 0 : D[i * ldc + j]) + alpha * sum;
      if (first) C[i * ldc + j] = __builtin_nan("");
    }}
  ((void (*)({type}, const {type} *, const {type} *, {type} *))call)(alpha, A, B, C);
  for (int i = 0; i < (m - 1) * ldc + n; i++)
    if (!(C[i] == D[i])) return printf("%d x %d x %d: %g, not %g\\n", m, n, k, (double)C[i], (double)D[i]), 1;
  return 0;
}}
int main(void)
{{
  int wrong = 0;
{calls}
  return wrong > 0;
}}
"""


@pytest.mark.parametrize(("extension", "element", "turn"), CASES)
def test_products_of_one_size(extension: str, element: str, turn: int, tmp_path: Path) -> None:
    compiler, emulator = need(extension)
    vectors = find_vectors(extension, BY_NAME[element])
    known: dict[str, Instruction] = {}
    kernels, calls = [], []
    for number, (m, n, k) in list(enumerate(SIZES))[turn::2]:
        more, first = number % 3, number % 2 == 0
        size = GemmSize(vectors, m, n, k, k + more, n + more, n + 2 * more, first)
        made = make_small(f"small_{number}", size, known)
        kernels.append(made.kernel)
        distances = ", ".join(map(str, size.distances))
        calls.append(f"  wrong += check((void (*)())small_{number}, {m}, {n}, {k}, {distances}, {int(first)}, 2);")
    catalogue = shipped().joined(Catalogue().with_instructions(known.values()))
    text = emit_file(*kernels, catalogue=catalogue, inline=True)
    (tmp_path / "small.c").write_text(text + CHECK.format(type=C_TYPES[element], calls="\n".join(calls)))
    flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-strict-prototypes"]
    command = [*compiler, *flags, str(tmp_path / "small.c"), "-o", str(tmp_path / "small")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]
    done = subprocess.run([*emulator, str(tmp_path / "small")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout[:2000]


def test_few_columns_are_summed_along_k() -> None:
    vectors = find_vectors("avx512", BY_NAME["f32"])
    assert [x.width for x in choose_pieces(GemmSize(vectors, 33, 23, 256))] == [16, 4, 3]
    assert [x.width for x in choose_pieces(GemmSize(vectors, 33, 23, 255))] == [23]
    assert [x.width for x in choose_pieces(GemmSize(vectors, 4, 100, 8))] == [48, 32, 20]
