"""Reduction idioms: `A[i] = A[i] + x` becomes a reduction.

>>> from planish.ir.expr import Var, index
>>> from planish.ir.types import F32
>>> x = Var("x", F32)
>>> accumulation("A", (index("i"),), Binary("add", Load("A", (index("i"),), F32), x), False) == ("add", x)
True
"""

from __future__ import annotations

from planish.ir.expr import Binary, Compare, Expr, Load, Select, Unary, type_of
from planish.ir.nest import ReduceOp
from planish.ir.passes.update_idioms import rest_of
from planish.ir.traverse import walk_expr

_REDUCTIONS: dict[str, ReduceOp] = {
    "add": "add", "sub": "add", "mul": "mul", "min": "min", "max": "max", "and": "and", "or": "or", "xor": "xor",
}  # fmt: skip


def accumulation(
    array: str, subscripts: tuple[Expr, ...], value: Expr, reassociate: bool
) -> tuple[ReduceOp, Expr] | None:
    """`(op, term)` where the value is `array[subscripts] op term` and the term does not read that element.

    What of two integers is beyond the other one is an extremum. With `reassociate` it is one of floats as well, of
    which zeros may get another sign, and a sum of several terms may be split behind its first one.
    """
    own = Load(array, subscripts, type_of(value))
    if isinstance(value, Select):
        return _extremum(value, own) if reassociate or own.type.is_int else None
    if not isinstance(value, Binary) or value.op not in _REDUCTIONS:
        return None
    if value.op == "sub":
        rest = value.right if value.left == own else None
    else:
        rest = rest_of(value, lambda x: x == own)
    if rest is not None and not _touches(rest, own):
        return _REDUCTIONS[value.op], Unary("neg", rest) if value.op == "sub" else rest
    if value.op in ("add", "sub") and isinstance(value.left, Binary) and (reassociate or own.type.is_int):
        inner = accumulation(array, subscripts, value.left, reassociate)
        if inner is not None and inner[0] == "add" and not _touches(value.right, own):
            return "add", Binary(value.op, inner[1], value.right)
    return None


def _extremum(value: Select, own: Load) -> tuple[ReduceOp, Expr] | None:
    """The choice of a term that is beyond the element, which else stays what it is."""
    if not isinstance(value.condition, Compare) or value.otherwise != own or _touches(value.then, own):
        return None
    test, term = value.condition, value.then
    compared = test.op, test.left, test.right
    if compared in (("gt", term, own), ("lt", own, term)):
        return "max", term
    return ("min", term) if compared in (("lt", term, own), ("gt", own, term)) else None


def _touches(expr: Expr, own: Load) -> bool:
    return any(x == own for x in walk_expr(expr))
