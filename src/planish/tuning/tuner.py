"""Auto-tuning of one task: the default first, then what a search suggests, each trial kept as soon as it is done.

>>> import tempfile
>>> from pathlib import Path
>>> from planish.schedule.arguments import TuningArgument, TuningArguments
>>> from planish.tuning.measurement import Measurement
>>> from planish.tuning.searches.exhaustive import ExhaustiveSearch
>>> space = SearchSpace({"gemv-rows": TuningArguments((TuningArgument("gemv-rows.rows", (2, 4, 8), 4),))})
>>> def evaluate(point, best):
...     return Measurement("ok", 1 / int(point.get("gemv-rows.rows")), 0.25)
>>> task = TuningTask("kernel nest(; )", "native", "0f", "gcc 12")
>>> tuner = Tuner(task, space, evaluate, TrialStore(Path(tempfile.mkdtemp()) / "s"))
>>> result = tuner.run(ExhaustiveSearch(space), TuningBudget(trials=9))
>>> str(result.best.point), result.trials, result.complete
('gemv-rows.rows=8 version=gemv-rows', 4, True)
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from math import inf

from planish.core.progress import Progress, keep_quiet
from planish.schedule.arguments import Point
from planish.tuning.measurement import Evaluate, Measurement
from planish.tuning.searches.search import TuningSearch
from planish.tuning.spaces.search_space import SearchSpace
from planish.tuning.store.trial_store import TrialStore
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
    trials were made now and are known in all, whether the search came to its end, and why it did not."""

    default: TuningTrial | None
    best: TuningTrial | None
    trials: int
    known: int
    complete: bool
    reason: str = ""


@dataclass(slots=True)
class Tuner:
    """Tunes one task. `clock` says the seconds that have gone by, `now` the time of day, for tests. `tell` hears what
    is being done. What is known of the store's trials counts unless `fresh`."""

    task: TuningTask
    space: SearchSpace
    evaluate: Evaluate
    store: TrialStore
    label: str = ""
    seed: int = 1
    fresh: bool = False
    tell: Progress = keep_quiet
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], str] = lambda: datetime.now(UTC).isoformat(timespec="seconds")
    session: str = field(default_factory=lambda: uuid.uuid4().hex)
    known: dict[Point, float] = field(default_factory=dict)
    made: int = 0

    def run(self, search: TuningSearch, budget: TuningBudget) -> TuningResult:
        """Goes on until the budget is spent, the search is at its end, or the user interrupts; the best trial is one of
        the store's, and never worse than the default, which is measured first."""
        began = self.clock()
        self._recall(search)
        default = self._try(self.space.default, search.name)
        search.hear(default.point, default.ratio)
        reason, repeats = "", 0
        try:
            while not reason:
                if budget.trials is not None and self.made >= budget.trials:
                    reason = f"the budget of {budget} is spent"
                elif budget.seconds is not None and self.clock() - began >= budget.seconds:
                    reason = f"the budget of {budget} is spent"
                else:
                    point = search.suggest()
                    if point is None or repeats >= REPEATS:
                        break
                    if point in self.known:
                        search.hear(point, self.known[point])
                        repeats += 1
                        continue
                    repeats = 0
                    trial = self._try(point, search.name)
                    search.hear(point, trial.ratio)
        except KeyboardInterrupt:
            reason = INTERRUPTED
        if reason != INTERRUPTED:
            self._confirm(search.name)
        return TuningResult(default, self._best(default), self.made, len(self.known), not reason, reason)

    def _recall(self, search: TuningSearch) -> None:
        """Tells the search what the store knows of the space. A trial whose process died says nothing of its point."""
        for trial in () if self.fresh else self.store.trials(self.task):
            if trial.outcome != "died" and self.space.complete(trial.point.as_dict()) == trial.point:
                self.known[trial.point] = trial.ratio
                search.hear(trial.point, trial.ratio)

    def _confirm(self, search: str) -> None:
        """Measures what is the best once more, since of many that are alike the luckiest is that."""
        for _ in range(CONFIRMED):
            best = self.store.best(self.task)
            if best is None or best.point == self.space.default or self.store.count(self.task, best.point) > 1:
                return
            self._try(best.point, search, inf)

    def _try(self, point: Point, search: str, bound: float | None = None) -> TuningTrial:
        least = min((x for x in self.known.values()), default=inf)
        best = f", best so far {1 / least:.2f}x" if 0 < least < inf else ""
        self.tell(f"{self.label}: trial {len(self.known) + 1}{best}")
        bound = least if bound is None else bound
        found = self.evaluate(point, bound)
        if found.outcome == "died":
            found = self.evaluate(point, bound)
        self.made += 1
        trial = self._trial(point, found, search)
        self.store.add(trial)
        self.known[point] = found.ratio
        return trial

    def _trial(self, point: Point, found: Measurement, search: str) -> TuningTrial:
        return TuningTrial(
            **asdict(found), task=self.task, point=point, label=self.label, version=PLANISH, search=search,
            seed=self.seed, session=self.session, number=self.made, made=self.now(),
        )  # fmt: skip

    def _best(self, default: TuningTrial) -> TuningTrial | None:
        best = self.store.best(self.task)
        if default.outcome != "ok":
            return best
        # Of what is no better than the default, this is what is taken.
        return default if best is None or best.score >= 1.0 else best
