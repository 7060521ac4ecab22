"""Numbers as NumPy 2 computes with them: Python's own numbers are weak and take the other operand's type.

Loop variables, sizes, literals and what is computed from them alone are weak (`INDEX` or `F64`); elements of arrays,
typed scalars and what is computed from them are not. Integers wrap around at their width.

>>> from planish.ir.expr import Load
>>> from planish.ir.types import F32, I32
>>> from planish.ir.text.printer import print_expr
>>> element = TypedValue(Load("A", (), F32))
>>> print_expr(combine("mul", weak(2), element).expr)
'2.0:f32 * A[]'
>>> type_of(combine("mul", TypedValue(Load("B", (), I32)), element).expr)
Type(kind='float', bits=64)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from planish.ir.expr import Binary, Call, Cast, Compare, CompareOp, Const, Expr, Select, Unary, type_of
from planish.ir.index.simplify import simplify
from planish.ir.semantics.arithmetic import limits, wrap
from planish.ir.types import BOOL, BY_NAME, F64, I64, INDEX, U64, Type

Kind = tuple[Type, bool]
"""A type, and whether it is weak."""

Sign = Literal["add", "sub", "mul", "div", "floordiv", "mod", "and", "or", "xor", "shl", "shr"]

_SPELT: dict[str, str] = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "and": "&", "or": "|", "xor": "^",
    "shl": "<<", "shr": ">>",
}  # fmt: skip


class Untranslatable(Exception):
    """What cannot be translated; the caller knows where in the text it stands."""

    def __init__(self, code: str, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.advice = advice


@dataclass(frozen=True, slots=True)
class TypedValue:
    """An expression, and whether its type gives way to that of another operand."""

    expr: Expr
    weak: bool = False

    @property
    def type(self) -> Type:
        """The type of the expression."""
        return type_of(self.expr)

    @property
    def kind(self) -> Kind:
        """Type and weakness."""
        return self.type, self.weak


def weak(number: float) -> TypedValue:
    """A Python number (or truth value). Raises Refused for integers beyond 64 bits."""
    if isinstance(number, bool):
        return TypedValue(Const(number, BOOL))
    if isinstance(number, int):
        low, high = limits(INDEX)
        if not low <= number <= high:
            raise Untranslatable("E0331", f"{number} does not fit 64 bits")
        return TypedValue(Const(number, INDEX), True)
    return TypedValue(Const(float(number), F64), True)


def meet(a: Kind, b: Kind) -> Kind:
    """The type in which two operands are combined, as NumPy 2 promotes."""
    (one, one_weak), (other, other_weak) = a, b
    if one_weak and other_weak:
        return (F64 if F64 in (one, other) else INDEX), True
    if one_weak:
        return meet(b, a)
    if other_weak:
        if one.is_float or (one.is_int and other == INDEX):
            return one, False
        return (I64 if other == INDEX else F64), False
    return BY_NAME[_short(np.promote_types(one.numpy, other.numpy))], False


def _short(dtype: np.dtype[np.generic]) -> str:
    return "bool" if dtype.kind == "b" else f"{dtype.kind}{dtype.itemsize * 8}"


def convert(value: TypedValue, type: Type, stored: bool = False) -> Expr:
    """The value as `type`. Raises Refused where a literal integer does not fit; `stored` lets floats lose digits."""
    expr, source = value.expr, value.type
    if source == type:
        return expr
    if type == BOOL:
        return truth(value)
    if isinstance(expr, Const) and source != BOOL:
        number = expr.value
        if type.is_float:
            return Const(float(number), type)
        if source.is_float and stored:
            if not np.isfinite(number):
                raise Untranslatable("E0331", f"{number} is no value of {type}")
            number = int(number)
        if isinstance(number, int):
            low, high = limits(type)
            if value.weak and not low <= number <= high:
                raise Untranslatable("E0331", f"{number} does not fit {type}, which holds {low} to {high}")
            return Const(wrap(number, type), type)
    return Cast(expr, type)


def truth(value: TypedValue) -> Expr:
    """Whether the value differs from zero."""
    type = value.type
    if type == BOOL:
        return value.expr
    if isinstance(value.expr, Const):
        return Const(bool(value.expr.value), BOOL)
    return Compare("ne", value.expr, Const(0.0 if type.is_float else 0, type))


def combine(op: Sign, a: TypedValue, b: TypedValue) -> TypedValue:
    """`a op b`. Raises Refused for operands that the operator is not for."""
    if op in ("and", "or", "xor") and a.type == b.type == BOOL:
        return TypedValue(Binary(op, a.expr, b.expr))
    if a.type == b.type == BOOL:
        raise Untranslatable("E0330", f"`{_SPELT[op]}` on two truth values", "use `and`, `or`, or convert with int(…)")
    type, gives_way = meet(a.kind, b.kind)
    if op == "div" and not type.is_float:
        type = F64
    if type.is_float:
        if op in ("floordiv", "mod"):
            advice = "write math.floor(a / b)" if op == "floordiv" else "write math.fmod(a, b)"
            raise Untranslatable("E0330", f"`{_SPELT[op]}` on {type}", advice)
        if op not in ("add", "sub", "mul", "div"):
            raise Untranslatable("E0330", f"`{_SPELT[op]}` on {type}", "it is for integers")
    if isinstance(a.expr, Const) and isinstance(b.expr, Const) and a.weak and b.weak:
        return _folded(op, a.expr.value, b.expr.value)
    if isinstance(b.expr, Const) and type.is_int:
        if op in ("floordiv", "mod") and b.expr.value == 0:
            raise Untranslatable("E0330", "a division by zero")
        if op in ("shl", "shr") and not 0 <= b.expr.value < type.bits:
            raise Untranslatable("E0330", f"a shift of {type} by {b.expr.value}")
    expr: Expr = Binary(op, convert(a, type), convert(b, type))
    return TypedValue(simplify(expr) if gives_way and type == INDEX else expr, gives_way)


def _folded(op: Sign, a: float, b: float) -> TypedValue:
    """Python's own arithmetic on two literals."""
    try:
        match op:
            case "add":
                return weak(a + b)
            case "sub":
                return weak(a - b)
            case "mul":
                return weak(a * b)
            case "div":
                return weak(a / b)
            case _:
                pass
        m, n = int(a), int(b)
        whole = {"floordiv": m.__floordiv__, "mod": m.__mod__, "and": m.__and__, "or": m.__or__, "xor": m.__xor__}
        if op in whole:
            return weak(whole[op](n))
        if not 0 <= n < 64:
            raise Untranslatable("E0330", f"a shift by {n}")
        return weak(m << n if op == "shl" else m >> n)
    except ZeroDivisionError:
        raise Untranslatable("E0330", "a division by zero") from None


