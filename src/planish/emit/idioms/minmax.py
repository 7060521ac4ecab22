"""Min/max of integers in the form that compilers recognise: clamps, and narrow integers in their own type.

clang 19 loses the upper bound of `(int8_t)(x > 127 ? 127 : max(x, -128))`, at any level of optimisation but none.

>>> from planish.ir.text.parser import parse_expr
>>> from planish.ir.text.printer import print_expr
>>> print_expr(clamped(parse_expr("select(x > 127, 127, max(x, -128))")))
'min(max(x, -128), 127)'
>>> clamped(parse_expr("select(x > 127, 127, max(y, -128))")) is None
True
>>> from planish.ir.expr import Load
>>> from planish.ir.types import I32, U8
>>> a, b = (Load(x, (), U8) for x in "ab")
>>> print_expr(narrowed(Cast(Binary("min", Cast(a, I32), Cast(b, I32)), U8)))
'min(a[], b[])'
"""

from __future__ import annotations

from planish.ir.expr import Binary, Cast, Compare, Const, Expr, Select, type_of
from planish.ir.semantics.arithmetic import limits
from planish.ir.types import Type

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


def narrowed(conversion: Cast) -> Expr | None:
    """The smaller or larger one of narrow integers, which is made in a wider type and is narrow again, as one of their
    own type, of which a register holds more; None where the conversion is of anything else."""
    match conversion:
        case Cast(operand=Binary(op="min" | "max" as op, left=left, right=right) as wide, type=type) if type.is_int:
            a, b = (_as_narrow(x, type) for x in (left, right))
            return Binary(op, a, b) if a is not None and b is not None and _holds(type_of(wide), type) else None
        case _:
            return None


def _holds(wide: Type, narrow: Type) -> bool:
    """Whether a type of integers is wider than another one, and has all of its values."""
    return wide.is_int and wide.bits > narrow.bits and (wide.kind == "int" or narrow.kind == "uint")


def _as_narrow(value: Expr, type: Type) -> Expr | None:
    """A value that was made wide, in its own type."""
    match value:
        case Cast(operand=operand) if type_of(operand) == type:
            return operand
        case Const(value=number) if limits(type)[0] <= number <= limits(type)[1]:
            return Const(int(number), type)
        case _:
            return None
