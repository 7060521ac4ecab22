"""Operands in an array of a nest: where they begin, and whether two of them have no element in common.

>>> from planish.ir.expr import Var
>>> from planish.ir.types import INDEX
>>> n = Var("n", INDEX)
>>> first, second = MatchedView("A", (index(0), index(8))), MatchedView("A", (index(1), index(8)))
>>> [print_expr(x) for x in lie_in_rows(first, second, (4, 4), (None, n))]
['true', 'n >= 12', 'true', 'n >= 12']
>>> end_before(first, MatchedView("A", (index(0), index(12))), (4, 4), (None, n))
True
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from planish.ir.expr import Binary, Compare, Const, Expr, index
from planish.ir.index.polynomial import add, constant, normal, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Array
from planish.ir.text.printer import print_expr
from planish.ir.types import BOOL

Shape = Sequence[Expr | None]
Lengths = tuple[int | None, int | None]
"""The elements of two operands, where these are known."""


@dataclass(frozen=True, slots=True)
class MatchedView:
    """An operand: an array of the nest from an element on, or the register that the leading subscripts choose."""

    array: str
    index: tuple[Expr, ...]

    def __str__(self) -> str:
        return f"{self.array}[{', '.join(map(print_expr, self.index))}]"


def end_before(one: MatchedView, other: MatchedView, lengths: Lengths, shape: Shape) -> bool:
    """Whether one of two operands in memory, parts of one array, ends before the other begins, at a known distance."""
    distance = constant(simplify(sub(linear_place(other.index, shape), linear_place(one.index, shape))))
    first, second = lengths
    if distance is None or first is None or second is None:
        return False
    return distance >= first or -distance >= second


def lie_in_rows(one: MatchedView, other: MatchedView, lengths: Lengths, shape: Shape) -> tuple[Expr, ...] | None:
    """What has to hold so that two operands of one dimension lie in different rows of an array: that neither leaves its
    row. None where their rows may be the same."""
    known = [constant(sub(x, y)) for x, y in zip(one.index[:-1], other.index[:-1], strict=True)]
    if all(x in (0, None) for x in known):
        return None
    out: list[Expr] = []
    for view, length in zip((one, other), lengths, strict=True):
        for at, (place, extent) in enumerate(zip(view.index[1:], shape[1:], strict=True), 1):
            if extent is None or length is None:
                return None
            behind = add(place, index(length if at == len(shape) - 1 else 1))
            out += simplify(Compare("ge", place, index(0))), simplify(Compare("le", behind, extent))
    return None if Const(False, BOOL) in out else tuple(out)


def length_of(array: Array) -> int | None:
    """The elements of an operand; None where that is not known."""
    extents = [None if x is None else constant(x) for x in array.shape]
    return math.prod(x for x in extents if x is not None) if None not in extents else None


def linear_place(at: Sequence[Expr], shape: Shape) -> Expr:
    """The place of an element, counted from the first one of a row-major array."""
    out: Expr = index(0)
    for place, extent in zip(at, shape, strict=True):
        out = place if extent is None else Binary("add", Binary("mul", out, extent), place)
    return normal(out)
