"""Stores that add to what was there: `A[i] = A[i] + x` as a reduction.

>>> from planish.ir.expr import Var, index
>>> from planish.ir.types import F32
>>> x = Var("x", F32)
>>> accumulation("A", (index("i"),), Binary("add", Load("A", (index("i"),), F32), x), False) == ("add", x)
True
"""

from __future__ import annotations

from planish.ir.expr import Binary, Expr, Load, Unary, type_of
from planish.ir.nest import ReduceOp
from planish.ir.traverse import walk_expr

_REDUCTIONS: dict[str, ReduceOp] = {
    "add": "add", "sub": "add", "mul": "mul", "min": "min", "max": "max", "and": "and", "or": "or", "xor": "xor",
}  # fmt: skip


def accumulation(
    array: str, subscripts: tuple[Expr, ...], value: Expr, reassociate: bool
) -> tuple[ReduceOp, Expr] | None:
    """`(op, term)` where the value is `array[subscripts] op term` and the term does not read that element.

    With `reassociate` a sum of several terms may be split behind its first one.
    """
    if not isinstance(value, Binary) or value.op not in _REDUCTIONS:
        return None

    def itself(x: Expr) -> bool:
        return isinstance(x, Load) and x.array == array and x.index == subscripts

    def touches(x: Expr) -> bool:
        return any(itself(y) for y in walk_expr(x))

    type = type_of(value)
    op = _REDUCTIONS[value.op]
    if itself(value.left) and not touches(value.right):
        return op, Unary("neg", value.right) if value.op == "sub" else value.right
    if value.op != "sub" and itself(value.right) and not touches(value.left):
        return op, value.left
    if value.op in ("add", "sub") and isinstance(value.left, Binary) and (reassociate or type.is_int):
        inner = accumulation(array, subscripts, value.left, reassociate)
        if inner is not None and inner[0] == "add" and not touches(value.right):
            return "add", Binary(value.op, inner[1], value.right)
    return None
