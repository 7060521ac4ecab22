"""Congruences: the residue class of an integer expression, from those of the names in it.

A residue `(m, r)` says that the value is r plus a multiple of m: `(1, 0)` says nothing, `(0, r)` that it is r.

>>> from planish.ir.expr import Binary, Const, Var
>>> from planish.ir.types import INDEX
>>> residue_of(Binary("add", Var("i", INDEX), Const(3, INDEX)), {"i": (64, 0)})
(64, 3)
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import assert_never

from planish.ir.expr import Binary, BinaryOp, Call, Cast, Compare, Const, Expr, Load, Select, Unary, Var, type_of
from planish.ir.types import INDEX

Residue = tuple[int, int]
"""Modulus (not negative) and remainder (below the modulus, unless that is 0)."""

Residues = Mapping[str, Residue]

ANY: Residue = (1, 0)


def residue(modulus: int, remainder: int) -> Residue:
    """The residue in its normal form."""
    modulus = abs(modulus)
    return (modulus, remainder % modulus) if modulus else (0, remainder)


def known_modulo(known: Residue, divisor: int) -> int | None:
    """The remainder of a value of that residue by a positive divisor, where it is determined."""
    modulus, remainder = known
    return remainder % divisor if modulus % divisor == 0 else None


def residue_of(expr: Expr, known: Residues) -> Residue:
    """The residue of an index expression (taken not to overflow); of any other type, nothing is known."""
    if type_of(expr) != INDEX:
        return ANY
    match expr:
        case Const(value=value):
            return 0, int(value)
        case Var(name=name):
            return known.get(name, ANY)
        case Unary(op="neg", operand=x):
            modulus, remainder = residue_of(x, known)
            return residue(modulus, -remainder)
        case Binary(op=op, left=left, right=right):
            return _combine(op, residue_of(left, known), residue_of(right, known))
        case Select(then=x, otherwise=y):
            return _either(residue_of(x, known), residue_of(y, known))
        case Cast() | Load() | Unary() | Compare() | Call():
            return ANY
        case _:
            assert_never(expr)


def _combine(op: BinaryOp, a: Residue, b: Residue) -> Residue:
    match op:
        case "add":
            return residue(gcd(a[0], b[0]), a[1] + b[1])
        case "sub":
            return residue(gcd(a[0], b[0]), a[1] - b[1])
        case "mul":
            return residue(gcd(a[0] * b[0], a[0] * b[1], b[0] * a[1]), a[1] * b[1])
        case "min" | "max":
            return _either(a, b)
        case "floordiv" if b[0] == 0 and b[1] > 0:
            return residue(a[0] // b[1], a[1] // b[1]) if a[0] % b[1] == 0 else ANY
        case "mod" if b[0] == 0 and b[1] > 0:
            return (0, a[1] % b[1]) if a[0] % b[1] == 0 else residue(gcd(a[0], b[1]), a[1])
        case _:
            return ANY


def _either(a: Residue, b: Residue) -> Residue:
    """What holds of a value that is in one class or the other."""
    return residue(gcd(a[0], b[0], a[1] - b[1]), a[1])
