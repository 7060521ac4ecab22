"""Exhaustive modulo scheduling within bounds: a schedule of an interval, or the certainty that there is none.

The operation with the fewest cycles to choose from comes first, so that recurrences without a cycle to spare are placed
before anything else; where their operations meet on a unit, whatever is done, the interval is not possible.

>>> from planish.vliw.machine import VliwMachine, Unit
>>> from planish.vliw.pack.dependence import Edge
>>> from planish.vliw.pack.effects import Effects
>>> from planish.vliw.program import Instr
>>> tiny = VliwMachine("tiny", {"v": 2}, (Unit("A", "v"), Unit("B", "v")), (), (), ())
>>> node = Effects(Instr("X", ()), "compute", ("A",), 2, 1, (), (), ())
>>> edges = (Edge(0, 1, 2), Edge(1, 0, 2, 1), Edge(2, 3, 2), Edge(3, 2, 2, 1), Edge(0, 2, 2), Edge(2, 0, 2, 1))
>>> body = LoopBody(tiny, (node,) * 4, edges, ())
>>> [search(body, interval, 100).outcome for interval in (3, 4, 5)]
['none', 'none', 'found']
>>> proven_least(body, 2, 5, 100)
5
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Literal

import numpy as np
import numpy.typing as npt

from planish.vliw.pack.modulo.iterative import LoopBody
from planish.vliw.pack.modulo.row_resources import RowResources
from planish.vliw.pack.modulo.slack import least_distances

_NONE = -(10**9)
_FIRST = 1000
"""The placements after which a search begins anew, for the first time."""

_Cycles = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A schedule's cycles, that there is none, or that the search was given up. `units`: those that were chosen."""

    outcome: Literal["found", "none", "unknown"]
    cycles: tuple[int, ...] = ()
    units: Mapping[int, str] = field(default_factory=dict)


def search(body: LoopBody, interval: int, limit: int, chosen: bool = False) -> SearchResult:
    """Look for a schedule of that interval, with so many placements at most. `chosen`: units that operations keep for
    longer than a cycle are chosen with it; otherwise there may be no choice of them for what is found."""
    distances = least_distances(len(body.nodes), body.edges, interval)
    if bool((np.diagonal(distances) > 0).any()) or any(x.busy > interval for x in body.nodes):
        return SearchResult("none")
    maker = _Search(interval, distances, RowResources.of(body.machine, body.nodes, chosen))
    share = _FIRST
    while limit > 0:
        found = maker.run(min(share, limit))
        if found.outcome != "unknown":
            return found
        limit -= share
        share += share // 2
    return SearchResult("unknown")


def proven_least(body: LoopBody, least: int, interval: int, limit: int) -> int:
    """The least interval that there may be: `least`, or a later one up to `interval`, of which there is a schedule,
    where a search of so many placements has shown for each before it that there is none.

    Units are counted by the sets that can do the same, which takes nothing from the proof.
    """
    while least < interval and search(body, least, limit).outcome == "none":
        least += 1
    return least


class _Search:
    """Places operations; one that found no room comes earlier the next time."""

    def __init__(self, interval: int, distances: _Cycles, resources: RowResources) -> None:
        self.interval, self.distances, self.resources = interval, distances, resources
        around = distances + distances.T
        np.fill_diagonal(around, _NONE)
        self.tight = around.max(axis=1)
        self.failures = np.ones(len(distances))
        self.used: list[list[int]] = []

    def run(self, limit: int) -> SearchResult:
        """One search from the beginning, with so many placements at most."""
        count, interval = len(self.distances), self.interval
        self.used = [[0] * interval for _ in self.resources.room]
        cycles, left = np.zeros(count, np.int64), np.ones(count, bool)
        ways = [0] * count
        low, high = np.full(count, _NONE), np.full(count, -_NONE)
        trail: list[_Step] = []
        certain = True
        for _ in range(limit):
            if not left.any():
                units = {i: own[way] for i, (own, way) in enumerate(zip(self.resources.units, ways, strict=True))}
                found = tuple(int(x) for x in cycles - cycles.min(initial=0))
                return SearchResult("found", found, {i: x for i, x in units.items() if x})
            trail.append(self.step(left, low, high, first=not trail))
            at: tuple[int, int] | None = None
            while trail and at is None:
                step = trail[-1]
                i = step.operation
                if not left[i]:
                    self.leave(i, int(cycles[i]), ways[i])
                    left[i] = True
                at = next((x for x in step.choices if self.enter(i, *x)), None)
                if at is None:
                    # Where no row has room for it, a later cycle has none either.
                    certain = certain and (step.complete or not step.tried)
                    self.failures[i] += 1
                    trail.pop()
            if at is None:
                return SearchResult("none" if certain else "unknown")
            step.tried = True
            cycles[i], left[i], ways[i] = at[0], False, at[1]
            low = np.maximum(step.low, at[0] + self.distances[i])
            high = np.minimum(step.high, at[0] - self.distances[:, i])
        return SearchResult("unknown")

    def step(self, left: npt.NDArray[np.bool_], low: _Cycles, high: _Cycles, first: bool) -> _Step:
        """The operation that is placed next: one with few cycles to choose from, which has often found no room."""
        width = np.minimum(high - low, 2 * self.interval) + 1
        order = np.where(left, width / self.failures, np.inf)
        i = int(np.lexsort((-self.tight, order))[0])
        # Rows are the same wherever the first one is.
        cycles, complete = (range(1), True) if first else _choices(int(low[i]), int(high[i]), self.interval)
        ways = range(len(self.resources.taken[i]))
        return _Step(i, low, high, product(cycles, ways), complete)

    def enter(self, i: int, cycle: int, way: int) -> bool:
        """Enter an operation; False, and nothing has changed, where there is no room."""
        for number, (resource, back) in enumerate(self.resources.taken[i][way]):
            row = (cycle + back) % self.interval
            self.used[resource][row] += 1
            if self.used[resource][row] > self.resources.room[resource]:
                self.leave(i, cycle, way, number + 1)
                return False
        return True

    def leave(self, i: int, cycle: int, way: int, count: int | None = None) -> None:
        """Take an operation out again, or the first things that it takes."""
        for resource, back in self.resources.taken[i][way][:count]:
            self.used[resource][(cycle + back) % self.interval] -= 1


@dataclass(slots=True)
class _Step:
    """An operation that is placed: the first and last cycles of all operations before that, its own choices of a cycle
    and a unit that are left, whether these were all there are, and whether one of them was tried."""

    operation: int
    low: _Cycles
    high: _Cycles
    choices: Iterator[tuple[int, int]]
    complete: bool
    tried: bool = False


def _choices(low: int, high: int, interval: int) -> tuple[range, bool]:
    """The cycles that an operation may be in, those nearest to what is placed first; of endless ones a period. And
    whether these are all."""
    if low <= _NONE // 2 and high >= -_NONE // 2:
        return range(interval), False
    if low <= _NONE // 2:
        return range(high, high - interval, -1), False
    if high >= -_NONE // 2:
        return range(low, low + interval), False
    return range(low, high + 1), True
