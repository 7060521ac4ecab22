"""Matrices transposed where they are, made for each target from one text, run beside the loops."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.targets.test_microkernels import need, run

from planish.emit.dropin.kernel_file import emit_file
from planish.ir.types import F32, F64, Type
from planish.library.dense.transpose_inplace.block_pairs import make_mirror
from planish.library.kernels.vectors import find_vectors

CHECK = """
#include <stdio.h>
#include <sys/mman.h>
#define PAGE 65536
#define ROOM (64 * PAGE)
static void plain(ptrdiff_t n, ptrdiff_t lda, TYPE *a)
{
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j < i; j++) {
      TYPE t = a[i * lda + j];
      a[i * lda + j] = a[j * lda + i];
      a[j * lda + i] = t;
    }
}
static TYPE wanted[ROOM / sizeof(TYPE)];
int main(void)
{
  static const int sizes[][2] = {{1, 1}, {2, 2}, {8, 8}, {16, 16}, {31, 33}, {48, 48}, {100, 1000}, {259, 259},
                                 {288, 512}};
  char *all = mmap(0, ROOM + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED || mprotect(all + PAGE, ROOM, PROT_READ | PROT_WRITE)) return 2;
  for (int k = 0; k < 2 * (int)(sizeof sizes / sizeof *sizes); k++) {
    const ptrdiff_t n = sizes[k / 2][0], lda = sizes[k / 2][1], last = (n - 1) * lda + n - 1;
    /* The first element, or the last one, is where nothing may be read: it stays where it is. */
    TYPE *a = k % 2 ? (TYPE *)(all + PAGE) - 1 : (TYPE *)(all + PAGE + ROOM) - last;
    for (ptrdiff_t i = 1; i < last; i++) a[i] = wanted[i] = (TYPE)(i * 37 % 65521);
    mirror(n, lda, (void *)a);
    plain(n, lda, wanted);
    for (ptrdiff_t i = 1; i < last; i++)
      if (a[i] != wanted[i]) return printf("%td of %td, %td: %g\\n", i, n, lda, (double)a[i]), 1;
  }
  return 0;
}
"""


@pytest.mark.parametrize("type", [F32, F64], ids=str)
@pytest.mark.parametrize("extension", ["avx512", "avx2", "neon"])
def test_matrices_are_transposed_where_they_are(extension: str, type: Type, tmp_path: Path) -> None:
    need(extension)
    kernel = replace(make_mirror(find_vectors(extension, type)), name="mirror")
    check = CHECK.replace("TYPE", {F32: "float", F64: "double"}[type])
    run(emit_file(kernel) + check, extension, tmp_path, "-O3", "-D_DEFAULT_SOURCE")
