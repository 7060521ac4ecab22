"""Sums, differences and products of signed integers without overflow: compilers of devices count on there being none.

The loop-nest language has them wrap around, as the checks do; so they are made of unsigned numbers. What is computed of
iterators and sizes alone is in range.

>>> from planish.emit.c.expression import emit_expr
>>> from planish.ir.text.parser import parse_expr
>>> emit_expr(wrapped(parse_expr("A[i + 1]:i32 + B[i]:i32 * 3:i32"), frozenset()))
'(int32_t)((uint32_t)A[i + 1] + (uint32_t)B[i] * 3u)'
"""

from __future__ import annotations

from collections.abc import Set

from planish.ir.expr import Binary, Cast, Const, Expr, Load, Unary, Var, type_of
from planish.ir.traverse import children, walk_expr, with_children
from planish.ir.types import I32, I64, U32, U64, Type

_UNSIGNED = {I32: U32, I64: U64}


def wrapped(value: Expr, data: Set[str]) -> Expr:
    """A value in which operations on integers wrap around; `data` are names of values that are no iterators or sizes.
    Subscripts stay as they are."""
    if isinstance(value, Load):
        return value
    type = type_of(value)
    if type in _UNSIGNED and has_data(value, data):
        unsigned = _UNSIGNED[type]
        match value:
            case Binary(op="add" | "sub" | "mul" as op, left=left, right=right):
                return Cast(Binary(op, _as(left, unsigned, data), _as(right, unsigned, data)), type)
            case Unary(op="neg", operand=operand):
                return Cast(Binary("sub", Const(0, unsigned), _as(operand, unsigned, data)), type)
            case _:
                pass
    return with_children(value, tuple(wrapped(x, data) for x in children(value)))


def has_data(value: Expr, data: Set[str]) -> bool:
    """Whether a value is computed of elements of arrays, or of values named in `data`: it may be anything."""
    return any(isinstance(x, Load) or (isinstance(x, Var) and x.name in data) for x in walk_expr(value))


def _as(value: Expr, unsigned: Type, data: Set[str]) -> Expr:
    """The same bits without a sign."""
    made = wrapped(value, data)
    match made:
        case Const(value=number):
            return Const(int(number) % (1 << unsigned.bits), unsigned)
        case Cast(operand=operand) if type_of(operand) == unsigned:
            return operand
        case _:
            return Cast(made, unsigned)
