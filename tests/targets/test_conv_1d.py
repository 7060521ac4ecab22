"""Sums of products along a line, made for each target from one text, run where its instructions are beside the plain
loops; all arrays end before a page that nothing may touch."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.property.sampling import slow
from tests.targets.test_microkernels import C_TYPES, need, run

from planish.core.cache import Cache
from planish.emit.dropin.kernel_file import emit_file
from planish.ir.types import BY_NAME
from planish.isa.shipped import shipped
from planish.library.kernels.conv_1d import choose_shape, make_sliding
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.kernels.vectors import find_vectors

CASES = (
    ("avx512", "f32", False, 1), ("avx2", "f64", True, 2), slow("avx2", "f32", False, 2), ("neon", "f32", True, 1)
)  # fmt: skip
CHECK = """
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static unsigned state = 1;
/* So many small numbers, so that sums are exact in whatever order, up to the end of a page. */
static TYPE *fill(long count)
{
  const long page = sysconf(_SC_PAGESIZE), size = (count * (long)sizeof(TYPE) + page - 1) / page * page;
  char *block = mmap(NULL, (size_t)(size + page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(block + size, (size_t)page, PROT_NONE);
  TYPE *out = (TYPE *)(block + size) - count;
  for (long i = 0; i < count; i++) out[i] = (TYPE)((int)((state = state * 1103515245u + 12345u) >> 16) % 16 - 8) / 4;
  return out;
}
static int check(long m, long n)
{
  TYPE *a = fill(m), *b = fill(m + n - 1), *c = fill(n), *d = fill(n);
  memcpy(d, c, sizeof(TYPE) * (size_t)n);
  NAME(m, n, a, b, c);
  for (long i = 0; i < n; i++) {
    for (long p = 0; p < m; p++) d[i] += a[p] * b[PLACE];
    if (c[i] != d[i]) return printf("%ld of %ld by %ld: %g, not %g\\n", i, n, m, (double)c[i], (double)d[i]), 1;
  }
  return 0;
}
int main(void)
{
  static const long windows[] = {1, 2, 7, 31, 32, 33, 63, 64, 65, 130, 200};
  for (int k = 0; k < 11; k++)
    for (long n = 1; n < 300; n += n < 40 ? 1 : 13)
      if (check(windows[k], n)) return 1;
  return check(33, 3001);
}
"""


@pytest.mark.parametrize(("extension", "type", "turned", "threads"), CASES)
def test_sums_are_what_their_loops_are(
    extension: str, type: str, turned: bool, threads: int, tmp_path: Path
) -> None:
    need(extension)
    kernels = make_sliding(choose_shape(find_vectors(extension, BY_NAME[type]), turned), KernelCache(Cache()), threads)
    made = kernels[-1]
    text = emit_file(made.implementation, catalogue=shipped().with_instructions(kernels), threads=threads > 1)
    assert ("omp parallel for" in text) == (threads > 1)
    check = CHECK.replace("NAME", made.name).replace("TYPE", C_TYPES[type])
    check = check.replace("PLACE", "i + m - 1 - p" if turned else "i + p")
    run("#define _DEFAULT_SOURCE\n" + text + check, extension, tmp_path)
