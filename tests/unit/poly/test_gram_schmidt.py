"""Steps that take a direction out of the columns to their right: what they are, and what only looks like them."""

from __future__ import annotations

import pytest

from planish.ir.text.parser import parse_kernel
from planish.poly.idioms.gram_schmidt import GramSchmidt, find_projecting

STEP = """
kernel gram(m, n; A: f64[m, n], Q: f64[m, n], R: f64[n, n], s: f64[n])
{
  for k in 0 .. n {
    alloc norm: f64[]
    norm[] = 0.0
    for i in 0 .. m {
      norm[] += A[i, k] * A[i, k]
    }
    R[k, k] = sqrt(norm[])
    s[k] = R[k, k]
    for i in 0 .. m {
      Q[i, k] = A[i, k] / R[k, k]
    }
    for j in k + 1 .. n {
      R[k, j] = 0.0
      for u in 0 .. m {
        R[k, j] += Q[u, k] * A[u, j]
      }
      for v in 0 .. m {
        A[v, j] += -(Q[v, k] * R[k, j])
      }
    }
  }
}
"""


def find(*changes: tuple[str, str]) -> GramSchmidt | None:
    text = STEP
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return find_projecting(parse_kernel(text))


def test_a_step_may_make_its_direction_in_any_way() -> None:
    found = find()
    assert found is not None
    assert (found.array, found.units, found.shares, len(found.before)) == ("A", "Q", "R", 5)
    kept = find(("Q[i, k] = A[i, k] / R[k, k]", "Q[i, k] = Q[i, k]"))
    assert kept is not None
    at_once = "for u in 0 .. m { for j in k + 1 .. n { A[u, j] += -(R[k, j] * A[u, k]) } }"
    apart = (
        "for j in k + 1 .. n { R[k, j] = 0.0 } for i in 0 .. m { for j in k + 1 .. n { R[k, j] += A[i, j] * A[i, k] } }"
    )
    text = STEP[: STEP.index("    for j")].replace("Q[i, k] = A[i, k] /", "A[i, k] = A[i, k] /")
    inplace = find_projecting(parse_kernel(text + apart + at_once + "}}"))
    assert inplace is not None and inplace.units == "A"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("for k in 0 .. n", "for k in 1 .. n"),
        ("for k in 0 .. n", "for k in 0 .. n + 1"),
        ("j in k + 1 .. n", "j in k .. n"),
        ("u in 0 .. m", "u in 1 .. m"),
        ("v in 0 .. m", "v in 0 .. m - 1"),
        ("R[k, j] = 0.0", "R[k, j] = 1.0"),
        ("R[k, j] = 0.0", "R[j, k] = 0.0"),
        ("Q[u, k] * A[u, j]", "Q[u, k] * A[u, k]"),
        ("Q[u, k] * A[u, j]", "Q[u, j] * A[u, j]"),
        ("Q[u, k] * A[u, j]", "A[u, k] * A[u, j]"),
        ("-(Q[v, k] * R[k, j])", "Q[v, k] * R[k, j]"),
        ("-(Q[v, k] * R[k, j])", "-(Q[v, k] * R[k, k])"),
        ("-(Q[v, k] * R[k, j])", "-(A[v, k] * R[k, j])"),
        ("s[k] = R[k, k]", "s[k] = R[k, k] + A[0, 0]"),
        ("s[k] = R[k, k]", "s[k] = R[k, k] + Q[0, n - 1]"),
        ("s[k] = R[k, k]", "s[k] = R[0, k]"),
        ("s[k] = R[k, k]", "R[k, n - 1] = 1.0"),
        ("norm[] += A[i, k] * A[i, k]", "norm[] += A[i, k] * A[i + 1, k]"),
        ("R: f64[n, n]", "R: f32[n, n]"),
    ],
)
def test_what_looks_like_one_is_none(old: str, new: str) -> None:
    assert find((old, new)) is None


SUMMED = STEP.replace("alloc norm: f64[]", "alloc norm: f64[] alloc r: f64[]").replace("R[k, j]", "r[]")


@pytest.mark.parametrize("late", [False, True])
def test_a_share_may_be_made_in_a_cell(late: bool) -> None:
    """A sum in a variable that is stored to the element then is made in the element; else it has no column."""
    assert find_projecting(parse_kernel(SUMMED)) is None
    store, place = "R[k, j] = r[]", SUMMED.rindex("    }\n  }\n}") if late else SUMMED.index("      for v in")
    found = find_projecting(parse_kernel(f"{SUMMED[:place]} {store} {SUMMED[place:]}"))
    assert found is not None and found.shares == "R" and len(found.before) == 5


@pytest.mark.parametrize(
    "store", ["R[j, k] = r[]", "R[k, j] = r[] + 0.0", "R[k, j] = r[] r[] = 0.0", "R[k, j] = r[] r[] += R[0, 0]"]
)
def test_a_share_that_is_stored_otherwise_is_none(store: str) -> None:
    assert find_projecting(parse_kernel(SUMMED.replace("      for v in", f"      {store}\n      for v in"))) is None


def test_a_sum_is_complete_before_it_is_used() -> None:
    together = STEP.replace("      }\n      for v in 0 .. m {\n", "").replace(
        "A[v, j] += -(Q[v, k]", "A[u, j] += -(Q[u, k]"
    )
    assert find_projecting(parse_kernel(together)) is None
