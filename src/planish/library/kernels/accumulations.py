"""Recognises accumulation statements: their addends as products of factors, and how rows of these lie.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_expr
>>> text = "kernel k(n; w: f64[n], x: f64[2 * n]) { for k in 0 .. n { w[k] = w[k] - 0.5 * x[2 * k] } }"
>>> loop, update = single_update(parse_kernel(text).body.body[0])
>>> negative, factors = factors_of(added_by(update))
>>> negative, *map(print_expr, factors), pace(factors[1], "k")
(True, '0.5:f64', 'x[2 * k]', 2)
"""

from __future__ import annotations

from planish.ir.expr import Binary, Expr, Load, Unary
from planish.ir.index.polynomial import coefficient_of
from planish.ir.nest import Assign, Block, For, Reduce, Stmt
from planish.ir.traverse import loads
from planish.schedule.auto.rewrites.rematerialise import are_same

Update = Assign | Reduce


def single_update(stmt: Stmt) -> tuple[For, Update] | None:
    """A loop over one statement, and this."""
    match stmt:
        case For(step=1, body=Block(body=(Assign() | Reduce() as update,))) if not stmt.facts.instruction:
            return stmt, update
        case _:
            return None


def added_by(update: Update) -> Expr | None:
    """The addend of an accumulation statement; None where it is none."""
    if isinstance(update, Reduce):
        return update.value if update.op == "add" else None
    match update.value:
        case Binary(op="add" | "sub", left=Load(array=name) as own, right=x) if name == update.array:
            added: Expr = x if update.value.op == "add" else Unary("neg", x)
        case Binary(op="add", left=x, right=Load(array=name) as own) if name == update.array:
            added = x
        case _:
            return None
    return added if are_same(own, Load(update.array, update.index, own.type)) else None


def factors_of(value: Expr) -> tuple[bool, list[Expr]]:
    """Whether a product is negative, and its factors."""
    match value:
        case Unary(op="neg", operand=x):
            negative, factors = factors_of(x)
            return not negative, factors
        case Binary(op="mul", left=a, right=b):
            (negative, left), (other, right) = factors_of(a), factors_of(b)
            return negative != other, left + right
        case _:
            return False, [value]


def is_row(load: Load, var: str) -> bool:
    """Whether neighbours in a loop are neighbours in memory."""
    return pace(load, var) == 1 and not any(loads(x) for x in load.index)


def pace(load: Load, var: str) -> int | None:
    """By how many elements of its row a load goes on in a loop; None where it goes on in another way."""
    moved = [coefficient_of(x, var) for x in load.index]
    known = [x[0] for x in moved if x is not None]
    return known[-1] if known and len(known) == len(moved) and not any(known[:-1]) else None
