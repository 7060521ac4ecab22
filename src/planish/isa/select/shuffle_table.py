"""The shuffle table of a vector extension: what its instructions do with bytes, indexed by the effect on addresses.

>>> moves = find_moves(InstructionSet("x86", ("SSE", "SSE2", "AVX", "AVX512F")), 64)
>>> low, high = moves.weaves[0, 1, 6, 2, 4, 5]
>>> low[0].entry.name, high[0].entry.name, sorted(moves.inserts)[:3], moves.widen[16][0].entry.name
('_mm512_unpacklo_ps', '_mm512_unpackhi_ps', [(16, 0), (16, 16), (16, 32)], '_mm512_castpd128_pd512')
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TypeVar

from planish.isa.entry import Entry
from planish.isa.select.instruction_set import InstructionSet
from planish.isa.select.permute_instructions import (
    Mover,
    Steer,
    find_control,
    find_controlled,
    find_movers,
    numbers_of,
    steer_of,
)

_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True)
class Moves:
    """What a vocabulary does with registers of so many bytes: `weaves` and `turns` of registers by the bits that they
    take, `flips` by the bit that they exchange, `controlled` with the lowest and the highest bit that they can take
    anywhere. Of narrower registers: `inserts` by the size and the place, `widen` and `narrow`;
    `joins` two halves; `casts` by both types; `built` of scalars, by their size."""

    bits: int
    weaves: Mapping[tuple[int, ...], tuple[tuple[Mover, ...], tuple[Mover, ...]]]
    turns: Mapping[tuple[int, ...], tuple[Mover, ...]]
    flips: Mapping[int, tuple[Mover, ...]]
    controlled: Mapping[tuple[int, int], Entry]
    inserts: Mapping[tuple[int, int], tuple[Mover, ...]]
    widen: Mapping[int, tuple[Mover, ...]]
    narrow: Mapping[int, tuple[Mover, ...]]
    joins: tuple[Mover, ...]
    casts: Mapping[tuple[str, str], Mover]
    built: Mapping[int, tuple[Mover, ...]]


@cache
def find_moves(instruction_set: InstructionSet, size: int) -> Moves:
    """All moves of registers of so many bytes."""
    found = _Collected()
    for x in find_movers(instruction_set):
        found.take(x, size)
    bits = size.bit_length() - 1
    weaves = {take: (tuple(low), tuple(high)) for take, (low, high) in found.weaves.items() if low and high}
    controlled: dict[tuple[int, int], Entry] = {}
    for entry in find_controlled(instruction_set):
        for reach in _reach(entry, bits):
            controlled.setdefault(reach, entry)
    for reach in sorted(controlled):
        if any(_contains(x, reach) for x in controlled if x != reach):
            del controlled[reach]
    return Moves(
        bits, weaves, _tuples(found.turns), _tuples(found.flips), controlled, _tuples(found.inserts),
        _tuples(found.widen), _tuples(found.narrow), tuple(found.joins), found.casts, _tuples(found.built),
    )  # fmt: skip


_WORD = 2


def is_fine(low: int) -> bool:
    """Whether bits of addresses within words of four bytes are taken, which many processors do more slowly."""
    return low < _WORD


def _contains(more: tuple[int, int], less: tuple[int, int]) -> bool:
    return more[0] <= less[0] and less[1] <= more[1] and is_fine(more[0]) == is_fine(less[0])


def _tuples(found: Mapping[_Key, list[Mover]]) -> dict[_Key, tuple[Mover, ...]]:
    return {key: tuple(x) for key, x in found.items()}


@dataclass(slots=True)
class _Collected:
    weaves: dict[tuple[int, ...], tuple[list[Mover], list[Mover]]] = field(default_factory=dict)
    turns: dict[tuple[int, ...], list[Mover]] = field(default_factory=dict)
    flips: dict[int, list[Mover]] = field(default_factory=dict)
    inserts: dict[tuple[int, int], list[Mover]] = field(default_factory=dict)
    widen: dict[int, list[Mover]] = field(default_factory=dict)
    narrow: dict[int, list[Mover]] = field(default_factory=dict)
    joins: list[Mover] = field(default_factory=list)
    casts: dict[tuple[str, str], Mover] = field(default_factory=dict)
    built: dict[int, list[Mover]] = field(default_factory=dict)

    def take(self, x: Mover, size: int) -> None:
        sizes = tuple(count for _, count in x.sources)
        if len(x.moves) != size:
            if sizes == (size,) and x.moves == tuple(range(len(x.moves))):
                self.narrow.setdefault(len(x.moves), []).append(x)
        elif x.is_built:
            if x.moves in (tuple(range(size)), _backwards(size, sizes[0])):
                self.built.setdefault(sizes[0], []).append(x)
        elif sizes in ((size,), (size, size)):
            self.take_whole(x, size)
        elif len(sizes) == 1:
            if x.moves[: sizes[0]] == tuple(range(sizes[0])) and all(y is None for y in x.moves[sizes[0] :]):
                self.widen.setdefault(sizes[0], []).append(x)
        elif len(sizes) == 2 and sizes[0] == size:
            start = next((i for i, y in enumerate(x.moves) if y == size), 0)
            kept = [i if not start <= i < start + sizes[1] else size + i - start for i in range(size)]
            if list(x.moves) == kept:
                self.inserts.setdefault((sizes[1], start), []).append(x)
        elif sizes == (size // 2, size // 2) and x.moves == tuple(range(size)):
            self.joins.append(x)

    def take_whole(self, x: Mover, size: int) -> None:
        with_itself = steer_of(replace(x, moves=tuple(y and y % size for y in x.moves)))
        if len(x.sources) == 2 and with_itself and _is_flip(with_itself):
            self.flips.setdefault(with_itself.flip.bit_length() - 1, []).append(x)
        steer = steer_of(x)
        if steer is None:
            return
        if len(x.sources) == 2:
            if len(steer.take) in steer.take and steer.flip in (0, 1 << steer.rest):
                self.weaves.setdefault(steer.take, ([], []))[steer.flip > 0].append(x)
        elif _is_flip(steer):
            self.flips.setdefault(steer.flip.bit_length() - 1, []).append(x)
        elif steer.flip == 0 and steer.take != tuple(range(len(steer.take))):
            self.turns.setdefault(steer.take, []).append(x)
        elif steer.flip == 0 and not x.values:
            self.casts.setdefault((x.sources[0][0], x.entry.signature.result), x)


def _is_flip(x: Steer) -> bool:
    """Whether it exchanges the two halves of something."""
    return x.take == tuple(range(len(x.take))) and x.flip.bit_count() == 1


def _backwards(size: int, each: int) -> tuple[int, ...]:
    return tuple(i + byte for i in range(size - each, -1, -each) for byte in range(each))


def _reach(entry: Entry, bits: int) -> Iterator[tuple[int, int]]:
    """The lowest and the highest bit of addresses that a controlled instruction takes anywhere between them."""
    able = [j for j in range(bits - 1) if find_control(entry, numbers_of(_exchanged(j, bits))) is not None]
    if able and able == list(range(able[0], able[-1] + 1)):
        yield able[0], able[-1] + 1


def _exchanged(j: int, bits: int) -> tuple[int, ...]:
    return tuple({j: j + 1, j + 1: j}.get(x, x) for x in range(bits))
