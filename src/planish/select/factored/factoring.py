"""Definitions factored into lane functions and access maps.

>>> from planish.isa.semantics.text import parse_definition
>>> text = "(a: 32, b: 32) -> r: 32 { for i < 4 { r.u8[i] = u8(a.u8[i] + b.s8[0]) } }"
>>> (piece,) = factor(lane_puts(parse_definition(text)), Parameters.of(parse_definition(text)))
>>> piece.function, piece.lanes
(wrap(8, False, add(bits('0', 8, False, const(0)), bits('1', 8, False, const(0)))), (0, 8, 16, 24))
>>> piece.slots
(((0, 0), (0, 8), (0, 16), (0, 24)), ((1, 0), (1, 0), (1, 0), (1, 0)))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from planish.isa.semantics import build
from planish.isa.semantics.build import ONE, ZERO
from planish.isa.semantics.definition import Definition, LaneLoop, Put, nested_puts
from planish.isa.semantics.node import Node, const, node, rebuild, scaled, terms_of, tree_size, var, walk
from planish.select.factored.bitwise import as_whole, bitwise, is_divisible, look_up
from planish.select.factored.lane_terms import Counter, Folding, cut, slotted

_LARGEST = 600
"""Terms of a lane function from which on nobody finds it in a program."""

WIDEST = 64
"""Bits of a lane in which there is arithmetic."""

ALL = -1
"""The value of a predicate that holds everywhere."""

Place = tuple[int, int]


class Refusal(Exception):
    """Why a definition has no lane functions."""


@dataclass(frozen=True, slots=True)
class FactoredPiece:
    """Lanes that are one function: as `lane_functions.Piece`, written out."""

    function: Node
    width: int
    lanes: tuple[int, ...]
    slots: tuple[tuple[Place, ...], ...]
    divisible: bool


@dataclass(frozen=True, slots=True)
class Parameters:
    """What is known of operands: their positions and widths; `fixed` are values, `ranges` those of amounts of shifts,
    by the read (name, offset, width); `named` the operands that are no slots; `predicates` those with a byte of equal
    bits for each lane; `unsigned` those whose C types are."""

    positions: Mapping[str, int]
    bits: Mapping[str, int]
    fixed: Mapping[str, int] = field(default_factory=dict)
    ranges: Mapping[tuple[str, int, int], tuple[int, int]] = field(default_factory=dict)
    named: frozenset[str] = frozenset()
    predicates: frozenset[str] = frozenset()
    unsigned: frozenset[str] = frozenset()
    is_predicate: bool = False

    @classmethod
    def of(cls, definition: Definition) -> Parameters:
        """Those of a definition of which nothing else is known."""
        positions = {x.name: at for at, x in enumerate(definition.operands)}
        return cls(positions, {x.name: x.bits for x in definition.operands})

    def read(self, name: str, offset: Node, width: int, signed: bool) -> Node:
        """A read, with what is known of the operand."""
        if name in self.fixed:
            value = self.fixed[name]
            if value == ALL:
                return const(ALL if signed else (1 << width) - 1)
            found = look_up(value, offset) if width == 1 else None
            return build.wrap(build.shift_right(const(value), offset), width, signed) if found is None else found
        if offset.op == "const":
            ends = self.ranges.get((name, offset.low, width))
            if ends is not None and not signed:
                low, high = ends
                return build.add(var(f"{name} {offset.low} {width}", high - low + 1), const(low))
            return self.read_at(name, offset.low, width, signed)
        return build.bits(name, offset, width, signed)

    def read_at(self, name: str, offset: int, width: int, signed: bool) -> Node:
        """A read at a place that is known: beyond the ends of an operand there are zeros."""
        size = self.bits.get(name, 0)
        if offset >= size or offset + width <= 0:
            return ZERO
        if offset < 0:
            raise Refusal("reads before the beginning")
        if offset + width > size:
            return build.bits(name, const(offset), size - offset)
        return build.bits(name, const(offset), width, signed)

    def restored(self, x: Node) -> Node:
        """An expression with reads in place of what `ranges` have made of them."""
        counters: dict[Counter, Node] = {}
        for (name, offset, width), (low, high) in self.ranges.items():
            read = build.bits(name, const(offset), width)
            counters[f"{name} {offset} {width}", high - low + 1] = build.add(read, const(-low))
        return Folding(counters, build.bits).of(x) if counters else x

    def unfolded(self, x: Node) -> Node:
        """An expression whose reads are at places that do not depend on amounts: shifts of wider reads."""

        if x.op in ("bits", "const") and (not x.args or x.args[0].op == "const"):
            return x

        def change(old: Node, args: tuple[Node, ...]) -> Node:
            if old.op == "bits" and self.depends(args[0]):
                return self._shifted_read(old, args[0])
            if old.op == "eq" and self._is_predicate_read(args[0]) and args[1] is ZERO:
                (offset,) = args[0].args
                return build.negation(build.bits(str(args[0].attr[0]), offset, 1))
            if old.op in ("not", "select") and args != old.args:
                return build.negation(args[0]) if old.op == "not" else build.select(*args)
            return old if args == old.args else node(old.op, args, old.attr)

        return rebuild(x, change)

    def _is_predicate_read(self, x: Node) -> bool:
        return x.op == "bits" and x.attr[0] in self.predicates and x.attr[1] == 8

    def depends(self, offset: Node) -> bool:
        """Whether a place depends on an operand."""
        return any(x.op == "bits" for x in walk([offset]))

    def _shifted_read(self, x: Node, offset: Node) -> Node:
        name, width = str(x.attr[0]), int(x.attr[1])
        moving = [y for y in terms_of(offset) if not self.depends(y)]
        by = build.add(*(y for y in terms_of(offset) if self.depends(y)))
        if by.op != "bits" or by.attr[0] not in self.named:
            raise Refusal("places depend on an operand")
        found = self.ranges.get((str(by.attr[0]), by.args[0].low, int(by.attr[1])))
        if found is None:
            raise Refusal("places depend on an operand")
        whole = 1 << (found[1] + width - 1).bit_length()
        source = build.bits(name, build.add(*moving), whole, name not in self.unsigned)
        return node("wrap", (node("shr", (source, by)),), (width, bool(x.attr[2])))


@dataclass(frozen=True, slots=True)
class LanePut:
    """A statement that puts a value, cut to its width, into the result, and the loops around it."""

    put: Put
    loops: tuple[LaneLoop, ...]


def lane_puts(definition: Definition) -> tuple[LanePut, ...]:
    """The statements of a definition; Refusal where one puts something elsewhere than into the result."""
    found = nested_puts(definition.body)
    if definition.result is None or any(x.target != definition.result.name for x in definition.puts):
        raise Refusal("writes memory")
    return tuple(LanePut(replace(x, value=build.wrap(x.value, x.width)), loops) for x, loops in found)


def factor(puts: Sequence[LanePut], known: Parameters) -> tuple[FactoredPiece, ...]:
    """The lanes of a result, by their functions; Refusal where they have none."""
    groups: dict[tuple[Node, int], _Group] = {}
    plain = Folding({}, known.read)
    for x in puts:
        for lanes in _lanes(x.put, x.loops, known, plain):
            lanes.add_to(groups)
    written = sorted(lane for group in groups.values() for lane in group.lanes)
    if len(written) != len(set(written)):
        raise Refusal("lanes are written twice")
    pieces = [x.piece(function, width) for (function, width), x in groups.items()]
    return tuple(sorted(pieces, key=lambda x: x.lanes))


@dataclass(slots=True)
class _Group:
    lanes: list[int] = field(default_factory=list)
    slots: list[list[Place]] = field(default_factory=list)

    def piece(self, function: Node, width: int) -> FactoredPiece:
        order = sorted(range(len(self.lanes)), key=self.lanes.__getitem__)
        slots = tuple(tuple(x[at] for at in order) for x in self.slots)
        lanes = tuple(self.lanes[at] for at in order)
        divisible = is_divisible(function, width)
        if divisible and width == 1 and len(lanes) > 1 and all(map(_is_row, (lanes, *map(_bits_of, slots)))):
            whole = as_whole(function, len(lanes))
            return FactoredPiece(whole, len(lanes), lanes[:1], tuple(x[:1] for x in slots), True)
        return FactoredPiece(bitwise(function, width) if divisible else function, width, lanes, slots, divisible)


def _bits_of(places: Sequence[Place]) -> tuple[int, ...]:
    return tuple((position << 32) + offset for position, offset in places)


def _is_row(numbers: Sequence[int]) -> bool:
    return all(at == numbers[0] + i for i, at in enumerate(numbers))


@dataclass(frozen=True, slots=True)
class _Lanes:
    """Lanes that come from one statement, with their function and their places."""

    function: Node
    width: int
    offsets: Sequence[int]
    slots: Sequence[Sequence[Place]]

    def add_to(self, groups: dict[tuple[Node, int], _Group]) -> None:
        group = groups.setdefault((self.function, self.width), _Group([], [[] for _ in self.slots]))
        group.lanes += self.offsets
        for mine, added in zip(group.slots, self.slots, strict=True):
            mine += added


def _lanes(put: Put, loops: Sequence[LaneLoop], known: Parameters, plain: Folding) -> list[_Lanes]:
    parts = _together(put, loops, known, plain)
    if parts is not None:
        return parts
    found: list[_Lanes] = []
    for turns in product(*(range(x.count) for x in loops)):
        counters = {(x.var, x.count): const(turn) for x, turn in zip(loops, turns, strict=True)}
        folding = Folding(counters, known.read) if loops else plain
        if folding.of(put.when) is not ONE:
            raise Refusal("is written under a condition")
        offset = folding.of(put.offset)
        value = known.unfolded(known.restored(folding.of(put.value)))
        if offset.op != "const":
            raise Refusal("is written at places that depend on an operand")
        for start, width, part in _cut_parts(value, put.width, known):
            found.append(_single(offset.low + start, width, part, known))
    return found


def _cut_parts(value: Node, width: int, known: Parameters) -> Iterator[tuple[int, int, Node]]:
    """The value as it stands; the bytes of one that is too wide, and the first bits of those of a predicate."""
    if known.is_predicate and width >= 8:
        for at in range(0, width, 8):
            yield at, 1, known.unfolded(cut(value, at, 1))
    elif _is_wide(value, width):
        parts = [cut(value, at, 8) for at in range(0, width, 8)]
        if all(x.op in ("bits", "const") and (x.op == "const" or x.attr[1] == 8) for x in parts):
            yield from ((8 * at, 8, x) for at, x in enumerate(parts))
        else:
            yield 0, width, value
    else:
        yield 0, width, value


def _is_wide(value: Node, width: int) -> bool:
    return width > WIDEST and value.op not in ("bits", "const") and not is_divisible(value, width)


def _single(offset: int, width: int, value: Node, known: Parameters) -> _Lanes:
    if value.op == "const":
        return _Lanes(value, width, (offset,), ())
    if value.op == "bits" and value.args[0].op == "const" and value.attr[0] not in known.named:
        function = node("bits", (ZERO,), ("0", *value.attr[1:]))
        return _Lanes(function, width, (offset,), (((known.positions[str(value.attr[0])], value.args[0].low),),))
    if tree_size(value) > _LARGEST:
        raise Refusal("is too large")
    if any(x.op == "bits" and x.args[0].op != "const" for x in walk([value])):
        raise Refusal("places depend on an operand")

    def place(read: Node) -> Place:
        return known.positions[str(read.attr[0])], read.args[0].low

    function, reads = slotted(value, _named(value, known), place)
    return _Lanes(function, width, (offset,), tuple((place(x),) for x in reads))


def _named(value: Node, known: Parameters) -> frozenset[Node]:
    return frozenset(x for x in walk([value]) if x.op == "bits" and x.attr[0] in known.named)


def _together(put: Put, loops: Sequence[LaneLoop], known: Parameters, folding: Folding) -> list[_Lanes] | None:
    """All lanes of a statement, where their places are affine in the counters of its loops; None where they are not,
    or some lanes read one place twice and others do not."""
    if not loops:
        return None
    if folding.of(put.when) is not ONE:
        return None
    value = known.unfolded(known.restored(folding.of(put.value)))
    if known.is_predicate or _is_wide(value, put.width):
        return None
    if tree_size(value) > _LARGEST:
        raise Refusal("is too large")
    grid = [{(x.var, x.count): turn for x, turn in zip(loops, turns, strict=True)}
            for turns in product(*(range(x.count) for x in loops))]  # fmt: skip
    offsets = _affine(folding.of(put.offset), grid)
    reads = [x for x in walk([value]) if x.op == "bits"]
    places = {id(x): _affine(x.args[0], grid) for x in reads}
    if offsets is None or any(x is None for x in places.values()) or _counts(value):
        return None
    if any(x.attr[0] in known.named and x.args[0].op != "const" for x in reads):
        return None

    def place(read: Node) -> Place:
        found = places[id(read)]
        assert found is not None
        return known.positions[str(read.attr[0])], found[0]

    function, slots = slotted(value, _named(value, known), place)
    rows = []
    for x in slots:
        found = places[id(x)]
        assert found is not None
        name, width = str(x.attr[0]), int(x.attr[1])
        if min(found) < 0 or max(found) + width > known.bits[name]:
            return None
        rows.append((name, width, found))
    for at, (name, width, found) in enumerate(rows):
        for other, size, places_of in rows[:at]:
            if (other, size) == (name, width) and any(p == q for p, q in zip(found, places_of, strict=True)):
                return None
    access = [[(known.positions[name], place) for place in found] for name, _, found in rows]
    return [_Lanes(function, put.width, offsets, access)]


def _counts(value: Node) -> bool:
    """Whether a counter stands in a value elsewhere than in places."""
    stack, seen = [value], set()
    while stack:
        x = stack.pop()
        if x.op == "var":
            return True
        if x.op != "bits" and id(x) not in seen:
            seen.add(id(x))
            stack += x.args
    return False


def _affine(offset: Node, grid: Sequence[Mapping[Counter, int]]) -> list[int] | None:
    start, factors = 0, []
    for term in terms_of(offset):
        inner, factor = scaled(term)
        if term.op == "const":
            start += term.low
        elif inner.op == "var":
            factors.append(((str(inner.attr[0]), int(inner.attr[1])), factor))
        else:
            return None
    return [start + sum(turn[counter] * factor for counter, factor in factors) for turn in grid]
