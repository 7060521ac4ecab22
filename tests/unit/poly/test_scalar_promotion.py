"""Accumulators of recurrences are added up where they are stored, only where nothing can tell."""

from __future__ import annotations

import pytest
from tests.unit.raising.interpreted import assert_same, make_values

from planish.ir.checker import check_kernel
from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_kernel
from planish.poly.canonical.scalar_promotion import settle

HEAD = "kernel k(n; a: f64; A: f64[n, n], b: f64[n], x: f64[n], y: f32[n]) { alloc w: f64[] "


def settled(text: str, reassociate: bool = True) -> tuple[Kernel, Kernel]:
    """A nest before and after, which leave the same."""
    kernel = parse_kernel(HEAD + text + " }")
    check_kernel(kernel, "before")
    fresh = settle(kernel, reassociate)
    check_kernel(fresh, "after")
    for n in (0, 1, 2, 6):
        assert_same(kernel, fresh, make_values(kernel, {"n": n}))
    return kernel, fresh


def nest(begin: str, change: str, end: str, bound: str = "i") -> str:
    return f"for i in 0 .. n {{ w[] = {begin} for k in 0 .. {bound} {{ {change} }} {end} }}"


CHANGE = "w[] += -(A[i, k] * x[k])"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (nest("b[i]", CHANGE, "x[i] = w[]"), ["x[i] = b[i]", "x[i] += -(A[i, k] * x[k])"]),
        (nest("x[i]", CHANGE, "x[i] = w[] / A[i, i]"), ["x[i] += -(A[i, k] * x[k])", "x[i] = x[i] / A[i, i]"]),
        (nest("x[i]", CHANGE, "x[i] = sqrt(w[])"), ["x[i] += -(A[i, k] * x[k])", "x[i] = sqrt(x[i])"]),
        (nest("0.0", "w[] += A[i, k] * x[k]", "x[i] = (b[i] - w[]) / A[i, i]"),
         ["x[i] = b[i]", "x[i] += -(A[i, k] * x[k])", "x[i] = x[i] / A[i, i]"]),
        (nest("0.0", "w[] += A[i, k] * x[k]", "x[i] += -w[]"), ["x[i] += -(A[i, k] * x[k])"]),
        (nest("b[i]", "w[] += A[i, k] * x[k]", "x[i] = a - (w[] - 1.0)"),
         ["x[i] = a + 1.0:f64 + -b[i]", "x[i] += -(A[i, k] * x[k])"]),
        (nest("b[i]", "w[] max= A[i, k] * x[k]", "x[i] = w[]"), ["x[i] = b[i]", "x[i] max= A[i, k] * x[k]"]),
        (nest("b[i]", "w[] = w[] * x[k] + a", "x[i] = w[]"), ["x[i] = b[i]", "x[i] = x[i] * x[k] + a"]),
        (nest("b[n - 1 - i]", "w[] += -(A[k, i] * x[n - 1 - k])", "x[n - 1 - i] = w[]"),
         ["x[n - 1 - i] = b[n - 1 - i]", "x[n - 1 - i] += -(A[k, i] * x[n - 1 - k])"]),
        (nest("exp(b[i])", "x[k] += w[]", "x[i] = w[]", "0"), ["x[i] = exp(b[i])", "x[k] += x[i]"]),
        ("for i in 0 .. n { w[] = exp(b[i]) b[0] += w[] x[i] = w[] }", ["x[i] = exp(b[i])", "b[0] += x[i]"]),
        (nest("b[i]", CHANGE, "x[i] = w[] b[i] = w[] * x[i]"),
         ["x[i] = b[i]", "x[i] += -(A[i, k] * x[k])", "b[i] = x[i] * x[i]"]),
        ("for i in 0 .. n { w[] = x[i] / A[i, i] x[i] = w[] for k in i + 1 .. n { x[k] += -(A[k, i] * w[]) } }",
         ["x[i] = x[i] / A[i, i]", "x[k] += -(A[k, i] * x[i])"]),
        ("for i in 0 .. n { let v = x[i] + b[i] w[] = v for k in 0 .. i { " + CHANGE + " } x[i] = w[] }",
         ["let v = x[i] + b[i]", "x[i] = v", "x[i] += -(A[i, k] * x[k])"]),
        (nest("b[i]", CHANGE + " if k < 2 { w[] += a }", "x[i] = w[]"),
         ["x[i] = b[i]", "x[i] += -(A[i, k] * x[k])", "x[i] += a"]),
    ],
)  # fmt: skip
def test_a_sum_is_added_up_where_it_is_stored(text: str, wanted: list[str]) -> None:
    _, fresh = settled(text)
    lines = [x.strip() for x in print_kernel(fresh).splitlines()]
    assert [x for x in lines if "=" in x] == wanted


