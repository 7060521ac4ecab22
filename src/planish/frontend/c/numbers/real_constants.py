"""Constant expressions of real numbers: `(int)(0.587 * 16384 + 0.5)` is the weight that a C compiler makes of it.

>>> from planish.ir.types import F64, I32
>>> scaled = Binary("mul", Const(0.587, F64), Cast(Const(16384, I32), F64))
>>> real_constant(Binary("add", scaled, Const(0.5, F64)))
9617.908
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping

from planish.ir.expr import Binary, Cast, Const, Expr, Unary, type_of
from planish.ir.semantics.arithmetic import rounding
from planish.ir.types import F32, F64, Type

_REAL: Mapping[str, Callable[[float, float], float]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
}  # fmt: skip


def real_constant(expr: Expr) -> float | None:
    """The value of an expression of floats or doubles without variables, each operation rounded to the nearest number
    of its type, as compilers compute what is constant; None for others, and where it is no finite number."""
    type = type_of(expr)
    if type not in (F32, F64):
        return None
    match expr:
        case Const(value=number) if not isinstance(number, bool):
            return float(rounding(type)(float(number)))
        case Cast(operand=Const(value=number, type=source)) if source.is_int and abs(number) <= 1 << 53:
            return float(rounding(type)(float(number)))
        case Cast(operand=operand):
            value = real_constant(operand)
            return None if value is None else float(rounding(type)(value))
        case Unary(op="neg", operand=operand):
            value = real_constant(operand)
            return None if value is None else -value
        case Binary(op=op, left=left, right=right) if op in _REAL:
            a, b = real_constant(left), real_constant(right)
            return None if a is None or b is None else _rounded(op, a, b, type)
        case _:
            return None


def _rounded(op: str, a: float, b: float, type: Type) -> float | None:
    if op == "div" and b == 0:
        return None
    # Doubles are more than twice as long as floats: to round twice is to round once.
    value = float(rounding(type)(_REAL[op](a, b)))
    return value if math.isfinite(value) else None
