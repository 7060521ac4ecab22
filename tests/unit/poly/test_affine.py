"""Index expressions as isl's functions: the same value at every point, and what is not affine is named."""

from __future__ import annotations

import random

import islpy as isl
import pytest

from planish.astgen.checking.verify import evaluate
from planish.ir.expr import Binary, BinaryOp, Cast, Compare, Const, Expr, Load, Select, Unary, Var, index
from planish.ir.types import BOOL, F64, I32, INDEX
from planish.poly.isl.affine import (
    CONTEXT,
    NotAffineError,
    affine_function,
    affine_text,
    condition_set,
    isl_name,
    source_name,
)

SPACE = isl.Space.create_from_names(CONTEXT, params=["n"], set=["i", "P__mod"])
NAMES = ("n", "i", "mod")
OPS: tuple[BinaryOp, ...] = ("add", "sub", "min", "max")
DIVISIONS: tuple[BinaryOp, ...] = ("floordiv", "mod", "quo", "rem")
POINTS = [{"n": n, "i": i, "mod": k} for n in (-3, 0, 5) for i in (-7, -1, 0, 2, 6) for k in (-2, 1, 4)]


def make(rng: random.Random, depth: int) -> Expr:
    """A random index expression."""
    roll = rng.random()
    if depth == 0 or roll < 0.15:
        return Var(rng.choice(NAMES), INDEX) if rng.random() < 0.7 else index(rng.randint(-5, 5))
    if roll < 0.3:
        return Binary("mul", index(rng.randint(-3, 3)), make(rng, depth - 1))
    if roll < 0.5:
        return Binary(rng.choice(DIVISIONS), make(rng, depth - 1), index(rng.randint(1, 4)))
    if roll < 0.6:
        return Unary("neg", make(rng, depth - 1))
    if roll < 0.7:
        return Select(make_condition(rng, 1), make(rng, depth - 1), make(rng, depth - 1))
    return Binary(rng.choice(OPS), make(rng, depth - 1), make(rng, depth - 1))


def make_condition(rng: random.Random, depth: int) -> Expr:
    """A random condition."""
    roll = rng.random()
    if depth and roll < 0.4:
        return Binary(rng.choice(("and", "or")), make_condition(rng, depth - 1), make_condition(rng, depth - 1))
    if depth and roll < 0.5:
        return Unary("not", make_condition(rng, depth - 1))
    if roll < 0.55:
        return Const(rng.random() < 0.5, BOOL)
    return Compare(rng.choice(("eq", "ne", "lt", "le", "gt", "ge")), make(rng, 1), make(rng, 1))


def value_at(function: isl.PwAff, point: dict[str, int]) -> int:
    """The value of a function at a point."""
    here = isl.Set(f"[n] -> {{ [i, k] : n = {point['n']} and i = {point['i']} and k = {point['mod']} }}")
    value = function.intersect_domain(here).max_val()
    return int(value.to_python())


@pytest.mark.parametrize("seed", range(40))
def test_functions_have_the_value_of_the_expression(seed: int) -> None:
    rng = random.Random(seed)
    expr = make(rng, 3)
    function = affine_function(expr, SPACE)
    for point in rng.sample(POINTS, 8):
        assert value_at(function, point) == evaluate(expr, point), (expr, point)


@pytest.mark.parametrize("seed", range(40))
def test_sets_hold_the_points_where_the_condition_does(seed: int) -> None:
    rng = random.Random(seed)
    condition = make_condition(rng, 2)
    found = condition_set(condition, SPACE)
    for point in rng.sample(POINTS, 8):
        here = isl.Set(f"[n] -> {{ [i, k] : n = {point['n']} and i = {point['i']} and k = {point['mod']} }}")
        assert here.is_subset(found) == bool(evaluate(condition, point)), (condition, point)


@pytest.mark.parametrize("divisor", [1, 2, 3, 5])
def test_text_rounds_towards_zero_as_the_function_does(divisor: int) -> None:
    for op in DIVISIONS:
        expr = Binary(op, index("i"), index(divisor))
        text = isl.PwAff(f"[n] -> {{ [i, P__mod] -> [({affine_text(expr)})] }}")
        assert text.is_equal(affine_function(expr, SPACE)), op


@pytest.mark.parametrize(
    ("expr", "reason"),
    [
        (Binary("mul", index("i"), index("n")), "multiplies"),
        (Binary("floordiv", index("i"), index("n")), "divides"),
        (Binary("mod", index("i"), index(0)), "divides"),
        (Binary("quo", index("i"), index(-2)), "divides"),
        (Binary("xor", index("i"), index(1)), "sum of iterators"),
        (Load("A", (index("i"),), INDEX), "content of `A`"),
        (Var("alpha", F64), "is data"),
        (Cast(Cast(index("i"), I32), INDEX), "sum of iterators"),
    ],
)
def test_what_is_not_affine_is_named(expr: Expr, reason: str) -> None:
    with pytest.raises(NotAffineError, match=reason):
        affine_function(expr, SPACE)
    with pytest.raises(NotAffineError, match=reason):
        affine_text(expr)


def test_conditions_over_data_are_not_affine() -> None:
    with pytest.raises(NotAffineError, match="not a comparison"):
        condition_set(Load("flag", (), BOOL), SPACE)
    with pytest.raises(NotAffineError, match="is data"):
        condition_set(Compare("lt", Var("alpha", F64), Const(0.0, F64)), SPACE)


@pytest.mark.parametrize("name", ["mod", "min", "exists", "i", "Max"])
def test_names_come_back(name: str) -> None:
    assert source_name(isl_name(name)) == name
    assert isl.Set(f"{{ [{isl_name(name)}] : {isl_name(name)} >= 0 }}").get_dim_name(isl.dim_type.set, 0)
