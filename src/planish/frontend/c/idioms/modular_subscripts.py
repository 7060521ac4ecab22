"""Modular (wrap-around) subscripts: `(i + 1) % n` as a choice between `i + 1` and `i + 1 - n`, which are both affine.

A remainder is such a choice where the dividend is seen to stay within a few multiples of the divisor, over all
iterations and for all sizes but some small ones, which are sent elsewhere when the kernel is called.

>>> from planish.ir.expr import Var
>>> from planish.ir.index.polynomial import add, show
>>> i, n = Var("i", INDEX), Var("n", INDEX)
>>> choice = remainder(add(i, index(1)), n, 0, 2)
>>> [show(x) for x in outcomes(choice)]
['i + 1', 'i - n + 1']
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from planish.frontend.c.translate.state import CTranslation, Enclosing
from planish.ir.expr import MIRRORED, OPPOSITE, Binary, Compare, Expr, Select, Unary, Var, index, type_of
from planish.ir.index.polynomial import (
    add,
    affine_over,
    coefficient_of,
    constant,
    divided,
    extremum,
    mul,
    names,
    neg,
    normal,
    polynomial,
    same,
    sub,
)
from planish.ir.traverse import conditions, decide, map_expr, walk_expr
from planish.ir.types import INDEX

_MOST_PARTS, _MOST_TESTS = 3, 8
_HIGHEST = 8
"""Remainders of more than so many times the divisor are not looked at."""


def wrapped(dividend: Expr, divisor: Expr, cx: CTranslation) -> Expr | None:
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
                choice = remainder(dividend, divisor, first, parts)
                cx.ranges[choice] = index(0), sub(divisor, index(1))
                return choice
    cx.assumptions[:] = before
    return None


def _counts(rest: Expr, cx: CTranslation) -> bool:
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


def as_extrema(expr: Expr) -> Expr:
    """An index expression with those choices in it as minimum or maximum that are one: `i > 1 ? i - 1 : 0` is the
    greater one of `i - 1` and 0. Bounds of loops may hold these, and no choices."""

    def changed(x: Expr) -> Expr:
        match x:
            case Select(condition=Compare(left=left, right=right) as test, then=a, otherwise=b):
                pass
            case _:
                return x
        difference = sub(left, right)
        match test.op:
            case "ge":
                surplus = difference
            case "gt":
                surplus = sub(difference, index(1))
            case "le":
                surplus = neg(difference)
            case "lt":
                surplus = sub(neg(difference), index(1))
            case _:
                return x
        lack = sub(neg(surplus), index(1))
        if _at_least(a, b, surplus) and _at_least(b, a, lack):
            return extremum("max", a, b)
        if _at_least(b, a, surplus) and _at_least(a, b, lack):
            return extremum("min", a, b)
        return x

    return map_expr(changed, expr) if conditions(expr) else expr


def _at_least(a: Expr, b: Expr, surplus: Expr) -> bool:
    """Whether `a >= b` is seen where `surplus >= 0`: the difference is a multiple of it, or more."""
    match a, b:
        case Binary(op="min" | "max", left=x, right=y), _:
            both = [_at_least(x, b, surplus), _at_least(y, b, surplus)]
            return all(both) if a.op == "min" else any(both)
        case _, Binary(op="min" | "max", left=x, right=y):
            both = [_at_least(a, x, surplus), _at_least(a, y, surplus)]
            return any(both) if b.op == "min" else all(both)
        case _:
            rest = sub(a, b)
            known = polynomial(surplus)
            monomial = next((m for m in known if m), None)
            if monomial is not None:
                times = polynomial(rest).get(monomial, 0) // known[monomial]
                rest = sub(rest, mul(index(times), surplus)) if times > 0 else rest
            least = constant(rest)
            return least is not None and least >= 0


def may_choose(then: Expr, otherwise: Expr, cx: CTranslation) -> bool:
    """Whether a choice between two expressions is read as one: a few are, since each condition doubles the size."""
    return cx.choosing and len({*conditions(then), *conditions(otherwise)}) < _MOST_TESTS


def note_range(choice: Expr, bounds: list[tuple[Expr | None, Expr | None]], cx: CTranslation) -> None:
    """Remember that a choice is not negative, nor more than the greatest one of what its arms are at most, where that
    is seen. `bounds`: the least and the greatest value of each arm where it is chosen."""
    highs = [high for low, high in bounds if low is not None and high is not None and _grows(low)]
    most = next((x for x in highs if all(_grows(sub(x, y)) for y in highs)), None)
    if len(highs) < len(bounds) or most is None or not isinstance(choice, Select):
        return
    lows = [low for low, _ in bounds if low is not None]
    if all(cx.assume(x) for x in (*lows, *(sub(most, y) for y in highs))):
        cx.ranges[choice] = index(0), most


@contextmanager
def where(test: Expr, holds: bool, cx: CTranslation) -> Iterator[None]:
    """Read something that is only evaluated where a comparison holds (or does not): its innermost loop's counter then
    has fewer values."""
    before = list(cx.iterators)
    if isinstance(test, Compare):
        cx.iterators[:] = _narrowed(test, holds, before)
    try:
        yield
    finally:
        cx.iterators[:] = before


def _narrowed(test: Compare, holds: bool, loops: list[Enclosing]) -> list[Enclosing]:
    difference = sub(test.left, test.right)
    depth = max((n for n, it in enumerate(loops) if it.name in names(difference)), default=-1)
    parts = coefficient_of(difference, loops[depth].name) if depth >= 0 else None
    if parts is None or abs(parts[0]) != 1:
        return loops
    it, rest = loops[depth], parts[1]
    value = neg(rest) if parts[0] == 1 else rest
    op = test.op if holds else OPPOSITE[test.op]
    if parts[0] == -1:
        op = MIRRORED[op]
    low, high = it.lower, it.upper
    match op:
        case "eq":
            low, high = value, add(value, index(1))
        case "ne":
            if same(value, low):
                low = add(low, index(1))
            elif same(value, sub(high, index(1))):
                high = value
        case "lt" | "le":
            least = value if op == "lt" else add(value, index(1))
            high = least if _grows(sub(high, least)) else high
        case "gt" | "ge":
            most = value if op == "ge" else add(value, index(1))
            low = most if _grows(sub(most, low)) else low
    return [*loops[:depth], replace(it, lower=low, upper=high), *loops[depth + 1 :]]


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
    tests = conditions(expr)
    if not tests:
        yield normal(expr)
        return
    test = tests[0]
    for holds in (True, False):
        yield from outcomes(decide(expr, test, holds))


def chooses_affine(expr: Expr, iterators: Iterable[str]) -> bool:
    """Whether an index expression is, for each way to decide the choices in it, linear in the iterators, with numbers
    or sizes as factors; and all that is asked in it is linear with numbers as factors."""
    if len(conditions(expr)) > _MOST_TESTS:
        return False
    moving = frozenset(iterators)
    tests = [side for x in walk_expr(expr) if isinstance(x, Compare) for side in (x.left, x.right)]
    asked = all(affine_over(side, moving, False) for side in tests)
    return asked and all(affine_over(x, moving, True) for x in outcomes(expr))
