"""Steps that reflect the columns to their right: what they are, and what only looks like them."""

from __future__ import annotations

import pytest

from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_expr
from planish.poly.idioms.householder import Householder, find_reflecting

STEP = """
kernel qr(m, n; A: f64[m, n], B: f64[m, n], t: f64[n])
{
  for k in 0 .. n {
    alloc norm: f64[]
    alloc test: bool[]
    norm[] = 0.0
    for i in k .. m {
      norm[] += A[i, k] * A[i, k]
    }
    test[] = norm[] > 0.0
    t[k] = select(test[], sqrt(norm[]), 0.0)
    A[k, k] += t[k]
    for j in k + 1 .. n {
      alloc s: f64[]
      s[] = A[k, j]
      for u in k + 1 .. m {
        s[] += A[u, k] * A[u, j]
      }
      s[] = s[] / t[k]
      A[k, j] += select(test[], -s[], 0.0)
      for v in k + 1 .. m {
        A[v, j] += select(test[], -(s[] * A[v, k]), 0.0)
      }
    }
    A[k, k] = -t[k]
  }
}
"""


def find(*changes: tuple[str, str]) -> Householder | None:
    text = STEP
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return find_reflecting(parse_kernel(text))


def test_a_step_may_make_its_vectors_in_any_way() -> None:
    found = find()
    assert found is not None
    assert (found.matrix.array, found.matrix.column, len(found.before), len(found.after)) == ("A", 1, 5, 1)
    change = found.change
    assert [print_expr(x.value) for x in change.weights] == ["1.0:f64", "A[u, k]"]
    assert [print_expr(x.value) for x in change.changes] == ["-(1.0:f64 / t[k])", "-(A[v, k] / t[k])"]
    assert change.test is not None and print_expr(change.test) == "test[]"
    assert found.has_panel and found.follows and print_expr(found.low) == "k"
    assert [print_expr(x) for x in found.asked] == ["n <= m", "1 < n"]


def test_columns_may_lie_in_rows() -> None:
    text = STEP
    for name in "ijuv":
        text = text.replace(f"A[{name}, k]", f"A[k, {name}]").replace(f"A[{name}, j]", f"A[j, {name}]")
    text = text.replace("A[k, j] +=", "A[j, k] +=").replace("s[] = A[k, j]", "s[] = A[j, k]")
    found = find_reflecting(parse_kernel(text.replace("A: f64[m, n]", "A: f64[n, m]")))
    assert found is not None and found.matrix.column == 0


@pytest.mark.parametrize(
    "changes",
    [
        # The column of the step is one of those that are changed, and vectors are made of an array of their own.
        [("j in k + 1", "j in k"), ("A[u, k] * ", "B[u, k] * "), ("(s[] * A[v, k])", "(s[] * B[v, k])")],
        # Another matrix is changed, in all columns.
        [
            ("j in k + 1", "j in 0"), ("s[] = A[k, j]", "s[] = B[k, j]"), ("* A[u, j]", "* B[u, j]"),
            ("A[k, j] +=", "B[k, j] +="), ("A[v, j] +=", "B[v, j] +="),
        ],
    ],
)  # fmt: skip
def test_vectors_may_be_of_another_array(changes: list[tuple[str, str]]) -> None:
    assert find(*changes) is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("for k in 0 .. n", "for k in 1 .. n"),
        ("j in k + 1 .. n", "j in k .. n"),
        ("j in k + 1 .. n", "j in k + 2 .. n"),
        ("j in k + 1 .. n", "j in 0 .. n"),
        ("u in k + 1 .. m", "u in k + 2 .. m"),
        ("u in k + 1 .. m", "u in k + 1 .. m - 1"),
        ("v in k + 1 .. m", "v in k .. m"),
        ("s[] = A[k, j]", "s[] = A[k, j] + 1.0"),
        ("s[] = A[k, j]", "s[] = A[k, k]"),
        ("s[] = A[k, j]", "s[] += A[k, j]"),
        ("s[] += A[u, k] * A[u, j]", "s[] += A[u, j] * A[u, j]"),
        ("s[] += A[u, k] * A[u, j]", "s[] += A[u, k] * A[u + 1, j]"),
        ("s[] += A[u, k] * A[u, j]", "s[] += A[u, k] * A[u, j] * s[]"),
        ("s[] = s[] / t[k]", "s[] = t[k] / s[]"),
        ("s[] = s[] / t[k]", "s[] = s[] / A[k, j]"),
        ("s[] = s[] / t[k]", "s[] = s[] / t[j]"),
        ("s[] = s[] / t[k]", "t[j] = s[] / t[k]"),
        ("-(s[] * A[v, k])", "-(s[] * A[v, j])"),
        ("-(s[] * A[v, k])", "-(s[] + A[v, k])"),
        ("-(s[] * A[v, k])", "-(s[] * s[])"),
        ("A[v, j] += select(test[], -(s[] * A[v, k]), 0.0)", "A[v, j] += -(s[] * A[v, k])"),
        ("A[v, j] += select(test[], -(s[] * A[v, k]), 0.0)", "A[v, j] += select(v > k, -(s[] * A[v, k]), 0.0)"),
        ("A[k, k] = -t[k]", "A[k, k] = A[k, n - 1]"),
        ("A[k, k] = -t[k]", "A[k, k] = A[k, 0]"),
        ("A[k, k] += t[k]", "A[k + 1, k] += t[k]"),
        ("norm[] += A[i, k] * A[i, k]", "norm[] += A[i, k] * A[i + 1, k]"),
        ("norm[] += A[i, k] * A[i, k]", "norm[] += B[i, k]"),
        ("A: f64[m, n]", "A: i64[m, n]"),
    ],
)
def test_what_looks_like_one_is_none(old: str, new: str) -> None:
    text = STEP.replace(old, new)
    assert text != STEP
    assert find_reflecting(parse_kernel(text)) is None


def test_a_sum_that_is_read_later_is_no_sum_of_its_own() -> None:
    text = STEP.replace("      alloc s: f64[]\n", "").replace("alloc norm: f64[]", "alloc norm: f64[] alloc s: f64[]")
    assert find_reflecting(parse_kernel(text)) is not None
    assert find_reflecting(parse_kernel(text.replace("A[k, k] = -t[k]", "A[k, k] = s[]"))) is None
    assert find_reflecting(parse_kernel(text.replace("norm[] = 0.0", "norm[] = s[]"))) is None


def test_a_sum_is_complete_before_it_is_used() -> None:
    together = STEP.replace("      s[] = s[] / t[k]\n", "").replace(
        "      }\n      A[k, j] += select(test[], -s[], 0.0)\n      for v in k + 1 .. m {\n", ""
    )
    together = together.replace("A[v, j] += select(test[], -(s[] * A[v, k]), 0.0)", "A[u, j] += -(s[] * A[u, k])")
    assert find_reflecting(parse_kernel(together)) is None
