"""Dynamic programming over list scheduling: of the partial schedules with the same operations placed the best is kept,
and of all of them the best few (a beam).

List scheduling takes one operation after the other by its critical path; where two wait for one unit, the other one may
be the better choice. Here both are tried.

>>> from planish.vliw.machine import VliwMachine, Unit
>>> from planish.vliw.pack.effects import Effects
>>> from planish.vliw.program import Instr
>>> tiny = VliwMachine("tiny", {"v": 1}, (Unit("A", "v"),), (), (), ())
>>> node = Effects(Instr("X", ()), "compute", ("A",), 1, 1, (), (), ())
>>> search(ReservationTable(tiny), [node] * 3, [Edge(0, 1, 4)], [1, 5, 1][::-1], [0, 0, 0], width=4).cycles
[0, 4, 1]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planish.vliw.pack.dependence import Edge
from planish.vliw.pack.effects import Effects
from planish.vliw.pack.reservation import ReservationTable

_CHOICES = 3
"""How many of the operations that can be placed are tried next."""


@dataclass(slots=True)
class PartialSchedule:
    """A schedule of some operations of a block: `cycles` of those placed, and the least ones of the others."""

    table: ReservationTable
    cycles: list[int]
    placed: int
    length: int
    total: int

    @property
    def rank(self) -> tuple[int, int]:
        """The less, the better: what the whole block takes at least, and how late its operations are."""
        return self.length, self.total


def search(
    table: ReservationTable,
    nodes: Sequence[Effects],
    edges: Sequence[Edge],
    heights: Sequence[int],
    earliest: Sequence[int],
    width: int,
) -> PartialSchedule:
    """The best schedule of a block that a beam of so many partial schedules finds."""
    count = len(nodes)
    after: list[list[Edge]] = [[] for _ in nodes]
    needed = [0] * count
    for edge in edges:
        if edge.second < count:
            after[edge.first].append(edge)
            needed[edge.second] |= 1 << edge.first
    beam = [PartialSchedule(table, list(earliest[:count]), 0, 0, 0)]
    for _ in range(count):
        found: dict[int, PartialSchedule] = {}
        for state in beam:
            ready = [i for i in range(count) if not state.placed >> i & 1 and needed[i] & ~state.placed == 0]
            ready.sort(key=lambda i: (-heights[i] - state.cycles[i], -heights[i], i))
            for i in ready[:_CHOICES]:
                fresh = _place(state, i, nodes[i], after[i], heights)
                kept = found.get(fresh.placed)
                if kept is None or fresh.rank < kept.rank:
                    found[fresh.placed] = fresh
        beam = sorted(found.values(), key=lambda x: x.rank)[:width]
    return beam[0]


def _place(
    state: PartialSchedule, i: int, node: Effects, after: Sequence[Edge], heights: Sequence[int]
) -> PartialSchedule:
    table, cycles = state.table.copy(), list(state.cycles)
    while not table.place(i, node, cycles[i]):
        cycles[i] += 1
    for edge in after:
        cycles[edge.second] = max(cycles[edge.second], cycles[i] + edge.delay)
    reached = [cycles[i] + heights[i], *(cycles[x.second] + heights[x.second] for x in after)]
    return PartialSchedule(table, cycles, state.placed | 1 << i, max(state.length, *reached), state.total + cycles[i])
