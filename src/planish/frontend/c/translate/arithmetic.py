"""C's rules of promotion and conversion, written out as casts.

>>> type_of(convert(Const(1, I32), F64)), common(I8, I32) == I32, common(I32, U32) == U32
(Type(kind='float', bits=64), True, True)
"""

from __future__ import annotations

import math
import re
from contextlib import suppress

from pycparser import c_ast

from planish.frontend.c.numbers.real_constants import real_constant
from planish.frontend.c.translate.state import Refused
from planish.frontend.c.types.constants import parse_character, parse_integer, walk_tree
from planish.ir.expr import Binary, Cast, Compare, Const, Expr, Select, Unary, Var, type_of
from planish.ir.index.polynomial import add, sub
from planish.ir.semantics.arithmetic import rounding
from planish.ir.traverse import loads
from planish.ir.types import BF16, BOOL, F32, F64, I8, I32, I64, INDEX, U32, U64, Type

_REAL = re.compile(
    r"(0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)([fF]?)"
)
"""A floating-point literal of a type that is handled: its digits, and what makes it a float."""
_MOST_SINGLE = 3.4028235677973366e38
"""From here on a number is rounded to an infinite float."""


def promoted(type: Type) -> Type:
    """The integer promotions: what is narrower than int becomes int."""
    return I32 if type.kind == "bool" or (type.is_int and type.bits < 32) else type


def common(a: Type, b: Type) -> Type:
    """The usual arithmetic conversions: the type in which two operands meet."""
    a, b = promoted(a), promoted(b)
    if a.is_float or b.is_float:
        return max((t for t in (a, b) if t.is_float), key=lambda t: t.bits)
    if a.bits != b.bits:
        return max(a, b, key=lambda t: t.bits)
    return a if a.kind == "uint" else b


def wrap(value: int, type: Type) -> int:
    """An integer brought into the range of an integer type, as conversion does.

    >>> wrap(255, I8)
    -1
    """
    value &= (1 << type.bits) - 1
    return value - (1 << type.bits) if type.kind == "int" and value >> (type.bits - 1) else value


def fits(value: int, type: Type) -> bool:
    """Whether an integer type holds the value as it is."""
    return wrap(value, type) == value


def plain_index(value: Expr) -> Expr | None:
    """The index expression that a number is, which reads no data; None where it is none. Sums with a sign stay in their
    type, or have no meaning.

    >>> from planish.ir.index.polynomial import show
    >>> show(plain_index(Binary("sub", Cast(Var("x", INDEX), I32), Const(1, I32))))
    'x - 1'
    """
    match value:
        case Const(value=number, type=type) if type.is_int:
            return Const(int(number), INDEX)
        case Cast(operand=Var() | Unary() | Binary() | Select() as inner) if type_of(inner) == INDEX:
            return None if loads(inner) else inner
        case Binary(op="add" | "sub" as op, left=left, right=right) if type_of(value).kind == "int":
            a, b = plain_index(left), plain_index(right)
            return None if a is None or b is None else (add if op == "add" else sub)(a, b)
        case _:
            return None


def convert(expr: Expr, type: Type) -> Expr:
    """The expression converted to `type`; literals are converted here and now."""
    source = type_of(expr)
    if source == type:
        return expr
    if type == BOOL:
        return truth(expr)
    if isinstance(expr, Const) and not isinstance(expr.value, bool):
        if type.is_float and (source.is_int or source.is_float) and source.bits <= 64:
            exact = source.is_float or abs(expr.value) < 1 << 24
            if exact and (type.bits >= 32):
                # `0.4f` is no 0.4 as a double.
                return Const(float(rounding(source)(expr.value) if source.is_float else expr.value), type)
        if type.is_int and source.is_int:
            return Const(wrap(int(expr.value), type), type)
    if type.is_int and source.is_float and (value := real_constant(expr)) is not None:
        number = math.trunc(value)
        return Const(number, type) if fits(number, type) else Cast(expr, type)
    return Cast(expr, type)


