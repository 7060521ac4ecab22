"""Random search: the defaults of all versions, then any points.

>>> from planish.schedule.arguments import TuningArgument, TuningArguments
>>> space = SearchSpace({"a": TuningArguments((TuningArgument("t", (1, 2), 1),)), "b": TuningArguments()})
>>> search = RandomSearch(space, seed=3)
>>> [str(search.suggest()) for _ in range(2)]
['t=1 version=a', 'version=b']
"""

from __future__ import annotations

from random import Random

from planish.schedule.arguments import Point
from planish.tuning.spaces.search_space import SearchSpace


class RandomSearch:
    """Points drawn one by one, by a generator of its own."""

    name = "random"

    def __init__(self, space: SearchSpace, seed: int = 1) -> None:
        self._space, self._rng = space, Random(seed)
        self._firsts = [space.default_of(x) for x in space.alternatives]

    def suggest(self) -> Point | None:
        """Any point."""
        return self._firsts.pop(0) if self._firsts else self._space.sample(self._rng)

    def expect(self, point: Point) -> None:
        """Nothing depends on it."""

    def hear(self, point: Point, ratio: float) -> None:
        """Nothing depends on it."""
