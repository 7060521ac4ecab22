"""A simulated farm: workers with speeds, deaths and stops, on a clock of its own; the coordinator is the real one.

>>> farm = SimulatedFarm([SimulatedWorker("a")], lambda piece, rng: (len(piece.arguments), 2.0))
>>> farm.submit(FarmPiece(1, abs, (-3,)))
>>> [(x.number, x.value) for x in farm.wait(10.0)], farm.now()
([(1, 1)], 2.0)

What the coordinator itself takes of the processor on this machine is added to the clock if `charged`, and so are some
seconds that a scheduler takes for each piece, one after the other.
"""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from math import inf
from pathlib import Path
from random import Random
from typing import Any

from planish.run.toolchains.toolchain import Compiler
from planish.target.load import load_target
from planish.tuning.farm.farm import FarmAnswer, FarmPiece, FarmWorker
from planish.tuning.points.site import BuildMachine

Do = Callable[[FarmPiece, Random], tuple[Any, float]]
"""The result of a piece, and the seconds that it takes on a worker of the usual speed."""
SIMULATED = BuildMachine(load_target("generic"), Compiler("cc", "gcc", "0", Path("cc"), ""), "", "simulated", 1)
"""What all workers say that they are."""
DETECTED = 30.0
"""Seconds until the death of a worker is noticed."""


@dataclass(frozen=True, slots=True)
class SimulatedWorker:
    """A worker that takes `slowness` times as long as others; that builds, or times, or both; that dies, or stops for
    ever without a word, at some second."""

    name: str
    slowness: float = 1.0
    building: bool = True
    timing: bool = True
    dies: float = inf
    stops: float = inf


class SimulatedFarm:
    """Pieces in the order in which they come, timings first. `busy`: the seconds that each worker has worked; `done`:
    how many pieces were."""

    def __init__(
        self, workers: Sequence[SimulatedWorker], do: Do, machine: BuildMachine = SIMULATED, scheduler: float = 0.0,
        charged: bool = False, seed: int = 1,
    ) -> None:  # fmt: skip
        self._simulated = {x.name: x for x in workers}
        self._do, self._machine, self._scheduler, self._charged = do, machine, scheduler, charged
        self._rng, self._order = Random(seed), count()
        self._clock = self._scheduled = 0.0
        self._mark = time.process_time()
        self._events: list[tuple[float, int, str, Any]] = []
        self._waiting: dict[bool, deque[FarmPiece]] = {False: deque(), True: deque()}
        self._idle: tuple[dict[str, None], dict[str, None]] = ({}, {})
        self._running: dict[str, tuple[FarmPiece, float]] = {}
        self._released: set[int] = set()
        self._kept: dict[int, Any] = {}
        self._dead: set[str] = set()
        self.busy: dict[str, float] = dict.fromkeys(self._simulated, 0.0)
        self.coordinating = 0.0
        self.done = 0
        self._known = self._list()
        for x in workers:
            self._rest(x.name)
            if x.dies < inf:
                self._at(x.dies, "dies", x.name)

    def workers(self) -> Sequence[FarmWorker]:
        """Those that live, as far as that is known."""
        return self._known

    def submit(self, piece: FarmPiece) -> None:
        """Gives a piece to the scheduler."""
        self._charge()
        self._scheduled = max(self._clock, self._scheduled) + self._scheduler
        self._at(self._scheduled, "comes", piece)

    def wait(self, seconds: float) -> Sequence[FarmAnswer]:
        """Lets the clock go on to the next answers."""
        self._charge()
        out: list[FarmAnswer] = []
        end = self._clock + seconds
        while self._events and self._events[0][0] <= (self._clock if out else end):
            at, _, what, about = heapq.heappop(self._events)
            self._clock = max(self._clock, at)
            match what:
                case "comes":
                    self._waiting[about.timing].append(about)
                case "dies":
                    self._die(about)
                case "noticed":
                    self._waiting[about.timing].appendleft(about)
                case "ends":
                    out += self._end(*about)
            self._give_out()
        if not out:
            self._clock = max(self._clock, end)
        self._mark = time.process_time()
        return out

    def release(self, number: int) -> None:
        """Drops a piece or its result."""
        self._released.add(number)
        self._kept.pop(number, None)

    def now(self) -> float:
        """Seconds since the beginning, of the simulated clock."""
        self._charge()
        return self._clock

    def close(self) -> None:
        """Nothing is left behind."""

    def _charge(self) -> None:
        taken = time.process_time() - self._mark
        self._mark += taken
        self.coordinating += taken
        if self._charged:
            self._clock += taken

    def _list(self) -> tuple[FarmWorker, ...]:
        return tuple(
            FarmWorker(x.name, self._machine, 1, x.timing, x.building)
            for x in self._simulated.values() if x.name not in self._dead
        )  # fmt: skip

    def _at(self, when: float, what: str, about: Any) -> None:
        heapq.heappush(self._events, (when, next(self._order), what, about))

    def _give_out(self) -> None:
        for timing in (True, False):
            waiting, put_back = self._waiting[timing], list[FarmPiece]()
            while waiting:
                piece = waiting.popleft()
                if piece.number in self._released:
                    continue
                name = self._choose(piece)
                if name is None:
                    put_back.append(piece)
                    if not piece.avoid:
                        break
                    continue
                self._begin(name, piece)
            waiting.extendleft(reversed(put_back))

    def _choose(self, piece: FarmPiece) -> str | None:
        """An idle worker that is not to be avoided, the one that rests for the longest time."""
        idle = self._idle[piece.timing]
        return next((x for x in idle if x not in piece.avoid), None)

    def _begin(self, name: str, piece: FarmPiece) -> None:
        for idle in self._idle:
            idle.pop(name, None)
        worker = self._simulated[name]
        value, seconds = self._do(piece, self._rng)
        self._running[name] = piece, self._clock
        ends = self._clock + seconds * worker.slowness
        if ends < min(worker.dies, worker.stops):
            self._at(ends, "ends", (name, piece, value, seconds * worker.slowness))

    def _end(self, name: str, piece: FarmPiece, value: Any, seconds: float) -> list[FarmAnswer]:
        self._running.pop(name)
        self.busy[name] += seconds
        self._rest(name)
        if piece.number in self._released:
            return []
        self.done += 1
        if piece.summary is not None:
            self._kept[piece.number] = value
            value = piece.summary(value)
        return [FarmAnswer(piece.number, "done", value, name, seconds)]

    def _rest(self, name: str) -> None:
        worker = self._simulated[name]
        for timing, able in ((False, worker.building), (True, worker.timing)):
            if able:
                self._idle[timing][name] = None

    def _die(self, name: str) -> None:
        """What it had is given to another one, as soon as its death is noticed."""
        self._dead.add(name)
        self._known = self._list()
        for idle in self._idle:
            idle.pop(name, None)
        piece, began = self._running.pop(name, (None, 0.0))
        if piece is not None:
            self.busy[name] += self._clock - began
            self._at(self._clock + DETECTED, "noticed", piece)
