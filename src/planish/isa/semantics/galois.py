"""Ciphers and the field of 256 elements: boxes, shifts of rows and mixes of columns, as sums of table entries.

>>> from planish.isa.semantics.node import const
>>> hex(CIPHERS["SubWord"](const(0x00010203)).low)
'0x637c777b'
>>> inverse_of(const(2)).low
141
"""

from __future__ import annotations

from collections.abc import Callable

from planish.isa.semantics import bit_parts, build
from planish.isa.semantics.node import Node, const, node

_POLYNOMIAL = 0x11B
CASTAGNOLI = 0x82F63B78


def _product(a: int, b: int) -> int:
    found = 0
    while b:
        found ^= a if b & 1 else 0
        a = (a << 1) ^ (_POLYNOMIAL if a & 0x80 else 0)
        b >>= 1
    return found


_INVERSE = [0] + [next(y for y in range(1, 256) if _product(x, y) == 1) for x in range(1, 256)]


def _box(x: int) -> int:
    inverse = _INVERSE[x]
    turned = (inverse * 0x101) if inverse else 0
    bits = 0
    for turn in range(5):
        bits ^= (turned >> (8 - turn)) & 0xFF
    return bits ^ 0x63


_BOX = [_box(x) for x in range(256)]
_UNBOX = [_BOX.index(x) for x in range(256)]


def look_up(table: list[int], x: Node) -> Node:
    """An entry of a table of 256 bytes: the table is a number, of which a place that depends on x is read."""
    packed = const(sum(entry << (8 * place) for place, entry in enumerate(table)))
    if x.op == "const":
        return const(table[x.low & 0xFF])
    return build.wrap(build.shift_right(packed, build.multiply(build.wrap(x, 8), const(8))), 8)


def inverse_of(x: Node) -> Node:
    """The inverse in the field, 0 for 0."""
    return look_up(_INVERSE, x)


def crc(before: Node, data: Node, width: int, polynomial: int = CASTAGNOLI) -> Node:
    """The remainder of a checksum of 32 bits, in reverse as its polynomial, after some bits more."""
    images = []
    for place in range(max(width, 32)):
        state = 1 << place
        for _ in range(width):
            state = (state >> 1) ^ (polynomial if state & 1 else 0)
        images.append(state)
    return _linear(build.exclude(before, data), images, 32)


def field_product(a: Node, b: Node) -> Node:
    """The product in the field of 256 elements: that of polynomials, and what is left of it."""
    images = []
    for place in range(15):
        low = 1 << min(place, 7)
        for _ in range(place - 7):
            low = (low << 1) ^ (_POLYNOMIAL if low & 0x80 else 0)
        images.append(low & 0xFF)
    return _linear(node("clmul", (a, b)), images, 8)


def _linear(x: Node, images: list[int], width: int) -> Node:
    """The sum, without carries, of the images of the bits of x: each bit of it is a parity."""
    rows = [sum((image >> bit & 1) << place for place, image in enumerate(images)) for bit in range(width)]
    return bit_parts.join([(bit, 1, node("parity", (build.conjoin(x, const(row)),))) for bit, row in enumerate(rows)])


def _bytes(x: Node, count: int) -> list[Node]:
    return [bit_parts.piece(x, 8 * place, 8) for place in range(count)]


def _together(parts: list[Node]) -> Node:
    return bit_parts.join([(8 * place, 8, part) for place, part in enumerate(parts)])


def _each(table: list[int], count: int) -> Callable[[Node], Node]:
    return lambda x: _together([look_up(table, part) for part in _bytes(x, count)])


def _rows(step: int) -> Callable[[Node], Node]:
    # Row r of the square of bytes moves by r columns.
    def shift(x: Node) -> Node:
        parts = _bytes(x, 16)
        return _together([parts[(place + 4 * step * (place % 4)) % 16] for place in range(16)])

    return shift


def _times(x: Node, factor: int) -> Node:
    # A product in the field, as shifts that are added without carry and reduced.
    total = const(0)
    power = x
    while factor:
        if factor & 1:
            total = build.exclude(total, power)
        doubled = build.wrap(build.shift_left(power, const(1)), 8)
        top = bit_parts.piece(power, 7, 1)
        power = build.exclude(doubled, build.select(top, const(_POLYNOMIAL & 0xFF), const(0)))
        factor >>= 1
    return total


def _columns(factors: tuple[int, int, int, int]) -> Callable[[Node], Node]:
    def mix(x: Node) -> Node:
        parts = _bytes(x, 16)
        made = []
        for place in range(16):
            column, row = divmod(place, 4)
            total = const(0)
            for other in range(4):
                total = build.exclude(total, _times(parts[4 * column + other], factors[(other - row) % 4]))
            made.append(total)
        return _together(made)

    return mix


CIPHERS: dict[str, Callable[[Node], Node]] = {
    "ShiftRows": _rows(1), "InvShiftRows": _rows(-1),
    "SubBytes": _each(_BOX, 16), "InvSubBytes": _each(_UNBOX, 16), "SubWord": _each(_BOX, 4),
    "RotWord": lambda x: bit_parts.join([(0, 24, bit_parts.piece(x, 8, 24)), (24, 8, bit_parts.piece(x, 0, 8))]),
    "MixColumns": _columns((2, 3, 1, 1)), "InvMixColumns": _columns((14, 11, 13, 9)),
    "inverse": inverse_of,
}  # fmt: skip
"""Functions of whole registers of 128 bits, or words of 32, by the name that operations use."""
