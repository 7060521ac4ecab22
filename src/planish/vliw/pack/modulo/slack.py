"""Slack scheduling of a loop's body (Huff): the operation with the least room between what it waits for and what waits
for it is placed first, so that recurrences with no cycle to spare are placed as a whole.

>>> from planish.vliw.machine import VliwMachine, Unit
>>> from planish.vliw.pack.effects import Effects
>>> from planish.vliw.program import Instr
>>> tiny = VliwMachine("tiny", {"v": 1}, (Unit("A", "v"),), (), (), ())
>>> node = Effects(Instr("X", ()), "compute", ("A",), 1, 1, (), (), ())
>>> place_by_slack([node] * 3, [Edge(0, 2, 2), Edge(2, 0, 1, 1), Edge(1, 2, 1)], ReservationTable(tiny, 3), 99)
[0, 1, 2]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from planish.vliw.pack.dependence import Edge
from planish.vliw.pack.effects import Effects
from planish.vliw.pack.reservation import ReservationTable

_NEVER = -(10**9)
_Distances = npt.NDArray[np.int64]


def least_distances(count: int, edges: Sequence[Edge], interval: int) -> _Distances:
    """MinDist: by how much each operation comes after each other one at least, along all dependences."""
    found = np.full((count, count), _NEVER, np.int64)
    for edge in edges:
        delay = edge.delay - interval * edge.distance
        found[edge.first, edge.second] = max(found[edge.first, edge.second], delay)
    for k in range(count):
        np.maximum(found, found[:, k, None] + found[None, k, :], out=found)
    return np.maximum(found, _NEVER)


def place_by_slack(
    nodes: Sequence[Effects], edges: Sequence[Edge], table: ReservationTable, budget: int
) -> list[int] | None:
    """Cycles of operations, which are in the table then; None after so many placements, or where a recurrence is longer
    than the table's period allows. Cycles may be negative."""
    count, interval = len(nodes), table.period
    distances = least_distances(count, edges, interval)
    if count == 0 or bool((np.diagonal(distances) > 0).any()):
        return None if count else []
    around = distances + distances.T
    np.fill_diagonal(around, 2 * _NEVER)
    tight = around.max(axis=1)
    heights = distances.max(axis=1)
    cycles: dict[int, int] = {}
    last: dict[int, int] = {}
    for _ in range(budget):
        if len(cycles) == count:
            return [cycles[i] for i in range(count)]
        low, high = _windows(distances, cycles)
        rest = [i for i in range(count) if i not in cycles]
        i = min(rest, key=lambda x: (high[x] - low[x], -tight[x], len(nodes[x].units), -heights[x], x))
        at = next((x for x in _tries(int(low[i]), int(high[i]), interval) if table.place(i, nodes[i], x)), None)
        if at is None:
            at = next((int(x) for x in (low[i], high[i]) if abs(x) < -_NEVER // 2), 0)
            at = max(at, last[i] + 1) if i in last else at
            while not table.place(i, nodes[i], at):
                blocking = table.in_the_way(nodes[i], at) - {i}
                if not blocking:
                    return None
                for j in blocking:
                    table.remove(j)
                    del cycles[j]
        cycles[i] = last[i] = at
        for j in [x for x in cycles if x != i]:
            if cycles[j] < at + distances[i, j] or at < cycles[j] + distances[j, i]:
                table.remove(j)
                del cycles[j]
    return None


def _windows(distances: _Distances, cycles: dict[int, int]) -> tuple[_Distances, _Distances]:
    """The first and the last cycle of each operation that those which are placed leave to it."""
    count = len(distances)
    if not cycles:
        return np.full(count, _NEVER), np.full(count, -_NEVER)
    placed = np.array(list(cycles))
    at = np.array(list(cycles.values()))
    return (at[:, None] + distances[placed, :]).max(axis=0), (at[:, None] - distances[:, placed].T).min(axis=0)


def _tries(low: int, high: int, interval: int) -> Sequence[int]:
    """The cycles of one period that are tried, those nearest to what is placed first."""
    if low <= _NEVER // 2 and high >= -_NEVER // 2:
        return range(interval)
    if low <= _NEVER // 2:
        return range(high, high - interval, -1)
    return range(low, min(high, low + interval - 1) + 1)
