"""The part of a condition that lanes can be asked: where it does not hold, neither does the condition.

Lanes compute what is exact in lanes of vectors, from elements that may be read. What else a condition asks is asked of
those iterations alone for which this part holds.

>>> from planish.ir.text.parser import parse_expr
>>> from planish.ir.text.printer import print_expr
>>> found = weakened(parse_expr("a[]:i32 < b:i32 && a[]:i32 % b:i32 == 0:i32"), lambda x: True)
>>> print_expr(found)
'a[] < b'
"""

from __future__ import annotations

from collections.abc import Callable

from planish.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Select, Unary, Var, type_of
from planish.ir.traverse import children, loads
from planish.ir.types import BOOL, Type

TRUE, FALSE = Const(True, BOOL), Const(False, BOOL)


def both(a: Expr, b: Expr) -> Expr:
    """Both conditions, the second one where the first one holds."""
    if FALSE in (a, b):
        return FALSE
    return b if a == TRUE else a if b == TRUE else Binary("and", a, b)


def either(a: Expr, b: Expr) -> Expr:
    """One of two conditions, the second one where the first one does not hold."""
    if TRUE in (a, b):
        return TRUE
    return b if a == FALSE else a if b == FALSE else Binary("or", a, b)


def neither(a: Expr) -> Expr:
    """The condition that does not hold where this one does."""
    if a in (TRUE, FALSE):
        return FALSE if a == TRUE else TRUE
    return Unary("not", a)


def weakened(x: Expr, readable: Callable[[Load], bool], holds: bool = True) -> Expr:
    """A condition of what is `readable`, in lanes, that holds wherever `x` does; or, unless `holds`, only there."""
    match x:
        case Unary(op="not", operand=inner):
            return neither(weakened(inner, readable, not holds))
        case Binary(op="and", left=left, right=right) if type_of(x) == BOOL:
            return both(weakened(left, readable, holds), weakened(right, readable, holds))
        case Binary(op="or", left=left, right=right) if type_of(x) == BOOL:
            return either(weakened(left, readable, holds), weakened(right, readable, holds))
        case _ if has_lanes(x) and all(map(readable, loads(x))):
            return x
        case _:
            return TRUE if holds else FALSE


def has_lanes(x: Expr) -> bool:
    """Whether lanes give what an expression does, to the bit, and never fault."""
    return _is_exact(x) and all(map(has_lanes, children(x)))


def _is_exact(x: Expr) -> bool:
    match x:
        case Const(type=type) | Var(type=type) | Load(type=type):
            return _is_lane(type) or type == BOOL
        case Cast(operand=operand, type=type):
            return _is_lane(type) and _is_lane(type_of(operand))
        case Compare(left=left):
            return _is_lane(type_of(left)) or type_of(left) == BOOL
        case Unary(op="not", operand=operand):
            return type_of(operand) == BOOL
        case Unary(operand=operand):
            return _is_lane(type_of(operand))
        case Binary(op="and" | "or" | "xor", left=left):
            return type_of(left) == BOOL or type_of(left).is_int
        case Binary(op="min" | "max", left=left):
            return type_of(left).is_int
        case Binary(op="add" | "sub" | "mul", left=left):
            return _is_lane(type_of(left))
        case Binary(op="div", left=left):
            return type_of(left).is_float and _is_lane(type_of(left))
        case Binary(op="shl" | "shr", left=left, right=Const(value=by)):
            return 0 <= by < type_of(left).bits
        case Select(condition=Compare(left=left), then=then):
            return type_of(left).size == type_of(then).size and type_of(left) != BOOL and type_of(then) != BOOL
        case Call(function="fabs" | "abs"):
            return _is_lane(type_of(x))
        case _:
            return False


def _is_lane(type: Type) -> bool:
    return type.is_int or (type.kind == "float" and type.bits >= 32)
