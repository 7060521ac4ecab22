"""Typed scalar expressions; those over iterators and sizes (quasi-affine) serve as subscripts and bounds.

>>> from planish.ir.types import F32, INDEX
>>> i = Var("i", INDEX)
>>> type_of(Binary("mul", Load("A", (i,), F32), Const(2.0, F32))) == F32
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, assert_never

from planish.ir.types import BOOL, INDEX, Type

UnaryOp = Literal["neg", "not", "bitnot"]
"""`not` is logical (bool); `bitnot` flips the bits of an integer."""

BinaryOp = Literal[
    "add", "sub", "mul", "div", "quo", "rem", "floordiv", "mod",
    "min", "max", "and", "or", "xor", "shl", "shr",
]  # fmt: skip
"""`div` is for floats; `quo`/`rem` truncate as C does, `floordiv`/`mod` round down. Integers wrap around at their
width. `and`/`or` on bool are logical and do not evaluate the right side when the left decides. `shr` is arithmetic on
signed integers. `min`/`max` are for integers, or floats where the user allowed reordering (no NaN is promised)."""

CompareOp = Literal["eq", "ne", "lt", "le", "gt", "ge"]
OPPOSITE: Mapping[CompareOp, CompareOp] = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "le": "gt", "gt": "le"}
"""The comparison that holds where another one does not; not so for floats, which may be NaN."""
MIRRORED: Mapping[CompareOp, CompareOp] = {"eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
"""The comparison of the same two, exchanged."""


@dataclass(frozen=True, slots=True)
class Const:
    """A literal; floats are held in double precision and rounded to `type`."""

    value: int | float | bool
    type: Type

    def __hash__(self) -> int:
        # Types seldom tell two literals, or two names, apart; expressions are keys of many tables.
        return hash(self.value)


@dataclass(frozen=True, slots=True)
class Var:
    """A loop iterator or size (type INDEX), a scalar parameter, or a name bound by `Let`."""

    name: str
    type: Type

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(frozen=True, slots=True)
class Load:
    """The element of an array; a scalar cell in memory is an array of rank 0: `Load("s", (), F32)`."""

    array: str
    index: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Unary:
    """`op` applied to one operand; the type is the operand's."""

    op: UnaryOp
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary:
    """`op` applied to two operands of the same type, which is the type of the result."""

    op: BinaryOp
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison of two operands of the same type; gives bool."""

    op: CompareOp
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Select:
    """`then` where `condition` holds, otherwise `otherwise`; only the chosen one is evaluated."""

    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, slots=True)
class Cast:
    """Conversion as in C (floats to integers truncate); out-of-range float to integer is undefined there and here."""

    operand: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Call:
    """A pure mathematical function (C's name without the `f` suffix); the type is that of the first argument."""

    function: str
    arguments: tuple[Expr, ...]


_TYPED = (Const, Var, Load, Cast)
"""What says itself of which type it is."""

Expr = Const | Var | Load | Unary | Binary | Compare | Select | Cast | Call

PURE_FUNCTIONS = {
    "sqrt": 1, "exp": 1, "exp2": 1, "log": 1, "log2": 1, "log10": 1, "sin": 1, "cos": 1, "tan": 1, "tanh": 1,
    "sinh": 1, "cosh": 1, "asin": 1, "acos": 1, "atan": 1, "atan2": 2, "pow": 2, "fabs": 1, "floor": 1, "ceil": 1,
    "round": 1, "trunc": 1, "fmin": 2, "fmax": 2, "fmod": 2, "hypot": 2, "cbrt": 1, "rint": 1, "fma": 3,
    "copysign": 2, "expm1": 1, "log1p": 1, "abs": 1,
}  # fmt: skip
"""Name to number of arguments of every function an expression may call; `abs` is for integers."""


def type_of(expr: Expr) -> Type:
    """The type of an expression's value."""
    while not isinstance(expr, _TYPED):
        match expr:
            case Unary(operand=x) | Binary(left=x) | Select(then=x):
                expr = x
            case Compare():
                return BOOL
            case Call(arguments=arguments):
                expr = arguments[0]
            case _:
                assert_never(expr)
    return expr.type


def index(value: int | str | Expr) -> Expr:
    """An index expression from a number, a name, or itself."""
    match value:
        case int():
            return Const(value, INDEX)
        case str():
            return Var(value, INDEX)
        case _:
            return value
