"""Modulo scheduling by guided ejection: an operation that finds no room takes it from those that find some most easily.

Each operation has a weight, which grows whenever it finds no room. It goes to the cycle in which what is in its way (by
dependences or by units) weighs least, and that is placed anew. So what is hard to place stays, and the rest moves
around it (after the guided ejection search of Nagata and Braysy, 2009, for routes of vehicles).

>>> from planish.vliw.machine import Unit, VliwMachine
>>> from planish.vliw.pack.dependence import Edge
>>> from planish.vliw.pack.effects import Effects
>>> from planish.vliw.program import Instr
>>> tiny = VliwMachine("tiny", {"v": 1}, (Unit("A", "v"),), (), (), ())
>>> node = Effects(Instr("X", ()), "compute", ("A",), 2, 1, (), (), ())
>>> body = LoopBody(tiny, (node,) * 3, (Edge(0, 1, 2), Edge(1, 0, 1, 1), Edge(1, 2, 3)), ())
>>> found = place_by_ejection(body, 3, 100)
>>> sorted(x % 3 for x in found.cycles)
[0, 1, 2]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

import numpy as np
import numpy.typing as npt

from planish.vliw.pack.modulo.iterative import LoopBody
from planish.vliw.pack.modulo.row_resources import RowResources
from planish.vliw.pack.modulo.slack import least_distances

_NONE = -(10**9)
_Cycles = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class EjectedPlacement:
    """The cycles of operations, and the units of those whose unit was chosen with them."""

    cycles: tuple[int, ...]
    units: Mapping[int, str]


def place_by_ejection(
    body: LoopBody, interval: int, budget: int, chosen: bool = False, seed: int = 0
) -> EjectedPlacement | None:  # fmt: skip
    """A schedule of that interval, with so many placements at most; None where none is found. `chosen`: units that
    operations keep for longer than a cycle are chosen with it; otherwise there may be no choice of them."""
    distances = least_distances(len(body.nodes), body.edges, interval)
    if bool((np.diagonal(distances) > 0).any()) or any(x.busy > interval for x in body.nodes):
        return None
    table = _Table(interval, distances, RowResources.of(body.machine, body.nodes, chosen), Random(seed))
    return table.run(budget)


@dataclass(frozen=True, slots=True)
class _Place:
    """A cycle and a way for an operation, and what has to go for it."""

    cost: float
    cycle: int
    way: int
    blocking: tuple[int, ...]


@dataclass(slots=True)
class _Table:
    interval: int
    distances: _Cycles
    resources: RowResources
    random: Random
    cycles: _Cycles = field(init=False)
    placed: npt.NDArray[np.bool_] = field(init=False)
    weights: npt.NDArray[np.float64] = field(init=False)
    ways: list[int] = field(init=False)
    held: list[list[list[int]]] = field(init=False)
    """The operations that take each resource in each row, once for each time that they do."""

    def __post_init__(self) -> None:
        count = len(self.distances)
        self.cycles, self.placed = np.zeros(count, np.int64), np.zeros(count, bool)
        self.weights, self.ways = np.ones(count), [0] * count
        self.held = [[[] for _ in range(self.interval)] for _ in self.resources.room]

    def run(self, budget: int) -> EjectedPlacement | None:
        """Place operations until all have room."""
        around = self.distances + self.distances.T
        np.fill_diagonal(around, _NONE)
        tight = around.max(axis=1, initial=_NONE)
        waiting = [int(x) for x in np.argsort(tight, kind="stable")]
        for _ in range(budget):
            if not waiting:
                units = {i: own[way] for i, (own, way) in enumerate(zip(self.resources.units, self.ways, strict=True))}
                least = self.cycles.min(initial=0)
                cycles = tuple(int(x - least) for x in self.cycles)
                return EjectedPlacement(cycles, {i: x for i, x in units.items() if x})
            i = waiting.pop()
            place = self.best(i)
            if place.blocking:
                self.weights[i] += 1
            for j in place.blocking:
                self.leave(j)
                # What has been put out comes next, what is hard to place first.
                waiting.append(j)
            self.enter(i, place)
            if len(place.blocking) > 1:
                kept = waiting[-len(place.blocking) :]
                waiting[-len(place.blocking) :] = sorted(kept, key=lambda x: self.weights[x])
        return None

    def best(self, i: int) -> _Place:
        """The place of an operation in whose way the least stands: in the cycles that what is placed allows, or in
        those around."""
        low, high = self.window(i)
        if low <= high:
            found = np.arange(low, min(high, low + self.interval - 1) + 1)
            place = self.best_of(i, found if self.random.random() < 0.5 else found[::-1])
            if not place.blocking or len(found) == self.interval:
                return place
        middle, reach = (low + high) // 2, min(self.interval, abs(high - low) // 2 + 1 + self.interval // 2)
        return self.best_of(i, np.arange(middle - reach, middle + reach + 1))

    def window(self, i: int) -> tuple[int, int]:
        """The first and last cycle that what is placed allows, of endless ones a period; there are none where the
        first one is the later one."""
        at, interval = self.placed, self.interval
        low = int((self.cycles[at] + self.distances[at, i]).max(initial=_NONE))
        high = int((self.cycles[at] - self.distances[i, at]).min(initial=-_NONE))
        if low <= _NONE // 2:
            low = high - interval + 1 if high < -_NONE // 2 else 0
        return (low, high) if high < -_NONE // 2 else (low, low + interval - 1)

    def best_of(self, i: int, tries: _Cycles) -> _Place:
        """The best of some cycles."""
        late = tries[:, None] + self.distances[i][None, :] > self.cycles[None, :]
        early = self.cycles[None, :] + self.distances[:, i][None, :] > tries[:, None]
        apart = (late | early) & self.placed[None, :]
        apart[:, i] = False
        costs = apart @ self.weights
        best: _Place | None = None
        for at in np.argsort(costs, kind="stable"):
            if best is not None and costs[at] >= best.cost:
                break
            gone = {int(x) for x in np.flatnonzero(apart[at])}
            for way in range(len(self.resources.taken[i])):
                blocking = gone | self.in_the_way(i, int(tries[at]), way, gone)
                cost = float(sum(self.weights[x] for x in blocking))
                if best is None or cost < best.cost:
                    best = _Place(cost, int(tries[at]), way, tuple(sorted(blocking)))
        assert best is not None
        return best

    def in_the_way(self, i: int, cycle: int, way: int, gone: set[int]) -> set[int]:
        """Those besides some that are gone which have to go as well, so that there is room."""
        found: set[int] = set()
        wanted: dict[tuple[int, int], int] = {}
        for resource, back in self.resources.taken[i][way]:
            cell = resource, (cycle + back) % self.interval
            wanted[cell] = wanted.get(cell, 0) + 1
        for (resource, row), count in wanted.items():
            users = [x for x in self.held[resource][row] if x not in gone and x not in found]
            over = len(users) + count - self.resources.room[resource]
            if over <= 0:
                continue
            for x in sorted(set(users), key=lambda x: (self.weights[x], self.random.random())):
                found.add(x)
                over -= users.count(x)
                if over <= 0:
                    break
        return found

    def enter(self, i: int, place: _Place) -> None:
        self.cycles[i], self.ways[i], self.placed[i] = place.cycle, place.way, True
        for resource, back in self.resources.taken[i][place.way]:
            self.held[resource][(place.cycle + back) % self.interval].append(i)

    def leave(self, i: int) -> None:
        self.placed[i] = False
        for resource, back in self.resources.taken[i][self.ways[i]]:
            self.held[resource][(int(self.cycles[i]) + back) % self.interval].remove(i)
