"""Linear subscripts become rows and columns, under conditions; strides that do not fit each other are refused."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_expr, print_kernel
from planish.poly.canonical.delinearise import delinearise, subscripts
from planish.poly.isl.affine import NotAffineError

TWO = "kernel k(m, n, lda; A: f64[?]) { for i in 0 .. m { for j in 0 .. n { A[i * lda + j] = 1.0 } } }"
RING = """kernel ring(m, n; A: f64[?]) {
  for i in 1 .. m { for j in 0 .. n {
    if j < 1 { A[i * n + j - 1] = 1.0 } else { A[i * n + j - 1] = 2.0 }
  } }
}"""
THREE = (
    "kernel k(l, m, n; A: f64[?]) { for h in 0 .. l { for i in 0 .. m { for j in 0 .. n {"
    " A[h * m * n + i * n + j] = 1.0 } } } }"
)
REVERSED = """kernel k(m, n, lda; A: f64[?]) {
  for i in 0 .. m { for j in 0 .. n { A[(m - 1 - i) * lda + (n - 1 - j)] = 1.0 } }
}"""
OFFSET = "kernel k(m, n, lda; A: f64[?]) { for i in 0 .. m { for j in 0 .. n { A[(i + 1) * lda + j + 2] = 1.0 } } }"
INNER = """kernel k(m, n; A: f64[?]) {
  for i in 0 .. m - 2 { for j in 0 .. n - 2 { A[i * n - 2 * i + j] = 1.0 } }
}"""
BORDERED = """kernel k(m, n; A: f64[?]) {
  for i in 0 .. m { for j in 0 .. n { A[i * n + 2 * i + j] = A[i * n + 2 * i + n + j + 4] + 1.0 } }
}"""
DIAGONAL = "kernel k(n; A: f64[?]) { for i in 0 .. n { A[i * n + i] = 1.0 } }"
BACKWARD = """kernel k(m, n; A: f64[?]) {
  for i in 0 .. m { for j in 0 .. n { A[i * n + n - 1 - j] = A[(m - 1 - i) * n + j] + 1.0 } }
}"""
SOLVED = """kernel k(n; A: f64[?]) {
  for i in 0 .. n { for k in n - i .. n { A[(n - 1 - i) * n + k] += A[k * n + n - 1 - i] + 1.0 } }
}"""
NOWHERE = """kernel k(n; A: f64[?]) {
  for i in 0 .. n { for j in 0 .. 2 * n { A[i * n + j - 9 * n] = A[j * n + 20 * n + 30 * i] + 1.0 } }
}"""
MIXED = "kernel k(m, n, lda, ldb; A: f64[?]) { for i in 0 .. m { for j in 0 .. n { A[i * lda + j * ldb] = 1.0 } } }"


def rows(text: str) -> tuple[list[list[str]], list[str | None], list[str]]:
    """The subscripts of A, its shape and the assumptions of a kernel after the split."""
    kernel = delinearise(parse_kernel(text))
    shape = [None if x is None else print_expr(x) for x in kernel.array("A").shape]
    found = [[print_expr(x) for x in index] for index in subscripts("A", kernel.body)]
    return found, shape, [print_expr(x) for x in kernel.assumptions]


def test_two_strides() -> None:
    found, shape, assumed = rows(TWO)
    assert (found, shape) == ([["i", "j"]], [None, "lda"])
    assert len(assumed) == 1 and "lda" in assumed[0]


def test_three_strides_need_no_condition_where_rows_are_full() -> None:
    found, shape, assumed = rows(THREE)
    assert (found, shape, assumed) == ([["h", "i", "j"]], [None, "m", "n"], [])


def test_pairs_lie_in_rows_of_twice_the_size() -> None:
    text = "for t in 0 .. m { for k in 0 .. h { A[2 * n * t + 2 * h + 2 * k + 1] = A[2 * n * t + 2 * k] } }"
    found, shape, assumed = rows(f"kernel k(m, n, h; A: f64[?]) {{ {text} }}")
    assert (found, shape) == ([["t", "2 * k + 2 * h + 1"], ["t", "2 * k"]], [None, "2 * n"])
    assert "2 * h <= n" in assumed[0]


def test_reversed_rows_and_columns() -> None:
    found, shape, _ = rows(REVERSED)
    assert shape == [None, "lda"]
    assert [[x.replace(" ", "") for x in index] for index in found] == [["m-i-1", "n-j-1"]]


def test_offsets_go_where_they_belong_and_narrow_the_condition() -> None:
    found, shape, assumed = rows(OFFSET)
    assert (found, shape) == ([["i + 1", "j + 2"]], [None, "lda"])
    with pytest.raises(ValueError, match="assumption"):
        run_kernel(delinearise(parse_kernel(OFFSET)), {"m": 1, "n": 3, "lda": 4, "A": np.zeros((3, 4))})
    run_kernel(delinearise(parse_kernel(OFFSET)), {"m": 1, "n": 2, "lda": 4, "A": np.zeros((3, 4))})
    assert assumed


def test_rows_may_be_as_long_as_a_sum() -> None:
    found, shape, assumed = rows(INNER)
    assert (found, shape, assumed) == ([["i", "j"]], [None, "n - 2"], [])
    found, shape, assumed = rows(BORDERED)
    assert (found, shape, assumed) == ([["i", "j"], ["i + 1", "j + 2"]], [None, "n + 2"], [])


def test_what_counts_down_stays_in_its_row() -> None:
    found, shape, assumed = rows(BACKWARD)
    assert (found, shape, assumed) == ([["i", "n - j - 1"], ["m - i - 1", "j"]], [None, "n"], [])
    found, shape, assumed = rows(SOLVED)
    assert (found, shape, assumed) == ([["n - i - 1", "k"], ["k", "n - i - 1"]], [None, "n"], [])


def test_a_diagonal_stands_in_square_rows() -> None:
    assert rows(DIAGONAL) == ([["i", "i"]], [None, "n"], [])


NUMBERS = "kernel k(m, n; A: f64[?]) { for i in 0 .. m { for j in 0 .. @ { A[#] = 1.0 } } }"


@pytest.mark.parametrize(
    ("linear", "found", "length", "most"),
    [("64 * i + j", ["i", "j"], "64", "64"), ("j + 1 + 128 * (m - 1 - i)", ["m - i - 1", "j + 1"], "128", "127")],
)
def test_rows_whose_length_is_a_number(linear: str, found: list[str], length: str, most: str) -> None:
    condition = f"m <= 0 || m > 0 && n <= {most}"
    assert rows(NUMBERS.replace("@", "n").replace("#", linear)) == ([found], [None, length], [condition])


def test_rows_in_rows_whose_lengths_are_numbers() -> None:
    text = "for h in 0 .. n { for i in 0 .. n { for j in 0 .. n { A[1024 * h + 32 * i + j] = 1.0 } } }"
    found, shape, assumed = rows("kernel k(n; A: f64[?]) { " + text + " }")
    assert (found, shape, assumed) == ([["h", "i", "j"]], [None, "32", "32"], ["n <= 32"])


@pytest.mark.parametrize(
    ("bound", "linear"),
    [
        ("n", "640 * i + 64 * j + 3"),  # nothing moves along the rows
        ("40", "64 * i + j"),  # the columns stay within them
        ("80", "64 * i + j"),  # the columns leave them
        ("n", "4 * i + j"),  # a window
        ("n", "64 * i + 100 * j"),
        ("n", "j"),
    ],
)
def test_numbers_that_are_no_rows(bound: str, linear: str) -> None:
    kernel = parse_kernel(NUMBERS.replace("@", bound).replace("#", linear))
    assert delinearise(kernel) is kernel


def test_rows_of_numbers_beside_rows_of_sizes() -> None:
    text = "for i in 0 .. m { for j in 0 .. n { A[32 * j + i] = B[i * lda + j] } }"
    kernel = delinearise(parse_kernel("kernel k(m, n, lda; A: f64[?], B: f64[?]) { " + text + " }"))
    assert [len(x.shape) for x in kernel.arrays] == [2, 2]
    run_kernel(kernel, {"m": 2, "n": 2, "lda": 2, "A": np.zeros((2, 32)), "B": np.ones((2, 2))})
    with pytest.raises(ValueError, match="assumption"):
        run_kernel(kernel, {"m": 33, "n": 2, "lda": 2, "A": np.zeros((3, 32)), "B": np.ones((33, 2))})


def test_rows_of_numbers_that_exclude_each_other_stay_linear() -> None:
    text = "for i in 0 .. n { for j in 0 .. n { A[32 * i + j] = 1.0 } for k in 40 .. n { B[64 * i + k] = 1.0 } }"
    kernel = parse_kernel("kernel k(n; A: f64[?], B: f64[?]) { " + text + " }")
    assert delinearise(kernel) is kernel


def test_strides_that_do_not_divide_each_other_are_refused() -> None:
    with pytest.raises(NotAffineError, match="divide"):
        delinearise(parse_kernel(MIXED))


def test_rows_that_no_sizes_have_are_refused() -> None:
    with pytest.raises(NotAffineError, match="no sizes"):
        delinearise(parse_kernel(NOWHERE))


def test_subscripts_that_are_affine_already_stay() -> None:
    kernel = parse_kernel("kernel k(n; A: f64[n, n]) { for i in 0 .. n { A[i, 2 * i - n] = 1.0 } }")
    assert delinearise(kernel) is kernel


@pytest.mark.parametrize(
    ("text", "sizes", "rows_of"),
    [(TWO, {"m": 3, "n": 4, "lda": 5}, (3, 5)), (REVERSED, {"m": 3, "n": 4, "lda": 4}, (3, 4)),
     (OFFSET, {"m": 2, "n": 3, "lda": 6}, (3, 6)), (INNER, {"m": 5, "n": 6}, (3, 4)),
     (BORDERED, {"m": 3, "n": 4}, (4, 6)),
     (BACKWARD, {"m": 3, "n": 4}, (3, 4)), (SOLVED, {"n": 4}, (4, 4)), (DIAGONAL, {"n": 4}, (4, 4)),
     (RING, {"m": 3, "n": 4}, (3, 4)), (THREE, {"l": 2, "m": 3, "n": 4}, (2, 3, 4))],
)  # fmt: skip
def test_the_same_elements_are_written(text: str, sizes: dict[str, int], rows_of: tuple[int, ...]) -> None:
    flat, split = np.zeros(rows_of).ravel(), np.zeros(rows_of)
    run_kernel(parse_kernel(text), {**sizes, "A": flat})
    run_kernel(delinearise(parse_kernel(text)), {**sizes, "A": split})
    assert flat.any()
    assert np.array_equal(flat, split.ravel())


@pytest.mark.parametrize("bad", [{"m": 2, "n": 4, "lda": 3}, {"m": 1, "n": 1, "lda": 0}])
def test_rows_that_overlap_are_shut_out_by_the_condition(bad: dict[str, int]) -> None:
    kernel = delinearise(parse_kernel(TWO))
    with pytest.raises(ValueError, match="assumption"):
        run_kernel(kernel, {**bad, "A": np.zeros((bad["m"], bad["lda"]))})


def test_what_came_out_is_a_kernel_that_prints_and_parses() -> None:
    kernel = delinearise(parse_kernel(TWO))
    assert parse_kernel(print_kernel(kernel)) == kernel


@pytest.mark.parametrize(
    ("loops", "linear", "found", "shape"),
    [
        ("i < 9, j < 40", "64 * i + j", ["i", "j"], [None, "64"]),
        ("i < 9, j < 9", "65 * i + 64 * j", ["j + i", "i"], [None, "64"]),  # along a diagonal
        ("i < 9, j < 9", "63 * i + 64 * j + 9", ["i + j", "j + 9"], [None, "63"]),
        ("h < 9, i < 10, j < 5", "50 * h + 5 * i + j", ["h", "i", "j"], [None, "10", "5"]),
        ("h < 9, i < 3, j < 3", "112 * h + 56 * i + 2 * j", ["i + 2 * h", "2 * j"], [None, "56"]),  # in steps
        ("i < 9, j < 65", "64 * i + j", None, []),  # columns leave their rows
        ("i < 9, j < 9", "64 * i + 128 * j", None, []),  # nothing goes along rows
        ("i < 9, j < 3", "i + j", None, []),
    ],
)  # fmt: skip
def test_rows_that_are_wanted_where_all_columns_are_known_to_stay(
    loops: str, linear: str, found: list[str] | None, shape: list[str | None]
) -> None:
    nest = f"A[{linear}] = 1.0"
    for loop in reversed(loops.split(", ")):
        name, _, bound = loop.partition(" < ")
        nest = f"for {name} in 0 .. {bound} {{ {nest} }}"
    kernel = parse_kernel(f"kernel k(A: f64[?]) {{ {nest} }}")
    assert delinearise(kernel) is kernel
    settled = delinearise(kernel, settled=True)
    if found is None:
        assert settled is kernel
        return
    assert not settled.assumptions
    assert [print_expr(x) for (at,) in [subscripts("A", settled.body)] for x in at] == found
    assert [None if x is None else print_expr(x) for x in settled.array("A").shape] == shape
    extents = [int(x) for x in shape if x is not None]
    flat = np.zeros(30 * prod(extents))
    split = flat.copy().reshape([-1, *extents])
    run_kernel(kernel, {"A": flat})
    run_kernel(settled, {"A": split})
    assert flat.any() and np.array_equal(flat, split.ravel())
