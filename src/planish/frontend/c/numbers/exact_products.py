"""Products of complex numbers as C gives them: infinite where a factor is, although its parts come out as no numbers.

This is what compilers call `__muldc3` for (C11, annex G.5.1, example 1), without branches.

>>> from planish.ir.expr import Var
>>> is_infinite(Var("x", F64)).op, is_nan(Var("x", F64)).op
('gt', 'ne')
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce

from planish.ir.expr import Binary, Call, Compare, Const, Expr, Select, type_of
from planish.ir.types import BOOL, F32, F64, Type

LARGEST = {F32: float.fromhex("0x1.fffffep+127"), F64: float.fromhex("0x1.fffffffffffffp+1023")}
Keep = Callable[[str, Type, Expr], Expr]
"""Puts a value into a cell of the nest, and gives what reads it there."""


def is_infinite(x: Expr) -> Compare:
    """Whether a number is infinite."""
    return Compare("gt", Call("fabs", (x,)), Const(LARGEST[type_of(x)], type_of(x)))


def is_finite(x: Expr) -> Compare:
    """Whether a number is neither infinite nor none."""
    return Compare("le", Call("fabs", (x,)), Const(LARGEST[type_of(x)], type_of(x)))


def is_nan(x: Expr) -> Compare:
    """Whether it is no number."""
    return Compare("ne", x, x)


def exact_product(parts: tuple[Expr, Expr, Expr, Expr], keep: Keep) -> tuple[Expr, Expr]:
    """The parts of (a + bi) (c + di), of a, b, c and d, which are of one type."""
    type = type_of(parts[0])
    a, b, c, d = (keep("part", type, x) for x in parts)
    terms = [_mul(x, y) for x, y in ((a, c), (b, d), (a, d), (b, c))]
    ac, bd, ad, bc = (keep("term", type, x) for x in terms)
    real, imaginary = keep("real", type, Binary("sub", ac, bd)), keep("imaginary", type, Binary("add", ad, bc))
    first = keep("first_infinite", BOOL, _any(is_infinite(a), is_infinite(b)))
    second = keep("second_infinite", BOOL, _any(is_infinite(c), is_infinite(d)))
    over = _any(*(is_infinite(x) for x in (ac, bd, ad, bc)))
    recovered = keep("recovered", BOOL, _any(first, second, over))
    # The parts of an infinite factor are boxed, and what is no number beside it is a zero.
    boxed = [_boxed(x, first) for x in (a, b)] + [_boxed(x, second) for x in (c, d)]
    p, q, r, s = (keep("boxed", type, _numbered(x, recovered)) for x in boxed)
    infinity = Const(math.inf, type)
    lost = keep("lost", BOOL, Binary("and", Binary("and", is_nan(real), is_nan(imaginary)), recovered))
    return (
        Select(lost, _mul(infinity, Binary("sub", _mul(p, r), _mul(q, s))), real),
        Select(lost, _mul(infinity, Binary("add", _mul(p, s), _mul(q, r))), imaginary),
    )


def _mul(x: Expr, y: Expr) -> Expr:
    return Binary("mul", x, y)


def _any(*tests: Expr) -> Expr:
    return reduce(lambda x, y: Binary("or", x, y), tests)


def _boxed(x: Expr, own: Expr) -> Expr:
    """One or zero, with its sign, where its own factor is infinite."""
    type = type_of(x)
    box = Select(is_infinite(x), Const(1.0, type), Const(0.0, type))
    return Select(own, Call("copysign", (box, x)), x)


def _numbered(x: Expr, recovered: Expr) -> Expr:
    """Zero, with its sign, in the place of no number."""
    return Select(Binary("and", recovered, is_nan(x)), Call("copysign", (Const(0.0, type_of(x)), x)), x)
