"""The transform matrices of Winograd convolutions (Winograd, "Arithmetic Complexity of Computations", 1980).

Some results y of a window g over neighbours d are A ((G g) * (B d)), where * multiplies element by element: as many
multiplications as there are elements of d, not results times elements of g. In two dimensions each of the matrices is
used on rows, then on columns (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2016).

>>> F23.size, F23.is_exact(), F23.saving, F23.growth
(4, True, 2.25, 64.0)
>>> image, window = (1.0, 2.0, 3.0, 4.0), (1.0, 0.0, -1.0)
>>> products = [x * y for x, y in zip(times(F23.image, image), times(F23.window, window), strict=True)]
>>> times(F23.results, products)
(-2.0, -2.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Minimal:
    """The matrices for some `outputs` of a window of some `taps`: of the image (B), the window (G) and the results (A).
    Numbers are exact as floats."""

    outputs: int
    taps: int
    image: Matrix
    window: Matrix
    results: Matrix

    @property
    def size(self) -> int:
        """The neighbours that are seen, and the multiplications."""
        return self.outputs + self.taps - 1

    @property
    def saving(self) -> float:
        """How many times fewer multiplications there are in two dimensions."""
        return (self.outputs * self.taps / self.size) ** 2

    @property
    def growth(self) -> float:
        """How many times larger the terms of a result may be in two dimensions, in all, than the largest element of the
        image times that of the window: what the rounding of a result grows with. Without matrices it is `taps ** 2`."""
        norms = [[sum(map(abs, row)) for row in matrix] for matrix in (self.image, self.window)]
        weights = [x * y for x, y in zip(*norms, strict=True)]
        largest: float = max(sum(abs(a) * w for a, w in zip(row, weights, strict=True)) for row in self.results)
        return largest * largest

    def is_exact(self) -> bool:
        """Whether the results are those of the convolution, without rounding: y[i] = sum over r of g[r] * d[i + r]."""
        cases = product(range(self.outputs), range(self.taps), range(self.size))
        return all(self._weight(i, r, t) == (t == i + r) for i, r, t in cases)

    def _weight(self, i: int, r: int, t: int) -> Fraction:
        """What g[r] * d[t] is multiplied by in y[i]."""
        rows = zip(self.results[i], self.window, self.image, strict=True)
        return sum((Fraction(a) * Fraction(g[r]) * Fraction(b[t]) for a, g, b in rows), Fraction(0))


F23 = Minimal(
    2, 3,
    ((1.0, 0.0, -1.0, 0.0), (0.0, 1.0, 1.0, 0.0), (0.0, 1.0, -1.0, 0.0), (0.0, 1.0, 0.0, -1.0)),
    ((1.0, 0.0, 0.0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0.0, 0.0, 1.0)),
    ((1.0, 1.0, -1.0, 0.0), (0.0, 1.0, 1.0, -1.0)),
)  # fmt: skip
"""Two results of three elements, at the points 0, 1, -1 and infinity. Signs are such that no number is negated."""


def times(matrix: Matrix, vector: Sequence[float]) -> tuple[float, ...]:
    """A matrix times a vector."""
    return tuple(sum(x * y for x, y in zip(row, vector, strict=True)) for row in matrix)
