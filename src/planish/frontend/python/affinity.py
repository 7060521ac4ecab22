"""Affinity: whether index expressions and conditions are quasi-affine, and if not, why.

>>> from planish.ir.text.parser import parse_expr
>>> find_fault(parse_expr("2 * (i + n) // 4")), find_fault(parse_expr("i * j"))
(None, 'it multiplies two values that are not constants')
"""

from __future__ import annotations

from collections.abc import Collection
from typing import assert_never

from planish.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Select, Unary, Var
from planish.ir.index.simplify import simplify
from planish.ir.traverse import variables
from planish.ir.types import INDEX

ALLOWED = "allowed are sums of loop variables, sizes and constants, and // and % by a positive constant"


def find_fault(expr: Expr) -> str | None:
    """Why an index expression is not affine; None where it is."""
    match expr:
        case Const():
            return None
        case Var(name=name, type=type):
            return None if type == INDEX else f"`{name}` is data"
        case Unary(op="neg", operand=x):
            return find_fault(x)
        case Binary(op="add" | "sub" | "min" | "max", left=a, right=b):
            return find_fault(a) or find_fault(b)
        case Binary(op="mul", left=a, right=b):
            if not any(isinstance(simplify(x), Const) for x in (a, b)):
                return "it multiplies two values that are not constants"
            return find_fault(a) or find_fault(b)
        case Binary(op="floordiv" | "mod", left=a, right=b):
            divisor = simplify(b)
            if not isinstance(divisor, Const) or divisor.value <= 0:
                return "it divides by something that is not a positive constant"
            return find_fault(a)
        case Select(condition=c, then=a, otherwise=b):
            return find_condition_fault(c) or find_fault(a) or find_fault(b)
        case Load(array=array):
            return f"it depends on the content of `{array}`"
        case Unary() | Binary() | Compare() | Cast() | Call():
            return "it is not a sum of loop variables and sizes"
        case _:
            assert_never(expr)


def find_condition_fault(expr: Expr) -> str | None:
    """Why a condition is not made of affine comparisons; None where it is."""
    match expr:
        case Const():
            return None
        case Compare(left=a, right=b):
            return find_fault(a) or find_fault(b)
        case Binary(op="and" | "or", left=a, right=b):
            return find_condition_fault(a) or find_condition_fault(b)
        case Unary(op="not", operand=x):
            return find_condition_fault(x)
        case Var() | Load() | Unary() | Binary() | Select() | Cast() | Call():
            return "it is not a comparison of loop variables and sizes"
        case _:
            assert_never(expr)


def is_linear(expr: Expr, sizes: Collection[str]) -> bool:
    """Whether it is a sum of products with at most one factor that holds loop variables, as linear subscripts are."""
    match expr:
        case Const() | Var():
            return True
        case Unary(op="neg", operand=x):
            return is_linear(x, sizes)
        case Binary(op="add" | "sub", left=a, right=b):
            return is_linear(a, sizes) and is_linear(b, sizes)
        case Binary(op="mul", left=a, right=b):
            moving = [x for x in (a, b) if variables(x) - set(sizes)]
            return len(moving) <= 1 and is_linear(a, sizes) and is_linear(b, sizes)
        case _:
            return False
