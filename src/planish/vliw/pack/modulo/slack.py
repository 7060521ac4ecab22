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
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from planish.vliw.pack.dependence import Edge
from planish.vliw.pack.effects import Effects
from planish.vliw.pack.reservation import ReservationTable

_NEVER = -(10**9)
_Distances = npt.NDArray[np.int64]


@lru_cache(maxsize=4)
def least_distances(count: int, edges: tuple[Edge, ...], interval: int) -> _Distances:
    """MinDist: by how much each operation comes after each other one at least, along all dependences. It is kept for
    those who ask about the same interval again, and is not to be changed."""
    found = np.full((count, count), _NEVER, np.int64)
    for edge in edges:
        delay = edge.delay - interval * edge.distance
        found[edge.first, edge.second] = max(found[edge.first, edge.second], delay)
    for k in range(count):
        np.maximum(found, found[:, k, None] + found[None, k, :], out=found)
    found = np.maximum(found, _NEVER)
    found.setflags(write=False)
    return found


def place_by_slack(
    nodes: Sequence[Effects], edges: Sequence[Edge], table: ReservationTable, budget: int
) -> list[int] | None:
    """Cycles of operations, which are in the table then; None after so many placements, or where a recurrence is longer
    than the table's period allows. Cycles may be negative."""
    count, interval = len(nodes), table.period
    distances = least_distances(count, tuple(edges), interval)
    if count == 0 or bool((np.diagonal(distances) > 0).any()):
        return None if count else []
    around = distances + distances.T
    np.fill_diagonal(around, 2 * _NEVER)
    tight = around.max(axis=1)
    heights = distances.max(axis=1)
    units = np.array([len(x.units) for x in nodes])
    cycles, placed = np.zeros(count, np.int64), np.zeros(count, bool)
    last: dict[int, int] = {}
    for _ in range(budget):
        rest = np.flatnonzero(~placed)
        if not len(rest):
            return [int(x) for x in cycles]
        lows, highs = _windows(distances, cycles, np.flatnonzero(placed), rest)
        chosen = np.lexsort((rest, -heights[rest], units[rest], -tight[rest], highs - lows))[0]
        i, low, high = int(rest[chosen]), int(lows[chosen]), int(highs[chosen])
        at = next((x for x in _tries(low, high, interval) if table.place(i, nodes[i], x)), None)
        if at is None:
            at = next((x for x in (low, high) if abs(x) < -_NEVER // 2), 0)
            at = max(at, last[i] + 1) if i in last else at
            while not table.place(i, nodes[i], at):
                blocking = table.in_the_way(nodes[i], at) - {i}
                if not blocking:
                    return None
                for j in blocking:
                    table.remove(j)
                    placed[j] = False
        cycles[i] = last[i] = at
        late = (cycles < at + distances[i]) | (at < cycles + distances[:, i])
        placed[i] = late[i] = False
        for gone in np.flatnonzero(placed & late):
            table.remove(int(gone))
            placed[gone] = False
        placed[i] = True
    return None


def _windows(
    distances: _Distances, cycles: _Distances, placed: npt.NDArray[np.intp], rest: npt.NDArray[np.intp]
) -> tuple[_Distances, _Distances]:
    """The first and the last cycle of each of the rest that those which are placed leave to it."""
    if not len(placed):
        return np.full(len(rest), _NEVER), np.full(len(rest), -_NEVER)
    at = cycles[placed, None]
    after, before = distances[np.ix_(placed, rest)], distances[np.ix_(rest, placed)].T
    return (at + after).max(axis=0), (at - before).min(axis=0)


def _tries(low: int, high: int, interval: int) -> Sequence[int]:
    """The cycles of one period that are tried, those nearest to what is placed first."""
    if low <= _NEVER // 2 and high >= -_NEVER // 2:
        return range(interval)
    if low <= _NEVER // 2:
        return range(high, high - interval, -1)
    return range(low, min(high, low + interval - 1) + 1)
