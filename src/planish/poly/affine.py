"""Index expressions as isl's text: what is quasi-affine crosses over, what is not is named.

>>> from planish.ir.expr import Binary, index
>>> affine_text(Binary("floordiv", index("i"), index(4)))
'floor((i)/4)'
"""

from __future__ import annotations

from typing import assert_never

from planish.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Select, Unary, Var
from planish.ir.types import INDEX

RESERVED = frozenset(
    "exists and or not mod floor floord ceil ceild min max infty infinity nan rat true false implies int".split()
)
_ESCAPE = "P__"


class NotAffineError(Exception):
    """An expression that the polyhedral model cannot hold; carries the part that is to blame."""

    def __init__(self, expr: Expr, reason: str) -> None:
        super().__init__(reason)
        self.expr = expr
        self.reason = reason


def isl_name(name: str) -> str:
    """A name that isl's parser does not take for a keyword."""
    return _ESCAPE + name if name.lower() in RESERVED else name


def source_name(name: str) -> str:
    """The inverse of `isl_name`."""
    return name.removeprefix(_ESCAPE)


def constant_of(expr: Expr) -> int | None:
    """The value of an index expression without variables, as far as +, - and * go; None otherwise."""
    match expr:
        case Const(value=value, type=t) if t.is_int:
            return int(value)
        case Unary(op="neg", operand=x):
            inner = constant_of(x)
            return None if inner is None else -inner
        case Binary(op="add" | "sub" | "mul" as op, left=a, right=b):
            left, right = constant_of(a), constant_of(b)
            if left is None or right is None:
                return None
            return left + right if op == "add" else left - right if op == "sub" else left * right
        case _:
            return None


def affine_text(expr: Expr) -> str:
    """A quasi-affine index expression in isl's syntax; raises NotAffineError."""
    match expr:
        case Const(value=value):
            return f"{int(value)}" if int(value) >= 0 else f"({int(value)})"
        case Var(name=name, type=t):
            if t != INDEX:
                raise NotAffineError(expr, f"`{name}` is data, not an iterator or a size")
            return isl_name(name)
        case Unary(op="neg", operand=x):
            return f"(-{affine_text(x)})"
        case Binary(op="add", left=a, right=b):
            return f"({affine_text(a)} + {affine_text(b)})"
        case Binary(op="sub", left=a, right=b):
            return f"({affine_text(a)} - {affine_text(b)})"
        case Binary(op="mul", left=a, right=b):
            return _product_text(expr, a, b)
        case Binary(op="floordiv" | "mod" | "quo" | "rem" as op, left=a, right=b):
            return _division_text(expr, op, a, b)
        case Binary(op="min" | "max" as op, left=a, right=b):
            return f"{op}({affine_text(a)}, {affine_text(b)})"
        case Select(condition=c, then=a, otherwise=b):
            return f"(({condition_text(c)}) ? ({affine_text(a)}) : ({affine_text(b)}))"
        case Cast(operand=x, type=t) if t == INDEX:
            return affine_text(x)
        case Load(array=array):
            raise NotAffineError(expr, f"it depends on the content of `{array}`")
        case Unary() | Binary() | Compare() | Cast() | Call():
            raise NotAffineError(expr, "it is not a sum of iterators and sizes")
        case _:
            assert_never(expr)


def _product_text(expr: Expr, a: Expr, b: Expr) -> str:
    for factor, other in ((a, b), (b, a)):
        value = constant_of(factor)
        if value is not None:
            return f"({value} * ({affine_text(other)}))"
    raise NotAffineError(expr, "it multiplies two values that are not constants")


def _division_text(expr: Expr, op: str, a: Expr, b: Expr) -> str:
    divisor = constant_of(b)
    if divisor is None or divisor <= 0:
        raise NotAffineError(expr, "it divides by something that is not a positive constant")
    text = affine_text(a)
    floor, down = f"floor(({text})/{divisor})", f"(({text}) mod {divisor})"
    match op:
        case "floordiv":
            return floor
        case "mod":
            return down
        case "quo":
            return f"(({text}) >= 0 ? {floor} : -floor((-({text}))/{divisor}))"
        case _:
            return f"(({text}) >= 0 ? {down} : -((-({text})) mod {divisor}))"


_RELATIONS = {"eq": "=", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def condition_text(expr: Expr) -> str:
    """A condition over iterators and sizes in isl's syntax; raises NotAffineError."""
    match expr:
        case Const(value=value):
            return "(1 = 1)" if value else "(1 = 0)"
        case Compare(op=op, left=a, right=b):
            return f"({affine_text(a)} {_RELATIONS[op]} {affine_text(b)})"
        case Binary(op="and" | "or" as op, left=a, right=b):
            return f"({condition_text(a)} {op} {condition_text(b)})"
        case Unary(op="not", operand=x):
            return f"(not {condition_text(x)})"
        case _:
            raise NotAffineError(expr, "the condition is not a comparison of iterators and sizes")
