"""Auto-tuning of one task: the default first, then what a search suggests, each trial kept as soon as it is done.

>>> import tempfile
>>> from pathlib import Path
>>> from planish.schedule.arguments import TuningArgument, TuningArguments
>>> from planish.tuning.measurement import Measurement
>>> from planish.tuning.store.trial_store import TrialStore
>>> from planish.tuning.searches.exhaustive import ExhaustiveSearch
>>> space = SearchSpace({"gemv-rows": TuningArguments((TuningArgument("gemv-rows.rows", (2, 4, 8), 4),))})
>>> def evaluate(point, best):
...     return Measurement("ok", 1 / int(point.get("gemv-rows.rows")), 0.25)
>>> task = TuningTask("kernel nest(; )", "native", "0f", "gcc 12")
>>> tuner = Tuner(task, space, evaluate, TrialStore(Path(tempfile.mkdtemp()) / "s"))
>>> result = tuner.run(ExhaustiveSearch(space), TuningBudget(trials=9))
>>> str(result.best.point), result.trials, result.complete
('gemv-rows.rows=8 version=gemv-rows', 3, True)
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from math import inf
from typing import Literal, Protocol

from planish.core.progress import Progress, keep_quiet
from planish.schedule.arguments import Point
from planish.tuning.measurement import Evaluate, Measurement
from planish.tuning.searches.search import TuningSearch
from planish.tuning.spaces.search_space import SearchSpace
from planish.tuning.trial import TuningTask, TuningTrial
from planish.version import VERSION as PLANISH

INTERRUPTED = "it was interrupted"
"""Why a search ended that the user has ended."""
CONFIRMED = 3
"""Points that are measured once more at the end, at most."""
REPEATS = 200
"""Points in a row that are known already, after which a search has come to its end."""


@dataclass(frozen=True, slots=True)
class TuningBudget:
    """How long to go on: seconds on the wall, or trials, or what is reached first; None for no bound."""

    seconds: float | None = None
    trials: int | None = None

    def __str__(self) -> str:
        parts = [] if self.seconds is None else [f"{self.seconds:g} s"]
        if self.trials is not None:
            parts.append(f"{self.trials} trial{'' if self.trials == 1 else 's'}")
        return " and ".join(parts) or "no bound"


@dataclass(frozen=True, slots=True)
class TuningResult:
    """What a run of tuning came to: the default's trial and the best one (None: nothing could be measured), how many
    trials were made now and are known in all, whether the search came to its end, why it did not, and how many trials
    besides, outside of the budget, confirmed what is best."""

    default: TuningTrial | None
    best: TuningTrial | None
    trials: int
    known: int
    complete: bool
    reason: str = ""
    confirmations: int = 0


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """A point that is to be measured: its number in the run, and the ratio that it has to come near to; `confirms`: the
    search is over, and this is what it found best."""

    number: int
    point: Point
    bound: float
    confirms: bool = False


class Trials(Protocol):
    """Where trials are kept and looked up: a `TrialStore`."""

    def add(self, trial: TuningTrial) -> bool: ...
    def trials(self, task: TuningTask | None = None) -> Iterable[TuningTrial]: ...
    def best(self, task: TuningTask) -> TuningTrial | None: ...
    def count(self, task: TuningTask, point: Point) -> int: ...


Stage = Literal["default", "search", "confirm", "done"]


@dataclass(slots=True)
class Tuner:
    """Tunes one task: says which point is next and hears what came of it. `clock` says the seconds that have gone by,
    `now` the time of day, for tests. `tell` hears what is being done. What is known of the store's trials counts unless
    `fresh`, but no trial that is compared by fewer `things` than are asked for now.

    Up to `ahead` points are asked for before what came of the first of them is heard. The search hears of points in
    their order, and of the one `ahead` places before each that it suggests: which points it suggests depends on the
    ratios alone, not on how many machines measure, and how fast."""

    task: TuningTask
    space: SearchSpace
    evaluate: Evaluate
    store: Trials
    label: str = ""
    seed: int = 1
    fresh: bool = False
    tell: Progress = keep_quiet
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], str] = lambda: datetime.now(UTC).isoformat(timespec="seconds")
    session: str = field(default_factory=lambda: uuid.uuid4().hex)
    ahead: int = 1
    things: int = 1
    known: dict[Point, float] = field(default_factory=dict)
    made: int = 0
    confirmations: int = 0
    _search: TuningSearch | None = None
    _budget: TuningBudget = field(default_factory=TuningBudget)
    _began: float = 0.0
    _stage: Stage = "default"
    _reason: str = ""
    _issued: dict[int, TrialRequest] = field(default_factory=dict)
    _arrived: dict[int, TuningTrial] = field(default_factory=dict)
    _count: int = 0
    _confirmed: int = 0
    _needed: int = -1
    _default: TuningTrial | None = None
    _lacking: set[Point] = field(default_factory=set)

    def run(self, search: TuningSearch, budget: TuningBudget) -> TuningResult:
        """Goes on until the budget is spent, the search is at its end, or the user interrupts; the best trial is one of
        the store's, and never worse than the default, which is measured first."""
        self.begin(search, budget)
        try:
            while (request := self.next_request()) is not None:
                found = self.evaluate(request.point, request.bound)
                if found.outcome == "died":
                    found = self.evaluate(request.point, request.bound)
                self.hear(request, found)
        except KeyboardInterrupt:
            return self.result(INTERRUPTED)
        return self.result()

    def begin(self, search: TuningSearch, budget: TuningBudget) -> None:
        """Tells the search what the store knows of the space. A trial whose process died says nothing of its point."""
        self._search, self._budget, self._began = search, budget, self.clock()
        for trial in () if self.fresh else self.store.trials(self.task):
            point = self.space.extended(trial.point)
            if trial.outcome == "died" or point is None:
                continue
            if trial.outcome == "ok" and len(trial.ratios) < self.things:
                self._lacking.add(point)
            else:
                self._learn(replace(trial, point=point))

    @property
    def done(self) -> bool:
        """Whether nothing is left to be measured."""
        return self._stage == "done"

    def next_request(self) -> TrialRequest | None:
        """What is to be measured next; None while what is under way has to be heard first, and when all is done."""
        if self._stage == "default":
            if self._count == 0:
                return self._request(self.space.default, self._least())
            if not self._take_up(0):
                return None
            self._stage = "search"
        while self._stage == "search":
            if not self._take_up(max(self._count - self.ahead, self._needed)):
                return None
            if (request := self._suggested()) is not None:
                return request
        if self._stage == "confirm":
            return self._confirmation()
        return None

    def stop(self, reason: str) -> None:
        """Nothing more is searched; what is best is still confirmed."""
        if self._stage in ("default", "search"):
            self._reason, self._stage = reason, "confirm" if self._count else "done"

    def hear(self, request: TrialRequest, found: Measurement) -> TuningTrial:
        """Keeps what came of a request."""
        self.made += not request.confirms
        self.confirmations += request.confirms
        trial = TuningTrial(
            **asdict(found), task=self.task, point=request.point, label=self.label, version=PLANISH,
            search=self._search.name if self._search is not None else "", seed=self.seed, session=self.session,
            number=request.number + 1, made=self.now(),
        )  # fmt: skip
        self.store.add(trial)
        self._arrived[request.number] = trial
        if request.number == 0:
            self._default = trial
        return trial

    def result(self, reason: str = "") -> TuningResult:
        """What was found so far; `reason`: why it has to end."""
        self._take_up(self._count, forced=True)
        reason = reason or self._reason
        best = None if self._default is None else self._best(self._default)
        return TuningResult(
            self._default, best, self.made, len(self.known), not reason, reason, self.confirmations
        )  # fmt: skip

    def _request(self, point: Point, bound: float, confirms: bool = False) -> TrialRequest:
        least = self._least()
        best = f", best so far {1 / least:.2f}x" if 0 < least < inf else ""
        self.tell(f"{self.label}: trial {len(self.known) + len(self._issued) + 1}{best}")
        made = self._issued[self._count] = TrialRequest(self._count, point, bound, confirms)
        self._count += 1
        return made

    def _take_up(self, last: int, forced: bool = False) -> bool:
        """Lets the search hear of all requests up to a number, in their order; False where one is still measured."""
        assert self._search is not None
        for number in sorted(x for x in self._issued if x <= last):
            trial = self._arrived.pop(number, None)
            if trial is None and forced:
                continue
            if trial is None:
                return False
            del self._issued[number]
            self._learn(trial)
        return True

    def _learn(self, trial: TuningTrial) -> None:
        """Knows a trial's point from now on, by the things alone that are asked for: others may have been measured."""
        assert self._search is not None
        self.known[trial.point] = trial.merit(self.things)
        self._search.hear(trial.point, self.known[trial.point])

    def _suggested(self) -> TrialRequest | None:
        """The search's next point; None where what is under way is `_needed` first, or the `_stage` is another one."""
        assert self._search is not None
        measured = {x.point for x in self._issued.values()}
        for _ in range(REPEATS):
            point = self._search.suggest()
            if point is None:
                break
            if point in self.known:
                self._search.hear(point, self.known[point])
            elif point not in measured:
                if self._is_spent():
                    self._reason, self._stage = f"the budget of {self._budget} is spent", "confirm"
                    return None
                self._search.expect(point)
                return self._request(point, self._least())
        if measured:
            # What is under way may lead the search elsewhere.
            self._needed = min(self._issued)
        else:
            self._stage = "confirm"
        return None

    def _is_spent(self) -> bool:
        budget = self._budget
        spent = budget.trials is not None and self._count >= budget.trials
        return spent or (budget.seconds is not None and self.clock() - self._began >= budget.seconds)

    def _confirmation(self) -> TrialRequest | None:
        """What is the best once more, since of many that are alike the luckiest is that."""
        if not self._take_up(self._count):
            return None
        if self._confirmed < CONFIRMED:
            self._confirmed += 1
            best = self.store.best(self.task)
            tried = 2 if best is None else self.store.count(self.task, best.point)
            lacks = best is not None and best.point in self._lacking.difference(self.known)
            if best is not None and best.point != self.space.default and (tried < 2 or lacks):
                return self._request(best.point, inf, confirms=True)
        self._stage = "done"
        return None

    def _least(self) -> float:
        return min(self.known.values(), default=inf)

    def _best(self, default: TuningTrial) -> TuningTrial | None:
        best = self.store.best(self.task)
        if default.outcome != "ok":
            return best
        # Of what is no better than the default, this is what is taken.
        return default if best is None or best.score >= 1.0 else best
