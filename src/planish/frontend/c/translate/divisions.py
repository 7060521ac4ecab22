"""Quotients and remainders in index expressions, as C has them: rounded to zero.

>>> from planish.ir.expr import Var
>>> from planish.ir.index.polynomial import show
>>> from planish.ir.types import INDEX
>>> show(rounded_to_zero("/", add(Var("i", INDEX), index(-3)), 2, may_choose=False))
'max(i - 3, 0)/2 - max(3 - i, 0)/2'
"""

from __future__ import annotations

from pycparser import c_ast

from planish.frontend.c.analysis.trip_counts import Quotient, is_of_sizes
from planish.frontend.c.idioms.collapsed_loops import carried_out, take_apart
from planish.frontend.c.idioms.modular_subscripts import choose_index, chooses_affine, may_choose, wrapped
from planish.frontend.c.translate.state import CTranslation, NotIndex
from planish.ir.expr import Binary, Compare, Const, Expr, Var, index
from planish.ir.index.polynomial import (
    add,
    build,
    constant,
    extremum,
    floordiv,
    mod,
    mul,
    neg,
    normal,
    polynomial,
    show,
    sub,
)  # fmt: skip
from planish.ir.traverse import map_expr
from planish.ir.types import INDEX

_MOST_TURNS = 2
"""A dividend that may be negative is looked at from so many divisors further on."""


def divide(op: str, a: Expr, b: Expr, node: c_ast.Node, cx: CTranslation) -> Expr:
    """`a / b` or `a % b`. Raises NotIndex where it does not fit the model."""
    number = constant(b)
    if number == 0:
        raise NotIndex("a division by zero", node, "scop-division")
    if number is None and constant(a) != 0 and not cx.never_negative(sub(b, index(1))):
        raise NotIndex("a division by a value that may be zero or negative", node, "scop-division")
    if number is not None and number < 0:
        raise NotIndex("a division by a negative number", node, "scop-division")
    dividend = constant(a)
    if number is not None and dividend is not None:
        return index(_quotient(dividend, number) if op == "/" else dividend - number * _quotient(dividend, number))
    whole = op == "/" and number is not None and constant(mod(a, b)) == 0
    if not whole and not cx.never_negative(a):
        if number is None:
            message = "a division of a value that may be negative (C rounds to zero) by one that is no constant"
            raise NotIndex(message, node, "scop-division")
        return _signed(op, a, number, cx)
    if (both := carried_out(a, b, cx)) is not None:
        return both[0] if op == "/" else both[1]
    if number is None and op == "/" and (size := _quotient_of_sizes(a, b, cx)) is not None:
        return size
    take_apart(op, a, b, cx)
    if op == "%" and (parts := wrapped(a, b, cx)) is not None:
        return parts
    return floordiv(a, b) if op == "/" else mod(a, b)


def cycle(a: Expr, b: Expr, node: c_ast.Node, cx: CTranslation) -> Expr:
    """`(a % b + b) % b`, which goes round whatever the sign of `a` is. Raises NotIndex as `divide` does."""
    for turns in range(1, _MOST_TURNS + 1):
        ahead = add(a, mul(index(turns), b))
        if cx.never_negative(ahead):
            return divide("%", ahead, b, node, cx)
    number = constant(b)
    return mod(a, b) if number is not None and number > 0 else divide("%", a, b, node, cx)


def multiply(a: Expr, b: Expr, cx: CTranslation) -> Expr:
    """`a * b`. In a product that is no multiple of a number, the length `w / 2` of rows is a size of its own: a product
    of sizes is a stride, one of their quotients fits no model."""
    if constant(a) is not None or constant(b) is not None:
        return mul(a, b)
    return mul(with_named_quotients(a, cx), with_named_quotients(b, cx))


def with_named_quotients(expr: Expr, cx: CTranslation) -> Expr:
    """An expression whose quotients of sizes by numbers are sizes; what defines these is granted."""
    around = {it.name for it in cx.iterators}

    def named(x: Expr) -> Expr:
        match x:
            case Binary(op="floordiv", left=dividend, right=Const(value=value)) if is_of_sizes(dividend, around):
                by = int(value)
                size = _named(dividend, index(by), cx)
                rest = sub(dividend, mul(index(by), size))
                cx.assume(rest)
                cx.assume(sub(index(by - 1), rest))
                return size
            case _:
                return x

    return normal(map_expr(named, expr))


