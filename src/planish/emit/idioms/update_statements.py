"""Update statements in C: additions to an element, running extrema.

>>> from planish.ir.expr import Const
>>> from planish.ir.types import F64
>>> update(Reduce("s", (), "add", Const(1.5, F64)), EmitContext())
's += 1.5'
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from planish.emit.c.context import EmitContext
from planish.emit.c.expression import (
    PREFIX,
    PRODUCT,
    SHIFT,
    SUM,
    c_type,
    emit_expr,
    emit_place,
    helper_suffix,
    refuse_bf16,
)
from planish.ir.expr import Binary, Cast, Const, Expr, Select, Unary, Var, type_of
from planish.ir.index.interval import combine, range_of
from planish.ir.nest import Reduce, ReduceOp
from planish.ir.semantics.arithmetic import limits
from planish.ir.traverse import loads, walk_expr
from planish.ir.types import BOOL, F16, I32, I64, Type
from planish.ir.wrapping import UNSIGNED, without_sign

_SIGNS: dict[ReduceOp, str] = {"add": "+", "mul": "*", "and": "&", "or": "|", "xor": "^", "min": "min", "max": "max"}


_NOTHING: dict[ReduceOp, int] = {"add": 0, "or": 0, "xor": 0, "mul": 1, "and": -1}
"""What changes no integer."""


def clause(op: ReduceOp, type: Type) -> str:
    """OpenMP's name of a reduction."""
    return {"and": "&&", "or": "||"}.get(op, _SIGNS[op]) if type == BOOL else _SIGNS[op]


def update_variable(stmt: Reduce, context: EmitContext) -> str:
    """The statement that updates a variable. One of an integer that often changes nothing is behind its condition: so
    compilers find that it is any iteration, or how many, of which this holds, though comparisons of floats may trap.
    A value that has been read is chosen: clang would read it behind the condition again, and not in lanes.

    >>> from planish.ir.text.parser import parse_kernel
    >>> kernel = parse_kernel("kernel k(x: f32; s: i32[]) { s[] += select(x > 0.0:f32, 1:i32, 0:i32) }")
    >>> update_variable(kernel.body.body[0], EmitContext())
    'if (x > 0.0f) { s = planish_wrap_add_i32(s, 1); }'
    """
    if not (isinstance(stmt.value, Select) and is_conditional(stmt)) or _is_there(stmt.value.then):
        return f"{update(stmt, context)};"
    then = replace(stmt, value=stmt.value.then)
    return f"if ({emit_expr(stmt.value.condition, context)}) {{ {update(then, context)}; }}"


def _wrapping(value: Expr) -> Expr:
    """A term in which sums of other sums, and opposites, wrap around: what the user's program adds one after another
    may overflow where it is added up first, and the least number has no opposite.

    >>> from planish.ir.text.parser import parse_expr
    >>> for text in ("a:i32 - b:i32", "i32(a:u8) - i32(b:u8)"): print(emit_expr(_wrapping(parse_expr(text))))
    (int32_t)((uint32_t)a - (uint32_t)b)
    (int32_t)a - (int32_t)b
    """
    unsigned = UNSIGNED[type_of(value)]
    match value:
        case Select(then=then, otherwise=otherwise):
            return replace(value, then=_wrapping(then), otherwise=_wrapping(otherwise))
        case Binary(op="add" | "sub" as op, left=left, right=right) if _may_overflow(op, left, right):
            return Cast(Binary(op, without_sign(_wrapping(left)), without_sign(_wrapping(right))), type_of(value))
        case Unary(op="neg", operand=operand) if _may_overflow("sub", Const(0, type_of(operand)), operand):
            return Cast(Binary("sub", Const(0, unsigned), without_sign(_wrapping(operand))), type_of(value))
        case _:
            return value


def _may_overflow(op: Literal["add", "sub"], left: Expr, right: Expr) -> bool:
    """Whether a result may lie outside of its type. Compilers compute sums of narrow numbers, which do not, faster."""
    type = type_of(left)
    low, high = limits(type)
    least, most = combine(op, range_of(left, {}), range_of(right, {}), type)
    return not (low <= least and most <= high)


def _is_there(x: Expr) -> bool:
    """Whether a value is one of names, and nothing is read for it."""
    return not loads(x) and any(isinstance(y, Var) for y in walk_expr(x))


def is_conditional(stmt: Reduce) -> bool:
    """Whether an update of an integer changes nothing unless a condition holds."""
    match stmt.value:
        case Select(otherwise=Const(value=value, type=type)) if type.is_int:
            nothing = _NOTHING.get(stmt.op)
            return value == ((1 << type.bits) - 1 if nothing == -1 and type.kind == "uint" else nothing)
        case _:
            return False


def update(stmt: Reduce, context: EmitContext) -> str:
    """`place op= value`, spelt so that it wraps around at the width of the place."""
    type = type_of(stmt.value)
    refuse_bf16(type)
    place = emit_place(stmt.array, stmt.index, context)
    if stmt.op in ("min", "max"):
        return f"{place} = planish_{stmt.op}{helper_suffix(type)}({emit_expr(stmt.value, context)}, {place})"
    if type in (I32, I64) and stmt.op in ("add", "mul"):
        op, value = stmt.op, stmt.value
        if op == "add" and isinstance(value, Unary) and value.op == "neg":
            return f"{place} = planish_wrap_sub_{type}({place}, {emit_expr(_wrapping(value.operand), context)})"
        return f"{place} = planish_wrap_{op}_{type}({place}, {emit_expr(_wrapping(value), context)})"
    sign = _SIGNS[stmt.op]
    if type == BOOL and stmt.op != "xor":
        return f"{place} = {place} {sign}{sign} {emit_expr(stmt.value, context, SHIFT)}"
    if type.kind == "uint" and type.bits == 16 and stmt.op == "mul":
        return f"{place} = (uint16_t)((uint32_t){place} * {emit_expr(stmt.value, context, PREFIX)})"
    if type == F16 or (type.is_int and type.bits < 32):
        level = PRODUCT + 1 if stmt.op == "mul" else SUM + 1 if stmt.op == "add" else PREFIX
        return f"{place} = ({c_type(type)})({place} {sign} {emit_expr(stmt.value, context, level)})"
    return f"{place} {sign}= {emit_expr(stmt.value, context)}"
