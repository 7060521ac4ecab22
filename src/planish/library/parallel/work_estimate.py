"""Estimates a nest's work as an expression over the sizes, to decide whether threads are worth their start.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_expr
>>> text = "kernel k(m, n; x: f32[m, n]) { for i in 0 .. m { for j in 0 .. n { x[i, j] = 0.0:f32 } } }"
>>> print_expr(estimate(parse_kernel(text).body))
'm * n'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planish.ir.expr import Binary, Call, Compare, Expr, Load, Select, Unary, index, type_of
from planish.ir.index.polynomial import add, floordiv, mul, place, sub
from planish.ir.nest import Alloc, Assign, Barrier, Block, For, If, Launch, Let, Reduce, Stmt, While
from planish.ir.traverse import loads, walk_expr
from planish.ir.types import INDEX

Count = Callable[[Stmt, Mapping[str, Expr]], Expr | None]
"""Counts something in a statement, with values for the names in it."""
FUNCTION = 16
"""The operations that a function of C's library is taken for."""
LONGEST = 40
"""The parts of an expression that is still worth asking."""


def estimate(block: Block) -> Expr | None:
    """The operations of a nest: stores, loads and what is computed, with the iterations of each loop in the middle of
    those around it; None where that has no short expression."""
    found = add_up(block, {}, _of_stmt)
    return found if found is not None and sum(1 for _ in walk_expr(found)) <= LONGEST else None


def add_up(block: Block, middle: Mapping[str, Expr], count: Count) -> Expr | None:
    """What is counted in the statements of a block, in all, with values for what is named in it; None where a count is
    not known."""
    out: Expr = index(0)
    for stmt in block.body:
        if isinstance(stmt, Let) and type_of(stmt.value) == INDEX and not loads(stmt.value):
            middle = {**middle, stmt.var: place(stmt.value, middle)}
        found = count(stmt, middle)
        if found is None:
            return None
        out = add(out, found)
    return out


def _of_stmt(stmt: Stmt, middle: Mapping[str, Expr]) -> Expr | None:
    match stmt:
        case For(lower=lower, upper=upper):
            if loads(lower) or loads(upper):
                return None
            first, end = place(lower, middle), place(upper, middle)
            inside = add_up(stmt.body, {**middle, stmt.var: floordiv(add(first, end), index(2))}, _of_stmt)
            return None if inside is None else mul(floordiv(sub(end, first), index(stmt.step)), inside)
        case Launch() | Barrier() | While():
            return None
        case If():
            then, otherwise = (add_up(x, middle, _of_stmt) for x in (stmt.then, stmt.otherwise))
            return None if then is None or otherwise is None else add(then, otherwise)
        case Block():
            return add_up(stmt, middle, _of_stmt)
        case Assign(value=value) | Reduce(value=value):
            return index(1 + isinstance(stmt, Reduce) + _work(value))
        case Let(value=value):
            return index(_work(value))
        case Alloc():
            return index(0)


def _work(value: Expr) -> int:
    """The operations of an expression, but for what is computed of indices."""
    parts = [x for x in walk_expr(value) if isinstance(x, Call | Load | Binary | Unary | Compare | Select)]
    return sum(FUNCTION if isinstance(x, Call) else 1 for x in parts if _counts(x))


def _counts(part: Expr) -> bool:
    operand = part.left if isinstance(part, Compare) else part
    return type_of(operand) != INDEX
