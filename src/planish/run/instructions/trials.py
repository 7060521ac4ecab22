"""Trials of an instruction's immediates: all values that its definition can tell apart, or a sample.

>>> from planish.isa.entry import IntrinsicSignature
>>> text = "(a: 8, n: 8 immediate) -> out: 8 { out.u8[0] = u8(a.u8[0] << n.u3[0]) }"
>>> trials, possible = make_trials(Entry("_f", "x86", IntrinsicSignature("char", (("char", "a"), ("int", "n"))), text))
>>> [x.immediates["n"] for x in trials], possible
([0, 1, 2, 3, 4, 5, 6, 7], 8)
"""

from __future__ import annotations

import zlib
from math import prod

import numpy as np

from planish.isa.entry import Entry
from planish.isa.semantics.definition import Definition, Operand
from planish.isa.semantics.evaluate import Memory
from planish.isa.semantics.node import walk
from planish.run.instructions.program import Trial
from planish.run.instructions.vectors import index_reach, make_inputs

_MOST_VALUES = 32
_MOST_COMBINED = 1 << 16
_EDGES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 254, 255)


def make_trials(entry: Entry) -> tuple[list[Trial], int]:
    """An instruction with values of its immediates, and how many of those its definition tells apart."""
    definition = entry.definition
    sizes: dict[str, int] = {}
    starts: dict[str, int] = {}
    for name, data in make_inputs(definition, entry.name, 1, reached(definition)).items():
        if isinstance(data, Memory):
            sizes[name], starts[name] = data.bytes.shape[1], data.start
        else:
            sizes[name] = data.shape[1]
    immediates = [x for x in definition.operands if x.role == "immediate"]
    options = [_values(definition, x, entry.values.get(x.name)) for x in immediates]
    possible = 1
    for _, count in options:
        possible *= count
    chosen = _combined([values for values, _ in options], entry.name)
    names = [x.name for x in immediates]
    return [Trial(entry, dict(zip(names, x, strict=True)), sizes, starts) for x in chosen], possible


def reached(definition: Definition) -> dict[str, tuple[int, int]]:
    """The first and the last byte that is reached behind each address, where indices say which."""
    found = {}
    for operand in definition.operands:
        if operand.role == "memory" and (around := index_reach(definition)):
            found[operand.name] = around
    return found


def _values(definition: Definition, operand: Operand, stated: tuple[int, ...] | None) -> tuple[list[int], int]:
    if stated is not None:
        return list(stated), len(stated)
    used = _used_bits(definition, operand)
    places = [at for at in range(operand.bits) if used >> at & 1]
    everything = 1 << len(places)

    def spread(n: int) -> int:
        return sum((n >> k & 1) << at for k, at in enumerate(places))

    if everything <= _MOST_VALUES:
        return [spread(n) for n in range(everything)], everything
    chance = np.random.default_rng(zlib.crc32(operand.name.encode()))
    drawn = [spread(int(n)) for n in chance.integers(0, everything, _MOST_VALUES)]
    return list(dict.fromkeys([x & used for x in _EDGES] + drawn))[:_MOST_VALUES], everything


def _used_bits(definition: Definition, operand: Operand) -> int:
    used = 0
    for put in definition.puts:
        for x in walk((put.offset, put.value, put.when)):
            if x.op != "bits" or x.attr[0] != operand.name:
                continue
            offset = x.args[0]
            last = min(offset.high + int(x.attr[1]), operand.bits)
            used |= ((1 << last) - 1) & ~((1 << max(offset.low, 0)) - 1)
    return used


def _combined(options: list[list[int]], name: str) -> list[tuple[int, ...]]:
    count = prod(len(values) for values in options)
    if count > _MOST_COMBINED:  # too many to draw from without repeating: some places, each drawn for itself
        chance = np.random.default_rng(zlib.crc32(name.encode()))
        drawn = (tuple(int(chance.choice(values)) for values in options) for _ in range(_MOST_VALUES))
        return list(dict.fromkeys(drawn))
    found: list[tuple[int, ...]] = [()]
    for values in options:
        found = [(*x, y) for x in found for y in values]
    if len(found) > _MOST_VALUES:
        chance = np.random.default_rng(zlib.crc32(name.encode()))
        found = [found[n] for n in sorted(chance.choice(len(found), _MOST_VALUES, replace=False))]
    return found
