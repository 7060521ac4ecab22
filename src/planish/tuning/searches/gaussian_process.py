"""A Gaussian process: what it expects of a row of numbers, and how sure it is of that.

The covariance is Matérn's with 5/2 degrees of smoothness, with a length for each group of columns, chosen by the
likelihood of what was seen (Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, 2.2, 4.2 and 5.4).
The same rows give the same process.

>>> rows = [[x / 10] for x in range(0, 11, 2)]
>>> process = GaussianProcess(rows, [r[0] ** 2 for r in rows], (1,))
>>> mean, spread = process.predict([[0.5], [3.0]])
>>> bool(abs(mean[0] - 0.25) < 0.02), bool(spread[0] < spread[1])
(True, True)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import inf, sqrt

import numpy as np
import numpy.typing as npt

LENGTHS = (0.2, 0.5, 1.0, 2.5)
"""The lengths that are tried, in parts of the range of each column."""
NOISES = (1e-4, 1e-2)
"""The parts of the variance that may be the clock's noise."""
MOST = 250
"""Rows that are learnt from: the best and the last ones of more."""

_Floats = npt.NDArray[np.float64]


class GaussianProcess:
    """A process fitted to rows with their targets. `groups`: how many columns belong together, from the left."""

    def __init__(self, rows: Sequence[Sequence[float]], targets: Sequence[float], groups: Sequence[int]) -> None:
        x, y = np.asarray(rows, np.float64), np.asarray(targets, np.float64)
        if len(y) > MOST:
            last, best = range(len(y) - MOST // 2, len(y)), np.argsort(y, kind="stable")[: MOST // 2]
            kept = sorted({*last, *map(int, best)})
            x, y = x[kept], y[kept]
        self._low, span = x.min(axis=0), np.ptp(x, axis=0)
        self._span = np.where(span > 0, span, 1.0)
        self._groups = groups
        self._x = self._scaled(x)
        self._mean, self._scale = float(y.mean()), float(y.std()) or 1.0
        self._fit((y - self._mean) / self._scale)

    def predict(self, rows: Sequence[Sequence[float]]) -> tuple[_Floats, _Floats]:
        """The expected targets of rows, and their standard deviations."""
        across = _matern(self._distances(self._scaled(np.asarray(rows, np.float64)), self._x), self._lengths)
        mean = across @ self._weights
        solved = np.linalg.solve(self._lower, across.T)
        spread = np.sqrt(np.maximum(1e-12, 1.0 - (solved * solved).sum(axis=0)))
        return mean * self._scale + self._mean, spread * self._scale

    def _scaled(self, x: _Floats) -> _Floats:
        scaled: _Floats = (x - self._low) / self._span
        return scaled

    def _distances(self, a: _Floats, b: _Floats) -> list[_Floats]:
        """The mean squares of differences by group."""
        out, start = [], 0
        for count in self._groups:
            part = slice(start, start + count)
            apart = a[:, None, part] - b[None, :, part]
            out.append((apart * apart).sum(axis=2) / max(1.0, sqrt(count)))
            start += count
        return out

    def _fit(self, y: _Floats) -> None:
        distances, best = self._distances(self._x, self._x), -inf
        still = [not x.any() for x in distances]
        for lengths in product(*((1.0,) if x else LENGTHS for x in still)):
            covariance = _matern(distances, lengths)
            for noise in NOISES:
                lower = np.linalg.cholesky(covariance + noise * np.eye(len(y)))
                solved = np.linalg.solve(lower, y)
                likelihood = -0.5 * float(solved @ solved) - float(np.log(np.diag(lower)).sum())
                if likelihood > best:
                    best, self._lengths, self._lower = likelihood, lengths, lower
                    self._weights = np.linalg.solve(lower.T, solved)


def _matern(distances: Sequence[_Floats], lengths: Sequence[float]) -> _Floats:
    squares = sum((x / length**2 for x, length in zip(distances, lengths, strict=True)), np.zeros(()))
    far = np.sqrt(5.0 * squares)
    found: _Floats = (1.0 + far + far * far / 3.0) * np.exp(-far)
    return found
