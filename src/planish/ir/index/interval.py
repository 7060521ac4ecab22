"""Ranges of integer expressions, from the ranges of the names in them.

>>> from planish.ir.expr import Binary, Const, Var
>>> from planish.ir.types import INDEX
>>> range_of(Binary("add", Var("i", INDEX), Const(1, INDEX)), {"i": (0, 9)})
(1, 10)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from planish.ir.expr import (
    MIRRORED,
    OPPOSITE,
    Binary,
    BinaryOp,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Load,
    Select,
    Unary,
    Var,
    type_of,
)
from planish.ir.semantics.arithmetic import limits, quotient
from planish.ir.types import INDEX, Type

Interval = tuple[int, int]
"""The least and the greatest value, both inclusive."""
_NONE: Mapping[Expr, Interval] = {}


def combine(op: BinaryOp, a: Interval, b: Interval, type: Type) -> Interval:
    """Where `op`'s mathematical result lies, before it wraps around."""
    match op:
        case "add":
            return a[0] + b[0], a[1] + b[1]
        case "sub":
            return a[0] - b[1], a[1] - b[0]
        case "mul":
            corners = [x * y for x in a for y in b]
            return min(corners), max(corners)
        case "min":
            return min(a[0], b[0]), min(a[1], b[1])
        case "max":
            return max(a[0], b[0]), max(a[1], b[1])
        case "floordiv" | "quo":
            if b[0] <= 0:
                return limits(type)
            divide = quotient if op == "quo" else lambda x, y: x // y
            corners = [divide(x, y) for x in a for y in b]
            return min(corners), max(corners)
        case "mod" | "rem":
            if b[0] <= 0:
                return limits(type)
            if a[0] >= 0 and a[1] < b[0]:
                return a
            top = b[1] - 1
            if op == "rem" and a[0] < 0:
                return max(-top, a[0]), max(0, min(top, a[1]))
            return 0, min(top, a[1]) if a[0] >= 0 else top
        case "and":
            most = [high for low, high in (a, b) if low >= 0]
            return (0, min(most)) if most else limits(type)
        case "shr":
            return (a[0] >> b[0] if a[0] < 0 else 0, a[1] >> b[0] if a[1] >= 0 else -1) if b[0] >= 0 else limits(type)
        case "or" | "xor" | "shl" | "div":
            return limits(type)
        case _:
            assert_never(op)


def narrow(raw: Interval, type: Type, mathematical: bool = False) -> Interval:
    """The range after wrapping around; `mathematical` takes INDEX arithmetic as exact instead."""
    low, high = limits(type)
    if low <= raw[0] and raw[1] <= high:
        return raw
    if mathematical and type == INDEX:
        return max(low, min(raw[0], high)), min(high, max(raw[1], low))
    return low, high


def bounds_where(
    condition: Expr, known: Mapping[str, Interval], bounds: Mapping[Expr, Interval], holds: bool = True
) -> dict[Expr, Interval]:
    """The `bounds` of expressions, and those of integers that a condition compares with numbers, where it holds, or
    does not.

    >>> from planish.ir.text.parser import parse_expr
    >>> test = parse_expr("i32(x[i]:i8) >= 97:i32 && 123:i32 > i32(x[i]:i8)")
    >>> range_of(parse_expr("i32(x[i]:i8) - 97:i32"), {}, bounds=bounds_where(test, {}, {}))
    (0, 25)
    >>> range_of(parse_expr("k:i32"), {}, bounds=bounds_where(parse_expr("u32(k:i32) < 64:u32"), {}, {}))
    (0, 63)
    """
    match condition:
        case Unary(op="not", operand=x):
            return bounds_where(x, known, bounds, not holds)
        case Binary(op="and" | "or" as op, left=left, right=right) if (op == "and") == holds:
            return bounds_where(right, known, bounds_where(left, known, bounds, holds), holds)
        case Compare(op=op, left=x, right=Const(value=number)) if type_of(x).is_int:
            pass
        case Compare(op=turned, left=Const(value=number), right=x) if type_of(x).is_int:
            op = MIRRORED[turned]
        case _:
            return {**bounds}
    op, value = op if holds else OPPOSITE[op], int(number)
    low, high = range_of(x, known, bounds=bounds)
    low = max(low, {"ge": value, "gt": value + 1, "eq": value}.get(op, low))
    high = min(high, {"le": value, "lt": value - 1, "eq": value}.get(op, high))
    if low > high:
        return {**bounds}
    found = {**bounds, x: (low, high)}
    while isinstance(x, Cast) and type_of(x.operand).is_int and _keeps(type_of(x.operand), x.type, low, high):
        x = x.operand
        found[x] = low, high
    return found


def _keeps(own: Type, type: Type, low: int, high: int) -> bool:
    """Whether a number of a type is the one that it is converted to where that lies in a range: so it is where the
    other type holds all of the own one's, or is as wide, and the number has no sign in either."""
    wider = narrow(limits(own), type) == limits(own)
    return wider or (type.bits >= own.bits and 0 <= low <= high <= limits(own)[1])


def range_of(
    expr: Expr, known: Mapping[str, Interval], mathematical: bool = False, bounds: Mapping[Expr, Interval] = _NONE
) -> Interval:
    """The range of an integer or bool expression, where `known` holds the ranges of some names, and `bounds` those of
    some expressions."""
    if bounds and expr in bounds:
        return bounds[expr]
    match expr:
        case Const(value=value):
            return int(value), int(value)
        case Var(name=name, type=type):
            return known.get(name) or limits(type)
        case Binary(op=op, left=left, right=right):
            type = type_of(left)
            if not type.is_int:
                return limits(type)
            a, b = range_of(left, known, mathematical, bounds), range_of(right, known, mathematical, bounds)
            return narrow(combine(op, a, b, type), type, mathematical)
        case Unary(op="neg", operand=x):
            low, high = range_of(x, known, mathematical, bounds)
            return narrow((-high, -low), type_of(x), mathematical)
        case Select(condition=test, then=x, otherwise=y):
            sides = (bounds_where(test, known, bounds, holds) for holds in (True, False))
            a, b = (range_of(z, known, mathematical, side) for z, side in zip((x, y), sides, strict=True))
            return min(a[0], b[0]), max(a[1], b[1])
        case Cast(operand=x, type=type):
            return limits(type) if type_of(x).is_float else narrow(range_of(x, known, mathematical, bounds), type)
        case Load() | Unary() | Compare() | Call():
            return limits(type_of(expr))
        case _:
            assert_never(expr)
