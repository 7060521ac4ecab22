"""Eliminations that choose a row in each step: what is one, and what only looks like one."""

from __future__ import annotations

import pytest

from planish.ir.text.parser import parse_kernel
from planish.poly.idioms.lu_partial_pivoting import PartialPivoting, find_pivoting

STEP = """
kernel lu(n; A: f64[n, n], B: f64[n], s: f64[] distinct, rows: i32[n])
{
  for k in 0 .. n {
    alloc p: i32[]
    alloc test: bool[]
    p[] = i32(k)
    for i in k + 1 .. n {
      p[] = select(fabs(A[i, k]) > fabs(A[k, k]), i32(i), p[])
    }
    rows[k] = p[]
    test[] = p[] != i32(k)
    for r in k .. n {
      for j in 0 .. n {
        alloc t: f64[]
        t[] = A[k, j]
        A[k, j] = select(test[] && p[] == i32(r), A[r, j], A[k, j])
        A[r, j] = select(test[] && p[] == i32(r), t[], A[r, j])
      }
    }
    s[] = s[] * A[k, k]
    for i in k + 1 .. n {
      alloc f: f64[]
      f[] = A[i, k] / A[k, k]
      A[i, k] = f[]
      for j in k + 1 .. n {
        A[i, j] += -(f[] * A[k, j])
      }
      B[i] += -(f[] * B[k])
    }
    s[] = s[] + 1.0
  }
}
"""


def find(*changes: tuple[str, str]) -> PartialPivoting | None:
    text = STEP
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return find_pivoting(parse_kernel(text))


def test_a_step_may_do_more_than_eliminate() -> None:
    found = find()
    assert found is not None
    assert (found.array, found.row, found.whole, found.var) == ("A", "p", True, "k")
    assert len(found.before) == 4 and len(found.after) == 3
    late = find(("      A[i, k] = f[]\n", ""), ("B[i] += -(f[] * B[k])", "A[i, k] = f[]"))
    assert late is not None and len(late.after) == 3
    right = find(("j in 0 .. n", "j in k .. n"))
    assert right is not None and not right.whole


def test_a_multiplier_is_not_read_before_it_is_stored() -> None:
    late = ("      A[i, k] = f[]\n", ""), ("B[i] += -(f[] * B[k])", "A[i, k] = f[]")
    assert find(*late, ("-(f[] * A[k, j])", "-(A[i, k] * A[k, j])")) is None
    assert find(*late[:1], ("B[i] += -(f[] * B[k])", "f[] = 2.0 * f[] A[i, k] = f[]")) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("j in 0 .. n", "j in k + 1 .. n"),
        ("j in 0 .. n", "j in 0 .. n - 1"),
        ("j in k + 1 .. n", "j in k .. n"),
        ("j in k + 1 .. n", "j in k + 1 .. n - 1"),
        ("for k in 0 .. n", "for k in 0 .. n + 1"),
        ("for k in 0 .. n", "for k in 1 .. n"),
        ("A[r, j], A[k, j])", "A[r, k], A[k, j])"),
        ("t[] = A[k, j]", "t[] = A[k, k]"),
        ("t[], A[r, j])", "A[k, j], A[r, j])"),
        ("test[] = p[] != i32(k)", "test[] = p[] == i32(k)"),
        ("test[] = p[] != i32(k)", "test[] = B[k] > 0.0"),
        ("rows[k] = p[]\n    test[] = p[] != i32(k)", "test[] = p[] != i32(k)\n    p[] = i32(k)"),
        ("p[] = i32(k)", "p[] = 0:i32"),
        ("p[] = i32(k)", "p[] = rows[k]"),
        ("i32(i), p[])", "i32(i) + 1:i32, p[])"),
        ("fabs(A[i, k])", "fabs(A[i, n - 1])"),
        ("fabs(A[k, k])", "fabs(A[0, k])"),
        ("for r in k .. n", "for r in k + 1 .. n"),
        ("s[] = s[] * A[k, k]", "s[] = s[] * A[k, 0]"),
        ("s[] = s[] * A[k, k]", "p[] = i32(k)"),
        ("s[] = s[] + 1.0", "s[] = s[] + A[n - 1, n - 1]"),
        ("s[] = s[] + 1.0", "A[k, k] = 1.0"),
        ("A[i, k] = f[]", "f[] = 1.0 + f[]"),
        ("A[i, k] = f[]", "A[i, k] = f[] f[] = 2.0 * f[]"),
        ("A[i, k] = f[]", "A[k, k] = f[]"),
        ("-(f[] * A[k, j])", "f[] * A[k, j]"),
        ("-(f[] * A[k, j])", "-(f[] * A[i, k])"),
        ("-(f[] * A[k, j])", "-(s[] * A[k, j])"),
        ("B[i] += -(f[] * B[k])", "A[i, k] = 0.0"),
        ("B[i] += -(f[] * B[k])", "f[] = 0.0"),
    ],
)
def test_what_looks_like_one_is_none(old: str, new: str) -> None:
    assert find((old, new)) is None
