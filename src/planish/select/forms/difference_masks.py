"""Masks out of differences, where a machine has no instructions that compare into a register of lanes.

A difference that saturates at 0 is 0 or not, which makes all bits or none; the sign of a difference that does not wrap
around, shifted over all bits, is such a mask by itself.

>>> from planish.isa.semantics.node import const
>>> x, y = (build.bits(name, const(0), 8) for name in "xy")
>>> (made,) = masks_by_difference(mask_of(build.less(x, y)), 8)
>>> made.op, made.args[0].op, made.args[0].args[0].op
('mul', 'min', 'max')
"""

from __future__ import annotations

from collections.abc import Iterator

from planish.isa.semantics import build
from planish.isa.semantics.build import ONE, ZERO
from planish.isa.semantics.node import Node, const, node
from planish.select.rules import is_mask, mask_of
from planish.select.unify import chain_of, fits, join_chain


def masks_by_difference(x: Node, width: int) -> Iterator[Node]:
    """A mask, or a choice, by what two values differ by; nothing where it is neither, or one does not fit the lane."""
    if x.op != "select" or x.args[0].op not in ("lt", "eq"):
        return
    condition = x.args[0]
    if not is_mask(x):
        yield from _raised(x)
        return
    a, b = condition.args
    unsigned = fits(a, width, False) and fits(b, width, False)
    if condition.op == "eq":
        if unsigned or (fits(a, width, True) and fits(b, width, True)):
            yield node("add", (_at_most_one(build.absolute(build.subtract(a, b))), const(-1)))
        return
    if unsigned:
        yield node("mul", (_at_most_one(build.maximum(build.subtract(b, a), ZERO)), const(-1)))
    elif fits(a, width, True) and fits(b, width, True):
        difference = build.saturate(build.subtract(a, b), width, True)
        yield node("shr", (difference, const(width - 1)))


def _at_most_one(x: Node) -> Node:
    return node("min", (x, ONE))


def _raised(x: Node) -> Iterator[Node]:
    """`a < b ? b : min(a, c)`, a clamp whose bounds may be in any order: the greater of the lesser one and of `b` where
    the condition holds."""
    condition, then, otherwise = x.args
    if condition.op != "lt" or then is not condition.args[1]:
        return
    a, b = condition.args
    members = [a if _is_bounded_as(y, a, otherwise) else y for y in chain_of(otherwise)] if a.low >= 0 <= b.low else []
    if a in members and all(y.low >= 0 for y in members):
        lesser = members[0] if len(members) == 1 else join_chain("min", members)
        yield node("max", (lesser, node("and", (mask_of(condition), b))))


def _is_bounded_as(y: Node, a: Node, lesser: Node) -> bool:
    """Whether one of those that the lesser is chosen of may be another value: both are bounded by the same from below,
    and by more than the lesser one from above."""
    (x, low, high), (other, least, most) = _bounds_of(y), _bounds_of(a)
    return x is other and low == least and min(high, most) >= lesser.high


def _bounds_of(x: Node) -> tuple[Node, int, int]:
    """What is bounded by constants, and these."""
    low, high = x.low, x.high
    while x.op in ("min", "max") and x.args[1].op == "const":
        x = x.args[0]
    return x, low, high
