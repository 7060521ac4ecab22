"""Places of bits, and the words of values that are longer than C's types.

>>> from planish.isa.semantics.node import var
>>> i = var("i", 4)
>>> step_of(build.multiply(i, const(32))), is_within(build.multiply(i, const(32)), 32, 128)
(32, True)
>>> word_of(build.bits("a", const(0), 256), 64, 64)
bits('a', 64, False, const(64))
"""

from __future__ import annotations

from math import gcd

from planish.isa.semantics import bit_parts, build
from planish.isa.semantics.node import Node, const, node, scaled, terms_of


def word_of(x: Node, at: int, width: int) -> Node:
    """Some bits of a long value."""
    match x.op:
        case "bits" if int(x.attr[1]) > at:
            return build.bits(str(x.attr[0]), build.add(x.args[0], const(at)), min(width, int(x.attr[1]) - at))
        case "and" | "or" | "xor":
            return node(x.op, tuple(word_of(y, at, width) for y in x.args))
        case "invert":
            return build.wrap(build.invert(word_of(x.args[0], at, width)), width)
        case "select":
            return build.select(x.args[0], word_of(x.args[1], at, width), word_of(x.args[2], at, width))
        case "wrap" if not x.attr[1]:
            left = int(x.attr[0]) - at
            return word_of(x.args[0], at, min(width, left)) if left > 0 else build.ZERO
        case "shr":
            return build.wrap(build.shift_right(x.args[0], build.add(x.args[1], const(at))), width)
        case _:
            return bit_parts.piece(x, at, width)


def is_within(offset: Node, width: int, bits: int) -> bool:
    """Whether bits lie in the first ones, so many, wherever they begin."""
    return offset.low >= 0 and offset.high + width <= bits


def step_of(offset: Node) -> int:
    """A number of which the offset is a multiple."""
    found = 0
    for x in terms_of(offset):
        found = gcd(found, x.low if x.op == "const" else scaled(x)[1])
    return found