@pytest.mark.parametrize(
    "text",
    [
        nest("0.0", "w[] += A[i, k] * b[k]", "x[i] = w[]"),  # no recurrence
        nest("b[i]", CHANGE, "x[i] = w[]", "i + 1"),  # reads the old value of the cell
        nest("b[i]", CHANGE + " x[i] = 0.0", "x[i] = w[]"),  # overwritten meanwhile
        nest("b[i]", CHANGE + " b[k] = x[i]", "x[i] = w[]"),  # read meanwhile
        nest("b[i]", CHANGE, "x[i] = w[] for k in 0 .. n { x[k] = w[] * b[k] }"),  # overwritten before its last use
        nest("b[i]", CHANGE, "x[i] = w[] + a b[i] = w[]"),  # something else is stored
        nest("b[i]", CHANGE, "x[i] = w[] * x[i]"),
        nest("b[i]", CHANGE, "y[i] = f32(w[] * f64(y[0]))"),  # another type
        nest("b[i]", CHANGE, "let v = x[i] x[i] = w[] + v"),  # the old value by a name
        "for i in 0 .. n { let v = x[i] w[] = b[i] for k in 0 .. i { " + CHANGE + " } x[i] = w[] + v }",
        nest("b[i]", "let v = x[i] w[] += -(A[i, k] * x[k] * v)", "x[i] = w[]"),
        nest("b[i]", CHANGE, "let v = w[] x[i] = v"),
        nest("b[i]", CHANGE, "x[i] = w[] let v = w[] b[i] = v"),
        nest("b[i]", CHANGE, "for k in 0 .. 2 { x[i] = w[] }"),
        nest("b[i]", CHANGE, "if i < 2 { x[i] = w[] }"),
        nest("b[i]", CHANGE, "x[i] = w[] w[] = 0.0"),
        nest("b[i]", CHANGE, "x[i] = w[] w[] = 0.0 b[i] = w[]"),
        "w[] = 0.0 " + nest("w[]", CHANGE, "x[i] = w[]"),
        "w[] = 0.0 for i in 0 .. n { for k in 0 .. i { w[] += x[k] } x[i] = w[] }",  # goes on
    ],
)
def test_what_could_be_told_apart_stays(text: str) -> None:
    kernel, fresh = settled(text)
    assert fresh is kernel


def test_what_changes_before_the_end_is_not_used_at_the_beginning() -> None:
    text = nest("0.0", "w[] += A[i, k] * x[k] b[i] += a", "x[i] = b[i] - w[]")
    assert "x[i] = b[i] - x[i]" in print_kernel(settled(text)[1])


def test_sums_keep_their_order_where_they_must() -> None:
    text = nest("0.0", "w[] += A[i, k] * x[k]", "x[i] = b[i] - w[]")
    assert "x[i] = b[i] - x[i]" in print_kernel(settled(text, reassociate=False)[1])
    kernel, fresh = settled(nest("0.0", "w[] += A[i, k] * x[k]", "x[i] += -w[]"), reassociate=False)
    assert fresh is kernel


def test_an_accumulator_outside_of_all_loops() -> None:
    head = "kernel k(n; x: f64[n]) assume n > 0 { alloc w: f64[] "
    fresh = settle(parse_kernel(head + "w[] = 1.0 for k in 1 .. n { w[] += x[k] } x[0] = w[] }"))
    assert "x[0] += x[k]" in print_kernel(fresh)


def test_loops_of_one_name_are_told_apart() -> None:
    head = "kernel k(n; A: f64[n, n], x: f64[n]) { alloc w: f64[n] "
    text = "for i in 0 .. n { w[i] = A[i, 0] for i in 0 .. 1 { w[i] += x[i] } x[i] = w[i] }"
    kernel = parse_kernel(head + text + " }")
    assert settle(kernel) is kernel
