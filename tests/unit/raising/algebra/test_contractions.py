"""Contractions become products of matrices: they compute the same, and transpose no more than is needed."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
from operations import apply, einsum, matrix, raised
from written import run

from planish.ir.expr import Const, index
from planish.ir.nest import Array
from planish.ir.types import F32, F64, Floats
from planish.raising.algebra.fold_dims import fold
from planish.raising.algebra.product import ProductOperand
from planish.raising.algebra.rewrite import improve
from planish.raising.raised import Apply, Raised, Repeat, View, whole
from planish.target.load import load_target

TARGET = load_target("x86-avx512")

# The contractions of Multi-Level Tactics (CGO 2021), and others with several groups and batches.
CONTRACTIONS = (
    "acd,dbc->ab", "cad,dcb->ab", "acd,db->abc", "ad,bdc->abc", "bda,dc->abc", "aebf,dfce->abcd", "aebf,fdec->abcd",
    "xabk,xkb->xa", "axbk,kcx->xabc", "abkl,klcd->abcd", "kalb,ldkc->dacb", "ijk,ijk->", "abc,de->abcde", "abcd,dcb->a",

)  # fmt: skip


def contraction(text: str, shape: str, add: bool = False, extents: dict[str, int] | None = None) -> Raised:
    """A kernel of one contraction over arrays of its letters' extents: "named" sizes, or numbers."""
    inputs, output = text.split("->")
    terms = [*inputs.split(","), output]

    def extent(letter: str) -> int | str:
        return f"s{letter}" if shape == "named" else (extents or {}).get(letter, 40)

    arrays = [matrix(x, *(extent(y) for y in term)) for x, term in zip(("X", "Y", "Z"), terms, strict=True)]
    return raised(arrays, [apply(einsum(text, add), dict(zip(("A", "B", "C"), arrays, strict=True)))])


def check(before: Raised, after: Raised, sizes: dict[str, int], whole_numbers: bool = True) -> None:
    source = np.random.default_rng(5)
    values: dict[str, object] = dict(sizes)
    for array in before.kernel.arrays:
        shape = [int(x.value) if isinstance(x, Const) else sizes[x.name] for x in array.shape]  # type: ignore[union-attr]
        data = source.integers(-3, 4, shape) if whole_numbers else source.standard_normal(shape)
        values[array.name] = np.asarray(data, array.type.numpy)
    want, got = run(before, values), run(after, values)
    for array in before.kernel.arrays:
        np.testing.assert_array_equal(got[array.name], want[array.name])


def kinds(kernel: Raised) -> list[str]:
    return [x.operation.name for x in kernel.steps if isinstance(x, Apply)]


def test_batches_of_matrices_stay() -> None:
    for text in ("xab,xbc->xac", "xya,xyb->yxab"):
        before = contraction(text, "named")
        assert improve(before, TARGET, "reassociate")[0].steps == before.steps


@pytest.mark.parametrize("text", CONTRACTIONS)
@pytest.mark.parametrize("add", [False, True])
def test_contractions_compute_the_same(text: str, add: bool) -> None:
    before = contraction(text, "named", add)
    after, remarks = improve(before, TARGET, "reassociate")
    assert "contraction" not in kinds(after), [x.message for x in remarks]
    source = random.Random(text)
    for numbers in ([2] * 8, [source.randint(1, 4) for _ in range(8)], [source.choice((0, 1, 3)) for _ in range(8)]):
        check(before, after, dict(zip(before.kernel.sizes, numbers, strict=False)))


def test_strict_contractions_keep_every_bit() -> None:
    for text, add in product(CONTRACTIONS, (False, True)):
        before = contraction(text, "named", add)
        after, _ = improve(before, TARGET, "strict")
        check(before, after, dict.fromkeys(before.kernel.sizes, 3), whole_numbers=False)


@pytest.mark.parametrize(
    ("text", "most"),
    [("abkl,klcd->abcd", 0), ("acd,db->abc", 0), ("abc,de->abcde", 0), ("cad,dcb->ab", 0), ("aebf,dfce->abcd", 2)],
)
def test_no_more_is_transposed_than_needed(text: str, most: int) -> None:
    after, _ = improve(contraction(text, "numbers"), TARGET, "reassociate")
    assert sum("transpose" in x for x in kinds(after)) <= most


