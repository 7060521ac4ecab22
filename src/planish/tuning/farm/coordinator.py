"""The coordinator: gives the points of many nests to a farm, hears what came of them, and keeps every trial at once.

for run in Coordinator(farm, runs, batch).run(): print(run.result())

What a worker that dies has under way goes to others, twice at most; what takes far longer than others do is given to
another worker as well, and whoever answers first counts. Which points are tried depends on none of that.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from statistics import median

from planish.core.progress import Progress, keep_quiet
from planish.tuning.farm.farm import Farm, FarmAnswer, FarmPiece, FarmWorker
from planish.tuning.farm.nest_run import NestRun, Role, TrialWork
from planish.tuning.farm.slow_workers import SlowWorkers
from planish.tuning.farm.trial_batch import TrialBatch
from planish.tuning.points.site import summarise
from planish.tuning.tuner import INTERRUPTED, TuningBudget

AHEAD = 2
"""Pieces for each place to build at, so that none waits for the coordinator."""
UNTIMED = 4
"""Built points for each place to time at, before no more are built."""
DEATHS = 2
"""Processes that may die of a piece before it counts as a trial that died."""
LATE, LATE_LEAST = 8.0, 30.0
"""So many times the usual seconds, and so many seconds at least, until a piece is given to another worker as well."""
TICK = 1.0
"""Seconds between looks at what is late."""


@dataclass(frozen=True, slots=True, eq=False)
class PlannedRun:
    """A nest whose run begins when it is its turn: its expected gain before anything is known, and what begins it."""

    gain: float
    begin: Callable[[], NestRun]


@dataclass(slots=True, eq=False)
class _Flight:
    """A piece that is under way: for which work of which run, since when, and whether another one was sent after it."""

    run: NestRun
    work: TrialWork
    began: float
    doubled: bool = False


@dataclass(slots=True)
class Coordinator:
    """Runs nests on a farm. With a `budget` for all, the next trial is that of the largest expected gain; without one
    each nest has its own, and the first ones come first; from when no nest waits any more, those that are the farthest
    behind, so that all come to their ends together. `tell` hears of workers."""

    farm: Farm
    planned: Iterable[PlannedRun]
    batch: TrialBatch
    budget: TuningBudget | None = None
    tell: Progress = keep_quiet
    slow: SlowWorkers = field(default_factory=SlowWorkers)
    trials: int = 0
    reason: str = ""
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _flights: dict[int, _Flight] = field(default_factory=dict)
    _sent: dict[TrialWork, set[int]] = field(default_factory=lambda: defaultdict(set))
    _results: dict[TrialWork, int] = field(default_factory=dict)
    _deaths: Counter[TrialWork] = field(default_factory=Counter)
    _ready: list[tuple[float, int, NestRun | PlannedRun]] = field(default_factory=list)
    _queued: set[NestRun] = field(default_factory=set)
    _places: dict[NestRun, int] = field(default_factory=dict)
    _open: dict[NestRun, set[TrialWork]] = field(default_factory=dict)
    _usual: dict[Role, deque[float]] = field(default_factory=lambda: defaultdict(lambda: deque(maxlen=200)))
    _under_way: Counter[bool] = field(default_factory=Counter)
    _touched: set[NestRun] = field(default_factory=set)
    _all_begun: bool = False
    _coming: Iterator[tuple[int, PlannedRun]] = field(default_factory=lambda: iter(()))
    _counted: tuple[Sequence[FarmWorker], tuple[int, int]] = ((), (0, 0))
    _looked: float = 0.0
    _began: float = 0.0

    def run(self) -> Iterator[NestRun]:
        """Each run when it is done; after an interrupt all that were begun, with `reason`. PlanishError where the store
        or the farm is gone; what was committed is kept."""
        self._began = self._looked = self.farm.now()
        self._coming = enumerate(self.planned)
        while self.budget is not None and self._plan_next():
            pass  # which one is the most promising is known when all are
        try:
            yield from self._loop()
        except KeyboardInterrupt:
            self.reason = INTERRUPTED
            self.batch.flush()
            yield from list(self._open)

    def _loop(self) -> Iterator[NestRun]:
        while True:
            self._fill()
            yield from self._finished()
            if not self._flights:
                if not self._ready and not self._plan_next():
                    return
                continue
            for answer in self.farm.wait(TICK):
                self._take(answer)
            self.batch.flush()
            if self.farm.now() - self._looked >= TICK:
                self._looked = self.farm.now()
                self._double_what_is_late()

    def _plan_next(self) -> bool:
        """Takes up the next nest; False where there is none."""
        place, planned = next(self._coming, (0, None))
        if planned is None:
            if not self._all_begun:
                self._all_begun = True
                self._reorder()
            return False
        heapq.heappush(self._ready, (-planned.gain if self.budget is not None else 0.0, place, planned))
        return True

    def _fill(self) -> None:
        """Points are built as long as there are places for them and for their timings."""
        builders, timers = self._count_places()
        while self._under_way[False] < AHEAD * builders and self._under_way[True] < UNTIMED * timers:
            if self._is_spent():
                self._end_all()
            if not self._ready and not self._plan_next():
                return
            _, place, found = heapq.heappop(self._ready)
            run = found.begin() if isinstance(found, PlannedRun) else found
            self._places.setdefault(run, place)
            self._queued.discard(run)
            self._open.setdefault(run, set())
            self._touched.add(run)
            work = run.start()
            if work is not None:
                self.trials += 1
                self._send(run, work)
                self._queue(run)

    def _count_places(self) -> tuple[int, int]:
        workers = self.farm.workers()
        if workers is not self._counted[0]:
            self._counted = workers, count_places(workers)
        builders, timers = self._counted[1]
        return max(1, builders), max(1, timers)

    def _queue(self, run: NestRun) -> None:
        """The run may have something to begin."""
        if run not in self._queued and not run.done:
            self._queued.add(run)
            heapq.heappush(self._ready, (self._order_of(run), self._places[run], run))

    def _order_of(self, run: NestRun) -> float:
        """Of runs that may begin something, the one of the least number comes first."""
        if self.budget is not None:
            return -run.gain()
        return float(run.heard) if self._all_begun else 0.0

    def _reorder(self) -> None:
        """What is ready, by numbers of now."""
        self._ready = [
            (self._order_of(x) if isinstance(x, NestRun) else number, place, x) for number, place, x in self._ready
        ]  # fmt: skip
        heapq.heapify(self._ready)

    def _is_spent(self) -> bool:
        if self.budget is None or self.reason:
            return False
        spent = self.budget.trials is not None and self.trials >= self.budget.trials
        seconds = self.budget.seconds
        return spent or (seconds is not None and self.farm.now() - self._began >= seconds)

    def _end_all(self) -> None:
        """The budget of all is spent: what is best is confirmed, nothing else begun."""
        self.reason = f"the budget of {self.budget} for all nests is spent"
        self._ready = [x for x in self._ready if isinstance(x[2], NestRun)]
        heapq.heapify(self._ready)
        for run in self._open:
            run.tuner.stop(self.reason)
            self._touched.add(run)
            self._queue(run)

    def _finished(self) -> Iterator[NestRun]:
        done = sorted((x for x in self._touched if x.done and x in self._open), key=lambda x: self._places[x])
        self._touched.clear()
        for run in done:
            for work in list(self._open[run]):
                self._cancel(work)
            self._drop(run, set())
            del self._open[run], self._places[run]
            self.slow.forget(run)
            yield run

    def _send(self, run: NestRun, work: TrialWork, avoid: frozenset[str] = frozenset()) -> None:
        number = next(self._numbers)
        needs = tuple(self._results[x] for x in work.needs)
        keep = summarise if work.role in ("build", "original") else None
        avoid |= self.slow.found(work.timing, run.kind, self.farm.workers())
        piece = FarmPiece(number, work.function, work.arguments, needs, work.timing, run.kind, keep, avoid)
        self._flights[number] = _Flight(run, work, self.farm.now())
        self._sent[work].add(number)
        self._under_way[work.timing] += 1
        self._open[run].add(work)
        self.farm.submit(piece)

    def _take(self, answer: FarmAnswer) -> None:
        flight = self._flights.pop(answer.number, None)
        if flight is None:
            return  # another worker was first
        run, work = flight.run, flight.work
        self._touched.add(run)
        self._under_way[work.timing] -= 1
        self._sent[work].discard(answer.number)
        match answer.status:
            case "done":
                value = answer.value
                self._results[work] = answer.number
                self._usual[work.role].append(answer.seconds)
                for told in self.slow.hear(run, work.role, answer):
                    self.tell(told)
            case "died":
                self._deaths[work] += 1
                self.tell(f"{run.tuner.label}: {answer.worker or 'a worker'}: {answer.message}")
                if not self._sent[work] and self._deaths[work] < DEATHS:
                    self._send(run, work, frozenset((answer.worker,)))
                if self._sent[work]:
                    return
                value = run.lost(work, answer.message)
            case "timeout":
                value = run.late(work, answer.message)
            case "refused":
                run.refuse(answer.value)
                return
        self._cancel(work)
        for more in run.take(work, value):
            self._send(run, more)
        self._drop(run, run.needed())
        self._queue(run)

    def _cancel(self, work: TrialWork) -> None:
        """What else was sent for a work is of no use."""
        for number in self._sent.pop(work, ()):
            self._under_way[self._flights.pop(number).work.timing] -= 1
            self.farm.release(number)

    def _drop(self, run: NestRun, needed: set[TrialWork]) -> None:
        """Gives back what no work of a run will need."""
        under_way = [x for x in self._open[run] if self._sent.get(x)]
        needed = needed.union(under_way, *(x.needs for x in under_way))
        for work in [x for x in self._open[run] if x not in needed]:
            self._sent.pop(work, None)
            self._open[run].discard(work)
            self._deaths.pop(work, None)
            number = self._results.pop(work, None)
            if number is not None:
                self.farm.release(number)

    def _double_what_is_late(self) -> None:
        now = self.farm.now()
        limits = {role: max(LATE_LEAST, LATE * median(taken)) for role, taken in self._usual.items() if taken}
        for flight in list(self._flights.values()):
            if not flight.doubled and now - flight.began > limits.get(flight.work.role, 4 * LATE_LEAST):
                self.tell(f"{flight.run.tuner.label}: a piece is late: another worker gets it as well")
                self._send(flight.run, flight.work)
                for number in self._sent[flight.work]:
                    self._flights[number].doubled = True


def count_places(workers: Sequence[FarmWorker]) -> tuple[int, int]:
    """How many pieces are built at a time, and how many timed."""
    return sum(x.slots for x in workers if x.building), sum(x.slots for x in workers if x.timing)
