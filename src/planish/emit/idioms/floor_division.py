"""Floor division in the operators of C, which truncate (section 5.10 of the paper).

Which operator it becomes depends on what is known: `/` and `%` where the compiler sees that nothing is negative, shifts
and masks for powers of two, unsigned division where only we know that nothing is negative.

>>> from planish.ir.text.parser import parse_expr
>>> from planish.ir.text.printer import print_expr
>>> print_expr(rounded(parse_expr("i % 8"), EmitContext()))
'i & 7'
>>> rounded(parse_expr("i % 6"), EmitContext()) is None
True
"""

from __future__ import annotations

from planish.emit.c.context import EmitContext
from planish.ir.expr import Binary, Cast, CompareOp, Const, Expr, type_of
from planish.ir.index.congruence import known_modulo, residue_of
from planish.ir.index.interval import range_of
from planish.ir.semantics.arithmetic import limits
from planish.ir.types import I64, U32, U64


def rounded(expr: Binary, context: EmitContext) -> Expr | None:
    """A `floordiv` or `mod` by means of C's operators; None where no single one of them does it."""
    left, right, type = expr.left, expr.right, type_of(expr)
    whole = expr.op == "floordiv"
    plain = Binary("quo" if whole else "rem", left, right)
    if type.kind == "uint":
        return plain
    if range_of(right, context.seen)[0] > 0 and range_of(left, context.seen)[0] >= 0:
        return _short(plain, context) or plain
    divisor = _positive(right)
    if divisor == 1:
        return left if whole else Const(0, type)
    if divisor is not None and divisor & (divisor - 1) == 0:
        # Every compiler that we support shifts copies of the sign in, which rounds down; a mask takes any sign.
        bits = divisor.bit_length() - 1
        return Binary("shr", left, Const(bits, type)) if whole else Binary("and", left, Const(divisor - 1, type))
    if range_of(right, context.known)[0] > 0 and range_of(left, context.known)[0] >= 0:
        if (short := _short(plain, context)) is not None:
            return short
        # Compilers spend two to four instructions on the sign of a dividend; this tells them that it has none.
        unsigned = type == I64 and divisor is not None
        return Cast(_unsigned(plain.op == "quo", left, divisor), type) if unsigned and divisor is not None else plain
    if whole and divisor is not None and known_modulo(residue_of(left, context.residues), divisor) == 0:
        return plain
    return None


def _short(plain: Binary, context: EmitContext) -> Cast | None:
    """A division of indices, neither of which is negative, in 32 bits where these hold both: processors take two to
    four times as long for 64, and have no lanes for it. None where they do not, where the compiler sees that they do,
    and for powers of two."""
    both, most, divisor = (plain.left, plain.right), limits(U32)[1], _positive(plain.right)
    if type_of(plain) != I64 or any(range_of(x, context.known)[1] > most for x in both):
        return None
    if all(range_of(x, context.seen)[1] <= most for x in both) and range_of(plain.left, context.seen)[0] >= 0:
        return None
    if divisor is not None and divisor & (divisor - 1) == 0:
        return None
    left, right = (Const(x.value, U32) if isinstance(x, Const) else Cast(x, U32) for x in both)
    return Cast(Binary(plain.op, left, right), I64)


def tested(op: CompareOp, left: Expr, right: Expr, context: EmitContext) -> tuple[Expr, Expr]:
    """The sides of a comparison, where a remainder is compared with a constant: whether it is zero, C's `%` can tell
    of either sign."""
    match op, left, right:
        case "eq" | "ne", Binary(op="mod", left=dividend, right=Const() as modulus), Const(value=value):
            divisor, remainder = _positive(modulus), int(value)
        case _:
            return left, right
    type, low = type_of(dividend), range_of(dividend, context.known)[0]
    if divisor is None or type.kind == "uint" or not 0 <= remainder < divisor:
        return left, right
    if range_of(dividend, context.seen)[0] >= 0:
        return left, right
    if remainder == 0 and (low < 0 or type != I64 or divisor & (divisor - 1) == 0):
        return Binary("rem", dividend, modulus), right
    if divisor & (divisor - 1) == 0:
        return left, right
    if low >= 0 and (short := _short(Binary("rem", dividend, modulus), context)) is not None:
        return short.operand, Const(remainder, U32)
    if low >= 0 and type == I64:
        return _unsigned(False, dividend, divisor), Const(remainder, U64)
    if low - remainder >= limits(type)[0]:
        return Binary("rem", Binary("sub", dividend, right), modulus), Const(0, type)
    return left, right


def _unsigned(whole: bool, dividend: Expr, divisor: int) -> Expr:
    return Binary("quo" if whole else "rem", Cast(dividend, U64), Const(divisor, U64))


def _positive(expr: Expr) -> int | None:
    """The value of a positive constant."""
    return int(expr.value) if isinstance(expr, Const) and expr.value > 0 else None
