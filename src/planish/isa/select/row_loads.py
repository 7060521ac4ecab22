"""Row loads: whole, as pieces that are put side by side, or element by element.

>>> from planish.ir.types import F32
>>> from planish.isa.select.shuffle_table import find_moves
>>> vocabulary = InstructionSet("x86", ("SSE", "SSE2", "AVX"))
>>> loads = Loads(vocabulary, find_moves(vocabulary, 32), F32, "__m256")
>>> loads.cost(VectorLayout(("k0", "k1", "k2", "k3", "r0"), frozenset()))
1.1
>>> [(x.offset, x.bits) for x in loads.pieces(VectorLayout(("k0", "k1", "k2", "k3", "r0"), frozenset()), 4)]
[(0, {'r0': 0}), (16, {'r0': 1})]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from planish.ir.types import Type
from planish.isa.select.instruction_set import POINTER, InstructionSet, RequiredOperand, Spelt, plain_kind
from planish.isa.select.permutation import element_bits
from planish.isa.select.permute_instructions import Mover
from planish.isa.select.shuffle_table import Moves
from planish.isa.select.tree_cover import ELEMENTS, in_order
from planish.isa.select.vector_layouts import VectorLayout
from planish.isa.semantics import build
from planish.isa.semantics.scalarised import bytes_of

LOAD, _INSERT, _SHORT, _BUILD = 0.5, 0.1, 0.25, 1.0
"""What a load costs, putting it into a register beside others, one that fills its piece in part only, and putting an
element there; a shuffle costs 1."""


@dataclass(frozen=True, slots=True)
class RegisterPiece:
    """A piece of a register: where it is in it, and what bits say which row it comes from and where it begins there."""

    offset: int
    bits: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Way:
    """Pieces of `1 << size` bytes, of which `1 << filled` are loaded; `built` of elements."""

    cost: float
    size: int
    filled: int
    built: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Loads:
    """Loads elements of a type into registers of a kind, C's name of it."""

    instruction_set: InstructionSet
    moves: Moves
    type: Type
    kind: str
    known: dict[tuple[str, int, int], Spelt | None] = field(default_factory=dict)

    def cost(self, layout: VectorLayout) -> float | None:
        """What loading registers of a layout costs; None where it cannot be done."""
        found = [x.cost for x in self.ways(layout)]
        return layout.registers * min(found) if found else None

    def ways(self, layout: VectorLayout) -> Iterator[_Way]:
        """All ways of loading a register."""
        lanes = layout.lanes
        together = next((i for i, x in enumerate(lanes) if x != f"k{i}"), len(lanes))
        element = element_bits(self.type)
        half = {self.moves.bits - 1} if self.moves.joins else set()
        for size in sorted({self.moves.bits, *((x.bit_length() - 1) for x, _ in self.moves.inserts), *half}):
            filled = min(size, together)
            count = 1 << sum(map(bool, lanes[size:]))
            if filled < element or any(lanes[filled:size]) or not self.is_loaded(size, filled, count):
                continue
            short = _SHORT * count if filled < size else 0.0
            yield _Way(count * LOAD + (count - 1) * _INSERT + short, size, filled)
        if together >= element and self.builders(element):
            count = 1 << sum(map(bool, lanes[element:]))
            yield _Way(count * LOAD + (count - 1) * _BUILD, element, element, built=True)

    def is_loaded(self, size: int, filled: int, count: int) -> bool:
        """Whether so many pieces of a size can be loaded."""
        if size == self.moves.bits:
            return filled == size and self.call(self.kind, size, filled) is not None
        apart = self.first(size, filled) and (count == 1 or self.others(size, filled, 1 << size))
        return bool(apart or (count == 2 and self.join(size, filled)))

    def join(self, size: int, filled: int) -> tuple[Mover, Spelt] | None:
        """What makes a register of its two halves."""
        return self.best(self.moves.joins, size, filled) if size == self.moves.bits - 1 else None

    def first(self, size: int, filled: int) -> tuple[Mover, Spelt] | None:
        """What makes a register of its first piece."""
        others = self.others(size, filled, 1 << size)
        return self.best(self.moves.widen.get(1 << size, ()), size, filled, others[0].sources[0][0] if others else "")

    def others(self, size: int, filled: int, offset: int) -> tuple[Mover, Spelt] | None:
        """What puts a piece into a register."""
        return self.best(self.moves.inserts.get((1 << size, offset), ()), size, filled)

    def best(
        self, movers: tuple[Mover, ...], size: int, filled: int, kind: str = ""
    ) -> tuple[Mover, Spelt] | None:
        found = [(x, call) for x in movers if (call := self.call(x.sources[-1][0], size, filled)) is not None]
        return min(found, key=lambda x: x[0].entry.signature.result != (kind or self.kind), default=None)

    def call(self, kind: str, size: int, filled: int) -> Spelt | None:
        """A load of `1 << filled` bytes into a register of `1 << size`, whose others are zero."""
        if (kind, size, filled) not in self.known:
            self.known[kind, size, filled] = self.found(kind, size, filled)
        return self.known[kind, size, filled]

    def found(self, kind: str, size: int, filled: int) -> Spelt | None:
        count = 1 << filled
        places = [*bytes_of("", 0, 8 * count, build.bits("m", build.ZERO, 8 * count)),
                  *bytes_of("", count, 8 * ((1 << size) - count), build.ZERO)]  # fmt: skip
        given = RequiredOperand("m", POINTER, element=ELEMENTS.get(str(self.type), ""))
        return self.instruction_set.find(in_order(places), kind, [given])

    def pieces(self, layout: VectorLayout, size: int) -> list[RegisterPiece]:
        """The pieces of a register."""
        upper = [(i, name) for i, name in enumerate(layout.lanes) if i >= size and name]
        found = []
        for values in product((0, 1), repeat=len(upper)):
            offset = sum(value << i for (i, _), value in zip(upper, values, strict=True))
            found.append(RegisterPiece(offset, {name: x for (_, name), x in zip(upper, values, strict=True)}))
        return sorted(found, key=lambda x: x.offset)

    def load(self, layout: VectorLayout, address: Callable[[Mapping[str, int]], str]) -> tuple[str, str]:
        """The C of a register of a layout, and its type; `address` says where bits of rows and places lead to."""
        way = min(self.ways(layout), key=lambda x: x.cost)
        pieces = self.pieces(layout, way.size)
        if way.built:
            return self.build(pieces, way.size, address)
        if way.size == self.moves.bits:
            whole = self.call(self.kind, way.size, way.filled)
            assert whole
            return whole.call({"m": address({})}), self.kind
        joined = self.join(way.size, way.filled)
        if joined and len(pieces) == 2 and not self.others(way.size, way.filled, 1 << way.size):
            mover, call = joined
            return mover.call([call.call({"m": address(x.bits)}) for x in pieces]), mover.entry.signature.result
        return self.put_together(pieces, way, address)

    def put_together(
        self, pieces: list[RegisterPiece], way: _Way, address: Callable[[Mapping[str, int]], str]
    ) -> tuple[str, str]:
        """A register of its first piece, in which the others are put."""
        text, kind = "", ""
        for x in pieces:
            found = self.others(way.size, way.filled, x.offset) if x.offset else self.first(way.size, way.filled)
            assert found
            mover, call = found
            operands = [call.call({"m": address(x.bits)})]
            if x.offset:
                wide = mover.sources[0][0]
                operands.insert(0, text if wide == kind else self.moves.casts[kind, wide].call([text]))
            text, kind = mover.call(operands), mover.entry.signature.result
        return text, kind

    def builders(self, size: int) -> list[Mover]:
        """What makes registers of scalars of the element's own type."""
        own = ELEMENTS.get(str(self.type), "")
        return [x for x in self.moves.built.get(1 << size, ()) if plain_kind(x.sources[0][0]) == plain_kind(own)]

    def build(
        self, pieces: list[RegisterPiece], size: int, address: Callable[[Mapping[str, int]], str]
    ) -> tuple[str, str]:
        """A register of elements; those that nothing is said of are zero."""
        movers = self.builders(size)
        mover = min(movers, key=lambda x: x.entry.signature.result != self.kind)
        found = {x.offset: f"*{address(x.bits)}" for x in pieces}
        heads = [(at, x) for at, x in enumerate(mover.moves) if at % (1 << size) == 0 and x is not None]
        starts = {operand >> size: at for at, operand in heads}
        return mover.call([found.get(starts[i], "0") for i in range(len(starts))]), mover.entry.signature.result
