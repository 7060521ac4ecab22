"""The number that an index expression is for given sizes.

>>> from planish.ir.text.parser import parse_expr
>>> evaluate(parse_expr("2 * n - 1"), {"n": 5})
9
>>> evaluate(parse_expr("select(n >= 3, n, -1)"), {"n": 2})
-1
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import assert_never

from planish.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Select, Unary, Var
from planish.ir.semantics.arithmetic import quotient, remainder

_COMPARISONS = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip

_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv,
    "mod": operator.mod, "quo": quotient, "rem": remainder, "min": min, "max": max, "xor": operator.xor,
    "shl": operator.lshift, "shr": operator.rshift,
}  # fmt: skip


def evaluate(expr: Expr, sizes: Mapping[str, int]) -> int:
    """The value over mathematical integers (no wrapping around), a condition's as 0 or 1.

    Raises KeyError for a name that has no value, ZeroDivisionError, and ValueError for what is no index expression.
    """
    match expr:
        case Const(value=value):
            return int(value)
        case Var(name=name):
            return sizes[name]
        case Cast(operand=operand, type=type) if not type.is_float:
            return evaluate(operand, sizes)
        case Unary(op=op, operand=operand):
            value = evaluate(operand, sizes)
            return -value if op == "neg" else int(not value) if op == "not" else ~value
        case Select(condition=condition, then=then, otherwise=otherwise):
            return evaluate(then if evaluate(condition, sizes) else otherwise, sizes)
        case Compare(op=op, left=left, right=right):
            return int(_COMPARISONS[op](evaluate(left, sizes), evaluate(right, sizes)))
        case Binary(op="and", left=left, right=right):
            # Logical ones do not look at the right side when the left decides; bits come out the same.
            first = evaluate(left, sizes)
            return first & evaluate(right, sizes) if first else 0
        case Binary(op="or", left=left, right=right):
            first = evaluate(left, sizes)
            return first if first == 1 else first | evaluate(right, sizes)
        case Binary(op=op, left=left, right=right) if op in _OPERATORS:
            return int(_OPERATORS[op](evaluate(left, sizes), evaluate(right, sizes)))
        case Binary() | Cast() | Load() | Call():
            raise ValueError(f"no index expression: {expr}")
        case _:
            assert_never(expr)
