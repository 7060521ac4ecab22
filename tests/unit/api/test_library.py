"""The library's product in place of the plain triple loops of a C file: found by the matcher, checked beside them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import planish
from planish.ir.types import F32
from planish.isa.instruction import Catalogue, Instruction
from planish.library.kernels.as_instruction import make_callable
from planish.library.kernels.gemm.blocked import Blocking, choose_blocking, define_product, make_packed
from planish.library.kernels.gemm.edges import make_family
from planish.library.kernels.vectors import find_vectors
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.instructions import Replace
from planish.schedule.steps.kernels import Assume

GEMM = """
void gemm(int m, int n, int k, float alpha, const float *A, int lda, const float *B, int ldb, float *C, int ldc) {
  for (int r = 0; r < m; r++)
    for (int s = 0; s < n; s++)
      for (int t = 0; t < k; t++)
        C[r * ldc + s] += B[t * ldb + s] * (A[r * lda + t] * alpha);
}
"""


# Matrices of columns, the operands as a programmer writes them who thinks of the result's columns.
OF_COLUMNS = """
void gemm(int m, int n, int k, float alpha, const float *A, int lda, const float *B, int ldb, float *C, int ldc) {
  for (int r = 0; r < m; r++)
    for (int s = 0; s < n; s++)
      for (int t = 0; t < k; t++)
        C[s * ldc + r] += alpha * B[s * ldb + t] * A[t * lda + r];
}
"""
SIZES = ((1, 1, 1), (5, 17, 70), (9, 33, 129), (0, 4, 4))


@pytest.fixture(scope="module")
def product() -> list[Instruction]:
    """The kernel `product`, and those that it calls."""
    known = Path("/proc/cpuinfo")
    if not known.exists() or "avx512f" not in known.read_text().split():
        pytest.skip("this processor has no avx512f")
    vectors, blocking = find_vectors("avx512", F32), Blocking(2, 1, 64, 32, 8)
    made = make_family(blocking.tile(vectors, "rows", False), blocking.stride)
    definition = define_product("product", vectors, False)
    tiles = Catalogue().with_instructions(made)
    return [*made, make_callable(definition, make_packed(definition, vectors, blocking, tiles, False))]


def test_the_triple_loop_of_a_c_file_is_done_by_the_library(product: list[Instruction], tmp_path: Path) -> None:
    program = planish.program(GEMM, instructions=product)
    with pytest.raises(planish.PlanishError, match="E0632.*wants"):
        program.apply(Replace("r", "product"))
    program = program.apply(Assume("m >= 1 && n >= 1 && k >= 1"), Replace("r", "product"))
    run = planish.compile(GEMM, script=program, cache=planish.Cache(tmp_path))
    assert run.report.transformed and "_mm512_fmadd_ps" in run.source
    rng = np.random.default_rng(1)
    for m, n, k in SIZES:
        a, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((m, k + 1), (k, n + 2)))
        c = rng.integers(-4, 5, (m, n + 3)).astype(np.float32)
        expected = c.copy()
        expected[:, :n] += 2 * (a[:, :k] @ b[:, :n])
        run(m, n, k, 2.0, a, k + 1, b, n + 2, c, n + 3)
        assert (c == expected).all()


def test_matrices_of_columns_are_done_with_the_operands_exchanged(product: list[Instruction], tmp_path: Path) -> None:
    program = planish.program(OF_COLUMNS, instructions=product)
    program = program.apply(Assume("m >= 1 && n >= 1 && k >= 1"), Reorder("r", ("s", "r")), Replace("s", "product"))
    run = planish.compile(OF_COLUMNS, script=program, cache=planish.Cache(tmp_path))
    assert run.report.transformed and re.search(r"product\(n, m, k, ldb, lda, ldc, alpha, .*B.*A.*C", run.source)
    rng = np.random.default_rng(1)
    for m, n, k in SIZES:
        a, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((k, m + 1), (n, k + 2)))
        c = rng.integers(-4, 5, (n, m + 3)).astype(np.float32)
        expected = c.copy()
        expected[:, :m] += 2 * (b[:, :k] @ a[:, :m])
        run(m, n, k, 2.0, a, m + 1, b, k + 2, c, m + 3)
        assert (c == expected).all()


@pytest.mark.parametrize("extension", ["avx2", "avx512", "neon"])
@pytest.mark.parametrize("rows", range(2, 15))
def test_blocks_are_of_whole_tiles_and_vectors(extension: str, rows: int) -> None:
    vectors = find_vectors(extension, F32)
    for level1 in (16 << 10, 32 << 10, 48 << 10):
        own = choose_blocking(vectors, rows, 2, level1, 1 << 20)
        for blocking in (own, own.shallower(2 * vectors.lanes)):
            assert blocking.height % rows == blocking.height % vectors.lanes == blocking.depth % vectors.lanes == 0
            assert blocking.columns % (2 * vectors.lanes) == 0 < blocking.columns
            assert blocking.depth <= own.depth and blocking.stride == own.stride
