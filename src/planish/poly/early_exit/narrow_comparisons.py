"""Comparisons in the narrowest type that gives the same: more lanes fit in a vector.

>>> from planish.ir.text.parser import parse_expr
>>> from planish.ir.text.printer import print_expr
>>> print_expr(narrowed(parse_expr("i32(a[]:u8) & 192:i32 == 128:i32 || i32(a[]:u8) < i32(c:u8)")))
'a[] & 192:u8 == 128:u8 || a[] < c'
>>> print_expr(narrowed(parse_expr("i32(u8(a[]:i16)) > i32(a[]:i16)")))
'i32(u8(a[])) > i32(a[])'
>>> print_expr(narrowed(parse_expr("i32(a[]:u8) > 300:i32")))
'false'
>>> print_expr(narrowed(parse_expr("u32(i32(a[]:u8) - 48:i32) <= 9:u32")))
'a[] - 48:u8 <= 9:u8'
"""

from __future__ import annotations

from planish.ir.expr import MIRRORED, Binary, Cast, Compare, CompareOp, Const, Expr, Load, Var, type_of
from planish.ir.semantics.arithmetic import limits
from planish.ir.traverse import map_expr, walk_expr
from planish.ir.types import BOOL, Type


def narrowed(condition: Expr) -> Expr:
    """The same condition with narrower comparisons of integers."""
    return map_expr(lambda x: _narrowed(x) if isinstance(x, Compare) else x, condition)


def _narrowed(test: Compare) -> Expr:
    if isinstance(test.left, Const) and not isinstance(test.right, Const):
        test = Compare(MIRRORED[test.op], test.right, test.left)
    wide = type_of(test.left)
    if not wide.is_int:
        return test
    known = [x.type for x in walk_expr(test) if isinstance(x, (Load, Var))]
    types = {x for x in known if x.is_int and x.bits < wide.bits}
    for type in sorted(types, key=lambda x: x.bits):
        found = _in_type(test, type)
        if found is not None:
            return found
    return _in_range(test) or test


def _in_type(test: Compare, type: Type) -> Expr | None:
    """A comparison in another, narrower type; None where it may give something else."""
    left, right = _exact(test.left, type), _exact(test.right, type)
    if left is not None and right is not None:
        return Compare(test.op, left, right)
    if left is not None and isinstance(test.right, Const):
        return _decided(test.op, int(test.right.value), type)
    return _in_range(test)


def _exact(x: Expr, type: Type) -> Expr | None:
    """An expression whose value is that of a wider one."""
    low, high = limits(type)
    match x:
        case Load(type=own) | Var(type=own) if own == type:
            return x
        case Cast(operand=inner) if type_of(inner).is_int and _holds(type_of(x), type_of(inner)):
            return inner if type_of(inner) == type else _exact(inner, type)
        case Const(value=value) if low <= value <= high:
            return Const(int(value), type)
        case Binary(op="and" | "or" | "xor" as op, left=left, right=right) if type_of(x) != BOOL:
            a, b = _exact(left, type), _exact(right, type)
            if op == "and" and type.kind == "uint" and (a is None) != (b is None):
                # Of what a value without a sign is masked with, only the low bits matter.
                a, b = a or _low(left, type), b or _low(right, type)
            return None if a is None or b is None else Binary(op, a, b)
        case _:
            return None


def _low(x: Expr, type: Type) -> Expr | None:
    """The low bits of an expression."""
    match x:
        case Const(value=value):
            return Const(int(value) & ((1 << type.bits) - 1), type)
        case _:
            return None


def _holds(wide: Type, narrow: Type) -> bool:
    """Whether a type has all values of another one."""
    (low, high), (least, most) = limits(wide), limits(narrow)
    return low <= least and most <= high


def _decided(op: CompareOp, value: int, type: Type) -> Expr | None:
    """What a comparison with a number beyond a type gives."""
    low, high = limits(type)
    if low <= value <= high:
        return None
    above = value > high
    return Const({"eq": False, "ne": True, "lt": above, "le": above, "gt": not above, "ge": not above}[op], BOOL)


def _in_range(test: Compare) -> Expr | None:
    """`unsigned(a - low) <= count` for bytes and the like: the difference wraps around in their own type as well."""
    match test:
        case Compare(op="lt" | "le" | "gt" | "ge" as op, left=Cast(operand=inner), right=Const(value=count)):
            pass
        case Compare(op="lt" | "le" | "gt" | "ge" as op, left=Binary() as inner, right=Const(value=count)):
            pass
        case _:
            return None
    if type_of(test.left).kind != "uint" or type_of(test.left).bits < 32 or type_of(inner).bits < 32:
        return None
    match inner:
        case Binary(op="sub", left=Cast(operand=x), right=Const(value=low)):
            pass
        case Binary(op="add", left=Cast(operand=x), right=Const(value=offset)):
            low = offset - (1 << 32) if offset >= 1 << 31 else offset
            low = -low
        case _:
            return None
    type = type_of(x)
    if type.kind != "uint" or type.bits > 16 or type_of(inner).bits != type_of(test.left).bits:
        return None
    most = limits(type)[1]
    # Of what is below `low`, the difference is at least this much in its own type.
    if not 0 <= low <= most or not 0 <= count < most + 1 - low:
        return None
    return Compare(op, Binary("sub", x, Const(int(low), type)), Const(int(count), type))
