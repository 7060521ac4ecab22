"""Equality of sums of products in their lowest bits, however they are factored: as polynomials over what they read.

>>> from planish.isa.semantics import build
>>> from planish.isa.semantics.node import const
>>> x, y, c = (build.bits(name, const(0), 8) for name in "xyc")
>>> apart = build.subtract(build.multiply(x, y), build.multiply(y, c))
>>> are_equal(build.multiply(build.subtract(x, c), y), apart, 32), are_equal(build.multiply(x, y), apart, 32)
(True, False)
"""

from __future__ import annotations

from planish.isa.semantics.node import Node, by_number

MOST_TERMS = 256
"""Polynomials of more terms are not looked at."""

Polynomial = dict[tuple[Node, ...], int]
"""The factor of each product of values, which are in one order."""


def are_equal(a: Node, b: Node, width: int) -> bool:
    """Whether two values are shown to be the same in their lowest bits."""
    first, second = (_read(x, width) for x in (a, b))
    if first is None or second is None:
        return False
    return all((first.get(x, 0) - second.get(x, 0)) % (1 << width) == 0 for x in first.keys() | second.keys())


def _read(x: Node, width: int) -> Polynomial | None:
    """A value as a polynomial; None for one of too many terms."""
    while x.op == "wrap" and int(x.attr[0]) >= width:
        x = x.args[0]
    match x.op:
        case "const":
            return {(): x.low}
        case "add" | "mul":
            parts = [_read(y, width) for y in x.args]
            known = [y for y in parts if y is not None]
            if len(known) < len(parts):
                return None
            made = known[0]
            for y in known[1:]:
                if len(made) * len(y) > MOST_TERMS and x.op == "mul":
                    return None
                made = _sum(made, y) if x.op == "add" else _product(made, y)
            return made if len(made) <= MOST_TERMS else None
        case _:
            return {(x,): 1}


def _sum(a: Polynomial, b: Polynomial) -> Polynomial:
    made = dict(a)
    for x, factor in b.items():
        made[x] = made.get(x, 0) + factor
    return made


def _product(a: Polynomial, b: Polynomial) -> Polynomial:
    made: Polynomial = {}
    for x, factor in a.items():
        for y, times in b.items():
            both = tuple(sorted(x + y, key=by_number))
            made[both] = made.get(both, 0) + factor * times
    return made