def power(base: TypedValue, exponent: TypedValue) -> TypedValue:
    """`base ** exponent`: products for small whole exponents, `sqrt` for a half, otherwise `pow`.

    Raises Refused for integers to a power that is no small constant.
    """
    fixed = exponent.expr.value if isinstance(exponent.expr, Const) and exponent.weak else None
    if isinstance(base.expr, Const) and base.weak and fixed is not None:
        try:
            result = base.expr.value**fixed
        except (ZeroDivisionError, OverflowError) as fault:
            raise Untranslatable("E0330", str(fault)) from None
        if isinstance(result, complex):
            raise Untranslatable("E0330", "a complex number")
        return weak(result)
    if isinstance(fixed, int) and base.type.is_int:
        if not 0 <= fixed <= 8:
            raise Untranslatable("E0330", f"an integer to the power {fixed}", "powers from 0 to 8 are known")
        out = TypedValue(Const(1, base.type), base.weak) if fixed == 0 else base
        for _ in range(fixed - 1):
            out = combine("mul", out, base)
        return out
    type, gives_way = meet(base.kind, exponent.kind)
    if not type.is_float:
        raise Untranslatable("E0330", f"`**` on {type}", "write the product, or convert to a float")
    operand = convert(base, type)
    if fixed == 2:
        return TypedValue(Binary("mul", operand, operand), gives_way)
    if fixed == 0.5:
        return TypedValue(Call("sqrt", (operand,)), gives_way)
    return TypedValue(Call("pow", (operand, convert(exponent, type))), gives_way)


