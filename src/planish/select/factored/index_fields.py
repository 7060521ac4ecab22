"""Shuffles that a register steers: which bits of it say where each lane comes from.

>>> from planish.isa.collection import load_collection
>>> (found,) = find_index_fields(load_collection("x86").entry("_mm_shuffle_epi8"))
>>> found.index, found.width, found.field_width, found.fields[:3]
(1, 8, 8, (0, 8, 16))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise, product

from planish.isa.entry import Entry
from planish.isa.semantics.build import ONE, ZERO
from planish.isa.semantics.node import Node, const, walk
from planish.select.factored.factoring import LanePut, Parameters, Refusal, lane_puts
from planish.select.factored.lane_terms import Folding
from planish.select.factored.variants import parameters_of, role_of, values_of

_WIDEST_FIELD = 8
_MOST_VALUES = 16
_BYTE = 8


@dataclass(frozen=True, slots=True)
class IndexFields:
    """A shuffle with values for the scalars that choose among tables. `index` is the position of the operand that says
    where lanes come from; `width` the bits of a lane; `lanes` their places in the result; `field_width` the bits of the
    index that say it for one lane, and `fields` where these are."""

    fixed: Mapping[str, int]
    index: int
    width: int
    field_width: int
    lanes: tuple[int, ...]
    fields: tuple[int, ...]


def find_index_fields(entry: Entry) -> list[IndexFields]:
    """The shuffles that an entry is; Refusal where it is none."""
    definition = entry.definition
    known = parameters_of(entry)
    puts = lane_puts(definition)
    names = [x.name for x in definition.operands if role_of(_kind(entry, x.name), x.role == "immediate") in _STEERING]
    values = [values_of(entry, x) for x in names]
    count = 1
    for x in values:
        count *= len(x)
    if not 0 < count <= _MOST_VALUES:
        raise Refusal("places depend on an operand")
    found = []
    for given in product(*values):
        fixed = dict(zip(names, given, strict=True))
        own = Parameters(known.positions, known.bits, fixed)
        found.append(_fields(puts, own, fixed))
    return found


_STEERING = ("immediate", "scalar")


def _kind(entry: Entry, name: str) -> str:
    return next(kind for kind, given in entry.signature.parameters if given == name)


@dataclass(slots=True)
class _Found:
    """What the lanes of a shuffle read: bits of the index, by the lane, and operands that are moved."""

    steering: dict[int, list[Node]] = field(default_factory=dict)
    widths: set[int] = field(default_factory=set)
    data: set[str] = field(default_factory=set)


def _fields(puts: tuple[LanePut, ...], known: Parameters, fixed: dict[str, int]) -> IndexFields:
    found = _Found()
    for x in puts:
        for offset, value in _lane_values(x, known):
            found.widths.add(x.put.width)
            found.steering[offset] = list(_steering(value, found.data))
    names = {str(y.attr[0]) for reads in found.steering.values() for y in reads}
    if len(names) != 1 or names & found.data or len(found.widths) != 1:
        raise Refusal("places depend on an operand")
    (name,), (width,) = names, found.widths
    lanes = tuple(sorted(found.steering))
    starts = [min((y.args[0].low for y in found.steering[x]), default=-1) for x in lanes]
    ends = [max((y.args[0].low + int(y.attr[1]) for y in found.steering[x]), default=-1) for x in lanes]
    size = max(end - start for start, end in zip(starts, ends, strict=True))
    if min(starts) < 0 or size > _WIDEST_FIELD or width % _BYTE:
        raise Refusal("places depend on an operand")
    if any(y - x < size for x, y in pairwise(sorted(starts))):  # lanes do not choose each for itself
        raise Refusal("places depend on an operand")
    return IndexFields(fixed, known.positions[name], width, size, lanes, tuple(starts))


def _lane_values(x: LanePut, known: Parameters) -> Iterator[tuple[int, Node]]:
    for turns in product(*(range(loop.count) for loop in x.loops)):
        counters = {(loop.var, loop.count): const(turn) for loop, turn in zip(x.loops, turns, strict=True)}
        folding = Folding(counters, known.read)
        offset = folding.of(x.put.offset)
        if offset.op != "const" or folding.of(x.put.when) is not ONE:
            raise Refusal("is written under a condition")
        yield offset.low, folding.of(x.put.value)


def _steering(value: Node, data: set[str]) -> Iterator[Node]:
    """The reads that say which other ones a lane is; these go to `data`."""
    match value.op:
        case "bits" if not value.attr[2]:
            data.add(str(value.attr[0]))
            yield from _reads(value.args[0])
        case "select":
            yield from _reads(value.args[0])
            for x in value.args[1:]:
                yield from _steering(x, data)
        case "const" if value is ZERO:
            return
        case _:
            raise Refusal("places depend on an operand")


def _reads(x: Node) -> Iterator[Node]:
    for y in walk([x]):
        if y.op == "bits":
            if y.args[0].op != "const":
                raise Refusal("places depend on an operand")
            yield y
