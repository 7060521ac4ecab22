"""Collapsed loops: `for t < m * n` with row `t / n` and column `t % n` is read as the loops it means.

A quotient is carried out where the rest is seen to lie below the divisor. Where it is the counter of a loop that is
divided, the translation starts again with that loop taken apart, and then the rest is a counter of its own:

>>> h, w = Var("h", INDEX), Var("w", INDEX)
>>> whole = Enclosing("t", index(0), mul(mul(Var("c", INDEX), h), w))
>>> [x is whole for x in loops_of(whole, (), None)[0]]
[True]
"""

from __future__ import annotations

from itertools import pairwise

from planish.frontend.c.translate.state import Again, CTranslation, Enclosing
from planish.ir.expr import Expr, Var, index
from planish.ir.index.polynomial import add, constant, divided, exact_quotient, mul, names, show, sub
from planish.ir.types import INDEX


def carried_out(dividend: Expr, divisor: Expr, cx: CTranslation) -> tuple[Expr, Expr] | None:
    """The quotient and rest of a division by a positive number, as sums without divisions; None: not seen."""
    if any("@" in name for name in names(dividend)):
        return None
    quotient, rest = divided(dividend, divisor)
    before = list(cx.assumptions)
    low, high = cx.lowest(rest), cx.highest(rest)
    if low is not None and high is not None:
        room = constant(sub(sub(divisor, index(1)), high))
        if (constant(low) or 0) >= 0 and constant(low) is not None and room is not None and room >= 0:
            return quotient, rest
    cx.assumptions[:] = before
    return None


def take_apart(op: str, dividend: Expr, divisor: Expr, cx: CTranslation) -> None:
    """Start again where a loop's counter is divided and the loop is a whole number of rows long.

    Rows of a fixed length are wanted in the form of a quotient and of a remainder before that is done: one of both
    alone picks every so many iterations, and is left as it is. Raises Again.
    """
    if cx.dry:
        return
    _, rest = divided(dividend, divisor)
    loop = next((it for it in cx.iterators if rest == Var(it.name, INDEX)), None)
    if loop is None or constant(loop.lower) != 0 or exact_quotient(loop.upper, divisor) is None:
        return
    if names(divisor) & {it.name for it in cx.iterators}:
        return
    if constant(divisor) is not None:
        seen = cx.divisions.setdefault((loop.name, divisor), set())
        seen.add(op)
        if len(seen) < 2:
            return
    raise Again(fold=(loop.node, mul(loop.stride, divisor)))


def loops_of(whole: Enclosing, divisors: tuple[Expr, ...], cx: CTranslation) -> tuple[list[Enclosing], Expr]:
    """The loops, outermost first, that a loop from 0 by 1 stands for, and the value of its counter in them."""
    if not divisors:
        return [whole], Var(whole.name, INDEX)
    loops: list[Enclosing] = []
    value: Expr = index(0)
    for level, (larger, smaller) in enumerate(pairwise((whole.upper, *divisors, index(1)))):
        extent = exact_quotient(larger, smaller)
        assert extent is not None, f"{show(larger)} is no multiple of {show(smaller)}"
        if level:
            cx.assume(sub(extent, index(1)))
        name = cx.fresh(f"{whole.name}_{level}")
        loops.append(Enclosing(name, index(0), extent, whole.node, smaller))
        value = add(value, mul(Var(name, INDEX), smaller))
    return loops, value