def _quotient_of_sizes(dividend: Expr, divisor: Expr, cx: CTranslation) -> Expr | None:
    """The quotient of sizes, none of which is a number, as a size of its own: the stride `n / (2 * h)` of the weights
    of a transform's stage. None where iterators decide it, or it is a number."""
    around = {it.name for it in cx.iterators}
    match dividend:
        case Binary(op="floordiv", left=whole, right=Const(value=by)):
            dividend, divisor = whole, mul(index(int(by)), divisor)
        case _:
            pass
    known = constant(floordiv(dividend, divisor)) is not None
    if known or not (is_of_sizes(dividend, around) and is_of_sizes(divisor, around)):
        return None
    size = _named(dividend, divisor, cx)
    cx.assume(size)
    return size


def with_whole_quotients(subscripts: tuple[Expr, ...], cx: CTranslation) -> tuple[Expr, ...]:
    """Subscripts, of which those that are not affine have `k * (n / len)` in the place of `k * n / len`, as the weights
    of a transform's stage are counted: that the quotient is whole is granted."""
    around = {it.name for it in cx.iterators}

    def split(x: Expr) -> Expr:
        match x:
            case Binary(op="floordiv", left=dividend, right=divisor) if is_of_sizes(divisor, around):
                return _multiple(dividend, divisor, around, cx) or x
            case _:
                return x

    return tuple(x if chooses_affine(x, around) else normal(map_expr(split, x)) for x in subscripts)


def _multiple(dividend: Expr, divisor: Expr, around: set[str], cx: CTranslation) -> Expr | None:
    """The quotient of a product of sizes and of what iterators decide, where one of sizes is whole; None where it is no
    such product, or the divisor is a number."""
    terms = [([x for x in m if _is_size(x, around)], m, c) for m, c in polynomial(dividend).items()]
    shared = terms[0][0] if terms else []
    if constant(divisor) is not None or not shared or any(x[0] != shared for x in terms):
        return None
    rest = build({tuple(x for x in m if not _is_size(x, around)): c for _, m, c in terms})
    whole = build({tuple(shared): 1})
    stem = "_by_".join(show(x) if isinstance(x, Var) else "quotient" for x in (whole, divisor))
    size = Var(cx.name_quotient(stem, Quotient(whole, divisor, whole=True)), INDEX)
    cx.assume(size)
    return mul(rest, size)


def _is_size(expr: Expr, around: set[str]) -> bool:
    return isinstance(expr, Var) and is_of_sizes(expr, around)


def _named(dividend: Expr, divisor: Expr, cx: CTranslation) -> Expr:
    """The size that is the quotient of what is never negative and what is positive."""
    stem = "_by_".join(show(x) if isinstance(x, Var | Const) else "quotient" for x in (dividend, divisor))
    # What is rounded up is asked for: for such a dividend, the floor of this one.
    rounded = Quotient(add(sub(dividend, divisor), index(1)), divisor, whole=False)
    return Var(cx.name_quotient(stem, rounded), INDEX)


def _signed(op: str, a: Expr, by: int, cx: CTranslation) -> Expr:
    """A division by a positive number of what may be negative."""
    chooses = may_choose(a, a, cx)
    out = rounded_to_zero(op, a, by, chooses)
    if chooses:
        cx.chosen = True
        ends = [constant(x) if x is not None else None for x in (cx.lowest(a), cx.highest(a))]
        if op == "%":
            cx.ranges[out] = index(1 - by), index(by - 1)
        elif ends[0] is not None and ends[1] is not None:
            cx.ranges[out] = index(_quotient(ends[0], by)), index(_quotient(ends[1], by))
    return out


def _quotient(number: int, by: int) -> int:
    """A number divided by a positive one, rounded to zero.

    >>> _quotient(-(2**62) + 1, 1) + 2**62, _quotient(-7, 2)
    (1, -3)
    """
    return number // by if number >= 0 else -(-number // by)


def rounded_to_zero(op: str, a: Expr, by: int, may_choose: bool) -> Expr:
    """`a / by` or `a % by` for a positive number, whatever the sign of `a` is: a choice between two divisions, or a sum
    of two, one of which is 0."""
    operation = floordiv if op == "/" else mod
    by_number = index(by)
    if may_choose:
        return choose_index(Compare("lt", a, index(0)), neg(operation(neg(a), by_number)), operation(a, by_number))
    above, below = extremum("max", a, index(0)), extremum("max", neg(a), index(0))
    return sub(operation(above, by_number), operation(below, by_number))
