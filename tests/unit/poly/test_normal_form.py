"""One value has one form, in whatever loops it is made; what is another value has another form or none."""

from __future__ import annotations

import pytest

from planish.ir.text.parser import parse_kernel
from planish.poly.match.composition import normal_form
from planish.poly.match.normal_form import NormalForm
from planish.poly.match.sum_of_products import NoFormError

HEAD = "kernel k(n, m; a: f64; A: f64[n, m], x: f64[m], y: f64[n], t: f64[n]) { "


def form(body: str) -> NormalForm:
    return normal_form(parse_kernel(HEAD + body + " }"))


SAME = (
    "for j in 0 .. m { for i in 0 .. n { y[i] += x[j] * A[i, j] } }",
    "for i in 0 .. n { for j in 0 .. m { y[n - 1 - i] += A[n - 1 - i, j] * x[j] } }",
    "for h in 0 .. (n + 3) // 4 { for j in 0 .. m { for i in 4 * h .. min(n, 4 * h + 4) { y[i] += A[i, j] * x[j] } } }",
    "for i in 0 .. n { for j in 0 .. min(m, 1) { y[i] += A[i, j] * x[j] } } "
    "for i in 0 .. n { for j in 1 .. m { y[i] += A[i, j] * x[j] } }",
    "for i in 0 .. n { for h in 0 .. m // 2 { y[i] += A[i, 2 * h] * x[2 * h] + A[i, 2 * h + 1] * x[2 * h + 1] } "
    "for j in max(m // 2 * 2, 0) .. m { y[i] += A[i, j] * x[j] } }",
    "alloc s: f64[] for i in 0 .. n { s[] = 0.0 for j in 0 .. m { s[] += A[i, j] * x[j] } y[i] += s[] }",
    "for i in 0 .. n { for j in 0 .. m { if i < j { y[i] += A[i, j] * x[j] } else { y[i] += x[j] * A[i, j] } } }",
)


@pytest.mark.parametrize("body", SAME)
def test_the_loops_do_not_matter(body: str) -> None:
    plain = form("for i in 0 .. n { for j in 0 .. m { y[i] += A[i, j] * x[j] } }")
    found = form(body)
    (mine,), (theirs,) = plain.terms, found.terms
    assert mine.like(theirs) and mine.points.is_equal(theirs.points)
    assert found.lost.is_empty() and found.target == "y"


def test_what_comes_before_and_after_is_part_of_the_value() -> None:
    found = form("for i in 0 .. n { y[i] = t[i] for j in 0 .. m { y[i] += A[i, j] * x[j] } y[i] *= a }")
    assert [x.describe() for x in found.terms] == ["a * t", "a * A * x"]
    assert str(found.lost) == "[n, m] -> { [i0] : 0 <= i0 < n }"


def test_what_is_overwritten_does_not_count() -> None:
    found = form("for i in 0 .. n { y[i] = t[i] } for i in 0 .. n { y[i] = 0.0 }")
    assert not found.terms and not found.lost.is_empty()


def test_a_sum_in_place_loads_what_was_there() -> None:
    found = form("for i in 0 .. n { for j in i + 1 .. n { y[i] += A[i, j] * y[j] } y[i] *= a }")
    assert sorted(x.describe() for x in found.terms) == ["a * A * y", "a * y"]


NONE = {
    "for i in 0 .. n { for j in 0 .. i { y[i] += A[i, j] * y[j] } }": "an earlier iteration has written it",
    "for i in 0 .. n { for j in 0 .. m { y[i] = x[j] } }": "overwritten several times",
    "for i in 0 .. n { for j in 0 .. m { y[i] += a } }": "combined several times",
    "for i in 0 .. n { y[i] += t[i] } for i in 0 .. n { t[i] = y[i] }": "`y` is computed here and read",
    "for i in 0 .. n { y[i] = f64(i) }": "`i` is used as a value",
    "for i in 0 .. n { y[i] = 2.0 } for i in 0 .. n { y[i] += y[0] * t[i] }": "an earlier iteration has written it",
    "for i in 0 .. n { y[i] += t[i] } for i in 1 .. n { t[i] = 0.0 } ": "are computed",
}
"""What has no form, and why."""


@pytest.mark.parametrize("body", NONE)
def test_what_has_no_form_says_why(body: str) -> None:
    with pytest.raises(NoFormError, match=NONE[body]):
        form(body)
