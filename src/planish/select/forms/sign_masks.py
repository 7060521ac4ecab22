"""Extrema out of sign masks: what is kept where a difference is not negative, and what that leaves of its parts.

`m = a - b; m &= ~(m >> 31); a -= m; b += m;` puts the lesser of two first. Numbers of a term are those of mathematics,
with a range each, so that what may wrap around is no such difference.

>>> from planish.isa.semantics.node import const
>>> a, b = (build.bits(name, const(0), 8) for name in "ab")
>>> d = build.subtract(a, b)
>>> m = build.conjoin(d, build.invert(build.shift_right(d, const(31))))
>>> [as_extrema(x) for x in (build.subtract(a, m), build.add(b, m))] == [build.minimum(a, b), build.maximum(a, b)]
True
"""

from __future__ import annotations

from collections.abc import Iterator

from planish.isa.semantics import build
from planish.isa.semantics.build import ZERO
from planish.isa.semantics.node import Node, const, rebuild, scaled, terms_of, walk

_SHIFTS = (7, 15, 31, 63)
"""By how much signs are shifted over all bits."""
_MOST = 64
"""The most terms of a sum that is looked at."""


def as_extrema(x: Node) -> Node:
    """A value whose parts that depend on signs are the lesser or the greater of two, where they are."""
    if not any(y.op == "and" for y in walk([x])):
        return x

    def change(old: Node, args: tuple[Node, ...]) -> Node:
        made = build.construct(old.op, args, old.attr) if args else old
        return _masked(made) if made.op == "and" else _summed(made) if made.op == "add" else made

    return rebuild(x, change)


def _masked(x: Node) -> Node:
    """A value that its own sign masks: what is not negative of it, or not positive."""
    for value, mask in (x.args, x.args[::-1]):
        keeps = mask.op == "invert"
        mask = mask.args[0] if keeps else mask
        if any(-(1 << by) <= value.low and value.high < 1 << by and build.shift_right(value, const(by)) is mask
               for by in _SHIFTS):  # fmt: skip
            return build.maximum(value, ZERO) if keeps else build.minimum(value, ZERO)
    return x


def _summed(x: Node) -> Node:
    """A sum where what exceeds something is added to it, or taken away from what exceeds it."""
    while x.op == "add" and len(x.args) <= _MOST and (shorter := next(_shorter(x), None)) is not None:
        x = shorter
    return x


def _shorter(x: Node) -> Iterator[Node]:
    for term in terms_of(x):
        base, factor = scaled(term)
        if base.op not in ("min", "max") or base.args[1] is not ZERO:
            continue
        # Of what is there several times one is looked at: sign * extremum(inner, 0) is an extremum of the two, signed.
        sign = 1 if factor > 0 else -1
        inner = build.multiply(base.args[0], const(sign))
        rest = build.subtract(x, build.multiply(base, const(sign)))
        lost = {build.negate(y) for y in terms_of(inner)}
        for part in terms_of(rest):
            other = build.add(inner, part)
            if part in lost and other.op not in ("add", "const"):
                greater = (base.op == "max") == (sign > 0)
                yield build.add(build.subtract(rest, part), _extremum(greater, other, part))


def _extremum(greater: bool, a: Node, b: Node) -> Node:
    """The greater or the lesser one; of two that are negated, minus the other one of these."""
    if all(scaled(y)[1] < 0 for y in (a, b)):
        return build.negate(_extremum(not greater, build.negate(a), build.negate(b)))
    first, second = sorted((a, b), key=lambda y: (y.op == "const", y.number))
    return build.maximum(first, second) if greater else build.minimum(first, second)
