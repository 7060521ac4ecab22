"""The file of an architecture's lane instructions: its nodes and its access maps, each once; a line for each of them.

>>> from planish.isa.collection import Collection
>>> from planish.isa.entry import Entry, IntrinsicSignature
>>> text = "(a: 16, b: 16) -> dst: 16 { for i < 2 { dst.u8[i] = u8(a.u8[i] + b.u8[i]) } }"
>>> signature = IntrinsicSignature("__m128i", (("__m128i", "a"), ("__m128i", "b")))
>>> entries = Collection.of("toy", "", [Entry("add8", "toy", signature, text, status="verified")])
>>> file = LaneFile.unpacked(extract(entries).packed())
>>> file.entries, file.maps
({'add8': [16, [['a', 16, 'register'], ['b', 16, 'register']], [';;3 8 0 0 0 1']]}, ['0;2 8', '65536;2 8'])
>>> file.function(3)
wrap(8, False, add(bits('0', 8, False, const(0)), bits('1', 8, False, const(0))))
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from planish.isa.collection import Collection
from planish.isa.entry import Entry
from planish.isa.semantics.build import ZERO
from planish.isa.semantics.node import Node, const, node
from planish.select.factored.access_map import affine
from planish.select.factored.factoring import FactoredPiece, Refusal
from planish.select.factored.index_fields import IndexFields, find_index_fields
from planish.select.factored.variants import FixedVariant, left_out, role_of, variants

_FORMAT = 1
BEHIND = 1 << 16
"""What the position of an operand is multiplied with, before a place in it is added."""


@dataclass(frozen=True, slots=True)
class LaneFile:
    """`library` is the digest of the collection that it was made of; `nodes` are operators with attributes and the
    numbers of their arguments; `maps` are access maps. `entries` say the bits of the result; names, bits and roles of
    operands; and the instructions, each a line: values that are fixed, ranges, and pieces behind semicolons. A piece
    is the number of its function, its width, whether it is divisible, and the maps of its lanes and of its slots.
    `shuffles` are those that an operand steers, in the same way: a line has the values that are fixed, the position of
    that operand, the width of a lane, the bits that say where it comes from, and the maps of lanes and of these bits.
    `refused` says why entries are nothing of this."""

    isa: str
    library: str
    nodes: list[list[Any]]
    maps: list[str]
    entries: Mapping[str, list[Any]]
    shuffles: Mapping[str, list[Any]]
    refused: Mapping[str, str]
    known: dict[int, Node] = field(default_factory=dict, compare=False)

    def packed(self) -> bytes:
        """The bytes of a file: the same for the same instructions."""
        content = {
            "format": _FORMAT, "isa": self.isa, "library": self.library, "nodes": self.nodes, "maps": self.maps,
            "entries": dict(self.entries), "shuffles": dict(self.shuffles), "refused": dict(self.refused),
        }  # fmt: skip
        return gzip.compress(json.dumps(content, separators=(",", ":")).encode(), 9, mtime=0)

    @classmethod
    def unpacked(cls, data: bytes) -> LaneFile:
        """What a file of ours holds; ValueError for another format."""
        found = json.loads(gzip.decompress(data))
        if found["format"] != _FORMAT:
            raise ValueError(f"it has format {found['format']}")
        parts = ("isa", "library", "nodes", "maps", "entries", "shuffles", "refused")
        return cls(*(found[x] for x in parts))

    def function(self, number: int) -> Node:
        """The lane function that a node is."""
        if number not in self.known:
            op, attributes, *args = self.nodes[number]
            made = tuple(self.function(x) for x in args)
            if op == "bits":
                made = (ZERO,) if not attributes[3:] else (const(attributes[3]),)
            self.known[number] = node(op, made, tuple(attributes[:3]))
        return self.known[number]

    def functions(self) -> set[int]:
        """The numbers of all lane functions."""
        lines = (line for _, _, found in self.entries.values() for line in found)
        return {int(piece.split(" ", 1)[0]) for line in lines for piece in line.split(";")[2:]}


def digest(collection: Collection) -> str:
    """What tells collections apart."""
    text = json.dumps(list(collection.records.values()), separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def extract(collection: Collection) -> LaneFile:
    """The lane instructions of a collection, which takes a minute for a great one."""
    found: dict[str, list[FixedVariant]] = {}
    shuffles: dict[str, list[IndexFields]] = {}
    refused: dict[str, str] = {}
    for entry in collection:
        if left_out(entry, collection.records):
            continue
        try:
            found[entry.name] = variants(entry, collection.records)
        except Refusal as error:
            try:
                shuffles[entry.name] = find_index_fields(entry)
            except Refusal:
                refused[entry.name] = str(error)
    return write_file(collection, found, shuffles, refused)


def write_file(
    collection: Collection,
    found: Mapping[str, list[FixedVariant]],
    shuffles: Mapping[str, list[IndexFields]],
    refused: Mapping[str, str],
) -> LaneFile:
    """The file of what has been found, in the order of names."""
    writer = _Writer()
    entries = {}
    for name in sorted(found):
        entries[name] = [*_heading(collection.entry(name)), [writer.line(x) for x in found[name]]]
    steered = {}
    for name in sorted(shuffles):
        steered[name] = [*_heading(collection.entry(name)), [writer.shuffle(x) for x in shuffles[name]]]
    kept = dict(sorted(refused.items()))
    return LaneFile(collection.isa, digest(collection), writer.nodes, list(writer.maps), entries, steered, kept)


def _heading(entry: Entry) -> tuple[int, list[list[Any]]]:
    definition = entry.definition
    assert definition.result is not None
    operands = []
    for kind, name in entry.signature.parameters:
        x = definition.operand(name)
        operands.append([name, x.bits, role_of(kind, x.role == "immediate")])
    return definition.result.bits, operands


def _values(fixed: Mapping[str, int]) -> str:
    return ",".join(f"{name}={value}" for name, value in sorted(fixed.items()))


class _Writer:
    """Lines, with the nodes and the maps that they name."""

    def __init__(self) -> None:
        self.nodes: list[list[Any]] = []
        self.numbers: dict[Node, int] = {}
        self.maps: dict[str, int] = {}

    def line(self, x: FixedVariant) -> str:
        ranges = ",".join(f"{name}={low}={high}" for name, (low, high) in sorted(x.ranges.items()))
        return ";".join([_values(x.fixed), ranges, *map(self.piece, x.pieces)])

    def piece(self, x: FactoredPiece) -> str:
        slots = [self.map([position * BEHIND + offset for position, offset in places]) for places in x.slots]
        return " ".join(map(str, [self.node(x.function), x.width, int(x.divisible), self.map(x.lanes), *slots]))

    def shuffle(self, x: IndexFields) -> str:
        numbers = x.index, x.width, x.field_width, self.map(x.lanes), self.map(x.fields)
        return f"{_values(x.fixed)};{' '.join(map(str, numbers))}"

    def map(self, numbers: list[int] | tuple[int, ...]) -> int:
        return self.maps.setdefault(affine(numbers), len(self.maps))

    def node(self, x: Node) -> int:
        if x not in self.numbers:
            if x.op == "bits":
                (offset,) = x.args
                record: list[Any] = [x.op, [*x.attr, *([offset.low] if offset.low else [])]]
            else:
                record = [x.op, list(x.attr), *map(self.node, x.args)]
            self.numbers[x] = len(self.nodes)
            self.nodes.append(record)
        return self.numbers[x]
