"""Subscripts that wrap around: `(i + 1) % n` as a choice between `i + 1` and `i + 1 - n`, which are both affine.

A remainder is such a choice where the dividend is seen to stay within a few multiples of the divisor, over all
iterations and for all sizes but some small ones, which are sent elsewhere when the kernel is called.

>>> from planish.ir.expr import Var
>>> from planish.ir.polynomial import add, show
>>> i, n = Var("i", INDEX), Var("n", INDEX)
>>> choice = remainder(add(i, index(1)), n, 0, 2)
>>> [show(x) for x in outcomes(choice)]
['i + 1', 'i - n + 1']
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planish.frontend.c.state import Translation
from planish.ir.expr import Binary, Compare, Expr, Select, Unary, Var, index, type_of
from planish.ir.polynomial import (
    affine_over,
    constant,
    divided,
    mul,
    names,
    normal,
    polynomial,
    sub,
)
from planish.ir.traverse import decide, walk_expr
from planish.ir.types import INDEX

_MOST_PARTS = 3
_HIGHEST = 8
"""Remainders of more than so many times the divisor are not looked at."""


def wrapped(dividend: Expr, divisor: Expr, cx: Translation) -> Expr | None:
    """The remainder by a positive number as a choice of affine parts; None: not seen to be one of a few.

    The dividend is seen not to be negative.
    """
    inside = {it.name for it in cx.iterators}
    if not cx.choosing or any("@" in name for name in names(dividend)) or names(divisor) & inside:
        return None
    if constant(divisor) is not None and _counts(divided(dividend, divisor)[1], cx):
        return None
    before = list(cx.assumptions)
    low, high = cx.lowest(dividend), cx.highest(dividend)
    if low is not None and high is not None and affine_over(dividend, inside, False):
        first = next((n for n in reversed(range(_HIGHEST)) if _grows(sub(low, mul(index(n), divisor)))), 0)
        beyond = sub(low, mul(index(first), divisor))
        for parts in range(1, _MOST_PARTS + 1):
            room = sub(sub(mul(index(first + parts), divisor), index(1)), high)
            if _grows(room) and cx.assume(beyond) and cx.assume(room):
                cx.chosen = True
                return remainder(dividend, divisor, first, parts)
    cx.assumptions[:] = before
    return None


def _counts(rest: Expr, cx: Translation) -> bool:
    """Whether a dividend is the counter of a loop alone, which is taken apart where it is divided by a number."""
    return any(rest == Var(it.name, INDEX) for it in cx.iterators)


def _grows(expr: Expr) -> bool:
    """Whether a sum of products of sizes is not negative, for all sizes but small ones."""
    terms = polynomial(expr)
    moving = [c for monomial, c in terms.items() if monomial]
    return all(c > 0 for c in moving) if moving else terms.get((), 0) >= 0


def remainder(dividend: Expr, divisor: Expr, first: int, parts: int) -> Expr:
    """`dividend % divisor` for a dividend from `first` times the divisor on, and below `first + parts` times it."""
    out = sub(dividend, mul(index(first + parts - 1), divisor))
    for n in reversed(range(first, first + parts - 1)):
        beyond = sub(dividend, mul(index(n + 1), divisor))
        out = Select(Compare("lt", beyond, index(0)), sub(dividend, mul(index(n), divisor)), out)
    return out


def choose_index(test: Expr, then: Expr, otherwise: Expr) -> Expr:
    """`test ? then : otherwise` of index expressions; the same condition is written in one way."""
    return then if then == otherwise else Select(_standard(test), normal(then), normal(otherwise))


def _standard(test: Expr) -> Expr:
    match test:
        case Compare(op=op, left=a, right=b) if type_of(a) == INDEX:
            return Compare(op, sub(a, b), index(0))
        case Binary(op="and" | "or", left=a, right=b):
            return Binary(test.op, _standard(a), _standard(b))
        case Unary(op="not", operand=a):
            return Unary("not", _standard(a))
        case _:
            return test


def outcomes(expr: Expr) -> Iterator[Expr]:
    """The sums that an index expression may be, one for each way to decide the choices in it."""
    test = next((x.condition for x in walk_expr(expr) if isinstance(x, Select)), None)
    if test is None:
        yield normal(expr)
        return
    for holds in (True, False):
        yield from outcomes(decide(expr, test, holds))


def chooses_affine(expr: Expr, iterators: Iterable[str]) -> bool:
    """Whether an index expression is, for each way to decide the choices in it, linear in the iterators, with numbers
    or sizes as factors; and all that is asked in it is linear with numbers as factors."""
    moving = frozenset(iterators)
    tests = [side for x in walk_expr(expr) if isinstance(x, Compare) for side in (x.left, x.right)]
    asked = all(affine_over(side, moving, False) for side in tests)
    return asked and all(affine_over(x, moving, True) for x in outcomes(expr))
