"""Tree-structured Parzen estimators, by Optuna: the optional package of the extra `tune`.

    search = TpeSearch(space, seed=1)

It is imported where this search is asked for, and nowhere else.
"""

from __future__ import annotations

from math import inf

import optuna

from planish.schedule.arguments import VERSION, Point, Value
from planish.tuning.spaces.search_space import SearchSpace

FAILED = 10.0
"""The ratio that is told of a point that failed: worse than any other, and finite."""


class TpeSearch:
    """Asks an Optuna study for each argument that there is; points that do not fit are told to have failed."""

    name = "tpe"

    def __init__(self, space: SearchSpace, seed: int = 1) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=False, n_startup_trials=8)
        self._study = optuna.create_study(sampler=sampler)
        self._space = space
        self._asked: dict[Point, optuna.trial.Trial] = {}
        for version in space.alternatives:
            self._study.enqueue_trial({VERSION: version})

    def suggest(self) -> Point | None:
        """The study's next point."""
        for _ in range(100):
            trial = self._study.ask()
            values: dict[str, Value] = {VERSION: trial.suggest_categorical(VERSION, [*self._space.alternatives])}
            # An argument that depends on another one is asked for behind it.
            while missing := [x for x in self._space.active(values) if x.name not in values]:
                x, name = missing[0], f"{values[VERSION]}: {missing[0].name}"
                values[x.name] = x.values[trial.suggest_int(name, 0, len(x.values) - 1)]
            point = self._space.complete(values)
            if point is not None:
                self._asked[point] = trial
                return point
            self._study.tell(trial, FAILED)
        return None

    def expect(self, point: Point) -> None:
        """The study knows what it has asked for."""

    def hear(self, point: Point, ratio: float) -> None:
        """A point of its own; of others the study hears nothing."""
        trial = self._asked.pop(point, None)
        if trial is not None:
            self._study.tell(trial, FAILED if ratio == inf else min(ratio, FAILED))
