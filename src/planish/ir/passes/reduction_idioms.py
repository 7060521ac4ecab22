"""Reduction idioms: `A[i] = A[i] + x` becomes a reduction.

>>> from planish.ir.expr import Var, index
>>> from planish.ir.types import F32, I32, U32
>>> x = Var("x", F32)
>>> accumulation("A", (index("i"),), Binary("add", Load("A", (index("i"),), F32), x), False) == ("add", x)
True
>>> own = Load("A", (), F32)
>>> test = Binary("and", Var("c", BOOL), Compare("gt", x, own))
>>> accumulation("A", (), Select(test, x, own), True) == ("max", Select(Var("c", BOOL), x, Const(-math.inf, F32)))
True

>>> total = Cast(Binary("add", Cast(Load("s", (), I32), U32), Cast(Var("y", I32), U32)), I32)
>>> accumulation("s", (), total, False) == ("add", Var("y", I32))
True

A choice of an update, or of what is there, is an update with what changes nothing where it is not chosen:

>>> more = Binary("add", own, x)
>>> accumulation("A", (), Select(Var("c", BOOL), more, own), False) == (
...     "add", Select(Var("c", BOOL), x, Const(-0.0, F32)))
True
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import reduce
from typing import Literal

from planish.ir.expr import Binary, Cast, Compare, Const, Expr, Load, Select, Unary, type_of
from planish.ir.nest import Assign, Reduce, ReduceOp, Stmt
from planish.ir.passes.update_idioms import rest_of
from planish.ir.semantics.arithmetic import limits, wrap
from planish.ir.traverse import walk_expr
from planish.ir.types import BOOL, Type

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
    value = _of_one_width(value)
    if isinstance(value, Select):
        found = _extremum(value, own) if reassociate or own.type.is_int else None
        return found or _chosen(value, own, reassociate)
    if not isinstance(value, Binary) or value.op not in _REDUCTIONS:
        return None
    if value.op == "sub":
        rest = value.right if value.left == own else None
    elif value.op in ("min", "max") and reassociate and value.left == own:
        rest = value.right
    else:
        rest = rest_of(value, lambda x: x == own)
    if rest is not None and not _touches(rest, own):
        return _REDUCTIONS[value.op], Unary("neg", rest) if value.op == "sub" else rest
    if value.op in ("add", "sub") and isinstance(value.left, Binary) and (reassociate or own.type.is_int):
        inner = accumulation(array, subscripts, value.left, reassociate)
        if inner is not None and inner[0] == "add" and not _touches(value.right, own):
            return "add", Binary(value.op, inner[1], value.right)
    return None


def _of_one_width(value: Expr) -> Expr:
    """Of C: what is computed of integers without their signs, as nothing overflows then, is computed with these, whose
    sums and products have the same low bits here."""
    if not isinstance(value, Cast) or not value.type.is_int:
        return value
    found = _with_signs(value.operand, Type("uint", value.type.bits), value.type)
    return value if found is None else found


def _with_signs(value: Expr, plain: Type, type: Type) -> Expr | None:
    """A value of one type in another one of its width; None where it is not made of such."""
    match value:
        case Cast(operand=x) if value.type == plain and type_of(x) == type:
            return x
        case Const() if value.type == plain:
            return Const(wrap(int(value.value), type), type)
        case Binary(op="add" | "sub" | "mul" as op) if type_of(value) == plain:
            left, right = (_with_signs(x, plain, type) for x in (value.left, value.right))
            return None if left is None or right is None else Binary(op, left, right)
        case _:
            return None


def as_accumulation(stmt: Stmt, reassociate: bool) -> Stmt:
    """A statement as an accumulation where it is one; others stay."""
    if not isinstance(stmt, Assign):
        return stmt
    found = accumulation(stmt.array, stmt.index, stmt.value, reassociate)
    return stmt if found is None else Reduce(stmt.array, stmt.index, found[0], found[1], stmt.span, stmt.label)


def neutral(op: ReduceOp, type: Type) -> Const | None:
    """What an update leaves everything unchanged with, -0.0 for sums of floats; None where there is no such value.

    >>> found = [neutral(x, Type("float", 32)) for x in ("add", "max", "or")]
    >>> [x and x.value for x in found]
    [-0.0, -inf, None]
    """
    if type == BOOL:
        return Const(op == "and", BOOL) if op in ("and", "or", "xor") else None
    if type.is_float:
        known = {"add": -0.0, "mul": 1.0, "max": -math.inf, "min": math.inf}
        return Const(known[op], type) if op in known else None
    low, high = limits(type)
    all_bits = high if type.kind == "uint" else -1
    return Const({"add": 0, "mul": 1, "and": all_bits, "or": 0, "xor": 0, "max": low, "min": high}[op], type)


def _chosen(value: Select, own: Load, reassociate: bool) -> tuple[ReduceOp, Expr] | None:
    """The choice of what an update makes of the element, which else stays what it is."""
    if own not in (value.then, value.otherwise) or _touches(value.condition, own):
        return None
    kept = value.otherwise == own
    found = accumulation(own.array, own.index, value.then if kept else value.otherwise, reassociate)
    nothing = None if found is None else neutral(found[0], own.type)
    if found is None or nothing is None:
        return None
    return found[0], Select(value.condition, *((found[1], nothing) if kept else (nothing, found[1])))


def _extremum(value: Select, own: Load) -> tuple[ReduceOp, Expr] | None:
    """The choice of a term that is beyond the element, which else stays what it is. Where that is asked for under other
    conditions as well, it is of what nothing is beyond where these do not hold."""
    if value.otherwise != own or _touches(value.then, own):
        return None
    tests = [*_conjuncts(value.condition)]
    others = [x for x in tests if not _touches(x, own)]
    op = _beyond(tests[-1], value.then, own)
    if op is None or len(others) != len(tests) - 1:
        return None
    if not others:
        return op, value.then
    nothing = neutral(op, own.type)
    assert nothing is not None
    return op, Select(reduce(lambda x, y: Binary("and", x, y), others), value.then, nothing)


def _conjuncts(condition: Expr) -> Iterator[Expr]:
    match condition:
        case Binary(op="and", left=left, right=right) if type_of(condition) == BOOL:
            yield from _conjuncts(left)
            yield from _conjuncts(right)
        case _:
            yield condition


def _beyond(test: Expr, term: Expr, own: Load) -> Literal["min", "max"] | None:
    """The extremum that a term is where a test holds, and an element elsewhere."""
    if not isinstance(test, Compare):
        return None
    left, right = test.left, test.right
    match left, right:
        # Integers that are converted to a type that holds them all have the same order.
        case Cast(operand=x, type=wide), Cast(operand=y) if _holds(wide, type_of(x)) and type_of(x) == type_of(y):
            left, right = x, y
    compared = test.op, left, right
    if compared in (("gt", term, own), ("lt", own, term)):
        return "max"
    return "min" if compared in (("lt", term, own), ("gt", own, term)) else None


def _holds(wide: Type, narrow: Type) -> bool:
    if not (wide.is_int and narrow.is_int):
        return False
    (least, most), (low, high) = limits(wide), limits(narrow)
    return least <= low and high <= most


def _touches(expr: Expr, own: Load) -> bool:
    return any(x == own for x in walk_expr(expr))
