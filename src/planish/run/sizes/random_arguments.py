"""Random arguments of a call: floats from a named distribution, integers over the range of their type.

>>> from planish.ir.types import F32, I8
>>> source = Inputs(7, "uniform")
>>> values = source.array(F32, 4, ())
>>> bool(((values >= 0.5) & (values < 1.5)).all()), source.array(I8, 3, (), (2, 2)).tolist()
(True, [2, 2, 2])
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.random  # else it is loaded when it is first used, in each fork again
import numpy.typing as npt

from planish.ir.semantics.arithmetic import limits
from planish.ir.types import Type
from planish.run.calls.signature import Distribution

AUTO: tuple[Distribution, ...] = ("uniform", "small", "near one", "normal")
"""What "auto" tries, in this order, until the reference gives a finite and well-conditioned result."""

_WILD = (0.0, -0.0, math.inf, -math.inf, math.nan, 3.0, -5.0)
"""In units of the least number of a type."""
_WIDE = 100  # bound of random 32-bit and 64-bit integers, so that sums of products do not overflow


class Inputs:
    """Draws arrays and scalars; the same seed and distribution draw the same values in the same order.

    The distributions of floats:

    - "uniform": [0.5, 1.5); square matrices get their number of rows times 1.5 added on the diagonal, so that they are
      diagonally dominant and (read as symmetric) positive definite;
    - "small": (0, 1/n) for n elements in a row, so that repeated products stay bounded;
    - "normal": mean 0, deviation 1;
    - "near one": mean 1, deviation 1/sqrt(n) for n elements, so that their product is neither 0 nor infinite;
    - "signed": [-2, 2) times the spread, and single numbers [0.25, 0.75) times it, so that comparisons of both go both
      ways; the diagonals of square matrices as of "uniform";
    - "whole": 1, 2 or 3, on which sums of products are exact in any order;
    - "wild": as "normal", but every fifth is a zero of either sign, an infinity, no number, or denormal.
    """

    def __init__(self, seed: int, distribution: Distribution, spread: float = 1.0) -> None:
        self._spread = spread
        self._random = np.random.default_rng(seed)
        self._distribution: Distribution = "uniform" if distribution == "auto" else distribution

    def array(
        self, type: Type, count: int, shape: tuple[int, ...], bounds: tuple[int, int] | None = None, row: int = 0
    ) -> npt.NDArray[Any]:
        """`count` elements as they lie in memory (bf16: uint16), flat; `shape` only shapes the values, and so does
        `row`, which is not 0 for a square matrix without a shape: its rows lie so far apart."""
        dtype = memory_dtype(type)
        match type.kind:
            case "bool":
                return self._random.integers(0, 2, count, dtype=np.uint8)
            case "int" | "uint":
                low, high = bounds or integer_range(type)
                return self._random.integers(low, high, count, dtype=dtype, endpoint=True)
            case "float" | "bfloat":
                return to_memory(self._floats(type, count, shape, row), type)

    def strew(self, stored: npt.NDArray[Any], type: Type, pool: tuple[int | float, ...]) -> None:
        """Makes about a quarter of the elements numbers of `pool`, or what lies next to these."""
        places = np.flatnonzero(self._random.random(stored.size) < 0.25)
        chosen = self._random.choice(np.array(pool, np.float64), places.size)
        chosen += self._random.integers(-1, 2, places.size)
        if not type.is_float:
            low, high = (0, 1) if type.kind == "bool" else limits(type)
            fits = (chosen >= low) & (chosen <= high) & (abs(chosen) < 2.0**53)
            places, chosen = places[fits], chosen[fits].astype(np.int64)
        stored[places] = to_memory(chosen, type)

    def rise(self, stored: npt.NDArray[Any], low: int, high: int) -> None:
        """Makes each integer up to a sixth of the bounds' distance more than the one before, but not more than
        `high`."""
        steps = self._random.integers(0, max(1, (high - low) // 6), stored.size, endpoint=True)
        stored[:] = np.minimum(low + np.cumsum(steps), high).astype(stored.dtype)

    def calm(self, stored: npt.NDArray[Any], type: Type, numbers: tuple[int | float, ...]) -> None:
        """Makes all elements the first of some numbers, but for up to three, which are others of these or stay."""
        kept = stored.copy()
        stored[:] = to_memory(np.array(numbers[:1]), type)[0]
        if len(numbers) == 1 or not stored.size:
            return
        for place in self._random.integers(0, stored.size, self._random.integers(0, 4)):
            other = to_memory(self._random.choice(np.array(numbers[1:]), 1), type)[0]
            stored[place] = kept[place] if self._random.integers(0, 2) else other

    def scalar(self, type: Type, bounds: tuple[int, int] | None = None) -> npt.NDArray[Any]:
        """One value as an array of one element."""
        if type.is_float and self._distribution == "signed":
            return to_memory((0.25 + 0.5 * self._random.random(1)) * self._spread, type)
        return self.array(type, 1, (), bounds)

    def _floats(self, type: Type, count: int, shape: tuple[int, ...], row: int) -> npt.NDArray[Any]:
        working = np.float64 if type.bits == 64 else np.float32
        if len(shape) == 2 and shape[0] == shape[1]:
            row = shape[1]
        match self._distribution:
            case "whole":
                return self._random.integers(1, 4, count).astype(working)
            case "small":
                row = max(2, shape[-1] if shape else count)
                return (1 - self._random.random(count, dtype=working)) * working(1 / row)
            case "normal":
                return self._random.standard_normal(count, dtype=working)
            case "near one":
                apart = self._random.standard_normal(count, dtype=working)
                return 1 + apart / working(max(1, count) ** 0.5)
            case "wild":
                values = self._random.standard_normal(count, dtype=working)
                odd = np.array([x * tiny(type) for x in _WILD], working)
                return np.where(self._random.random(count) < 0.2, self._random.choice(odd, count), values)
            case _:
                values = self._random.random(count, dtype=working) + working(0.5)
                if self._distribution == "signed":
                    values = (values - 1) * working(4 * self._spread)
                if row:
                    rows = -(-count // row)
                    values[: rows * row : row + 1] += working(1.5 * rows)
                return values


def memory_dtype(type: Type) -> np.dtype[Any]:
    """NumPy's type of an element as it lies in memory: bool is a byte, bf16 its 16 bits."""
    match type.kind:
        case "bool":
            return np.dtype(np.uint8)
        case "bfloat":
            return np.dtype(np.uint16)
        case _:
            return np.dtype(type.numpy)


