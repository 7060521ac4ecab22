"""Overflow analysis: whether sums and products of signed integers may leave their type, whatever the data are.

C leaves undefined what comes then, and compilers make use of that.

>>> from planish.ir.expr import Load
>>> from planish.ir.types import I32, I64
>>> x, y = Load("x", (), I32), Load("y", (), I32)
>>> may_overflow(Binary("add", x, y))
True
>>> may_overflow(Binary("add", Cast(x, I64), Cast(y, I64)))
False
"""

from __future__ import annotations

from planish.ir.expr import Binary, Call, Cast, Const, Expr, Select, Unary, Var, type_of
from planish.ir.index.polynomial import build, polynomial
from planish.ir.traverse import children, walk_expr
from planish.ir.types import INDEX, Type

_SIZES = 1 << 40
"""No index is as large as that."""

_Bounds = tuple[int, int]


def may_overflow(expr: Expr) -> bool:
    """Whether the value of a signed sum, product, negation or shift in an expression may be outside of its type."""
    return any(_leaves(x) for x in walk_expr(expr))


def limits(type: Type) -> tuple[int, int]:
    """The least and the greatest number of an integer type, or of bool."""
    if type.kind == "int":
        return -(1 << (type.bits - 1)), (1 << (type.bits - 1)) - 1
    return (0, 1) if type.kind == "bool" else (0, (1 << type.bits) - 1)


def within_index(expr: Expr) -> Expr | bool:
    """An expression whose numbers indices hold and which is at least 0 only where `expr` is, as if no type had an
    end; True or False where that is known of every index.

    >>> n = Var("n", INDEX)
    >>> within_index(Binary("sub", Const(1 << 63, INDEX), n)), within_index(Binary("sub", n, Const(1 << 64, INDEX)))
    (True, False)
    """
    parts = polynomial(expr)
    free, (least, most) = parts.pop((), 0), limits(INDEX)
    if not parts:
        return free >= 0
    (factors, times), *others = parts.items()
    if not others and len(factors) == 1 and abs(times) == 1 and free >= (most if times < 0 else -least):
        return True
    if free < least:
        return False
    return build({**parts, (): most}) if free > most else expr


def _leaves(expr: Expr) -> bool:
    type = type_of(expr)
    if type.kind != "int" or type == INDEX and not any(not isinstance(x, Const | Var) for x in children(expr)):
        return False
    exact = _exact(expr)
    low, high = limits(type)
    return exact is not None and (exact[0] < low or exact[1] > high)


def _bounds(expr: Expr) -> _Bounds:
    """Between which values an integer is."""
    type = type_of(expr)
    whole = limits(type)
    if isinstance(expr, Var) and type == INDEX:
        return -_SIZES, _SIZES
    exact = _exact(expr)
    if exact is None or exact[0] < whole[0] or exact[1] > whole[1]:
        return whole
    return exact


def _exact(expr: Expr) -> _Bounds | None:
    """The same for the result of an operation as if no type had an end; None: nothing is known but the type."""
    match expr:
        case Const(value=value) if not isinstance(value, float):
            return int(value), int(value)
        case Cast(operand=operand) if type_of(operand).is_int:
            low, high = _bounds(operand)
            whole = limits(type_of(expr))
            # A conversion that does not fit wraps around, which is no overflow.
            return (low, high) if whole[0] <= low and high <= whole[1] else None
        case Unary(op="neg", operand=operand):
            low, high = _bounds(operand)
            return -high, -low
        case Call(function="abs" | "labs" | "llabs", arguments=(operand,)) if type_of(operand).is_int:
            low, high = _bounds(operand)
            return 0, max(-low, high)
        case Select(then=then, otherwise=otherwise):
            (a, b), (c, d) = _bounds(then), _bounds(otherwise)
            return min(a, c), max(b, d)
        case Binary(left=left, right=right):
            return _combined(expr.op, _bounds(left), _bounds(right))
        case _:
            return None


def _combined(op: str, left: _Bounds, right: _Bounds) -> _Bounds | None:
    (a, b), (c, d) = left, right
    match op:
        case "add":
            return a + c, b + d
        case "sub":
            return a - d, b - c
        case "mul":
            corners = [x * y for x in left for y in right]
            return min(corners), max(corners)
        case "min":
            return min(a, c), min(b, d)
        case "max":
            return max(a, c), max(b, d)
        case "shl" if c == d and 0 <= c < 64:
            return a << c, b << c
        case "shr" if c == d and 0 <= c < 64:
            return a >> c, b >> c
        case _:
            return None
