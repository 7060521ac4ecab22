"""Builders tried against patterns: both run as loops on the same numbers, and must leave the same ones.

>>> from planish.core.span import Source
>>> from planish.raising.tdl.reader import read_tactics
>>> text = '''def gemv {
...   pattern y(i) += A(i, k) * x(k)
...   builder y(i) += A(k, i) * x(k)
...   example { } counterexample { }
... }'''
>>> from planish.core.diagnostic import PlanishError
>>> try:
...     read_tactics(Source("t.tdl", text))
... except PlanishError as error:
...     print(error.diagnostic.message)
dimension 1 of `A` has ni elements, and here nk
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from planish.ir.checker import check_kernel
from planish.ir.index.evaluate import evaluate
from planish.ir.nest import Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.types import BOOL
from planish.raising.expansion import expand
from planish.raising.raised import Raised
from planish.raising.tdl.tactic import Tactic

Values = dict[str, Any]
_MOST = 5
"""The largest size that is tried."""
_DRAWS = 400


@dataclass(frozen=True, slots=True)
class BuilderDifference:
    """Where a builder leaves something else than its pattern."""

    sizes: Mapping[str, int]
    array: str
    worst: float

    def __str__(self) -> str:
        sizes = ", ".join(f"{name} = {value}" for name, value in self.sizes.items())
        return f"`{self.array}` differs by {self.worst:.3g} for {sizes or 'no sizes'}"


def compare_builder(tactic: Tactic, builder: Raised, cases: int = 12, seed: int = 1) -> BuilderDifference | None:
    """The first difference between a tactic's pattern and one of its builders, over some sizes (none of them is one).

    ValueError where no sizes were found that the operation's assumptions allow.
    """
    pattern, other = tactic.operation.definition, expand(builder)
    check_kernel(other, f"the builder of {tactic.name}")
    chance = Random(seed)
    for case in range(cases):
        sizes = draw_sizes(pattern, chance, 0 if case % 4 == 3 else 1)
        drawn = draw_values(pattern, sizes, chance)
        wanted, got = (run_copy(kernel, sizes, drawn) for kernel in (pattern, other))
        for name in (x.name for x in pattern.arrays):
            if not np.allclose(wanted[name], got[name], rtol=1e-9, atol=1e-9, equal_nan=True):
                return BuilderDifference(sizes, name, float(np.max(np.abs(wanted[name] - got[name]))))
    return None


def draw_sizes(kernel: Kernel, chance: Random, least: int = 1) -> dict[str, int]:
    """Sizes that a kernel's assumptions allow and for which no array has less than nothing."""
    for _ in range(_DRAWS):
        sizes = {x: chance.randint(least, _MOST) for x in kernel.sizes}
        extents = [evaluate(e, sizes) for x in kernel.arrays for e in x.shape if e is not None]
        if all(evaluate(x, sizes) for x in kernel.assumptions) and min(extents, default=0) >= 0:
            return sizes
    raise ValueError(f"no sizes up to {_MOST} are as `{kernel.name}` assumes")


def draw_values(kernel: Kernel, sizes: Mapping[str, int], chance: Random) -> Values:
    """Small whole numbers, with halves, for every scalar and array."""
    out: Values = {x.name: _numbers((), chance, x.type.numpy).item() for x in kernel.scalars}
    for array in kernel.arrays:
        shape = tuple(evaluate(x, sizes) for x in array.shape if x is not None)
        if array.type.is_int:
            # Numbers that count something, or choose an element.
            out[array.name] = np.array([chance.randint(0, 3) for _ in range(int(np.prod(shape)))], array.type.numpy)
            out[array.name] = out[array.name].reshape(shape)
        else:
            out[array.name] = _numbers(shape, chance, "bool" if array.type == BOOL else array.type.numpy)
    return out


def _numbers(shape: tuple[int, ...], chance: Random, dtype: str) -> npt.NDArray[Any]:
    count = int(np.prod(shape))
    if dtype == "bool":
        return np.array([chance.random() < 0.4 for _ in range(count)], dtype).reshape(shape)
    return np.array([chance.randint(-6, 6) / 2 for _ in range(count)], dtype).reshape(shape)


def run_copy(kernel: Kernel, sizes: Mapping[str, int], values: Values) -> Values:
    """What a kernel leaves, run on copies."""
    own: Values = {name: x.copy() if isinstance(x, np.ndarray) else x for name, x in values.items()}
    run_kernel(kernel, {**sizes, **own})
    return own
