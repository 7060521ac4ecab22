"""Reduction idioms: `A[i] = A[i] + x` becomes a reduction.

>>> from planish.ir.expr import Var, index
>>> from planish.ir.types import F32
>>> x = Var("x", F32)
>>> accumulation("A", (index("i"),), Binary("add", Load("A", (index("i"),), F32), x), False) == ("add", x)
True
>>> own = Load("A", (), F32)
>>> test = Binary("and", Var("c", BOOL), Compare("gt", x, own))
>>> accumulation("A", (), Select(test, x, own), True) == ("max", Select(Var("c", BOOL), x, Const(-math.inf, F32)))
True
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import reduce
from typing import Literal

from planish.ir.expr import Binary, Cast, Compare, Const, Expr, Load, Select, Unary, type_of
from planish.ir.nest import ReduceOp
from planish.ir.passes.update_idioms import rest_of
from planish.ir.semantics.arithmetic import limits
from planish.ir.traverse import walk_expr
from planish.ir.types import BOOL, Type

_REDUCTIONS: dict[str, ReduceOp] = {
    "add": "add", "sub": "add", "mul": "mul", "min": "min", "max": "max", "and": "and", "or": "or", "xor": "xor",
}  # fmt: skip


def accumulation(
    array: str, subscripts: tuple[Expr, ...], value: Expr, reassociate: bool
) -> tuple[ReduceOp, Expr] | None:
    """`(op, term)` where the value is `array[subscripts] op term` and the term does not read that element.

    What of two integers is beyond the other one is an extremum. With `reassociate` it is one of floats as well, of
    which zeros may get another sign, and a sum of several terms may be split behind its first one.
    """
    own = Load(array, subscripts, type_of(value))
    if isinstance(value, Select):
        return _extremum(value, own) if reassociate or own.type.is_int else None
    if not isinstance(value, Binary) or value.op not in _REDUCTIONS:
        return None
    if value.op == "sub":
        rest = value.right if value.left == own else None
    else:
        rest = rest_of(value, lambda x: x == own)
    if rest is not None and not _touches(rest, own):
        return _REDUCTIONS[value.op], Unary("neg", rest) if value.op == "sub" else rest
    if value.op in ("add", "sub") and isinstance(value.left, Binary) and (reassociate or own.type.is_int):
        inner = accumulation(array, subscripts, value.left, reassociate)
        if inner is not None and inner[0] == "add" and not _touches(value.right, own):
            return "add", Binary(value.op, inner[1], value.right)
    return None


def _extremum(value: Select, own: Load) -> tuple[ReduceOp, Expr] | None:
    """The choice of a term that is beyond the element, which else stays what it is. Where that is asked for under other
    conditions as well, it is of what nothing is beyond where these do not hold."""
    if value.otherwise != own or _touches(value.then, own):
        return None
    tests = [*_conjuncts(value.condition)]
    others = [x for x in tests if not _touches(x, own)]
    op = _beyond(tests[-1], value.then, own)
    if op is None or len(others) != len(tests) - 1:
        return None
    if not others:
        return op, value.then
    least = -math.inf if own.type.is_float else limits(own.type)[0]
    most = math.inf if own.type.is_float else limits(own.type)[1]
    nothing = Const(least if op == "max" else most, own.type)
    return op, Select(reduce(lambda x, y: Binary("and", x, y), others), value.then, nothing)


def _conjuncts(condition: Expr) -> Iterator[Expr]:
    match condition:
        case Binary(op="and", left=left, right=right) if type_of(condition) == BOOL:
            yield from _conjuncts(left)
            yield from _conjuncts(right)
        case _:
            yield condition


def _beyond(test: Expr, term: Expr, own: Load) -> Literal["min", "max"] | None:
    """The extremum that a term is where a test holds, and an element elsewhere."""
    if not isinstance(test, Compare):
        return None
    left, right = test.left, test.right
    match left, right:
        # Integers that are converted to a type that holds them all have the same order.
        case Cast(operand=x, type=wide), Cast(operand=y) if _holds(wide, type_of(x)) and type_of(x) == type_of(y):
            left, right = x, y
    compared = test.op, left, right
    if compared in (("gt", term, own), ("lt", own, term)):
        return "max"
    return "min" if compared in (("lt", term, own), ("gt", own, term)) else None


def _holds(wide: Type, narrow: Type) -> bool:
    if not (wide.is_int and narrow.is_int):
        return False
    (least, most), (low, high) = limits(wide), limits(narrow)
    return least <= low and high <= most


def _touches(expr: Expr, own: Load) -> bool:
    return any(x == own for x in walk_expr(expr))
