"""Expressions as C11: exact widths kept by casts, parentheses only where C or its compilers' warnings want them.

>>> from planish.ir.text.parser import parse_expr
>>> emit_expr(parse_expr("A[i, j + 1]:f64 * (x:f64 - 2.5) + f64(i // 4)"))
'A[i][j + 1] * (x - 2.5) + (double)(i >> 2)'
"""

from __future__ import annotations

import math
from typing import assert_never

import numpy as np

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.emit.c.context import EmitContext
from planish.emit.idioms.floor_division import rounded, tested
from planish.emit.idioms.math_functions import LANE_FUNCTIONS
from planish.emit.idioms.minmax import clamped, narrowed
from planish.ir.expr import (
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
from planish.ir.index.polynomial import add, mul
from planish.ir.types import BF16, BOOL, F16, F32, F64, I32, I64, Type

TERNARY, OR, AND, BIT_OR, BIT_XOR, BIT_AND, EQUALITY, RELATION, SHIFT, SUM, PRODUCT, PREFIX, POSTFIX = range(3, 16)
"""How tightly C's operators bind."""

_SIGNS: dict[BinaryOp, tuple[str, int]] = {
    "add": ("+", SUM), "sub": ("-", SUM), "mul": ("*", PRODUCT), "div": ("/", PRODUCT), "quo": ("/", PRODUCT),
    "rem": ("%", PRODUCT), "and": ("&", BIT_AND), "or": ("|", BIT_OR), "xor": ("^", BIT_XOR),
    "shl": ("<<", SHIFT), "shr": (">>", SHIFT),
}  # fmt: skip

_COMPARISONS = {
    "eq": ("==", EQUALITY), "ne": ("!=", EQUALITY), "lt": ("<", RELATION), "le": ("<=", RELATION),
    "gt": (">", RELATION), "ge": (">=", RELATION),
}  # fmt: skip


def c_type(type: Type) -> str:
    """C's name of a type; bf16 values are held as their bits, since C has no name for them: in a type of the prologue
    that may stand for what compilers have a type of their own for."""
    match type.kind:
        case "bool":
            return "_Bool"
        case "int" | "uint":
            return f"{type.kind}{type.bits}_t"
        case "float":
            return {16: "_Float16", 32: "float", 64: "double"}[type.bits]
        case "bfloat":
            return "planish_bf16"
        case _:
            assert_never(type.kind)


def refuse_bf16(type: Type) -> None:
    """PlanishError E0710 where something is computed in bf16, of which C has but the bits."""
    if type == BF16:
        advice = "convert them to f32 where they are read, and back where they are stored"
        raise PlanishError(Diagnostic("E0710", "C does not compute with bf16 values", help=advice))


def emit_expr(expr: Expr, context: EmitContext | None = None, level: int = 0) -> str:
    """The expression in C, in parentheses unless it binds at least as tightly as `level`."""
    text, own = _form(expr, context or EmitContext())
    return text if own >= level else f"({text})"


def emit_place(array: str, index: tuple[Expr, ...], context: EmitContext) -> str:
    """An element: `A[i][j]`, `*s` for a cell behind a pointer, `s` for a local one."""
    return _place(array, index, context)[0]


def _place(array: str, index: tuple[Expr, ...], context: EmitContext) -> tuple[str, int]:
    name = context.names.get(array, array)
    if not index:
        return (f"*{name}", PREFIX) if array in context.cells else (name, POSTFIX)
    index = (_linear(index, context.flat[array]),) if array in context.flat else index
    return name + "".join(f"[{emit_expr(x, context)}]" for x in index), POSTFIX


def _linear(index: tuple[Expr, ...], shape: tuple[Expr | None, ...]) -> Expr:
    """The number of an element in memory, row after row."""
    out = index[0]
    for extent, at in zip(shape[1:], index[1:], strict=True):
        assert extent is not None, "only the first extent may be unknown"
        out = add(mul(out, extent), at)
    return out


def _form(expr: Expr, context: EmitContext) -> tuple[str, int]:
    match expr:
        case Const():
            return literal(expr)
        case Var(name=name):
            return context.names.get(name, name), POSTFIX
        case Load(array=array, index=index):
            return _place(array, index, context)
        case Unary():
            return _unary(expr, context)
        case Binary():
            return _binary(expr, context)
        case Compare(op=op, left=left, right=right):
            refuse_bf16(type_of(left))
            left, right = tested(op, left, right, context)
            sign, own = _COMPARISONS[op]
            # Compilers warn of comparisons of comparisons, so those get parentheses whatever the precedence.
            return f"{emit_expr(left, context, SHIFT)} {sign} {emit_expr(right, context, SHIFT)}", own
        case Select(condition=condition, then=then, otherwise=otherwise):
            whole = clamped(expr)
            if whole is not None:
                return _form(whole, context)
            parts = [emit_expr(x, context, TERNARY + 1) for x in (condition, then, otherwise)]
            return f"{parts[0]} ? {parts[1]} : {parts[2]}", TERNARY
        case Cast(operand=operand, type=type):
            if type_of(operand) == type and not isinstance(operand, Const):
                return _form(operand, context)
            if (extremum := narrowed(expr)) is not None:
                return _form(extremum, context)
            if BF16 in (type, type_of(operand)):
                return _bf16(operand, type, context)
            if type == I32 and context.low and (low := low_bits(operand, context)):
                return f"(int32_t)({low})", PREFIX
            if type.is_int and isinstance(operand, Binary) and operand.op in ("floordiv", "mod"):
                # What was divided in a narrower type is not widened to be cut off.
                plain = rounded(operand, context)
                operand = plain.operand if isinstance(plain, Cast) else operand
            return f"({c_type(type)}){emit_expr(operand, context, PREFIX)}", PREFIX
        case Call():
            return _call(expr, context)
        case _:
            assert_never(expr)


def low_bits(expr: Expr, context: EmitContext) -> str:
    """The low 32 bits of a sum of iterators and numbers, in C of which nothing is wider; "" for anything else."""
    match expr:
        case Var(name=name, type=type) if type == I64:
            return context.low.get(name, f"(uint32_t){context.names.get(name, name)}")
        case Const(value=value):
            return f"{int(value) % (1 << 32)}u"
        case Binary(op="add" | "sub" as op, left=left, right=right):
            parts = low_bits(left, context), low_bits(right, context)
            sign = "+" if op == "add" else "-"
            return f"({parts[0]} {sign} {parts[1]})" if all(parts) else ""
        case _:
            return ""


def _bf16(operand: Expr, type: Type, context: EmitContext) -> tuple[str, int]:
    """A conversion from bf16, or of a float to it."""
    if type != BF16:
        text = f"planish_from_bf16({emit_expr(operand, context)})"
        return (text, POSTFIX) if type == F32 else (f"({c_type(type)}){text}", PREFIX)
    if type_of(operand) not in (F16, F32):
        # By way of f32 it would be rounded twice.
        refuse_bf16(type)
    return f"planish_to_bf16({emit_expr(operand, context)})", POSTFIX


def literal(const: Const, wide: bool = False) -> tuple[str, int]:
    """A literal and how tightly it binds; `wide` makes a small i64 literal 64 bits wide."""
    value, type = const.value, const.type
    if type == BOOL:
        return ("1" if value else "0"), POSTFIX
    if type.is_int:
        return _integer(int(value), type, wide)
    if type == BF16:
        # Every bf16 value is the upper half of an f32 value.
        return f"0x{int(np.float32(value).view(np.uint32)) >> 16:04x}", POSTFIX
    number = float(value)
    if type != F64 and math.isfinite(number):
        number = float(np.dtype(type.numpy).type(number))
    if math.isnan(number):
        text = "NAN"
    elif math.isinf(number):
        text = "-INFINITY" if number < 0 else "INFINITY"
    elif type == F64:
        text = repr(number)
    else:
        # Every f16 value is an f32 value, and the shortest decimal of an f32 value reads back exactly.
        text = str(np.float32(number)) + "f"
    if type == F16 or (type == F64 and not math.isfinite(number)):
        return f"({c_type(type)}){text}", PREFIX
    return text, PREFIX if text[0] == "-" else POSTFIX


def _integer(value: int, type: Type, wide: bool) -> tuple[str, int]:
    if type.kind == "uint":
        return f"{value}{'u' if type.bits == 32 else 'ull' if type.bits == 64 else ''}", POSTFIX
    suffix = "ll" if type.bits == 64 and (wide or not -(1 << 31) < value < 1 << 31) else ""
    if value == -(1 << (type.bits - 1)) and type.bits >= 32:
        return f"-{-value - 1}{suffix} - 1", SUM
    return f"{value}{suffix}", PREFIX if value < 0 else POSTFIX


def _literal_only(expr: Expr) -> bool:
    """Whether C would take the expression, of type i64, for an `int` since no wider operand occurs in it."""
    match expr:
        case Const():
            return True
        case Unary(operand=x):
            return _literal_only(x)
        case Binary(op=op, left=a, right=b):
            called = op in ("min", "max", "floordiv", "mod")
            return not called and _literal_only(a) and (op in ("shl", "shr") or _literal_only(b))
        case Select(then=a, otherwise=b):
            return _literal_only(a) and _literal_only(b)
        case Var() | Load() | Compare() | Cast() | Call():
            return False
        case _:
            assert_never(expr)


def _widened(expr: Expr, context: EmitContext, level: int) -> str:
    """An i64 operand as 64 bits wide whatever C takes it for."""
    if isinstance(expr, Const):
        text, own = literal(expr, wide=True)
        return text if own >= level else f"({text})"
    return f"(int64_t){emit_expr(expr, context, PREFIX)}"


def _narrowed(text: str, own: int, type: Type) -> tuple[str, int]:
    """The result of an operation that C did in `int`, or that may carry excess precision, at its own width."""
    if type == F16 or (type.is_int and type.bits < 32):
        return f"({c_type(type)}){text if own >= PREFIX else f'({text})'}", PREFIX
    return text, own


def _unary(expr: Unary, context: EmitContext) -> tuple[str, int]:
    type = type_of(expr)
    refuse_bf16(type)
    operand = emit_expr(expr.operand, context, PREFIX)
    match expr.op:
        case "not":
            return f"!{operand}", PREFIX
        case "bitnot":
            text = f"~{operand}"
        case "neg":
            # Two minus signs in a row would read as a decrement.
            text = f"-({operand})" if operand[0] == "-" else f"-{operand}"
        case _:
            assert_never(expr.op)
    return (text, PREFIX) if type.is_float else _narrowed(text, PREFIX, type)


def helper_suffix(type: Type) -> str:
    """What tells apart the helper functions of different types; those of INDEX have none."""
    return "" if type == I64 else f"_{type}"


def _binary(expr: Binary, context: EmitContext) -> tuple[str, int]:
    op, left, right = expr.op, expr.left, expr.right
    type = type_of(expr)
    refuse_bf16(type)
    if op == "add" and type.is_int:
        # The least number has no opposite in C, though it may be subtracted.
        op, left, right = _subtracted(left, right)
    if op == "min" or op == "max":
        text = f"planish_{op}{helper_suffix(type)}({emit_expr(left, context)}, {emit_expr(right, context)})"
        return text, POSTFIX
    if op == "floordiv" or op == "mod":
        plain = rounded(expr, context)
        if plain is None:
            text = f"planish_{op}({emit_expr(left, context)}, {emit_expr(right, context)})"
            return (text, POSTFIX) if type == I64 else (f"({c_type(type)}){text}", PREFIX)
        if not isinstance(plain, Binary):
            return _form(plain, context)
        op, left, right = plain.op, plain.left, plain.right
    if type == BOOL and op != "xor":
        sign, own = ("&&", AND) if op == "and" else ("||", OR)
        # Compilers ask for parentheses around `&&` within `||`.
        inner = AND if op == "and" else BIT_OR
        a = emit_expr(left, context, own if isinstance(left, Binary) and left.op == op else inner)
        return f"{a} {sign} {emit_expr(right, context, inner)}", own
    sign, own = _SIGNS[op]
    bits = own in (BIT_OR, BIT_XOR, BIT_AND, SHIFT)
    chained = isinstance(left, Binary) and left.op == op and op not in ("shl", "shr")
    level = PREFIX if bits and not chained else own
    if type == I64 and _literal_only(left) and (own == SHIFT or _literal_only(right)):
        a = _widened(left, context, level)
    else:
        a = emit_expr(left, context, level)
    if op == "mul" and type.kind == "uint" and type.bits == 16:
        a = f"(uint32_t){emit_expr(left, context, PREFIX)}"
    b = emit_expr(right, context, PREFIX if bits else own + 1)
    # A minus that follows a minus would read as a decrement.
    text = f"{a} {sign} ({b})" if op == "sub" and b[0] == "-" else f"{a} {sign} {b}"
    if op == "mul" and type.is_float and context.apart:
        return f"planish_rounded({text})", POSTFIX
    exact = op in ("and", "or", "xor", "shr", "rem")
    return (text, own) if exact else _narrowed(text, own, type)


def _subtracted(left: Expr, right: Expr) -> tuple[BinaryOp, Expr, Expr]:
    """A sum of integers, as a difference where one of both is an opposite."""
    match left, right:
        case _, Unary(op="neg", operand=taken):
            return "sub", left, taken
        case Unary(op="neg", operand=taken), _:
            return "sub", right, taken
        case _:
            return "add", left, right


def _call(call: Call, context: EmitContext) -> tuple[str, int]:
    type = type_of(call)
    refuse_bf16(type)
    arguments = ", ".join(emit_expr(x, context) for x in call.arguments)
    if call.function == "abs":
        if type.kind == "uint":
            return emit_expr(call.arguments[0], context, POSTFIX), POSTFIX
        return _narrowed(f"{'llabs' if type.bits == 64 else 'abs'}({arguments})", POSTFIX, type)
    name = call.function if type == F64 else f"{call.function}f"
    if context.lanes and f"planish_{name}" in LANE_FUNCTIONS:
        name = f"planish_{name}"
    return _narrowed(f"{name}({arguments})", POSTFIX, type)
