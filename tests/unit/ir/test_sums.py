"""Canonical sums: the value stays, what is equal meets, ranges and residues hold what the values do."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from planish.ir.expr import Binary, Expr, Unary, index
from planish.ir.index.congruence import residue, residue_of
from planish.ir.index.evaluate import evaluate
from planish.ir.index.sums import Sum, quotient_sum, remainder_sum, size, sum_of
from planish.ir.text.parser import parse_expr
from planish.ir.text.printer import print_expr

NAMES = ("i", "j", "n")
leaves = st.one_of(st.sampled_from(NAMES).map(index), st.integers(-40, 40).map(index))
divisors = st.sampled_from([1, 2, 3, 4, 6, 8, 12, 32])
values = st.tuples(*[st.integers(-70, 70)] * 3).map(lambda x: dict(zip(NAMES, x, strict=True)))


def _larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    scaled = st.builds(lambda c, x: Binary("mul", index(c), x), st.integers(-8, 8), inner)
    return st.one_of(
        st.builds(Binary, st.sampled_from(["add", "sub", "min", "max"]), inner, inner),
        st.builds(Binary, st.sampled_from(["floordiv", "mod"]), inner, divisors.map(index)),
        st.builds(Unary, st.just("neg"), inner),
        scaled,
    )


expressions = st.recursive(leaves, _larger, max_leaves=12)


@given(expressions, values)
@settings(max_examples=500, deadline=None)
def test_the_value_stays(expr: Expr, at: dict[str, int]) -> None:
    total = sum_of(expr)
    wanted = evaluate(expr, at)
    assert evaluate(total.expr(), at) == evaluate(total.plain_expr(), at) == wanted
    assert evaluate(total.spelt().plain_expr(), at) == wanted
    assert size(total.expr()) <= size(total.plain_expr())
    low, high = total.range({x: (v - 2, v + 3) for x, v in at.items()})
    assert low <= wanted <= high
    low, high = total.range({x: (v, v) for x, v in at.items()})
    assert low <= wanted <= high


@given(expressions, divisors, st.integers(-50, 50), values)
@settings(max_examples=300, deadline=None)
def test_quotients_and_remainders(expr: Expr, divisor: int, constant: int, at: dict[str, int]) -> None:
    dividend = sum_of(expr).shifted(constant)
    value = evaluate(expr, at) + constant
    assert evaluate(quotient_sum(dividend, divisor).expr(), at) == value // divisor
    assert evaluate(remainder_sum(dividend, divisor).expr(), at) == value % divisor


@given(expressions, divisors, st.integers(-3, 3), st.integers(-3, 3))
@settings(max_examples=200, deadline=None)
def test_equal_quotients_meet(expr: Expr, divisor: int, whole: int, factor: int) -> None:
    """However many multiples of the divisor a dividend holds, its quotient is that much larger."""
    plain = Binary("floordiv", expr, index(divisor))
    multiple = Binary("mul", index(divisor), Binary("add", index(whole), Binary("mul", index(factor), index("k"))))
    moved = Binary("floordiv", Binary("add", expr, multiple), index(divisor))
    difference = sum_of(Binary("sub", moved, plain))
    assert difference == sum_of(parse_expr(f"{factor} * k + {whole}"))


@given(expressions, values, st.tuples(*[st.integers(0, 24)] * 3))
@settings(max_examples=500, deadline=None)
def test_residues_hold(expr: Expr, at: dict[str, int], moduli: tuple[int, ...]) -> None:
    known = {x: residue(m, at[x]) for x, m in zip(NAMES, moduli, strict=True)}
    modulus, remainder = residue_of(expr, known)
    value = evaluate(expr, at)
    assert value == remainder if modulus == 0 else value % modulus == remainder


def test_dividends_that_cannot_be_negative_stay_so() -> None:
    total = sum_of(parse_expr("(i + 3) // 6 - 1"))
    assert print_expr(total.expr()) == "(i - 3) // 6"
    assert print_expr(total.expr({"i": (0, 9)})) == "(i + 3) // 6 - 1"
    assert print_expr(total.expr({"i": (3, 9)})) == "(i - 3) // 6"


def test_constants_wrap_around() -> None:
    assert print_expr(Sum({}, 1 << 63).expr()) == print_expr(Sum({}, -(1 << 63)).expr())
