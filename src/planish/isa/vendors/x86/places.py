"""Bits of registers and of memory, as operations name them.

>>> read(SymbolicValue(build.bits("a", const(0), 32), 32), const(8), 8).node
bits('a', 8, False, const(8))
"""

from __future__ import annotations

from planish.isa.semantics import build
from planish.isa.semantics.node import Node, const
from planish.isa.vendors.symbolic_state import BitAddress, Element, RealNumber, Register, SymbolicValue, Unreadable, cut
from planish.isa.vendors.x86.merge import Held
from planish.isa.vendors.x86.operators import as_float

MOST_BITS = 8192
"""The widest register and piece of memory."""

PLAIN = Element()
"""Elements of which nothing is known."""

FIELDS = {
    "bit": Element("int", 1), "byte": Element("int", 8), "word": Element("int", 16), "dword": Element("int", 32),
    "qword": Element("int", 64), "m128": Element("int", 128), "row": Element("int", 512),
    "bf16": Element("bf16", 16), "fp16": Element("f16", 16), "fp32": Element("f32", 32), "fp64": Element("f64", 64),
}  # fmt: skip
"""The fields of a register by the name of their elements; a tile's are rows."""

TILE_SHAPE = {"rows": 16, "colsb": 64}
"""The rows of a tile, and the bytes in each, by what operations call them: the most that there may be."""


def load(low: Held, high: Held) -> SymbolicValue:
    """Bits of memory between two addresses, both ends included."""
    if not isinstance(low, BitAddress) or not isinstance(high, BitAddress) or low.base != high.base:
        raise Unreadable("a place in memory that is not behind a pointer")
    width = build.add(build.subtract(high.offset, low.offset), const(1)).constant
    if not width or not 0 < width <= MOST_BITS:
        raise Unreadable("a piece of memory whose width is not known")
    of_element = low.element.bits == width
    found = build.bits(low.base, low.offset, width, of_element and low.element.signed)
    return SymbolicValue(found, width, low.element.kind if of_element else "int", low.element)


def as_element(found: SymbolicValue, element: Element) -> SymbolicValue:
    """Bits of the result, read again: a number with a sign where its elements have one."""
    if found.is_float or not element.signed or found.width != element.bits:
        return found
    return SymbolicValue(build.wrap(found.node, element.bits, True), found.width, "int", element)


def clear_above(held: Held | None, at: int, width: int) -> None:
    """Zeros from some bit of a result on, where it ends above what has been written."""
    if isinstance(held, Register) and at < width:
        held.write(at, width - at, SymbolicValue(const(0), width - at))


def read(held: Held, at: Node, width: int) -> SymbolicValue:
    """Some bits of what a name stands for."""
    if width <= 0:
        raise Unreadable(f"{width} bits are read")
    if isinstance(held, Register):
        if at.constant is not None:
            return held.read(at.low, width)
        return cut(held.whole(), at, width)
    if isinstance(held, RealNumber) and width in (16, 32, 64):
        return as_float(held, {16: "f16", 32: "f32", 64: "f64"}[width])
    if not isinstance(held, SymbolicValue):
        raise Unreadable("bits of a symbol")
    return cut(held, at, width)