def truth(expr: Expr) -> Expr:
    """Whether a value differs from zero."""
    type = type_of(expr)
    if type == BOOL:
        return expr
    if isinstance(expr, Cast) and type_of(expr.operand) == BOOL:
        return expr.operand
    if isinstance(expr, Const):
        return Const(bool(expr.value), BOOL)
    if type == BF16:
        expr, type = Cast(expr, F32), F32
    return Compare("ne", expr, Const(0.0 if type.is_float else 0, type))


def conjunction(conditions: list[Expr]) -> Expr:
    """All of the conditions, in order."""
    out = conditions[0]
    for condition in conditions[1:]:
        out = Binary("and", out, condition)
    return out


def literal(kind: str, text: str) -> Const:
    """A C literal. Raises Refused for strings, constants of several characters, long doubles and imaginary numbers."""
    if text.startswith("'"):
        return Const(_character(text), I32)
    if "int" in kind:
        value, suffix = parse_integer(text), re.sub(r"^(0[xX][0-9a-fA-F]+|[0-9]+)", "", text).lower()
        decimal = not text.startswith("0") or text == "0"
        candidates = [I32, U32, I64, U64]
        if "u" in suffix:
            candidates = [U32, U64]
        elif decimal:
            candidates = [I32, I64]
        if "l" in suffix:
            candidates = [t for t in candidates if t.bits == 64]
        for type in candidates:
            if fits(value, type):
                return Const(value, type)
        raise Refused("scop-literal", f"the literal {text} does not fit an integer type")
    if kind in ("float", "double") or re.fullmatch(r"[0-9.].*", text):
        parts = _REAL.fullmatch(text)
        if parts is None:
            raise Refused("scop-type", f"the literal {text} has a type that Planish does not handle")
        digits, real = parts[1], F32 if parts[2] else F64
        number = float.fromhex(digits) if digits.lower().startswith("0x") else float(digits)
        if math.isinf(number) or (real == F32 and number >= _MOST_SINGLE):
            raise Refused("scop-literal", f"the literal {text} does not fit a floating-point type")
        return Const(number, real)
    raise Refused("scop-literal", f"the literal {text} is not a number")


def _character(text: str) -> int:
    value = parse_character(text)
    return wrap(value, I8) if value is not None else _no_character(text)


def remove_signs(tree: c_ast.Node) -> None:
    """Makes numbers of the characters of a file above 127, where a plain `char` has no sign.

    >>> from pycparser.c_parser import CParser
    >>> tree = CParser().parse(r"int a = '\\xe9' + 'z';")
    >>> remove_signs(tree)
    >>> tree.ext[0].init.left.value, tree.ext[0].init.right.value
    ('233', "'z'")
    """
    for node in walk_tree(tree):
        if isinstance(node, c_ast.Constant) and node.type == "char" and node.value.startswith("'"):
            with suppress(Refused):
                value = _character(node.value)
                if value < 0:
                    node.type, node.value = "int", str(value & 255)


def _no_character(text: str) -> int:
    raise Refused("scop-literal", f"the character {text} is not a single one")


def folded(op: str, a: Const, b: Const) -> Const | None:
    """Integer arithmetic on literals, where the result is defined and in range."""
    if not (a.type.is_int and b.type.is_int) or isinstance(a.value, bool) or isinstance(b.value, bool):
        return None
    x, y = int(a.value), int(b.value)
    match op:
        case "add":
            value = x + y
        case "sub":
            value = x - y
        case "mul":
            value = x * y
        case "quo" if y != 0:
            value = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        case "shl" if 0 <= y < a.type.bits and x >= 0:
            value = x << y
        case "shr" if 0 <= y < a.type.bits:
            value = x >> y
        case "and":
            value = x & y
        case "or":
            value = x | y
        case _:
            return None
    return Const(value, a.type) if fits(value, a.type) else None
