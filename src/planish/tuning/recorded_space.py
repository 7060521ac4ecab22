"""Recorded spaces: searches are run and compared on trials of a store, without a machine.

>>> from planish.schedule.arguments import TuningArgument, TuningArguments
>>> from planish.tuning.searches.exhaustive import ExhaustiveSearch
>>> argument = TuningArgument("t", (1, 2, 4), 1)
>>> space = SearchSpace({"a": TuningArguments((argument,))})
>>> recorded = RecordedSpace(space, {x: 1 / int(x.get("t")) for x in space.points()})
>>> recorded.run(ExhaustiveSearch(space), 3), recorded.optimum
((1.0, 0.5, 0.25), 0.25)
>>> recorded.regrets((1.0, 0.5, 0.25))
(4.0, 2.0, 1.0)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median

from planish.schedule.arguments import Point
from planish.tuning.searches.search import TuningSearch
from planish.tuning.spaces.search_space import SearchSpace
from planish.tuning.store.trial_store import TrialStore
from planish.tuning.trial import TuningTask

_IDLE = 500
"""Points in a row that are known, or were not recorded, after which a search has come to its end."""

MakeSearch = Callable[[SearchSpace, int], TuningSearch]


@dataclass(frozen=True, slots=True, eq=False)
class RecordedSpace:
    """A space with the ratios of its points, as far as they were recorded; infinite for those that failed."""

    space: SearchSpace
    ratios: Mapping[Point, float]

    @classmethod
    def of(cls, space: SearchSpace, store: TrialStore, task: TuningTask) -> RecordedSpace:
        """What a store has recorded of a space: the least ratio of each point."""
        ratios: dict[Point, float] = {}
        for trial in store.trials(task):
            if trial.outcome != "died" and space.complete(trial.point.as_dict()) == trial.point:
                ratios[trial.point] = min(trial.ratio, ratios.get(trial.point, inf))
        return cls(space, ratios)

    @property
    def optimum(self) -> float:
        """The least ratio."""
        return min(self.ratios.values(), default=inf)

    def run(self, search: TuningSearch, trials: int) -> tuple[float, ...]:
        """The best ratio after each trial, the default's first. A point that is known costs nothing; one that was not
        recorded is told to have failed, and costs nothing either, so that no search gains by what nobody measured."""
        default, known = self.space.default, set[Point]()
        best: list[float] = []

        def take(point: Point) -> None:
            known.add(point)
            best.append(min(self.ratios[point], best[-1] if best else inf))
            search.hear(point, self.ratios[point])

        if default in self.ratios:
            take(default)
        idle = 0
        while len(best) < trials and idle < _IDLE:
            point = search.suggest()
            if point is None:
                break
            if point in self.ratios and point not in known:
                idle = 0
                take(point)
            else:
                idle += 1
                search.hear(point, self.ratios.get(point, inf))
        return (*best, *(best[-1:] * (trials - len(best))))

    def regrets(self, curve: Sequence[float]) -> tuple[float, ...]:
        """How many times the optimum's time the best takes after each trial."""
        return tuple(x / self.optimum for x in curve)

    def compare(self, searches: Mapping[str, MakeSearch], trials: int, seeds: Sequence[int]) -> dict[str, list[float]]:
        """The median over some seeds of each search's regret after each trial."""
        out = {}
        for name, make in searches.items():
            runs = [self.regrets(self.run(make(self.space, seed), trials)) for seed in seeds]
            out[name] = [median(x) for x in zip(*runs, strict=True)]
        return out
