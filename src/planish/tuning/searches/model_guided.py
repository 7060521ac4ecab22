"""Model-guided search: a Gaussian process, fitted to what was heard, says which of many points to try.

Of some hundred candidates (drawn, and near the best ones) the one is tried whose expected improvement is the largest.
The process looks at the arguments of points and at what strategies know of them: bytes of a tile by cache, loads,
registers, strides, trip counts.

>>> from planish.schedule.arguments import TuningArgument, TuningArguments
>>> space = SearchSpace({"a": TuningArguments(tuple(TuningArgument(x, (1, 2, 4, 8, 16, 32, 64), 1) for x in "tuv"))})
>>> search = ModelGuidedSearch(space, seed=1)
>>> for _ in range(50):
...     point = search.suggest()
...     t, u = int(point.get("t")), int(point.get("u"))
...     search.hear(point, 1 + abs(t - 16) / 16 + abs(u - 4) / 4)
>>> min(search.heard.values())
1.0
"""

from __future__ import annotations

from math import erf as error_function
from math import exp, inf, isfinite, log, pi, sqrt
from random import Random

from planish.schedule.arguments import Point
from planish.tuning.searches.gaussian_process import GaussianProcess
from planish.tuning.spaces.features import FeatureMap
from planish.tuning.spaces.search_space import SearchSpace

FIRST = 8
"""Points that are tried before there is a model."""
CANDIDATES = 200
_NEAR = 4
"""The best points whose neighbours are candidates."""
_FAILED = 4.0
"""The ratio that the model learns of a point that failed."""


class ModelGuidedSearch:
    """Suggests the candidate of the largest expected improvement; `heard` are all ratios by point."""

    name = "model"

    def __init__(self, space: SearchSpace, seed: int = 1) -> None:
        self._space, self._rng = space, Random(seed)
        self._features = FeatureMap(space)
        self._firsts = [space.default_of(x) for x in space.alternatives]
        self.heard: dict[Point, float] = {}
        self._expected: set[Point] = set()

    def suggest(self) -> Point | None:
        """The most promising point that was not heard of."""
        while self._firsts:
            first = self._firsts.pop(0)
            if first not in self.heard:
                return first
        candidates = self._candidates()
        if len(self.heard) < FIRST or not candidates:
            return self._space.sample(self._rng)
        known = list(self.heard)
        targets = [log(min(max(self.heard[x], 1e-3), _FAILED)) for x in known]
        rows, asked = ([self._features.of(x) for x in some] for some in (known, candidates))
        mean, spread = GaussianProcess(rows, targets, self._features.groups).predict(asked)
        best = min(targets)
        scored = [(_improvement(best, float(m), float(s)), x) for m, s, x in zip(mean, spread, candidates, strict=True)]
        return max(scored, key=lambda x: x[0])[1]

    def expect(self, point: Point) -> None:
        """A point that is no candidate any more."""
        self._expected.add(point)

    def hear(self, point: Point, ratio: float) -> None:
        """A point for the model to learn from."""
        self._expected.discard(point)
        self.heard[point] = min(ratio, self.heard.get(point, inf))

    def _candidates(self) -> list[Point]:
        good = sorted((x for x in self.heard if isfinite(self.heard[x])), key=lambda x: (self.heard[x], x.values))
        found = {y: None for x in good[:_NEAR] for y in self._space.neighbours(x)}
        for _ in range(CANDIDATES // 4 if good else 0):
            found[self._space.mutate(self._rng.choice(good[: 2 * _NEAR]), self._rng, self._rng.choice((1, 2, 3)))] = (
                None
            )
        for _ in range(CANDIDATES // 2):
            found[self._space.sample(self._rng)] = None
        return [x for x in found if x not in self.heard and x not in self._expected]


def _improvement(best: float, mean: float, spread: float) -> float:
    """The expected improvement over the best (Jones et al., "Efficient Global Optimization of Expensive Black-Box
    Functions", 1998)."""
    gain, spread = best - mean, max(spread, 1e-6)
    z = gain / spread
    return gain * (1 + error_function(z / sqrt(2))) / 2 + spread * exp(-z * z / 2) / sqrt(2 * pi)
