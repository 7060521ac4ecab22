"""Evolutionary search: the best points so far are crossed and mutated; one in eight is drawn anew.

>>> from planish.schedule.arguments import TuningArgument, TuningArguments
>>> space = SearchSpace({"a": TuningArguments((TuningArgument("t", tuple(range(100)), 0),))})
>>> search = EvolutionarySearch(space, seed=1)
>>> for _ in range(60):
...     point = search.suggest()
...     search.hear(point, abs(int(point.get("t")) - 70) / 100)
>>> min(abs(int(x.get("t")) - 70) for x in search.population) < 5
True
"""

from __future__ import annotations

from math import inf
from random import Random

from planish.schedule.arguments import Point
from planish.tuning.spaces.search_space import SearchSpace

SURVIVORS = 12
"""Points that others come of."""
_DRAWN, _CROSSED = 1 / 8, 1 / 2
_FIRST = 8
"""Points that are drawn before any is bred."""


class EvolutionarySearch:
    """Breeds from the best points; `heard` are all ratios by point."""

    name = "evolutionary"

    def __init__(self, space: SearchSpace, seed: int = 1) -> None:
        self._space, self._rng = space, Random(seed)
        self._firsts = [space.default_of(x) for x in space.alternatives]
        self.heard: dict[Point, float] = {}
        self._expected: set[Point] = set()

    @property
    def population(self) -> list[Point]:
        """The best points that were heard of, the best first."""
        good = [x for x, ratio in self.heard.items() if ratio < inf]
        return sorted(good, key=lambda x: (self.heard[x], x.values))[:SURVIVORS]

    def suggest(self) -> Point | None:
        """A child of good points that was not heard of, if one is found."""
        while self._firsts:
            first = self._firsts.pop(0)
            if first not in self.heard:
                return first
        population = self.population
        for _ in range(50):
            made = self._breed(population)
            if made not in self.heard and made not in self._expected:
                return made
        return self._space.sample(self._rng)

    def expect(self, point: Point) -> None:
        """A point that is not suggested again."""
        self._expected.add(point)

    def hear(self, point: Point, ratio: float) -> None:
        """A point that others may come of."""
        self._expected.discard(point)
        self.heard[point] = min(ratio, self.heard.get(point, inf))

    def _breed(self, population: list[Point]) -> Point:
        rng = self._rng
        if len(self.heard) < _FIRST or not population or rng.random() < _DRAWN:
            return self._space.sample(rng)
        # The better half has twice the chance of the other one.
        parent = min(rng.sample(range(len(population)), min(2, len(population))))
        child = population[parent]
        if len(population) > 1 and rng.random() < _CROSSED:
            child = self._space.cross(child, rng.choice(population), rng)
        return self._space.mutate(child, rng, rng.choice((1, 1, 2, 3)))
