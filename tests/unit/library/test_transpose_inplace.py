"""Matrices that are transposed where they are: which nests do that, and what is run in their place."""

from __future__ import annotations

import numpy as np
import pytest
from tests.property.sampling import slow

from planish.ir.nest import Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_expr, print_kernel
from planish.ir.types import F32, F64, Type
from planish.library.dense.transpose_inplace.block_pairs import make_mirror
from planish.library.dense.transpose_inplace.blocked_transpose import mirror_versions
from planish.library.dense.transpose_inplace.copy_nests import find_mirror
from planish.library.kernels.vectors import find_vectors
from planish.poly.scop.extraction import extract_scop
from planish.schedule.auto.plan import prepare
from planish.target.load import load_target

AVX2 = load_target("x86-avx2")
SWAP = "alloc t: f64[] t[] = A[i, j] A[i, j] = A[j, i] A[j, i] = t[]"


def kernel_of(loops: str, body: str = SWAP, arrays: str = "A: f64[n, lda]") -> Kernel:
    nest = body
    for loop in reversed(loops.split("; ")):
        nest = f"for {loop} {{ {nest} }}"
    return parse_kernel(f"kernel k(n, lda; {arrays}) {{ {nest} }}")


def run(kernel: Kernel, shape: tuple[int, ...], n: int) -> np.ndarray:
    out = np.arange(np.prod(shape), dtype=kernel.arrays[0].type.numpy).reshape(shape)
    run_kernel(kernel, {"n": n, "lda": shape[-1], kernel.arrays[0].name: out})
    return out


MIRRORS = {
    "above": kernel_of("i in 0 .. n; j in i + 1 .. n"),
    "below": kernel_of("i in 0 .. n; j in 0 .. i"),
    "with the diagonal": kernel_of("i in 0 .. n; j in i .. n"),
    "columns first": kernel_of("j in 0 .. n; i in j + 1 .. n"),
    "without the last row": kernel_of("i in 0 .. n - 1; j in i + 1 .. n"),
    "without the last row and column": kernel_of("i in 0 .. n; j in i + 1 .. n - 1"),
    "without the first row and column": kernel_of("i in 1 .. n; j in i + 1 .. n"),
    "f32": kernel_of("i in 1 .. n; j in 0 .. i", SWAP.replace("f64", "f32"), "A: f32[n, lda]"),
    "backwards": kernel_of("i in 0 .. n; j in 0 .. n - i - 1", SWAP.replace("j", "(n - 1 - j)")),
    "in turns": kernel_of(
        "i in 0 .. n; j in 0 .. i",
        "alloc t: f64[] alloc u: f64[] t[] = A[i, j] u[] = A[j, i] A[j, i] = t[] A[i, j] = u[]",
    ),
    "in blocks": kernel_of(
        "ib in 0 .. (n + 3) // 4; jb in 0 .. ib + 1; i in 4 * ib .. min(4 * ib + 4, n);"
        " j in 4 * jb .. min(4 * jb + 4, i)"
    ),
}
NEAR_MISSES = {
    "a store is missing": kernel_of("i in 0 .. n; j in 0 .. i", "A[i, j] = A[j, i]"),
    "stored twice": kernel_of("i in 0 .. n; j in 0 .. i", SWAP.replace("A[j, i] = t[]", "A[i, j] = t[]")),
    "all pairs twice": kernel_of("i in 0 .. n; j in 0 .. n"),
    "a column more": kernel_of("i in 0 .. n; j in i + 1 .. n + 2", arrays="A: f64[n + 2, lda]"),
    "a diagonal is left": kernel_of("i in 0 .. n; j in i + 2 .. n"),
    "every other one": kernel_of("i in 0 .. n; j in 0 .. i // 2", SWAP.replace("j", "(2 * j)")),
    "rows change places": kernel_of("i in 0 .. n // 2; j in 0 .. n", SWAP.replace("A[j, i]", "A[n - 1 - i, j]")),
    "beside the diagonal": kernel_of("i in 0 .. n - 1; j in 0 .. i", SWAP.replace("A[j, i]", "A[j, i + 1]")),
    "the other diagonal": kernel_of(
        "i in 0 .. n; j in 0 .. n - i - 1", SWAP.replace("A[j, i]", "A[n - 1 - j, n - 1 - i]")
    ),
    "two matrices": kernel_of(
        "i in 0 .. n; j in 0 .. i", SWAP.replace("A[j, i]", "B[j, i]"), "A: f64[n, lda], B: f64[n, lda] distinct"
    ),
    "from another matrix": kernel_of(
        "i in 0 .. n; j in 0 .. i", SWAP.replace("= A[j, i]", "= B[j, i]"), "A: f64[n, lda], B: f64[n, lda] distinct"
    ),
    "another one as well": kernel_of(
        "i in 0 .. n; j in 0 .. i", SWAP + " B[i, j] = A[i, j]", "A: f64[n, lda], B: f64[n, lda] distinct"
    ),
    "numbers change": kernel_of("i in 0 .. n; j in 0 .. i", SWAP.replace("= A[j, i]", "= A[j, i] + 1.0")),
    "of bytes": kernel_of("i in 0 .. n; j in 0 .. i", SWAP.replace("f64", "u8"), "A: u8[n, lda]"),
}


