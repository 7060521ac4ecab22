"""Exhaustive search: all points in the space's order, the defaults of all versions first.

>>> from planish.schedule.arguments import TuningArgument, TuningArguments
>>> space = SearchSpace({"a": TuningArguments((TuningArgument("t", (1, 2), 1),))})
>>> search = ExhaustiveSearch(space)
>>> [str(search.suggest()) for _ in range(3)]
['t=1 version=a', 't=2 version=a', 'None']
"""

from __future__ import annotations

from collections.abc import Iterator

from planish.schedule.arguments import Point
from planish.tuning.spaces.search_space import SearchSpace


class ExhaustiveSearch:
    """All points, once."""

    name = "exhaustive"

    def __init__(self, space: SearchSpace, seed: int = 1) -> None:
        self._left: Iterator[Point] = space.points()

    def suggest(self) -> Point | None:
        """The next point."""
        return next(self._left, None)

    def expect(self, point: Point) -> None:
        """Nothing depends on it."""

    def hear(self, point: Point, ratio: float) -> None:
        """Nothing depends on it."""
