"""isl's functions and sets as expressions: the same value at every point, sums in normal form."""

from __future__ import annotations

import islpy as isl
import pytest

from planish.astgen.checking.verify import evaluate
from planish.ir.expr import Binary, Compare, Const, Expr, Load, Unary, Var, index
from planish.ir.text.printer import print_expr
from planish.ir.types import BOOL, F64, INDEX
from planish.poly.isl.expression import (
    aff_expr,
    conjunction,
    disjunction,
    extremum,
    floor_div,
    normalise,
    piecewise_expr,
    set_condition,
)

ITERATOR, N = index("i"), index("n")


@pytest.mark.parametrize(
    "text",
    [
        "i + 2n - 3", "-i", "floor((i + n)/4)", "3*floor((2i - n)/3) + i", "i mod 5", "(i - n) mod 3",
        "floor(i/2)*2 - i",
        "floor((floor(i/2) + n)/3)", "0", "-7",
    ],
)  # fmt: skip
def test_functions(text: str) -> None:
    aff = isl.PwAff(f"[n] -> {{ [i] -> [({text})] }}").as_aff()
    expr = aff_expr(aff, (ITERATOR,))
    for i in range(-6, 7):
        for n in (-4, 0, 3):
            here = isl.Set(f"[n] -> {{ [i] : i = {i} and n = {n} }}")
            assert evaluate(expr, {"i": i, "n": n}) == int(here.max_val(aff).to_python())


@pytest.mark.parametrize(
    "text",
    [
        "0 <= i < n", "i mod 2 = 0", "i = n or i <= -3", "exists a : i = 3a + 1 and a >= 0",
        "exists a : i <= 3a <= i + 1", "2i + 3n >= 4 and i != n", "exists a, b : i = 2a + 3b and 0 <= a <= 1 and n = b",
        "1 = 0", "1 = 1",
    ],
)  # fmt: skip
def test_conditions(text: str) -> None:
    domain = isl.Set(f"[n] -> {{ [i] : {text} }}")
    condition = set_condition(domain, (ITERATOR,))
    for i in range(-6, 10):
        for n in (-4, 0, 2, 3):
            here = isl.Set(f"[n] -> {{ [i] : i = {i} and n = {n} }}")
            assert bool(evaluate(condition, {"i": i, "n": n})) == here.is_subset(domain)


def test_pieces() -> None:
    function = isl.PwAff("[n] -> { [i] -> [(i)] : i < n; [i] -> [(2n)] : i >= n }")
    expr = piecewise_expr(function, (ITERATOR,))
    assert [evaluate(expr, {"i": i, "n": 3}) for i in range(2, 6)] == [2, 6, 6, 6]
    with pytest.raises(ValueError, match="nowhere"):
        piecewise_expr(isl.PwAff("{ [i] -> [(i)] : 1 = 0 }"), (ITERATOR,))


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (Binary("sub", Binary("add", ITERATOR, N), ITERATOR), "n"),
        (Binary("add", Binary("mul", index(2), ITERATOR), Binary("mul", ITERATOR, index(3))), "5 * i"),
        (Unary("neg", Binary("sub", ITERATOR, index(4))), "-i + 4"),
        (Binary("mul", index(2), Binary("sub", N, ITERATOR)), "2 * n - 2 * i"),
        (Binary("floordiv", Binary("add", ITERATOR, index(0)), index(2)), "i // 2"),
        (Binary("mul", ITERATOR, N), "i * n"),
    ],
)
def test_normal_form(expr: Expr, text: str) -> None:
    assert print_expr(normalise(expr)) == text
    for i in range(-3, 4):
        assert evaluate(normalise(expr), {"i": i, "n": 7}) == evaluate(expr, {"i": i, "n": 7})


def test_data_is_left_alone() -> None:
    """Floats are not summed in another order, and their constants are no whole numbers."""
    x = Load("x", (), F64)
    for expr in (Binary("add", x, Const(0.5, F64)), Binary("sub", Binary("add", x, x), x), Unary("neg", x)):
        assert normalise(expr) == expr


def test_joining() -> None:
    yes, no = Const(True, BOOL), Const(False, BOOL)
    test = Compare("lt", ITERATOR, N)
    assert conjunction([]) == yes and disjunction([]) == no
    assert conjunction([yes, test]) == test and conjunction([test, no]) == no
    assert disjunction([no, test]) == test and disjunction([test, yes]) == yes
    assert extremum("min", [ITERATOR, index(4), index(2), ITERATOR]) == Binary("min", ITERATOR, index(2))
    assert extremum("max", [index(4), index(9)]) == index(9)
    assert floor_div(index(-7), 2) == index(-4)
    assert floor_div(Var("i", INDEX), 1) == ITERATOR
