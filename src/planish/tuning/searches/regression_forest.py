"""A small forest of regression trees: what it expects of a row of numbers, and how far its trees are apart.

Each tree is grown on rows drawn with replacement, and splits by a random part of the columns (Breiman, "Random
Forests", 2001). The same rows and seed give the same forest.

>>> rows = [[float(x), 1.0] for x in range(40)]
>>> forest = RegressionForest(rows, [float(x > 20) for x in range(40)], seed=1)
>>> mean, spread = forest.predict([35.0, 1.0])
>>> mean > 0.9, forest.predict([2.0, 1.0])[0] < 0.1
(True, True)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

TREES = 24
DEEPEST = 8
FEWEST = 2
"""Rows of a leaf."""
_COLUMNS = 0.6
"""The part of the columns that a split looks at."""

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Leaf:
    mean: float


@dataclass(frozen=True, slots=True)
class _Split:
    column: int
    bound: float
    below: _Tree
    above: _Tree


_Tree = _Leaf | _Split


class RegressionForest:
    """A forest grown on rows with their targets."""

    def __init__(self, rows: Sequence[Sequence[float]], targets: Sequence[float], seed: int) -> None:
        rng = np.random.default_rng(seed)
        x, y = np.asarray(rows, np.float64), np.asarray(targets, np.float64)
        self._trees = []
        for _ in range(TREES):
            drawn = rng.integers(0, len(y), len(y))
            self._trees.append(_grow(x[drawn], y[drawn], rng, DEEPEST))

    def predict(self, row: Sequence[float]) -> tuple[float, float]:
        """The mean of what the trees say, and their standard deviation."""
        said = np.asarray([_follow(x, row) for x in self._trees])
        return float(said.mean()), float(said.std())


def _grow(x: _Floats, y: _Floats, rng: np.random.Generator, depth: int) -> _Tree:
    if depth == 0 or len(y) < 2 * FEWEST or np.ptp(y) == 0:
        return _Leaf(float(y.mean()))
    columns = rng.permutation(x.shape[1])[: max(1, ceil(_COLUMNS * x.shape[1]))]
    found = min((z for c in columns if (z := _best_bound(x[:, c], y, int(c))) is not None), default=None)
    if found is None:
        return _Leaf(float(y.mean()))
    _, column, bound = found
    below = x[:, column] <= bound
    parts = (_grow(x[side], y[side], rng, depth - 1) for side in (below, ~below))
    return _Split(column, bound, *parts)


def _best_bound(values: _Floats, y: _Floats, column: int) -> tuple[float, int, float] | None:
    """The sum of squares that is left by the best bound in a column, with the column and the bound."""
    order = np.argsort(values, kind="stable")
    v, t = values[order], y[order]
    places = np.arange(FEWEST, len(t) - FEWEST + 1)
    places = places[v[places - 1] < v[np.minimum(places, len(v) - 1)]]
    if not len(places):
        return None
    sums, squares = np.cumsum(t), np.cumsum(t * t)
    left = squares[places - 1] - sums[places - 1] ** 2 / places
    rest, count = sums[-1] - sums[places - 1], len(t) - places
    right = squares[-1] - squares[places - 1] - rest**2 / count
    best = int(np.argmin(left + right))
    place = places[best]
    return float((left + right)[best]), column, float((v[place - 1] + v[place]) / 2)


def _follow(tree: _Tree, row: Sequence[float]) -> float:
    while isinstance(tree, _Split):
        tree = tree.below if row[tree.column] <= tree.bound else tree.above
    return tree.mean
