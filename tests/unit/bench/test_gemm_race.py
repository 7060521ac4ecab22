"""The race of matrix products takes every element type, and notices a wrong sum."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.property.sampling import one_in

from bench.gemm import gemm_race
from bench.gemm.gemm_race import ElementType, RaceError
from bench.rivals.blas_baselines import Anchor

PRODUCT = """
#include <stddef.h>
#include "gemm_types.h"
void gemm(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, Sum alpha, const Left *A, ptrdiff_t lda, const Right *B, ptrdiff_t ldb,
          Sum beta, Sum *C, ptrdiff_t ldc) {
  for (ptrdiff_t i = 0; i < m; i++)
    for (ptrdiff_t j = 0; j < n; j++) {
      Sum sum = LOST;
      for (ptrdiff_t l = 0; l < k; l++) sum += widen_left(A[i * lda + l]) * widen_right(B[l * ldb + j]);
      C[i * ldc + j] = alpha * sum + (beta == 0 ? 0 : beta * C[i * ldc + j]);
    }
}
#ifdef INTEGERS
void cblas(int order, int a, int b, int offset, int m, int n, int k, float alpha, const void *A, int lda, Right a0,
           const void *B, int ldb, Right b0, float beta, Sum *C, int ldc, const Sum *c0) {
#else
void cblas(int order, int a, int b, int m, int n, int k, Sum alpha, const Left *A, int lda, const Right *B, int ldb,
           Sum beta, Sum *C, int ldc) {
#endif
  gemm(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}
"""


def build(folder: Path, element: ElementType, lost: int = 0) -> Path:
    """A library with `gemm` and `cblas`, whose sums are wrong by `lost`."""
    library = folder / f"lost{lost}.so"
    defines = (f"-DELEMENT_{element.upper()}", f"-DLOST={lost}", f"-I{gemm_race.DRIVER.parent}")
    command = ["gcc", "-O2", "-shared", "-fPIC", *defines, "-x", "c", "-", "-o", str(library)]
    subprocess.run(command, input=PRODUCT, text=True, check=True)
    return library


@pytest.mark.skipif(shutil.which("gcc") is None, reason="the driver is built by gcc")
@pytest.mark.parametrize("element", one_in(2, ("f32", "f64", "bf16", "u8s8", "i16")))
def test_every_element_type(element: ElementType, tmp_path: Path) -> None:
    plain = build(tmp_path, element)
    anchors = [Anchor("plain", "1", plain, {element: "cblas"})]
    options = {"rounds": 1, "seconds_a_shape": 0.0, "pad": 3, "anchors": anchors}
    for beta in (0.0, 1.0):
        results = gemm_race.race(plain, "gemm", [(5, 9, 70), (1, 1, 1)], element, beta=beta, **options)
        assert [result.shape for result in results] == [(5, 9, 70), (1, 1, 1)]
        for result in results:
            assert result.dtype == element and result.strongest == "plain" and result.peak > 0
            assert max(result.errors.values()) <= (1e-4 if element in ("f32", "bf16", "f64") else 0)
    with pytest.raises(RaceError, match="wrong: ours at 5 9 70: error 1"):
        gemm_race.race(build(tmp_path, element, lost=1), "gemm", [(5, 9, 70)], element, **options)
    with pytest.raises(RaceError, match="no library"):
        gemm_race.race(plain, "gemm", [(5, 9, 70)], element, anchors=[])