@pytest.mark.parametrize(
    ("text", "size"), [("bda,dc->abc", 160), ("axbk,kcx->xabc", 30), ("acd,db->abc", 100), ("kalb,ldkc->dacb", 24)]
)
def test_matrices_have_neighbours_in_memory(text: str, size: int) -> None:
    before = contraction(text, "numbers", add=True, extents=dict.fromkeys(text, size))
    after, _ = improve(before, TARGET, "reassociate")
    (step,) = [x for x in after.steps if isinstance(x, Apply) and "gemm" in x.operation.name]
    assert all(any(y[-1] for y in view.steps[-2:]) for name, view in step.operands.items() if name in "ABC")


@pytest.mark.parametrize("add", [False, True])
def test_products_are_added_up_where_that_needs_no_transpose(add: bool) -> None:
    before = contraction("cad,dcb->ab", "named", add)
    after, remarks = improve(before, TARGET, "reassociate")
    *fill, repeat = after.steps
    assert [x.operation.name for x in fill if isinstance(x, Apply)] == ([] if add else ["fill"])
    assert isinstance(repeat, Repeat) and [x.operation.name for x in repeat.steps if isinstance(x, Apply)] == ["gemm"]
    assert any("as a sum of `gemm`, with no operand transposed" in x.message for x in remarks)
    for numbers in ([3, 2, 4, 5], [0, 2, 2, 2], [2, 2, 0, 3], [2, 3, 3, 0]):
        check(before, after, dict(zip(before.kernel.sizes, numbers, strict=True)))


def test_sums_in_parts_are_another_order() -> None:
    after, _ = improve(contraction("cad,dcb->ab", "named"), TARGET, "strict")
    assert not any(isinstance(x, Repeat) for x in after.steps)


def test_small_contractions_are_not_worth_a_transpose() -> None:
    small = contraction("aebf,dfce->abcd", "numbers", extents=dict.fromkeys("abcdef", 2))
    after, remarks = improve(small, TARGET, "reassociate")
    assert kinds(after) == ["contraction"]
    assert any("would take longer than its loops" in x.message for x in remarks)


def test_what_stands_in_one_operand_only_is_refused() -> None:
    before = contraction("aij,jb->ab", "named")
    after, remarks = improve(before, TARGET, "reassociate")
    assert after.steps == before.steps
    assert any("in no other operand" in x.message for x in remarks)


@pytest.mark.parametrize("fp", ["strict", "reassociate"])
def test_parts_of_arrays_fold_only_where_they_are_contiguous(fp: Floats) -> None:
    X, Y, Z = matrix("X", "n", "q", "p"), matrix("Y", 4, 5, "m"), matrix("Z", "n", "m")
    # The first four rows of each matrix of X, and five of its columns: no dense block.
    part = View("X", (index(0),) * 3, ((1, 0, 0), (0, 1, 0), (0, 0, 1)), (index("n"), index(4), index(5)))
    step = apply(einsum("aij,ijb->ab"), {"A": part, "B": Y, "C": Z})
    before = raised([X, Y, Z], [step])
    after, _ = improve(before, TARGET, fp)
    check(before, after, {"n": 3, "q": 6, "p": 7, "m": 4})
    # All columns of some rows are one.
    shape = (index("n"), index(4), index("p"))
    rows = View("X", (index(0), index(1), index(0)), ((1, 0, 0), (0, 1, 0), (0, 0, 1)), shape)
    array = Array("X", F32, (index("n"), index("q"), index("p")))
    found = fold(ProductOperand(rows, "aij"), ("a", "ij"), array, "F")
    assert found is not None
    assert str(found.term.view) == "F[0 + x0, p + x1 | x0 < n, x1 < 4 * p]"
    assert fold(ProductOperand(part, "aij"), ("a", "ij"), array, "F") is None
    assert fold(ProductOperand(rows, "aij"), ("ai", "j"), array, "F") is None


def test_arrays_whose_first_extent_is_unknown_fold() -> None:
    X = Array("X", F64, (None, index(3), index(4)))
    view = View("X", (index(0),) * 3, ((1, 0, 0), (0, 1, 0), (0, 0, 1)), (index(2), index(3), index(4)))
    found = fold(ProductOperand(view, "iab"), ("ia", "b"), X, "F")
    assert found is not None and found.array is not None
    assert found.array.shape == (None, index(4))
    assert whole(matrix("X", 2, 3)).shape == (index(2), index(3))