def compare(op: CompareOp, a: TypedValue, b: TypedValue) -> Expr:
    """`a op b`; whole numbers compare exactly, whatever their types."""
    if isinstance(a.expr, Const) and isinstance(b.expr, Const) and a.weak and b.weak:
        x, y = a.expr.value, b.expr.value
        return Const({"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[op], BOOL)
    if a.type == b.type == BOOL:
        if op not in ("eq", "ne"):
            raise Untranslatable("E0330", "truth values are not ordered")
        return Compare(op, a.expr, b.expr)
    type, _ = meet(a.kind, b.kind)
    if a.weak != b.weak and type.is_int and not all(_fits(x, type) for x in (a, b)):
        # A Python integer meets a narrow type: NumPy compares the numbers, not what would be left after wrapping.
        type = INDEX if type != U64 else U64
    expr = Compare(op, convert(a, type), convert(b, type))
    return simplify(expr) if type == INDEX else expr


def _fits(value: TypedValue, type: Type) -> bool:
    if not value.weak:
        return True
    low, high = limits(type)
    return isinstance(value.expr, Const) and low <= value.expr.value <= high


def negate(value: TypedValue) -> TypedValue:
    """`-value`."""
    if value.type == BOOL:
        raise Untranslatable("E0330", "`-` on a truth value", "write `not`")
    if isinstance(value.expr, Const) and value.weak:
        return weak(-value.expr.value)
    expr: Expr = Unary("neg", value.expr)
    return TypedValue(simplify(expr) if value.weak and value.type == INDEX else expr, value.weak)


def invert(value: TypedValue) -> TypedValue:
    """`~value`."""
    if value.type == BOOL:
        return TypedValue(Unary("not", value.expr))
    if value.type.is_float:
        raise Untranslatable("E0330", f"`~` on {value.type}", "it is for integers")
    return TypedValue(Unary("bitnot", value.expr), value.weak)


def choose(condition: Expr, then: TypedValue, otherwise: TypedValue) -> TypedValue:
    """`then if condition else otherwise`; `min` or `max` where that is what it says of integers."""
    if isinstance(condition, Const):
        return then if condition.value else otherwise
    if then.type == otherwise.type == BOOL:
        return TypedValue(Select(condition, then.expr, otherwise.expr))
    type, gives_way = meet(then.kind, otherwise.kind)
    a, b = convert(then, type), convert(otherwise, type)
    match condition:
        case Compare(op="lt" | "le" | "gt" | "ge" as op, left=x, right=y) if (
            type.is_int and {x, y} == {a, b} and a != b
        ):
            small = op in ("lt", "le")
            return TypedValue(Binary("min" if small == (x == a) else "max", a, b), gives_way)
        case _:
            return TypedValue(Select(condition, a, b), gives_way)


def extremum(op: Literal["min", "max"], a: TypedValue, b: TypedValue) -> TypedValue:
    """Python's `min(a, b)` or `max(a, b)`: the first, unless the second is beyond it."""
    if a.type == b.type == BOOL:
        raise Untranslatable("E0330", f"`{op}` of truth values", "use `and` or `or`")
    type, gives_way = meet(a.kind, b.kind)
    x, y = convert(a, type), convert(b, type)
    if type.is_int:
        expr: Expr = Binary(op, x, y)
        return TypedValue(simplify(expr) if gives_way and type == INDEX else expr, gives_way)
    return TypedValue(Select(Compare("lt" if op == "min" else "gt", y, x), y, x), gives_way)


def call(function: str, arguments: tuple[TypedValue, ...]) -> TypedValue:
    """A mathematical function; whole numbers become doubles, floats keep their type."""
    type, gives_way = arguments[0].kind
    for argument in arguments[1:]:
        type, gives_way = meet((type, gives_way), argument.kind)
    if not type.is_float:
        type = F64
    return TypedValue(Call(function, tuple(convert(x, type) for x in arguments)), gives_way)


def magnitude(value: TypedValue) -> TypedValue:
    """`abs(value)`."""
    if value.type == BOOL:
        raise Untranslatable("E0330", "`abs` of a truth value")
    if isinstance(value.expr, Const) and value.weak:
        return weak(abs(value.expr.value))
    if value.type.kind == "uint":
        return value
    return TypedValue(Call("fabs" if value.type.is_float else "abs", (value.expr,)), value.weak)
