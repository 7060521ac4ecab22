"""Shuffles that an operand steers: what its bits have to be so that lanes come from where they are wanted.

>>> shuffle = next(x for x in load_variable_shuffles("x86") if x.entry == "_mm_shuffle_epi8")
>>> shuffle.lanes[:3], shuffle.places(2)[:3], shuffle.places(2)[128]
((0, 8, 16), ((0, 0), (0, 8), (0, 16)), None)
>>> hex(shuffle.control([(0, 120 - 8 * lane) for lane in range(15)] + [None]))
'0x800102030405060708090a0b0c0d0e0f'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from planish.isa.collection import load_collection
from planish.isa.semantics.evaluate import evaluate
from planish.select.factored.access_map import Expanded, expand
from planish.select.factored.lane_functions import LaneOperand, Place, assigned, had, load_lane_file, with_kinds

_BYTE = 8


@dataclass(frozen=True, slots=True)
class VariableShuffle:
    """An instruction whose lanes are parts of its operands, each where some bits of one operand say: the one at the
    position `index`. `width` are the bits of a lane, `lanes` their places in the result; `field_width` the number of
    bits that say where a lane comes from, and `fields` where these are in that operand, for each lane. `fixed` are
    values for scalars and immediates that choose among tables."""

    entry: str
    isa: str
    result: int
    operands: tuple[LaneOperand, ...]
    result_type: str
    features: tuple[str, ...]
    index: int
    width: int
    field_width: int
    lanes: Sequence[int]
    fields: Sequence[int]
    fixed: Mapping[str, int] = field(default_factory=dict)

    def places(self, lane: int) -> tuple[Place | None, ...]:
        """Where a lane (by its number) comes from, for each value of its field; None where it becomes 0."""
        return _tables(self.isa, self.entry, tuple(self.fixed.items()))[lane]

    def control(self, wanted: Sequence[Place | None]) -> int | None:
        """The operand that makes the lanes come from some places, or be 0, as a number; None where nothing does."""
        found = 0
        for lane, place in enumerate(wanted):
            values = _choices(self.isa, self.entry, tuple(self.fixed.items()))[lane]
            if place not in values:
                return None
            found |= values[place] << self.fields[lane]
        return found


@cache
def load_variable_shuffles(isa: str) -> tuple[VariableShuffle, ...]:
    """Those of an architecture, by name, and by the values that are fixed."""
    return tuple(x for name in load_lane_file(isa).shuffles for x in _shuffles_of(isa, name))


@cache
def usable_shuffles(isa: str, features: tuple[str, ...]) -> tuple[VariableShuffle, ...]:
    """Those that an extension has."""
    return tuple(x for name in had(isa, features, load_lane_file(isa).shuffles) for x in _shuffles_of(isa, name))


def _shuffles_of(isa: str, name: str) -> list[VariableShuffle]:
    file, entry = load_lane_file(isa), load_collection(isa).entry(name)
    result, parameters, lines = file.shuffles[name]
    operands = tuple(LaneOperand(*x) for x in with_kinds(entry, parameters))
    found = []
    for line in lines:
        fixed, numbers = line.split(";")
        index, width, size, lanes, fields = map(int, numbers.split())
        found.append(
            VariableShuffle(
                name,
                isa,
                result,
                operands,
                entry.signature.result,
                entry.features,
                index,
                width,
                size,
                Expanded(partial(expand, file.maps[lanes])),
                Expanded(partial(expand, file.maps[fields])),
                {x: int(value) for x, value in assigned(fixed)},
            )  # fmt: skip
        )
    return found


_Tables = tuple[tuple[Place | None, ...], ...]


@cache
def _tables(isa: str, name: str, fixed: tuple[tuple[str, int], ...]) -> _Tables:
    """The places of all lanes for each value of their fields: the definition, run on numbers of bytes."""
    shuffle = next(x for x in load_variable_shuffles(isa) if (x.entry, tuple(x.fixed.items())) == (name, fixed))
    rows = 1 << shuffle.field_width
    given = _given(shuffle, rows)
    places: list[Place] = []
    numbered = [x for at, x in enumerate(shuffle.operands) if at != shuffle.index and x.name not in given]
    low, high = dict(given), dict(given)
    for x in numbered:
        position = shuffle.operands.index(x)
        first, count = len(places), x.bits // _BYTE
        places += [(position, _BYTE * at) for at in range(count)]
        numbers = np.arange(first, first + count) + 1  # 0 is no byte of them
        low[x.name] = np.tile(numbers % _BASE, (rows, 1)).astype(np.uint8)
        high[x.name] = np.tile(numbers // _BASE, (rows, 1)).astype(np.uint8)
    definition = load_collection(isa).entry(name).definition
    found = evaluate(definition, low).result + _BASE * evaluate(definition, high).result.astype(np.int64)
    starts = [lane // _BYTE for lane in shuffle.lanes]
    return tuple(tuple(places[n - 1] if n else None for n in found[:, start].tolist()) for start in starts)


_BASE = 128
"""Numbers of bytes are told by two bytes, each of so many values."""


def _given(shuffle: VariableShuffle, rows: int) -> dict[str, NDArray[np.uint8]]:
    """The operand that steers, where each row has another value in all fields, and those that are fixed."""
    steering = shuffle.operands[shuffle.index]
    bits = np.zeros((rows, (steering.bits + 7) // _BYTE * _BYTE), np.uint8)
    values = np.arange(rows)[:, None] >> np.arange(shuffle.field_width) & 1
    for start in shuffle.fields:
        bits[:, start : start + shuffle.field_width] = values
    given = {steering.name: np.packbits(bits, axis=1, bitorder="little")}
    for x in shuffle.operands:
        if x.name in shuffle.fixed:
            size = (x.bits + 7) // _BYTE
            text = (shuffle.fixed[x.name] % (1 << _BYTE * size)).to_bytes(size, "little")
            given[x.name] = np.tile(np.frombuffer(text, np.uint8), (rows, 1))
    return given


@cache
def _choices(isa: str, name: str, fixed: tuple[tuple[str, int], ...]) -> tuple[Mapping[Place | None, int], ...]:
    """For each lane the least value of its field that makes it come from a place."""
    found: list[dict[Place | None, int]] = []
    for row in _tables(isa, name, fixed):
        values: dict[Place | None, int] = {}
        for value, place in enumerate(row):
            values.setdefault(place, value)
        found.append(values)
    return tuple(found)
