"""The text form: what prints parses back, and bad text fails with its place."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from random_kernels import exprs, kernels
from tests.property.sampling import one_in

from planish.core.diagnostic import PlanishError
from planish.ir.expr import Binary, Const, Expr, Unary, Var
from planish.ir.nest import Kernel
from planish.ir.text.operator_names import TypeScope
from planish.ir.text.parser import parse_expr, parse_kernel
from planish.ir.text.printer import print_expr, print_kernel, print_stmt
from planish.ir.types import BOOL, F64, INDEX

GEMM = """\
kernel gemm(ni, nj; alpha: f64; C: f64[ni, nj], A: f64[?, 1200] distinct, s: f64[])
  assume ni >= 1
{
  for i in 0 .. ni step 2 parallel simd reduce(add: s) unroll 4 {
    let t = A[i, 0] * 2.0:f64
    if i < nj - 1 && !(i == 2) {
      C[i, 0] += alpha * t
    } else if i > 3 {
      C[i, 0] = f64(quo(i, 2))
    } else {
      s[] min= select(t < 0.0:f64, -t, 1e-05:f64)
    }
    alloc buf: f64[16] stack
    alloc w: f32[2, 2] table (1.0, -0.5, 1e-07, -0.0)
    {
      buf[3] = -inf:f64
    }
  }
}
"""


def test_a_kernel_prints_as_it_was_written() -> None:
    assert print_kernel(parse_kernel(GEMM)) == GEMM


@pytest.mark.parametrize("turn", one_in(3, range(3)))
@given(kernel=kernels)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_every_kernel_parses_back(turn: int, kernel: Kernel) -> None:
    assert parse_kernel(print_kernel(kernel)) == kernel


@given(exprs)
@settings(max_examples=300, deadline=None)
def test_every_expression_parses_back(expr: Expr) -> None:
    assert parse_expr(print_expr(expr, TypeScope()), TypeScope()) == expr


def test_negative_zero_keeps_its_sign() -> None:
    back = parse_expr(print_expr(Const(-0.0, F64)))
    assert isinstance(back, Const)
    assert str(back.value) == "-0.0"


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("a - (b - c)", "a - (b - c)"),
        ("(a - b) - c", "a - b - c"),
        ("-(5)", "-(5)"),
        ("- 5", "-5"),
        ("-(a + b) * c", "-(a + b) * c"),
        ("a << 2 + b", "a << 2 + b"),
        ("(a & 3) == 0 && !(b < c) || true", "a & 3 == 0 && !(b < c) || true"),
        ("a & (3 + b)", "a & 3 + b"),
    ],
)
def test_parentheses_are_minimal(text: str, printed: str) -> None:
    assert print_expr(parse_expr(text)) == printed


def test_a_literal_belongs_to_its_minus() -> None:
    assert parse_expr("-5") == Const(-5, INDEX)
    assert parse_expr("-(5)") == Unary("neg", Const(5, INDEX))
    assert parse_expr("a --5") == Binary("sub", Var("a", INDEX), Const(-5, INDEX))


def test_logical_and_bitwise_signs_are_one_operator() -> None:
    assert parse_expr("true & p:bool") == Binary("and", Const(True, BOOL), Var("p", BOOL))


def test_a_statement_prints_without_a_scope() -> None:
    body = parse_kernel(GEMM).body.body[0]
    assert print_stmt(body).splitlines()[1] == "  let t = A[i, 0] * 2.0:f64"


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("", "E0401", 1, 1),
        ("kernel k() {", "E0401", 1, 13),
        ("kernel k() { @ }", "E0401", 1, 14),
        ("kernel k(n; A: f65[n]) {}", "E0401", 1, 16),
        ("kernel k(\n  n) { for in in 0 .. n {} }", "E0401", 2, 12),
        ("kernel k(A: f64[4]) { A[0] = B[0] }", "E0402", 1, 30),
        ("kernel k(A: i64[4]) { A[0] = m }", "E0402", 1, 30),
        ("kernel k(A: i64[4]) { A[0] 3 }", "E0401", 1, 28),
        ("kernel k(A: i64[4]) { A[0] = 1 < 2 < 3 }", "E0401", 1, 36),
        ("kernel k(A: i64[4]) { A[0] = select(true, 1) }", "E0401", 1, 30),
        ("kernel k() { } x", "E0401", 1, 16),
        ("kernel k(n) { alloc w: f64[1] table (n) }", "E0401", 1, 41),
        ("kernel k() { alloc w: f64[1] table 1.0 }", "E0401", 1, 36),
        ("kernel k(n) { for i in 0 .. n step x {} }", "E0401", 1, 36),
        ("kernel k(n) { for i in 0 .. n reduce(div: s) {} }", "E0401", 1, 38),
        ("kernel k(n) { for i in 0 .. n { let j = i } let m = j }", "E0402", 1, 53),
    ],
)
def test_bad_text_is_refused_with_its_place(text: str, code: str, line: int, column: int) -> None:
    with pytest.raises(PlanishError) as caught:
        parse_kernel(text, "a.ir")
    diagnostic = caught.value.diagnostic
    assert diagnostic.span is not None
    assert (diagnostic.code, diagnostic.span.line, diagnostic.span.column) == (code, line, column)
