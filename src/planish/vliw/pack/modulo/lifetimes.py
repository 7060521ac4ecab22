"""Lifetimes of the values of a pipelined loop: from the cycle in which a value lands to the last one that reads it.

>>> from planish.vliw.program import StreamRegister
>>> value = LiveValue(StreamRegister("V", "a"), writers=((0, 3),), readers=((1, 0), (2, 1)), renamed=True)
>>> span(value, [0, 4, 1], 8), copies(value, [0, 9, 1], 4)
((3, 9), 2)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from planish.vliw.pack.effects import Effects
from planish.vliw.program import StreamRegister


@dataclass(frozen=True, slots=True)
class LiveValue:
    """What a register holds in an iteration: the operations that write it with their latencies, those that read it
    with how many iterations later they do. `renamed`: each iteration may have a register of its own for it."""

    register: StreamRegister
    writers: tuple[tuple[int, int], ...]
    readers: tuple[tuple[int, int], ...]
    renamed: bool


def values_of(
    nodes: Sequence[Effects],
    renamed: Collection[StreamRegister],
    carried: Mapping[StreamRegister, tuple[StreamRegister, int]] | None = None,
) -> list[LiveValue]:
    """The values that the iterations of a loop make; `carried`: names under which those of iterations before are
    read."""
    earlier = carried or {}
    writers: dict[StreamRegister, list[tuple[int, int]]] = {}
    for i, node in enumerate(nodes):
        for write in node.writes:
            writers.setdefault(write.register, []).append((i, write.latency))
    readers: dict[StreamRegister, list[tuple[int, int]]] = {x: [] for x in writers}
    for i, node in enumerate(nodes):
        for register in node.reads:
            if register in earlier:
                root, distance = earlier[register]
                readers[root].append((i, distance))
            elif register in writers:
                # What is read before it is written is the value of the iteration before.
                readers[register].append((i, int(register not in renamed and i <= writers[register][0][0])))
    return [LiveValue(x, tuple(writers[x]), tuple(readers[x]), x in renamed) for x in writers]


def span(value: LiveValue, cycles: Sequence[int], interval: int) -> tuple[int, int]:
    """The cycle in which a value lands, and the last one in which its register is taken."""
    landings = [cycles[i] + latency for i, latency in value.writers]
    read = (cycles[i] + interval * distance for i, distance in value.readers)
    return min(landings), max([*landings, *read])


def copies(value: LiveValue, cycles: Sequence[int], interval: int) -> int:
    """How many registers the iterations take turns with, so that no value is lost (modulo variable expansion)."""
    first, last = span(value, cycles, interval)
    return -(-(last + 1 - first) // interval)


def pressure(
    values: Sequence[LiveValue], invariants: Collection[StreamRegister], cycles: Sequence[int], interval: int
) -> dict[str, int]:
    """MaxLive: for each file the registers that are taken in the fullest cycle of the kernel."""
    rows: dict[str, list[int]] = {}
    for value in values:
        row = rows.setdefault(value.register.file, [0] * interval)
        first, last = span(value, cycles, interval)
        for cycle in range(first, last + 1):
            row[cycle % interval] += 1
    found = {file: max(row) for file, row in rows.items()}
    for register in invariants:
        found[register.file] = found.get(register.file, 0) + 1
    return found


def total(values: Sequence[LiveValue], cycles: Sequence[int], interval: int) -> int:
    """The sum of all lifetimes, in cycles."""
    return sum(last + 1 - first for first, last in (span(x, cycles, interval) for x in values))
