"""Operands that may change places do so, others do not, and a value is the same in any order."""

from __future__ import annotations

import pytest

from planish.ir.expr import Expr
from planish.ir.nest import Assign
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import walk
from planish.poly.match.composition import normal_form
from planish.poly.match.operands import OperandMismatchError
from planish.poly.match.sum_of_products import whole
from planish.poly.match.unify import agree, pattern_of

HEAD = "kernel k(n; a: f64; x: f64[n], y: f64[n], z: f64[n], p: f32[n], q: i32[n]) { for i in 0 .. n { x[i] = @ } }"


def value(text: str) -> Expr:
    (stmt,) = (x for x in walk(parse_kernel(HEAD.replace("@", text)).body) if isinstance(x, Assign))
    return stmt.value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("max(0.0, y[i])", "max(y[i], 0.0)"),
        ("exp(a + y[i] * z[i])", "exp(y[i] * z[i] + a)"),
        ("sqrt(exp(y[i]) + z[i])", "sqrt(z[i] + exp(y[i]))"),
    ],
)
def test_a_factor_is_told_by_what_it_does(one: str, other: str) -> None:
    assert whole(value(one)).head == whole(value(other)).head


@pytest.mark.parametrize(("one", "other"), [("exp(y[i] - a)", "exp(a - y[i])"), ("exp(y[i] / a)", "exp(a / y[i])")])
def test_what_has_an_order_keeps_it(one: str, other: str) -> None:
    assert whole(value(one)).head != whole(value(other)).head


@pytest.mark.parametrize(
    ("wanted", "text", "found"),
    [
        ("exp(x[i] + y[i])", "exp(z[i] + x[i])", {"x": "x[0 + x0]", "y": "z[0 + x0]"}),
        ("max(y[i], z[i]) + 0.0", "max(z[n - 1 - i], y[i])", {"y": "z[n - 1 - x0]", "z": "y[0 + x0]"}),
        ("exp(x[i] - y[i])", "exp(z[i] - x[i])", None),
        ("exp(x[i] + y[i])", "exp(z[i] + y[i])", None),
        ("exp(x[i] * f64(i32(y[i])))", "exp(x[i] * f64(i64(y[i])))", None),
        ("exp(f64(i32(x[i])) + f64(i64(y[i])))", "exp(f64(i64(x[i])) + f64(i32(y[i])))", None),
    ],
)
def test_operands_that_look_alike_are_tried_in_either_order(
    wanted: str, text: str, found: dict[str, str] | None
) -> None:
    kernel = parse_kernel(HEAD.replace("@", wanted))
    other = normal_form(parse_kernel(HEAD.replace("@", text)))
    pattern = pattern_of(parse_kernel("kernel d(n; x: f64[n], y: f64[n], z: f64[n]) {}"), normal_form(kernel))
    if found is None:
        with pytest.raises(OperandMismatchError):
            agree(pattern, other)
        return
    operands = agree(pattern, other).operands
    assert {name: str(operands[name]) for name in found} == found
