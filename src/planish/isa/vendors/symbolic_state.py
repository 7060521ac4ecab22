"""The state of a symbolic run of a vendor's pseudocode: values, registers, addresses.

>>> from planish.isa.semantics.node import const
>>> register = Register()
>>> register.write(8, 8, SymbolicValue(const(0x7F), 8))
>>> register.write(0, 8, SymbolicValue(const(0x01), 8))
>>> hex(register.read(4, 8).node.low)
'0xf0'
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise

from planish.isa.semantics import bit_parts, build
from planish.isa.semantics.definition import Operand, Put
from planish.isa.semantics.floats import FORMATS
from planish.isa.semantics.node import Node, const
from planish.isa.semantics.reroll import roll_sums


class Unreadable(Exception):
    """Why an operation cannot be run."""


@dataclass(frozen=True, slots=True)
class Element:
    """What the elements of a register are: `kind` is "int" or a format of floats."""

    kind: str = "int"
    bits: int = 0
    signed: bool = False


@dataclass(frozen=True, slots=True)
class SymbolicValue:
    """A number or a float: `width` is that of its bits, where it has one; `element` says what its parts are. `product`:
    the two factors of a product of floats, where it may be rounded together with a sum."""

    node: Node
    width: int | None = None
    kind: str = "int"
    element: Element = Element()
    product: tuple[Node, Node] | None = None

    @property
    def is_float(self) -> bool:
        """Whether it is a float."""
        return self.kind != "int"


@dataclass(frozen=True, slots=True)
class RealNumber:
    """A number with a point, which takes the format of what it meets."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class BitAddress:
    """A place in memory: behind which pointer, and how many bits further on."""

    base: str
    offset: Node
    element: Element = Element()


@dataclass(frozen=True, slots=True)
class NamedSymbol:
    """A name with a meaning of its own: an operator that is held in a variable, `NaN`, `MAX`."""

    name: str


@dataclass(frozen=True, slots=True)
class SymbolChoice:
    """One of some symbols: the first whose condition holds, else the last."""

    options: tuple[tuple[Node, NamedSymbol], ...]


@dataclass(slots=True)
class Register:
    """Bits that are put together: by offset, the width and the value of each piece. What no piece covers is that of
    `background`, or undefined."""

    pieces: dict[int, tuple[int, SymbolicValue]] = field(default_factory=dict)
    background: SymbolicValue | None = None

    def copy(self) -> Register:
        """A register of its own with the same content."""
        return Register(dict(self.pieces), self.background)

    def whole(self) -> SymbolicValue:
        """All of it."""
        if not self.pieces and self.background is not None:
            return self.background
        end = max((at + width for at, (width, _) in self.pieces.items()), default=0)
        if self.background is not None and self.background.width:
            end = max(end, self.background.width)
        return self.read(0, end)

    def read(self, low: int, width: int) -> SymbolicValue:
        """Some bits of it."""
        exact = self.pieces.get(low)
        if exact is not None and exact[0] == width:
            return exact[1]
        parts: list[tuple[int, int, Node]] = []
        covered: list[tuple[int, int]] = []
        element = Element()
        for at, (size, value) in self.pieces.items():
            first, last = max(at, low), min(at + size, low + width)
            if first < last:
                inner = bit_parts.piece(value.node, first - at, last - first)
                parts.append((first - low, last - first, inner))
                covered.append((first, last))
                element = value.element
                alone = len(self.pieces) == 1 and self.background is None and first == low
                if alone or last - first == width:
                    return cut(value, first - at, width)
        if self.background is not None:
            for first, last in _gaps(covered, low, low + width):
                value = cut(self.background, first, last - first)
                parts.append((first - low, last - first, build.wrap(value.node, last - first)))
                element = self.background.element
        return SymbolicValue(bit_parts.join(parts), width, element=element)

    def holds(self, low: int, width: int) -> bool:
        """Whether all of some bits are one piece's, or the background's."""
        if self.background is not None:
            return True
        return any(at <= low and low + width <= at + size for at, (size, _) in self.pieces.items())

    def write_somewhere(self, at: Node, width: int, value: SymbolicValue) -> None:
        """Puts some bits where only a value says, a multiple of their width; Unreadable where it may be none."""
        if width & (width - 1) or build.wrap(at, width.bit_length() - 1).constant != 0:
            raise Unreadable("bits are put at a place that is not known")
        end = max((place + size for place, (size, _) in self.pieces.items()), default=0)
        end = max(end, (self.background.width or 0) if self.background is not None else 0)
        for place in range(max(at.low, 0), min(at.high + width, end) - width + 1, width):
            old = self.read(place, width).node
            made = build.select(build.equal(at, const(place)), value.node, old)
            self.write(place, width, replace(value, node=made, product=None))

    def write(self, low: int, width: int, value: SymbolicValue) -> None:
        """Puts some bits."""
        if low in self.pieces and self.pieces[low][0] == width:
            self.pieces[low] = width, value
            return
        for at, (size, old) in list(self.pieces.items()):
            if at < low + width and low < at + size:
                del self.pieces[at]
                if at < low:
                    self.pieces[at] = low - at, cut(old, 0, low - at)
                if low + width < at + size:
                    rest = at + size - low - width
                    self.pieces[low + width] = rest, cut(old, size - rest, rest)
        self.pieces[low] = width, value