@pytest.mark.parametrize("name", MIRRORS)
def test_mirrors_are_found(name: str) -> None:
    kernel = MIRRORS[name]
    (version,) = mirror_versions(prepare(kernel), AVX2)
    assert "as avx2_transpose" in print_kernel(version.kernel)
    assert [x.id for x in version.remarks] == ["transpose-inplace"]
    for n, lda in ((1, 1), (2, 3), (7, 7), (8, 8), (9, 12), (20, 21), (33, 33)):
        assert (run(version.kernel, (n, lda), n) == run(kernel, (n, lda), n)).all(), (n, lda)


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_near_misses_are_none(name: str) -> None:
    assert mirror_versions(prepare(NEAR_MISSES[name]), AVX2) == ()


def test_what_a_loop_leaves_in_a_local_array_is_not_lost() -> None:
    text = "alloc t: f64[n, n] for i in 0 .. n { for j in 0 .. i { %s } } for i in 0 .. n { for j in 0 .. i { %s } }"
    swap = SWAP.removeprefix("alloc t: f64[] ").replace("t[]", "t[i, j]")
    last = {"t[i, j]": 1, "2.0": 0}
    for value, kept in last.items():
        kernel = parse_kernel(f"kernel k(n; A: f64[n, n], B: f64[n, n]) {{ {text % (swap, f'B[i, j] = {value}')} }}")
        assert bool(mirror_versions(prepare(kernel), AVX2)) != bool(kept)


def test_many_matrices_and_what_comes_between() -> None:
    swap = SWAP.replace("[i, j]", "[b, i, j]").replace("[j, i]", "[b, j, i]")
    text = f"for b in 0 .. 3 {{ for i in 0 .. n {{ for j in 0 .. i {{ {swap} }} }} A[b, 0, 0] = 7.0 }}"
    kernel = parse_kernel(f"kernel k(n, lda; A: f64[3, n, lda]) {{ {text} }}")
    (version,) = mirror_versions(prepare(kernel), AVX2)
    assert print_kernel(version.kernel).count("as avx2_transpose") == 2
    for n, lda in ((1, 1), (9, 10), (13, 13)):
        assert (run(version.kernel, (3, n, lda), n) == run(kernel, (3, n, lda), n)).all()


def test_a_part_of_an_array() -> None:
    swap = SWAP.replace("[i, j]", "[i + 1, j + 2]").replace("[j, i]", "[j + 1, i + 2]")
    kernel = kernel_of("i in 0 .. n; j in 0 .. i", swap, "A: f64[n + 1, lda]")
    (version,) = mirror_versions(prepare(kernel), AVX2)
    assert [print_expr(x) for x in version.kernel.assumptions][-1] == "lda >= n + 2"
    for n in (1, 9, 14):
        assert (run(version.kernel, (n + 1, n + 3), n) == run(kernel, (n + 1, n + 3), n)).all()


def test_rows_that_run_into_each_other_are_asked_about() -> None:
    (version,) = mirror_versions(prepare(kernel_of("i in 0 .. n; j in 0 .. i")), AVX2)
    assert [print_expr(x) for x in version.kernel.assumptions] == ["lda >= n"]
    (version,) = mirror_versions(prepare(kernel_of("i in 0 .. n; j in 0 .. i", arrays="A: f64[n, n]")), AVX2)
    assert version.kernel.assumptions == ()


def test_no_version_without_instructions() -> None:
    assert mirror_versions(prepare(MIRRORS["above"]), load_target("generic")) == ()


@pytest.mark.parametrize("name", ["avx512", "avx2", "neon"])
@pytest.mark.parametrize("type", [F32, F64], ids=str)
def test_the_kernel_transposes_matrices_of_any_size(name: str, type: Type) -> None:
    vectors = find_vectors(name, type)
    kernel = make_mirror(vectors)
    for n, lda in ((0, 0), (1, 1), (vectors.lanes, vectors.lanes), (35, 36)):
        a = np.arange(n * lda, dtype=vectors.type.numpy).reshape(n, lda)
        wanted = a.copy()
        wanted[:, :n] = a[:, :n].T
        run_kernel(kernel, {"n": n, "lda": lda, "a": a})
        assert (a == wanted).all(), (n, lda)


@pytest.mark.parametrize(("extension", "type"), [slow("avx512", F64), slow("avx2", F64), ("avx2", F32), ("neon", F32)])
def test_squares_are_proven_to_transpose_the_matrix(extension: str, type: Type) -> None:
    """For every size: each element is followed through the blocks, as it is through a nest of the user's."""
    found = find_mirror(extract_scop(make_mirror(find_vectors(extension, type))), {"a"})
    assert found is not None and [print_expr(x) for x in (*found.start, found.order)] == ["0", "0", "n"]
