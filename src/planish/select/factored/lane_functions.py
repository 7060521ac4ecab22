"""Instructions as lane functions and access maps: what each lane of a result is, and where it reads.

>>> (add,) = (x for x in load_lane_instructions("x86") if x.entry == "_mm_add_epi8")
>>> (piece,) = add.pieces
>>> piece.function
wrap(8, False, add(bits('0', 8, False, const(0)), bits('1', 8, False, const(0))))
>>> piece.lanes[:3], piece.slots[1][:3]
((0, 8, 16), ((1, 0), (1, 8), (1, 16)))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from typing import Any

from planish.isa.collection import load_collection
from planish.isa.entry import Entry
from planish.isa.select.instruction_set import InstructionSet
from planish.isa.semantics.node import Node, node, rebuild
from planish.select.factored.access_map import Expanded, expand
from planish.select.factored.bitwise import bitwise_slots
from planish.select.factored.lane_file import BEHIND, LaneFile
from planish.select.factored.lane_terms import cut

Place = tuple[int, int]
"""The position of an operand among the parameters, and the bit in it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Lanes of a result that are one function of what they read. `function` is over slots, reads of operands whose
    names are numbers ("0", "1", ...); immediates and amounts of shifts, which all lanes read at one place, have the
    names of their parameters. `width` are the bits of a lane, `lanes` their places in the result; `slots` say where
    each slot reads, for each lane. `divisible`: whether each bit is made of the bits beside it in other slots alone,
    so that narrower lanes are the same function; see `divided`.

    A slot that a function only shifts right and then cuts, so that nothing above it matters, holds for any value with
    the same low bits, whatever the sign of its read says."""

    function: Node
    width: int
    lanes: Sequence[int]
    slots: Sequence[Sequence[Place]]
    divisible: bool = False


@dataclass(frozen=True, slots=True)
class LaneOperand:
    """A parameter: "register", "mask", "scalar" or "immediate". An immediate, or the scalar that is the amount of a
    shift, is from `low` to `high` where these are known: the function holds only there."""

    name: str
    bits: int
    role: str
    kind: str
    low: int | None = None
    high: int | None = None

    def takes(self, value: Node) -> bool:
        """Whether it may be a number, or a scalar in a range: by nothing at all nothing is shifted, which is shown for
        what is used."""
        low = self.low if self.low != 1 or value.op == "const" else 0
        known = value.op == "const" or self.role == "scalar"
        return known and (low is None or value.low >= low) and (self.high is None or value.high <= self.high)


@dataclass(frozen=True, slots=True)
class LaneInstruction:
    """An entry of the library, with values for those of its parameters that decide where lanes read: -1 is a predicate
    that holds everywhere. `result` are the bits of the result; those that no piece has are not defined. Of a mask of
    HVX each byte is its first bit eight times."""

    entry: str
    isa: str
    result: int
    operands: tuple[LaneOperand, ...]
    pieces: Sequence[Piece]
    result_type: str
    features: tuple[str, ...]
    values: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    fixed: Mapping[str, int] = field(default_factory=dict)


def divided(piece: Piece, width: int) -> Piece:
    """The same lanes cut into narrower ones; the piece has to be divisible, and its width a multiple of the new one."""
    if width == piece.width:
        return piece
    if not piece.divisible or piece.width % width:
        raise ValueError(f"lanes of {piece.width} bits are not cut into {width}")
    data = bitwise_slots(piece.function)
    function = _divided(piece.function, width)

    def lanes() -> tuple[int, ...]:
        return _cut_lanes(tuple(piece.lanes), piece.width, width)

    def places(slot: int) -> tuple[Place, ...]:
        own = tuple(piece.slots[slot])
        return (_cut_places if str(slot) in data else _repeated)(own, piece.width, width)

    slots = tuple(Expanded(partial(places, slot)) for slot in range(len(piece.slots)))
    return Piece(function, width, Expanded(lanes), slots, True)


@cache
def _cut_lanes(lanes: tuple[int, ...], whole: int, width: int) -> tuple[int, ...]:
    """Where the parts of so many bits of lanes lie."""
    return tuple(lane + start for lane in lanes for start in range(0, whole, width))


@cache
def _cut_places(places: tuple[Place, ...], whole: int, width: int) -> tuple[Place, ...]:
    """Where parts of so many bits read, of lanes that read there."""
    return tuple((operand, offset + start) for operand, offset in places for start in range(0, whole, width))


@cache
def _repeated(places: tuple[Place, ...], whole: int, width: int) -> tuple[Place, ...]:
    """Where such parts read what is the same for all bits of a lane."""
    return tuple(x for x in places for _ in range(0, whole, width))


@cache
def _divided(whole: Node, width: int) -> Node:
    """The function of a part of so many bits of a lane."""
    data = bitwise_slots(whole)

    def narrow(old: Node, args: tuple[Node, ...]) -> Node:
        if old.op == "bits" and str(old.attr[0]) in data:
            return node("bits", args, (old.attr[0], width, False))
        return old if args == old.args else node(old.op, args, old.attr)

    return cut(rebuild(whole, narrow), 0, width)


@cache
def load_lane_instructions(isa: str) -> tuple[LaneInstruction, ...]:
    """Those of an architecture, by name, and by the values that are fixed."""
    return tuple(x for name in load_lane_file(isa).entries for x in instructions_of(isa, name))


@cache
def usable(isa: str, features: tuple[str, ...]) -> tuple[LaneInstruction, ...]:
    """Those that an extension has."""
    return tuple(x for name in had(isa, features, load_lane_file(isa).entries) for x in instructions_of(isa, name))


def had(isa: str, features: tuple[str, ...], names: Iterable[str]) -> list[str]:
    """Those of some entries that need nothing but these features."""
    instruction_set, collection = InstructionSet(isa, features), load_collection(isa)
    return [x for x in names if instruction_set.needs(collection.entry(x)) is not None]


def with_kinds(entry: Entry, parameters: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """The parameters of an entry as they stand in a file, with their types in C."""
    kinds = (kind for kind, _ in entry.signature.parameters)
    return [(*x, kind) for x, kind in zip(parameters, kinds, strict=True)]


@cache
def load_lane_file(isa: str) -> LaneFile:
    """The file of an architecture that comes with Planish."""
    return LaneFile.unpacked(files("planish.select").joinpath("lanes", lanes_file(isa)).read_bytes())


def lanes_file(isa: str) -> str:
    """The name of the file of an architecture."""
    return f"{isa}.json.gz"


@cache
def instructions_of(isa: str, name: str) -> tuple[LaneInstruction, ...]:
    """Those of an entry; KeyError where it has none."""
    file, entry = load_lane_file(isa), load_collection(isa).entry(name)
    result, parameters, lines = file.entries[name]
    operands = with_kinds(entry, parameters)
    plain = tuple(LaneOperand(*x) for x in operands)
    found = []
    for line in lines:
        fixed, ranges, pieces = line.split(";", 2)
        bounds = {x: (int(low), int(high)) for x, low, high in assigned(ranges)}
        made = tuple(LaneOperand(*x, *bounds.get(x[0], ())) for x in operands) if bounds else plain
        found.append(
            LaneInstruction(
                name,
                isa,
                result,
                made,
                Expanded(partial(_pieces, file, pieces)),
                entry.signature.result,
                entry.features,
                entry.values,
                {x: int(value) for x, value in assigned(fixed)},
            )  # fmt: skip
        )
    return tuple(found)


def assigned(text: str) -> list[list[str]]:
    """The names of a line of a file, each with its numbers."""
    return [x.split("=") for x in text.split(",")] if text else []


def _pieces(file: LaneFile, text: str) -> tuple[Piece, ...]:
    found = []
    for piece in text.split(";"):
        function, width, divisible, lanes, *slots = map(int, piece.split())
        places = Expanded(partial(_slots, file, slots))
        found.append(
            Piece(file.function(function), width, Expanded(partial(expand, file.maps[lanes])), places, divisible == 1)
        )
    return tuple(found)


def _slots(file: LaneFile, maps: Sequence[int]) -> tuple[Sequence[Place], ...]:
    return tuple(Expanded(partial(_places, file.maps[x])) for x in maps)


@cache
def _places(text: str) -> tuple[Place, ...]:
    return tuple((x // BEHIND, x % BEHIND) for x in expand(text))
