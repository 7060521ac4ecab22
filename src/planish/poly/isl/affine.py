"""Index expressions as isl's affine functions and sets; what is not quasi-affine is named.

>>> from planish.ir.expr import Binary, index
>>> print(affine_function(Binary("floordiv", index("i"), index(4)), isl.Space.create_from_names(CONTEXT, set=["i"])))
{ [i] -> [(floor((i)/4))] }
"""

from __future__ import annotations

from typing import assert_never

import islpy as isl

from planish.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Load,
    Select,
    Unary,
    Var,
    type_of,
)
from planish.ir.types import INDEX

RESERVED = frozenset([
    "exists", "and", "or", "not", "mod", "floor", "floord", "ceil", "ceild", "min", "max", "infty", "infinity", "nan",
    "rat", "true", "false", "implies", "int",
])  # fmt: skip
_ESCAPE = "P__"
CONTEXT = isl.DEFAULT_CONTEXT


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


def affine_function(expr: Expr, space: isl.Space) -> isl.PwAff:
    """A quasi-affine index expression as a function on a set space, whose dimensions and parameters bear the names
    that `isl_name` gives; raises NotAffineError."""
    match expr:
        case Const(value=value):
            return _number(int(value), space)
        case Var(name=name, type=t):
            if t != INDEX:
                raise NotAffineError(expr, f"`{name}` is data, not an iterator or a size")
            found = _variable(isl_name(name), space)
            if found is None:
                raise NotAffineError(expr, f"`{name}` is neither a loop nor a size")
            return found
        case Unary(op="neg", operand=x):
            return affine_function(x, space).neg()
        case Binary(op="add", left=a, right=b):
            return affine_function(a, space).add(affine_function(b, space))
        case Binary(op="sub", left=a, right=b):
            return affine_function(a, space).sub(affine_function(b, space))
        case Binary(op="mul", left=a, right=b):
            return _product(expr, a, b, space)
        case Binary(op="floordiv" | "mod" | "quo" | "rem" as op, left=a, right=b):
            return _division(expr, op, a, b, space)
        case Binary(op="min", left=a, right=b):
            return affine_function(a, space).min(affine_function(b, space))
        case Binary(op="max", left=a, right=b):
            return affine_function(a, space).max(affine_function(b, space))
        case Select(condition=c, then=a, otherwise=b):
            holds = condition_set(c, space)
            then = affine_function(a, space).intersect_domain(holds)
            return then.union_add(affine_function(b, space).intersect_domain(holds.complement()))
        case Cast(operand=x, type=t) if t == INDEX and type_of(x) == INDEX:
            return affine_function(x, space)
        case Load(array=array):
            raise NotAffineError(expr, f"it depends on the content of `{array}`")
        case Unary() | Binary() | Compare() | Cast() | Call():
            raise NotAffineError(expr, "it is not a sum of iterators and sizes")
        case _:
            assert_never(expr)


def _number(value: int, space: isl.Space) -> isl.PwAff:
    local = isl.LocalSpace.from_space(space)
    return isl.PwAff.from_aff(isl.Aff.val_on_domain(local, isl.Val.read_from_str(space.get_ctx(), str(value))))


def _variable(name: str, space: isl.Space) -> isl.PwAff | None:
    for kind in (isl.dim_type.set, isl.dim_type.param):
        position = space.find_dim_by_name(kind, name)
        if position >= 0:
            return isl.PwAff.from_aff(isl.Aff.var_on_domain(isl.LocalSpace.from_space(space), kind, position))
    return None


def _product(expr: Expr, a: Expr, b: Expr, space: isl.Space) -> isl.PwAff:
    for factor, other in ((a, b), (b, a)):
        value = constant_of(factor)
        if value is not None:
            return affine_function(other, space).scale_val(isl.Val.read_from_str(space.get_ctx(), str(value)))
    raise NotAffineError(expr, "it multiplies two values that are not constants")


def _division(expr: Expr, op: BinaryOp, a: Expr, b: Expr, space: isl.Space) -> isl.PwAff:
    divisor = constant_of(b)
    if divisor is None or divisor <= 0:
        raise NotAffineError(expr, "it divides by something that is not a positive constant")
    by = isl.Val.read_from_str(space.get_ctx(), str(divisor))
    value = affine_function(a, space)
    match op:
        case "floordiv":
            return value.scale_down_val(by).floor()
        case "mod":
            return value.mod_val(by)
        case "quo":
            return _truncated(value, by, space)
        case _:
            return value.sub(_truncated(value, by, space).scale_val(by))


def _truncated(value: isl.PwAff, by: isl.Val, space: isl.Space) -> isl.PwAff:
    """The quotient rounded towards zero: the greater of the floor and of the ceiling where that is negative."""
    quotient = value.scale_down_val(by)
    return quotient.floor().max(quotient.ceil().min(_number(0, space)))


def condition_set(expr: Expr, space: isl.Space) -> isl.Set:
    """The points of a set space at which a condition over iterators and sizes holds; raises NotAffineError."""
    match expr:
        case Const(value=value):
            return isl.Set.universe(space) if value else isl.Set.empty(space)
        case Compare(op=op, left=a, right=b):
            return compared(op, affine_function(a, space), affine_function(b, space))
        case Binary(op="and", left=a, right=b):
            return condition_set(a, space).intersect(condition_set(b, space))
        case Binary(op="or", left=a, right=b):
            return condition_set(a, space).union(condition_set(b, space))
        case Unary(op="not", operand=x):
            return condition_set(x, space).complement()
        case _:
            raise NotAffineError(expr, "the condition is not a comparison of iterators and sizes")


def compared(op: CompareOp, a: isl.PwAff, b: isl.PwAff) -> isl.Set:
    """The points at which two functions compare as `op` says."""
    match op:
        case "eq":
            return a.eq_set(b)
        case "ne":
            return a.ne_set(b)
        case "lt":
            return a.lt_set(b)
        case "le":
            return a.le_set(b)
        case "gt":
            return a.gt_set(b)
        case "ge":
            return a.ge_set(b)
        case _:
            assert_never(op)


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
        case Select():
            raise NotAffineError(expr, "a choice has no text of its own")
        case Cast(operand=x, type=t) if t == INDEX and type_of(x) == INDEX:
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
    truncated = f"max({floor}, min(0, -floor((-({text}))/{divisor})))"
    match op:
        case "floordiv":
            return floor
        case "mod":
            return down
        case "quo":
            return truncated
        case _:
            return f"(({text}) - {divisor} * {truncated})"
