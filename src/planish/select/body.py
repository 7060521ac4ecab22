"""What one strip of a nest computes: outputs whose lanes are terms over rows of memory and scalars.

A strip is a definition as an instruction's: rows of memory are its operands, a loop counts its lanes.

>>> body = read_body("(p: 80, q: 64) -> out: 64 { for i < 8 { out.u8[i] = p.u8[i + 1] + q.u8[i] + 1 >> 1 } }")
>>> body.lanes, [x.row for x in body.outputs], body.address(body.leaves[0])
(8, ['out'], LaneAddress(row='p', offset=8, step=8))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planish.isa.semantics.definition import Definition, LaneLoop, Put
from planish.isa.semantics.node import Node, scaled, terms_of, walk
from planish.isa.semantics.text import parse_definition
from planish.select.forms.whole_reads import whole_reads

_LANES = (8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class LaneAddress:
    """Where a leaf reads: in a row, at a bit offset for iteration 0, and so many bits further for each iteration."""

    row: str
    offset: int
    step: int

    def at(self, iteration: int) -> int:
        """The bit offset for an iteration."""
        return self.offset + self.step * iteration


@dataclass(frozen=True, slots=True)
class Output:
    """A row that is written: each iteration puts the lowest `width` bits of a term at its address; where there is a
    `guard`, only where this holds, and nothing is put elsewhere."""

    row: str
    offset: int
    step: int
    width: int
    value: Node
    guard: Node | None = None


class NoBody(Exception):
    """A definition that is not one loop over lanes; the message says what of it."""


@dataclass(slots=True)
class LaneBody:
    """A strip of `lanes` iterations. `definition` is all of it; `scalars`: operands that are no memory; `extents`: the
    bits of rows; `elements`: the bits of what they consist of; `read_where`: rows of which an iteration reads its own
    element where a condition holds, and nothing elsewhere; `cells`: rows that are the nest's own, in registers where
    there are enough."""

    definition: Definition
    lanes: int
    counter: Node
    outputs: tuple[Output, ...]
    scalars: frozenset[str]
    extents: Mapping[str, int]
    elements: Mapping[str, int]
    read_where: Mapping[str, Node] = field(default_factory=dict)
    cells: frozenset[str] = frozenset()
    _known: dict[Node, LaneAddress | None] = field(default_factory=dict)
    _fixed: dict[Node, bool] = field(default_factory=dict)
    _whole: dict[Node, Node] = field(default_factory=dict)

    @property
    def leaves(self) -> list[Node]:
        """What is read, each once."""
        return [x for x in walk(self.roots) if x.op == "bits"]

    @property
    def roots(self) -> list[Node]:
        """What is stored, and where."""
        return [x.value for x in self.outputs] + [x.guard for x in self.outputs if x.guard is not None]

    def address(self, leaf: Node) -> LaneAddress | None:
        """Where a leaf reads; None for what is no read of memory at an affine place."""
        if leaf not in self._known:
            self._known[leaf] = self._address(leaf)
        return self._known[leaf]

    def _address(self, leaf: Node) -> LaneAddress | None:
        if leaf.op != "bits" or str(leaf.attr[0]) in self.scalars:
            return None
        place = _affine(leaf.args[0], self.counter)
        if int(leaf.attr[1]) not in _LANES or (place is not None and (place[0] | place[1]) % 8):
            return None
        return LaneAddress(str(leaf.attr[0]), *place) if place is not None else None

    def whole(self, x: Node) -> Node:
        """The term with reads of whole elements alone."""
        found = self._whole.get(x)
        if found is None:
            found = self._whole[x] = whole_reads(x, lambda row: self.elements.get(row, 0))
        return found

    def is_leaf(self, x: Node) -> bool:
        """Whether a term is read from memory, or is the same in all lanes: nothing is computed for it."""
        return self.address(x) is not None or self.is_invariant(x)

    def is_wider(self, x: Node, width: int) -> bool:
        """Whether a term reads an element of more bits."""
        return x.op == "bits" and int(x.attr[1]) > width and self.address(x) is not None

    def is_apart(self, x: Node) -> bool:
        """Whether iterations read elements that are no neighbours."""
        address = self.address(x) if x.op == "bits" else None
        return address is not None and address.step != int(x.attr[1])

    def is_invariant(self, x: Node) -> bool:
        """Whether a term is the same in all lanes."""
        known = self._fixed.get(x)
        if known is None:
            known = self._fixed[x] = not any(y is self.counter for y in walk([x]))
        return known


def _affine(x: Node, counter: Node) -> tuple[int, int] | None:
    offset = step = 0
    for term in terms_of(x):
        base, factor = scaled(term)
        if term.op == "const":
            offset += term.low
        elif base is counter:
            step += factor
        else:
            return None
    return offset, step


def read_body(definition: Definition | str, elements: Mapping[str, int] | None = None) -> LaneBody:
    """The strip that a definition is: one loop whose statements each put a lane; NoBody for another one. Operands with
    the role of an immediate are scalars; `elements`: the bits of what the others consist of, where that is known."""
    if isinstance(definition, str):
        definition = parse_definition(definition)
    if len(definition.body) != 1 or not isinstance(definition.body[0], LaneLoop):
        raise NoBody("it is not one loop over lanes")
    loop = definition.body[0]
    counter = next((x for y in loop.body if isinstance(y, Put) for x in walk([y.offset]) if x.op == "var"), None)
    if counter is None:
        raise NoBody("its statements put nothing by lanes")
    outputs = []
    for put in loop.body:
        if not isinstance(put, Put):
            raise NoBody("it has a loop within lanes")
        place = _affine(put.offset, counter)
        if place is None:
            raise NoBody("a lane is put at a place that is not affine")
        outputs.append(Output(put.target, *place, put.width, put.value))
    scalars = frozenset(x.name for x in definition.operands if x.role == "immediate")
    extents = {x.name: x.bits for x in definition.operands}
    return LaneBody(definition, loop.count, counter, tuple(outputs), scalars, extents, elements or {})
