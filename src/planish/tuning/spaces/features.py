"""Points as rows of numbers, for models: a column for each version, for each argument, and for what strategies know.

>>> from planish.schedule.arguments import Point, TuningArgument, TuningArguments
>>> space = SearchSpace({"a": TuningArguments((TuningArgument("t", (0, 8), 0),)), "b": TuningArguments()})
>>> FeatureMap(space).of(Point.of({"version": "a", "t": 8}))
[1.0, 0.0, 3.169925001442312]
"""

from __future__ import annotations

from math import log2

from planish.schedule.arguments import VERSION, Point
from planish.tuning.spaces.search_space import SearchSpace

ABSENT = -4.0
"""What stands for an argument that a point does not have."""


class FeatureMap:
    """The columns of a space: whether a version is that one, then the arguments, numbers by their logarithms, texts by
    their places, then what strategies know of a point (`planish.schedule.arguments.TuningFeature`)."""

    def __init__(self, space: SearchSpace) -> None:
        self._space = space
        self._versions = [*space.alternatives]
        self._places: dict[str, dict[object, int]] = {}
        for version in self._versions:
            for x in space.arguments(version):
                places = self._places.setdefault(x.name, {})
                for value in x.values:
                    places.setdefault(value, len(places))
        self._known = [*dict.fromkeys(x.name for own in space.alternatives.values() for x in own.features)]
        self._rows: dict[Point, list[float]] = {}

    @property
    def groups(self) -> tuple[int, int, int]:
        """How many columns there are of versions, of arguments, and of what strategies know."""
        return len(self._versions), len(self._places), len(self._known)

    def of(self, point: Point) -> list[float]:
        """The row of a point."""
        if point not in self._rows:
            self._rows[point] = self._row(point)
        return self._rows[point]

    def _row(self, point: Point) -> list[float]:
        row = [float(point.get(VERSION) == x) for x in self._versions]
        for name, places in self._places.items():
            value = point.get(name)
            match value:
                case None:
                    row.append(ABSENT)
                case int():
                    row.append(log2(1 + abs(value)))
                case _:
                    row.append(float(places.get(value, -1)))
        values, version = point.as_dict(), str(point.get(VERSION) or "")
        own = self._space.alternatives[version].features if version in self._space.alternatives else ()
        known = {x.name: x.of({n: values[n] for n in x.names if n in values}) for x in own}
        return [*row, *(known.get(x, 0.0) for x in self._known)]
