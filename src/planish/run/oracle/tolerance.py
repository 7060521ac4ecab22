"""Tolerances: how far a result may lie from the reference, for each element type, and how far it does.

>>> import numpy as np
>>> from planish.ir.types import F64
>>> want, got = np.array([1.0, 100.0]), np.array([1.0, 100.0 + 1e-12])
>>> difference(want, got, F64, Tolerance(ulps=32).bound(F64, 4)).place
-1
>>> difference(want, got, F64, 0.0).place
1
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from planish.ir.types import Type
from planish.run.sizes.random_arguments import epsilon, from_memory, least_normal


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The rounding that a change of the order of operations may cause.

    An element is accepted where |got - want| <= ulps * eps(type) * g(length) * max(|want|, M). eps is the distance
    from 1 to the next float of the type; M is the largest magnitude in that array, in the reference's result and
    before the call, or the least normal number of the type: what is smaller is rounded as if it were that; g is the
    square root (rounding errors that average out) or the identity (the worst case, Higham, "Accuracy and Stability of
    Numerical Algorithms", section 4.2). `length` is the number of terms of the longest reduction; None takes the
    largest size of the case. `slack` comes on top of the factor before max, for some arrays: how far the constants of
    which the reference makes them are known to be off. Integers are compared exactly, NaN equals NaN, and an infinity
    equals itself.
    """

    ulps: float = 32.0
    length: int | None = None
    growth: Literal["sqrt", "linear"] = "sqrt"
    slack: Mapping[str, float] = field(default_factory=dict)

    def bound(self, type: Type, size: int, array: str = "") -> float:
        """The relative bound for an array of a type, where `size` is the largest size of the case; 0 for integers."""
        if not type.is_float:
            return 0.0
        length = max(1, self.length if self.length is not None else size)
        rounding = self.ulps * epsilon(type) * (math.sqrt(length) if self.growth == "sqrt" else length)
        return rounding + self.slack.get(array, 0.0)

    def describe(self) -> str:
        """The formula in words, for reports: "32 ulp * sqrt(length) of the largest element"."""
        length = "length" if self.length is None else str(self.length)
        term = f"sqrt({length})" if self.growth == "sqrt" else length
        return f"{self.ulps:g} ulp * {term} of the largest element"


EXACTNESS = 2.0
"""So many times as far from a more exact reference as the original a version may be."""
LEAST_EXACT = 0.1
"""An original that is farther from a more exact reference than this, or than `ulps` * eps * length of the least exact
of its types, says nothing: that is no rounding."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The largest difference of two arrays, and the flat index of the worst element out of bounds (-1: none).

    `relative` is relative to the magnitude that the tolerance is relative to.
    """

    absolute: float
    relative: float
    place: int


def difference(
    want: npt.NDArray[Any],
    got: npt.NDArray[Any],
    type: Type,
    bound: float | None,
    before: npt.NDArray[Any] | None = None,
) -> Difference:
    """Compares elements as they lie in memory; `bound` is relative, None asks for the same bits.

    `before` is what the array held before the call; its magnitude counts as well.
    """
    if np.array_equal(want.view(f"u{want.itemsize}"), got.view(f"u{got.itemsize}")):
        return Difference(0.0, 0.0, -1)
    if not type.is_float:
        off = np.flatnonzero(want != got)
        # Python's integers, because the difference of two 64-bit numbers needs 65 bits.
        place = max(off[:1000].tolist(), key=lambda i: abs(int(got[i]) - int(want[i])))
        gap = abs(int(got[place]) - int(want[place]))
        return Difference(float(gap), gap / max(1, abs(int(want[place]))), place)
    a, b = from_memory(want, type), from_memory(got, type)
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        gap_all = np.where(same, 0.0, np.abs(b - a))
        gap_all[~same & ~np.isfinite(gap_all)] = math.inf
        largest = max(least_normal(type), magnitude(want, type), 0.0 if before is None else magnitude(before, type))
        relative = gap_all / np.maximum(np.where(np.isfinite(a), np.abs(a), 0.0), largest)
        relative[same] = 0.0
        relative[~same & np.isnan(relative)] = math.inf
    if bound is None:
        # Zeros of different sign differ in bits and not in value.
        bits = (want.view(f"u{want.itemsize}") != got.view(f"u{got.itemsize}")) & ~(np.isnan(a) & np.isnan(b))
        out = np.where(bits, np.maximum(relative, np.finfo(np.float64).tiny), 0.0)
    else:
        out = np.where(relative > bound, relative, 0.0)
    worst = int(np.argmax(out))
    return Difference(float(gap_all.max()), float(relative.max()), worst if out[worst] > 0 else -1)


def distance(
    exact: npt.NDArray[Any], stored: npt.NDArray[Any], type: Type, before: npt.NDArray[Any] | None = None
) -> float:
    """How far floats of a type are from more exact ones, relative to what a tolerance is relative to; infinite where
    one of them is no finite number.

    >>> from planish.ir.types import F64
    >>> round(distance(np.array([1.0, 4.0], np.longdouble), np.array([1.0, 4.5]), F64), 3)
    0.125
    """
    if not exact.size:
        return 0.0
    with np.errstate(all="ignore"):
        size = np.abs(exact)
        held = 0.0 if before is None or not before.size else np.abs(before).max()
        largest = max(size.max(), held, least_normal(type))
        off = np.abs(stored - exact)
        relative = np.where(off == 0, 0.0, off / np.maximum(size, largest))
    worst = float(relative.max())
    return worst if math.isfinite(worst) else math.inf


def magnitude(stored: npt.NDArray[Any], type: Type) -> float:
    """The largest finite magnitude among floats (0.0 where there is none, and for integers)."""
    if not type.is_float or stored.size == 0:
        return 0.0
    values = np.abs(from_memory(stored, type))
    return float(np.max(values, initial=0.0, where=np.isfinite(values)))


def finite(stored: npt.NDArray[Any], type: Type) -> bool:
    """Whether no element is an infinity or not a number."""
    return not type.is_float or bool(np.isfinite(from_memory(stored, type)).all())


def with_slack(known: Mapping[str, float], more: Mapping[str, float], names: Mapping[str, str]) -> dict[str, float]:
    """The slack of a function's arrays with that of a region's, which have `names` of their own in the function."""
    own = {names[x]: y for x, y in more.items() if x in names}
    return {**known, **{x: max(y, known.get(x, 0.0)) for x, y in own.items()}}