def put_register(register: Register, result: Operand) -> list[Put]:
    """The statements that leave what a register holds in the result, as far as it is not undefined."""
    puts = []
    if register.background is not None and not register.pieces:
        register.write(0, result.bits, register.background)
    covered = 0
    for at, (width, value) in sorted(register.pieces.items()):
        if at >= result.bits:
            continue
        if register.background is not None and at > covered:
            puts.append(Put(result.name, const(covered), at - covered, register.read(covered, at - covered).node))
        kept = min(width, result.bits - at)
        for low, size, part in bit_parts.parts_of(build.wrap(value.node, kept), kept):
            puts.append(Put(result.name, const(at + low), size, roll_sums(part)))
        covered = at + kept
    if register.background is not None and covered < min(result.bits, register.background.width or 0):
        rest = min(result.bits, register.background.width or 0) - covered
        puts.append(Put(result.name, const(covered), rest, register.read(covered, rest).node))
    return puts


def merge_values(condition: Node, one: SymbolicValue, other: SymbolicValue) -> SymbolicValue:
    """A value that is one of two."""
    width = one.width if one.width == other.width else None
    kind = one.kind if one.kind == other.kind or one.is_float else other.kind
    element = one.element if one.element == other.element else Element()
    return SymbolicValue(build.select(condition, one.node, other.node), width, kind, element)


def merge_registers(condition: Node, one: Register, other: Register) -> Register:
    """A register whose pieces are those of one of two, as narrow as the narrower ones; what only one of them has, has
    no other value."""
    made = Register(background=_merged_background(condition, one.background, other.background))
    pieces = [*one.pieces.items(), *other.pieces.items()]
    edges = sorted({edge for at, (width, _) in pieces for edge in (at, at + width)})
    for low, high in pairwise(edges):
        width = high - low
        first, second = one.holds(low, width), other.holds(low, width)
        if first and second:
            mine, others = one.read(low, width), other.read(low, width)
            same = mine is others or mine.node is others.node
            made.write(low, width, mine if same else merge_values(condition, mine, others))
        elif first or second:
            made.write(low, width, (one if first else other).read(low, width))
    return made


def _merged_background(condition: Node, one: SymbolicValue | None, other: SymbolicValue | None) -> SymbolicValue | None:
    if one is None or other is None:
        return one or other
    return one if one.node is other.node else merge_values(condition, one, other)


def _gaps(covered: list[tuple[int, int]], low: int, high: int) -> list[tuple[int, int]]:
    found = []
    for first, last in sorted(covered):
        if low < first:
            found.append((low, first))
        low = max(low, last)
    return [*found, (low, high)] if low < high else found


def cut(value: SymbolicValue, low: int | Node, width: int) -> SymbolicValue:
    """Some bits of a value, as its elements are where they are one of them."""
    element = value.element
    of_element = element.bits == width
    signed = of_element and element.signed
    kind = element.kind if of_element else "int"
    inner = value.node
    if isinstance(low, Node) and low.constant is not None:
        low = low.constant
    if inner.op == "bits" and (isinstance(low, Node) or low + width <= int(inner.attr[1])):
        offset = build.add(inner.args[0], low if isinstance(low, Node) else const(low))
        return SymbolicValue(build.bits(str(inner.attr[0]), offset, width, signed), width, kind, element)
    if isinstance(low, Node):
        made = build.wrap(build.shift_right(inner, low), width, signed)
    elif low == 0 and value.width == width:
        return replace(value, kind=value.kind if value.is_float else kind)
    else:
        made = build.wrap(build.shift_right(inner, const(low)), width, signed)
    return SymbolicValue(made, width, kind, element)


def float_bits(value: Fraction, kind: str) -> int:
    """The bits of an exact number in a format; Unreadable where it has none there."""
    form = FORMATS[kind]
    if value == 0:
        return 0
    sign, value = (1, -value) if value < 0 else (0, value)
    exponent = 0
    while value >= 2:
        value, exponent = value / 2, exponent + 1
    while value < 1:
        value, exponent = value * 2, exponent - 1
    scaled = (value - 1) * (1 << form.fraction)
    if scaled.denominator != 1:
        raise Unreadable(f"{value} has no exact {kind}")
    return sign * form.sign | ((exponent + form.bias) << form.fraction) | int(scaled)