def integer_range(type: Type) -> tuple[int, int]:
    """The range of random integers: all values of 8 and 16 bits, -100 to 100 (0 to 100 unsigned) of wider ones."""
    high = (1 << (type.bits - (type.kind == "int"))) - 1 if type.bits <= 16 else _WIDE
    if type.kind == "uint":
        return 0, high
    return (-high - 1 if type.bits <= 16 else -high), high


def to_memory(values: npt.NDArray[Any], type: Type) -> npt.NDArray[Any]:
    """Values as they lie in memory; bf16 is cut off after 16 bits."""
    if type.kind == "bfloat":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(memory_dtype(type), copy=False)


def from_memory(stored: npt.NDArray[Any], type: Type) -> npt.NDArray[Any]:
    """The numbers that lie in memory: floats as float64 (bf16 and f16 widened), integers as they are."""
    if type.kind == "bfloat":
        return (stored.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return stored.astype(np.float64, copy=False) if type.is_float else stored


def perturbed(stored: npt.NDArray[Any], type: Type, seed: int) -> npt.NDArray[Any]:
    """The same floats, each moved by at most one unit in the last place, at random; integers stay."""
    if not type.is_float:
        return stored.copy()
    random = np.random.default_rng(seed)
    if type.kind == "bfloat":
        return stored ^ random.integers(0, 2, stored.shape, dtype=np.uint16)
    steps = random.integers(-1, 2, stored.shape)
    toward = np.where(steps > 0, math.inf, -math.inf).astype(stored.dtype)
    return np.where(steps == 0, stored, np.nextafter(stored, toward))


def tiny(type: Type) -> float:
    """The least positive float of the type."""
    return 2.0**-133 if type.kind == "bfloat" else {16: 2.0**-24, 32: 2.0**-149, 64: 2.0**-1074}[type.bits]


def epsilon(type: Type) -> float:
    """The distance from 1 to the next larger float of the type."""
    return 2.0**-7 if type.kind == "bfloat" else 2.0 ** -{16: 10, 32: 23, 64: 52}[type.bits]


def least_normal(type: Type) -> float:
    """The least positive float of the type that has all its bits: below, floats lie `epsilon` times this apart."""
    return 2.0**-126 if type.kind == "bfloat" else 2.0 ** -{16: 14, 32: 126, 64: 1022}[type.bits]
