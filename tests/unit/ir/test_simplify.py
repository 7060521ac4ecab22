"""Simplification: the normal forms, and that values do not change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planish.ir.expr import Binary, Compare, Const, Expr, Select, Unary, index
from planish.ir.interpreter import run_kernel
from planish.ir.nest import Array, Assign, Block, If, Kernel
from planish.ir.parser import parse_expr, parse_kernel
from planish.ir.printer import print_expr, print_kernel
from planish.ir.simplify import simplify, simplify_block
from planish.ir.types import BOOL, INDEX


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("i + 0", "i"),
        ("1 * i", "i"),
        ("min(i, i)", "i"),
        ("i + 1 + 2", "i + 3"),
        ("i - j - i + j", "0"),
        ("0 - i", "-i"),
        ("3 - i", "3 - i"),
        ("2 * (i + 3 * j) - 1", "2 * i + 6 * j - 1"),
        ("-(2 * i)", "-2 * i"),
        ("min(min(i, n), i + 1)", "min(i, n)"),
        ("max(i - 1, max(n, i))", "max(n, i)"),
        ("(32 * t + 5) // 32", "t"),
        ("(32 * t + i) // 32", "t + i // 32"),
        ("(32 * t + i) % 32", "i % 32"),
        ("i // 4 // 8", "i // 32"),
        ("7 // 2 + 7 % 2 + quo(-7, 2) + rem(-7, 2)", "0"),
        ("select(2 > 1, i, j)", "i"),
        ("select(i < j, n, n)", "n"),
        ("i < i + 1", "true"),
        ("n + 1 <= n", "false"),
        ("3 < i", "i > 3"),
        ("t + i < t + 5", "i < 5"),
        ("i < n && true", "i < n"),
        ("i < n || true", "true"),
        ("!(i < n)", "i >= n"),
        ("!(x:f64 < y:f64)", "!(x:f64 < y:f64)"),
        ("A[i + 0]:f64 + 0.0", "A[i]:f64 + 0.0:f64"),
        ("i * j * 2 - 2 * (i * j)", "0"),
    ],
)
def test_normal_forms(text: str, wanted: str) -> None:
    assert simplify(parse_expr(text)) == parse_expr(wanted)


def test_known_ranges_settle_more() -> None:
    known = {"i": (0, 31), "n": (1, 100)}
    assert print_expr(simplify(parse_expr("(32 * t + i) // 32 + i % 32"), known)) == "t + i"
    assert print_expr(simplify(parse_expr("min(i, 40)"), known)) == "i"
    assert print_expr(simplify(parse_expr("n >= 1"), known)) == "true"
    assert print_expr(simplify(parse_expr("rem(i, 64)"), known)) == "i"


def test_blocks_lose_what_never_runs() -> None:
    text = """kernel k(n; A: i64[?]) {
      for t in 0 .. 4 { for i in 0 .. 8 { if i < 8 && t >= 0 { A[8 * t + i + 0] = i } } }
      for i in 5 .. 5 { A[i] = 0 }
      if n < n { A[0] = 1 } else { { A[1] = 2 } }
      if n > 3 { if n > 4 { } } else { A[3] = 1 }
    }"""
    kernel = parse_kernel(text)
    body = simplify_block(kernel.body)
    assert print_kernel(Kernel("k", ("n",), arrays=kernel.arrays, body=body)) == """\
kernel k(n; A: i64[?])
{
  for t in 0 .. 4 {
    for i in 0 .. 8 {
      A[8 * t + i] = i
    }
  }
  A[1] = 2
  if n <= 3 {
    A[3] = 1
  }
}
"""


NAMES = ("i", "j", "n")
leaves = st.one_of(st.sampled_from(NAMES).map(index), st.integers(-9, 9).map(index))
divisors = st.integers(1, 5).map(index)


def _larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    conditions = st.builds(Compare, st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"]), inner, inner)
    logical = st.builds(Binary, st.sampled_from(["and", "or"]), conditions, conditions)
    choices = st.one_of(conditions, logical, conditions.map(lambda x: Unary("not", x)))
    return st.one_of(
        st.builds(Binary, st.sampled_from(["add", "sub", "mul", "min", "max"]), inner, inner),
        st.builds(Binary, st.sampled_from(["floordiv", "mod", "quo", "rem"]), inner, divisors),
        st.builds(Unary, st.just("neg"), inner),
        st.builds(Select, choices, inner, inner),
    )


@given(st.recursive(leaves, _larger, max_leaves=10), st.tuples(*[st.integers(-12, 12)] * 3))
@settings(max_examples=400, deadline=None)
def test_the_value_stays(expr: Expr, values: tuple[int, ...]) -> None:
    ranges = dict(zip(NAMES, ((v - 1, v + 2) for v in values), strict=True))
    fresh = [simplify(expr), simplify(expr, ranges)]
    out = np.zeros(3, "int64")
    body = Block(tuple(Assign("out", (index(i),), x) for i, x in enumerate([expr, *fresh])))
    kernel = Kernel("k", NAMES, arrays=(Array("out", INDEX, (index(3),)),), body=body)
    run_kernel(kernel, {"out": out, **dict(zip(NAMES, values, strict=True))})
    assert out[0] == out[1] == out[2]
    assert simplify(fresh[0]) == fresh[0]


def test_a_decided_branch_keeps_its_scope() -> None:
    inner = parse_kernel("kernel k(A: i64[4]) { let t = 3 A[0] = t }").body
    block = simplify_block(Block((If(Const(True, BOOL), inner),)))
    assert block == Block((inner,))
