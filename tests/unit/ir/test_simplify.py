"""Simplification: the normal forms, and that values do not change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.property.sampling import one_in

from planish.astgen.checking.verify import trace_nest
from planish.ir.expr import Binary, Compare, Const, Expr, Select, Unary, index
from planish.ir.index.simplify import simplify, simplify_block
from planish.ir.nest import Array, Assign, Block, For, If, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_expr, parse_kernel
from planish.ir.text.printer import print_expr, print_kernel
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
        ("-((n + 32) % 32) + n", "32 * (n // 32)"),
        ("n - n % 32", "32 * (n // 32)"),
        ("i - 32 * (i // 32)", "i % 32"),
        ("i % 32 + 32 * (i // 32)", "i"),
        ("i // 32 * 32 + i % 32 - 1", "i - 1"),
        ("128 * ((127 - n) // 128) + n", "n % 128"),
        ("128 * ((134 - i) // 128) + i", "(i + 121) % 128 + 7"),
        ("-(-n // 4)", "(n + 3) // 4"),
        ("4 * ((i + 3) // 4)", "4 * ((i + 3) // 4)"),
        ("(2 * i + 1) // 4", "i // 2"),
        ("33 * i % 32", "i % 32"),
        ("i % 32 // 4", "i // 4 % 8"),
        ("(i // 4) % 8", "i // 4 % 8"),
        ("i // 4 - 8 * (i // 32)", "i // 4 % 8"),
        ("(i - 1) // 4", "(i - 1) // 4"),
        ("(i + 4) // 4", "i // 4 + 1"),
        ("min(i + 60, n - 1) + 1", "min(i + 61, n)"),
        ("max(n - 1, 0) + 1", "max(n, 1)"),
        ("max(n - 1, 0)", "max(n - 1, 0)"),
        ("2 * max(n, 1) - 2", "2 * max(n - 1, 0)"),
        ("min(min(i + 3, i + 1), n)", "min(i + 1, n)"),
        ("4 * ((i + 2) // 4) == i + 2", "(i + 2) % 4 == 0"),
        ("(i + 121) % 128 - 121 <= 2", "(i + 121) % 128 <= 123"),
        ("i + 3 <= j + 5", "i <= j + 2"),
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


def test_known_residues_settle_more() -> None:
    known, residues = {"j": (0, 3)}, {"i": (64, 0), "k": (12, 5)}
    for text, wanted in [
        ("4 * ((i + 3) // 4)", "i"),
        ("(i + j) // 4", "i // 4"),
        ("(i + j) % 4", "j"),
        ("(i + 2 * j + 1) % 2", "1"),
        ("6 * (k // 6)", "k - 5"),
        ("i % 64 == 1", "false"),
        ("j + ((k + 7) // 4 - k) % 3", "j + 1"),
    ]:
        assert print_expr(simplify(parse_expr(text), known, residues)) == wanted


def test_blocks_know_their_loops_and_conditions() -> None:
    text = """kernel k(n; A: i64[?], m: i64[]) {
      for t in 0 .. n step 64 {
        for i in 4 * ((t + 3) // 4) .. min(t + 63, n - 1) + 1 {
          if i >= 0 && i < n && n >= 1 { A[max(n - 1, 0) + 1] = i }
        }
      }
      for i in 0 .. m[] { m[] = 0 if i < m[] { A[i] = 1 } }
      if n % 4 == 1 { A[4 * (n // 4)] = n % 4 } else { A[n % 4] = 2 }
      let t = n + 1
      for i in 0 .. t { for i in 0 .. 9 { if i < t { A[i] = 1 } } if i < t { A[i] = 2 } }
    }"""
    kernel = parse_kernel(text)
    assert (
        print_kernel(Kernel("k", ("n",), arrays=kernel.arrays, body=simplify_block(kernel.body)))
        == """\
kernel k(n; A: i64[?], m: i64[])
{
  for t in 0 .. n step 64 {
    for i in t .. min(t + 64, n) {
      A[n] = i
    }
  }
  for i in 0 .. m[] {
    m[] = 0
    if i < m[] {
      A[i] = 1
    }
  }
  if n % 4 == 1 {
    A[n - 1] = 1
  } else {
    A[n % 4] = 2
  }
  let t = n + 1
  for i in 0 .. t {
    for i in 0 .. 9 {
      if i < t {
        A[i] = 1
      }
    }
    A[i] = 2
  }
}
"""
    )


def test_blocks_lose_what_never_runs() -> None:
    text = """kernel k(n; A: i64[?]) {
      for t in 0 .. 4 { for i in 0 .. 8 { if i < 8 && t >= 0 { A[8 * t + i + 0] = i } } }
      for i in 5 .. 5 { A[i] = 0 }
      if n < n { A[0] = 1 } else { { A[1] = 2 } }
      if n > 3 { if n > 4 { } } else { A[3] = 1 }
    }"""
    kernel = parse_kernel(text)
    body = simplify_block(kernel.body)
    assert (
        print_kernel(Kernel("k", ("n",), arrays=kernel.arrays, body=body))
        == """\
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
    )


NAMES = ("i", "j", "n")
leaves = st.one_of(st.sampled_from(NAMES).map(index), st.integers(-9, 9).map(index))
divisors = st.sampled_from([1, 2, 3, 4, 5, 6, 8, 12, 32]).map(index)


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
    residues = dict(zip(NAMES, ((m, v % m) for m, v in zip((4, 12, 3), values, strict=True)), strict=True))
    fresh = [simplify(expr), simplify(expr, ranges), simplify(expr, ranges, residues), simplify(expr, {}, residues)]
    out = np.zeros(5, "int64")
    body = Block(tuple(Assign("out", (index(i),), x) for i, x in enumerate([expr, *fresh])))
    kernel = Kernel("k", NAMES, arrays=(Array("out", INDEX, (index(5),)),), body=body)
    run_kernel(kernel, {"out": out, **dict(zip(NAMES, values, strict=True))})
    assert set(out) == {out[0]}
    assert simplify(fresh[0]) == fresh[0]


@pytest.mark.parametrize("text", ["-(s // 2)", "(2 - s) // 2", "s // 2", "(s + 4) // 2 - (1 - s) // 2"])
def test_a_quotient_of_what_is_odd_has_one_spelling(text: str) -> None:
    once = simplify(parse_expr(text.replace("s", "select(i == j, 1, -1)")))
    assert simplify(once) == once


def test_a_decided_branch_keeps_its_scope() -> None:
    inner = parse_kernel("kernel k(A: i64[4]) { let t = 3 A[0] = t }").body
    decided = If(Const(True, BOOL), inner)
    assert simplify_block(Block((decided, decided))) == Block((inner, inner))
    assert simplify_block(Block((decided,))) == inner


def test_a_test_of_a_remainder_tells_the_residue() -> None:
    body = parse_kernel("kernel k(n; A: i64[?]) { for i in 0 .. n { if i % 6 == 2 { A[3 * (i // 3)] = 0 } } }").body
    inside = simplify_block(body)
    assert "A[i - 2] = 0" in print_kernel(Kernel("k", ("n",), body=inside))


@st.composite
def nests(draw: st.DrawFn) -> Block:
    """Loops and conditions around one assignment; their bounds and tests are over outer iterators."""
    names = ["n"]
    affine = st.builds(
        lambda x, c, y: Binary("add", Binary("mul", index(c), index(x)), y), st.sampled_from(names), st.integers(-2, 2),
        st.integers(-5, 5).map(index),
    )  # fmt: skip
    rounded = st.builds(Binary, st.sampled_from(["floordiv", "mod"]), affine, divisors)
    inner = st.one_of(affine, rounded, st.builds(Binary, st.sampled_from(["min", "max", "add"]), affine, rounded))
    shape = draw(st.lists(st.sampled_from(["for", "if"]), min_size=1, max_size=4))
    heads: list[tuple[str, Expr, Expr, int]] = []
    for kind in shape:
        a, b = draw(inner), draw(inner)
        if kind == "for":
            heads.append((f"c{len(heads)}", a, b, draw(st.sampled_from([1, 2, 4, 5]))))
            names.append(heads[-1][0])
        else:
            heads.append(("", a, b, draw(st.integers(0, 5))))
    places = tuple(draw(inner) for _ in range(3))
    block = Block((Assign("S", (*map(index, names), *places), Const(True, BOOL)),))
    for name, a, b, number in reversed(heads):
        condition = Compare(("eq", "ne", "lt", "le", "gt", "ge")[number], a, b)
        block = Block((For(name, a, b, number, block) if name else If(condition, block, block),))
    return block


@pytest.mark.parametrize("turn", one_in(3, range(3)))
@given(block=nests(), n=st.integers(-9, 20))
@settings(max_examples=100, deadline=None)
def test_blocks_run_the_same(turn: int, block: Block, n: int) -> None:
    wanted = trace_nest(block, {"n": n})
    assert trace_nest(simplify_block(block), {"n": n}) == wanted
    assert trace_nest(simplify_block(block, {"n": (n - 3, n + 1)}, {"n": (5, n % 5)}), {"n": n}) == wanted
    assert trace_nest(simplify_block(block, normal=True), {"n": n}) == wanted


NORMAL = """
kernel f(n; A: f32[n]) {
  for i in 0 .. n {
    for j in max(i, i - 1) .. i + 0 + n { A[j] = 0.0 }
    for j in n .. n { A[j + 0] = 0.0 }
    if i < min(n, n + 1) { A[i] = 1.0 }
  }
}
"""


def test_what_takes_no_work_is_left_as_it_is_in_normal_form() -> None:
    kernel = parse_kernel(NORMAL)
    text = print_kernel(replace(kernel, body=simplify_block(kernel.body, normal=True)))
    # Extrema are seen to; sums are taken to be in normal form, and loops to run.
    assert "for j in i .. i + 0 + n" in text and "A[j + 0]" in text
    assert "if" not in text and "min" not in text and "max" not in text
    again = print_kernel(replace(kernel, body=simplify_block(kernel.body)))
    assert "for j in i .. i + n" in again and "j + 0" not in again and again.count("for j") == 1
