"""An integer that a choice keeps between two numbers, as a minimum and a maximum.

clang 19 loses the upper bound of `(int8_t)(x > 127 ? 127 : max(x, -128))`, at any level of optimisation but none.

>>> from planish.ir.parser import parse_expr
>>> from planish.ir.printer import print_expr
>>> print_expr(clamped(parse_expr("select(x > 127, 127, max(x, -128))")))
'min(max(x, -128), 127)'
>>> clamped(parse_expr("select(x > 127, 127, max(y, -128))")) is None
True
"""

from __future__ import annotations

from planish.ir.expr import Binary, Compare, Const, Expr, Select, type_of

_INVERSE = {"gt": "le", "ge": "lt", "lt": "ge", "le": "gt"}
_SWAPPED = {"gt": "lt", "ge": "le", "lt": "gt", "le": "ge"}


def clamped(choice: Select) -> Expr | None:
    """The same value as a minimum and a maximum; None where the choice is another one."""
    match choice:
        case Select(condition=Compare(op=op), then=Const(), otherwise=Binary()) if op in _INVERSE:
            return _clamped(op, choice.condition, choice.then, choice.otherwise)
        case Select(condition=Compare(op=op), then=Binary(), otherwise=Const()) if op in _INVERSE:
            return _clamped(_INVERSE[op], choice.condition, choice.otherwise, choice.then)
        case _:
            return None


def _clamped(op: str, test: Expr, bound: Expr, value: Expr) -> Expr | None:
    """The value where it is not beyond the bound, which it is where `op` holds of what is compared."""
    assert isinstance(test, Compare)
    match bound, value:
        case Const(value=here), Binary(op="min" | "max" as other, left=inside, right=Const(value=there)):
            pass
        case _:
            return None
    if test.right == inside:
        op = _SWAPPED[op]
    compared = (test.left, test.right) in ((inside, bound), (bound, inside))
    if not compared or not type_of(value).is_int:
        return None
    if op in ("gt", "ge") and other == "max" and there <= here:
        return Binary("min", value, bound)
    if op in ("lt", "le") and other == "min" and there >= here:
        return Binary("max", value, bound)
    return None
