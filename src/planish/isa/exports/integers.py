"""Whole numbers of C: which type holds a value, and how numbers and expressions are written.

>>> from planish.isa.semantics.node import const
>>> type_of(const(-1)), write_number(-(1 << 31)), wrapped("a + b")
(CType(name='int32_t', bits=32, signed=True), '(-0x7fffffff - 1)', '(a + b)')
"""

from __future__ import annotations

from dataclasses import dataclass

from planish.isa.semantics.node import Node


class NoC(Exception):
    """A definition that is not written as C; the message says what of it."""


@dataclass(frozen=True, slots=True)
class CType:
    """A type of whole numbers."""

    name: str
    bits: int
    signed: bool

    @property
    def suffix(self) -> str:
        """The type in the name of a function."""
        return f"{'i' if self.signed else 'u'}{self.bits}"

    def holds(self, low: int, high: int) -> bool:
        """Whether it has all numbers between two."""
        if self.signed:
            return -(1 << (self.bits - 1)) <= low and high < 1 << (self.bits - 1)
        return low >= 0 and high < 1 << self.bits


I32, I64, U64 = CType("int32_t", 32, True), CType("int64_t", 64, True), CType("uint64_t", 64, False)
I128, U128 = CType("planishk_int128", 128, True), CType("planishk_uint128", 128, False)
TYPES = (I32, I64, U64, I128, U128)


def best_type(x: Node) -> CType | None:
    """The narrowest type that holds a node; None where there is none."""
    return next((y for y in TYPES if y.holds(x.low, x.high)), None)


def type_of(x: Node) -> CType:
    """The narrowest type that holds a node; NoC where there is none."""
    found = best_type(x)
    if found is None:
        raise NoC(f"{x.op} of more than 128 bits")
    return found


def room_for(x: Node) -> CType | None:
    """The type that holds a node and what it is made of; None where there is none."""
    args = x.args[:1] if x.op in ("shl", "shr") else x.args[1:] if x.op == "select" else x.args
    low, high = min(y.low for y in (x, *args)), max(y.high for y in (x, *args))
    if x.op in ("abs", "invert"):
        low = min(low, -1)
    return next((y for y in TYPES if y.holds(low, high)), None)


def computed_type(x: Node) -> CType:
    """The type that holds a node and what it is made of; NoC where there is none."""
    found = room_for(x)
    if found is None:
        raise NoC(f"{x.op} of more than 128 bits")
    return found


def wrapped(text: str) -> str:
    """An expression in brackets, where it needs them."""
    plain = text.isidentifier() or text.isdigit() or (text.startswith("(") and _closed(text))
    return text if plain else f"({text})"


def _closed(text: str) -> bool:
    """Whether the first bracket is closed by the last one."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return at == len(text) - 1
    return False


def write_mask(width: int) -> str:
    """A number of so many ones."""
    return f"(((planishk_uint128)1 << {width}) - 1)" if width > 64 else write_number((1 << width) - 1)


def bounds_of(width: int, signed: bool, kind: CType) -> tuple[str, str]:
    """The least and the greatest number of a width that a type has, too."""
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    least, most = (-(1 << (kind.bits - 1)), (1 << (kind.bits - 1)) - 1) if kind.signed else (0, (1 << kind.bits) - 1)
    return write_number(max(low, least)), write_number(min(high, most))


def write_number(value: int) -> str:
    """A number as C has it; NoC where it is too long."""
    if -(1 << 31) < value < 1 << 31:
        return str(value) if value >= 0 else f"({value})"
    if value == -(1 << 31):
        return "(-0x7fffffff - 1)"
    if value == -(1 << 63):
        return "(-0x7fffffffffffffffll - 1)"
    if -(1 << 63) < value < 1 << 63:
        return f"{hex(value)}ll" if value >= 0 else f"({hex(value)}ll)"
    if 0 <= value < 1 << 64:
        return f"{hex(value)}ull"
    if 0 <= value < 1 << 128:
        return f"(((planishk_uint128){hex(value >> 64)}ull << 64) | {hex(value & ((1 << 64) - 1))}ull)"
    raise NoC("a number of more than 128 bits")
