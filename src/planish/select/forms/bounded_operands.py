"""Comparisons with what is the same in all lanes, cut to the range of what it is compared with.

`pixel > threshold` of a byte and an `int` holds for a threshold below 0 as for -1, and for one above 255 as for 255:
the scalar is cut once, and lanes need not be wide enough for all values of its type.

>>> from planish.isa.semantics.node import const
>>> pixel, limit = build.bits("m", const(0), 8), build.bits("x", const(0), 32, True)
>>> made = bound_operands(build.less(limit, pixel), lambda x: x is limit)
>>> made.op, (made.args[0].low, made.args[0].high)
('lt', (-1, 255))
>>> bound_operands(build.minimum(pixel, limit), lambda x: x is limit).op
'select'
"""

from __future__ import annotations

from collections.abc import Callable

from planish.isa.semantics import build
from planish.isa.semantics.node import Node, const, rebuild
from planish.select.unify import fits

_NARROW = 16
"""What does not fit so many bits is cut where it is compared with what does."""


def bound_operands(x: Node, is_fixed: Callable[[Node], bool]) -> Node:
    """A value whose comparisons are with scalars of as few bits as what varies has."""

    def change(old: Node, args: tuple[Node, ...]) -> Node:
        if old.op in ("lt", "le", "eq", "min", "max"):
            for at in (0, 1):
                scalar, other = args[at], args[1 - at]
                if _is_narrow(other) and not _is_narrow(scalar) and is_fixed(scalar) and not is_fixed(other):
                    return _bounded(old.op, at, scalar, other)
        return build.construct(old.op, args, old.attr)

    return rebuild(x, change)


def _is_narrow(x: Node) -> bool:
    return fits(x, _NARROW, True) or fits(x, _NARROW, False)


def _bounded(op: str, at: int, scalar: Node, other: Node) -> Node:
    """A comparison, or the lesser or the greater, with a scalar that may be beyond all values of the other one."""
    low, high = other.low, other.high
    match op:
        case "lt":
            cut = _cut(scalar, low, high + 1) if at else _cut(scalar, low - 1, high)
            return build.less(other, cut) if at else build.less(cut, other)
        case "le":
            cut = _cut(scalar, low - 1, high) if at else _cut(scalar, low, high + 1)
            return build.at_most(other, cut) if at else build.at_most(cut, other)
        case "eq":
            return build.equal(other, _cut(scalar, low - 1, high + 1))
        case "min":
            return build.select(build.less(other, _cut(scalar, low, high + 1)), other, scalar)
        case _:
            return build.select(build.less(_cut(scalar, low - 1, high), other), other, scalar)


def _cut(x: Node, low: int, high: int) -> Node:
    return build.minimum(build.maximum(x, const(low)), const(high))
