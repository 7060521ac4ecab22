"""Running a kernel and what it was raised to on equal arrays, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from planish.ir.index.evaluate import evaluate
from planish.ir.nest import Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.types import Type

Values = dict[str, int | float | np.ndarray[Any, Any]]


def make_values(kernel: Kernel, sizes: Mapping[str, int], seed: int = 0, least: int = 40) -> Values:
    """Random arguments; a first extent that the kernel does not say is `least`."""
    random = np.random.default_rng(seed)
    out: Values = dict(sizes)
    for scalar in kernel.scalars:
        out[scalar.name] = float(random.integers(1, 5)) if scalar.type.is_float else int(random.integers(1, 5))
    for array in kernel.arrays:
        shape = tuple(least if x is None else max(0, int(evaluate(x, sizes))) for x in array.shape)
        out[array.name] = _array(random, shape, array.type)
    return out


def _array(random: np.random.Generator, shape: tuple[int, ...], kind: Type) -> np.ndarray[Any, Any]:
    whole = np.asarray(random.integers(-8, 9, size=shape))
    whole[whole == 0] = 1
    return np.asarray(whole / 4 if kind.is_float else whole, dtype=kind.numpy)


def assert_same(first: Kernel, second: Kernel, values: Values) -> None:
    """Both kernels leave the same arrays; the second one may have rows and columns where the first has elements."""
    one, two = copies(values), copies(values)
    flat = {x.name: two[x.name] for x in second.arrays if len(x.shape) != len(first.array(x.name).shape)}
    inner = {x.name: tuple(max(1, int(evaluate(e, values))) for e in x.shape[1:] if e) for x in second.arrays}
    for name, value in flat.items():
        assert isinstance(value, np.ndarray)
        rows = len(value) // prod(inner[name])
        two[name] = value[: rows * prod(inner[name])].reshape(rows, *inner[name])
    run_kernel(first, one)
    run_kernel(second, two)
    for array in first.arrays:
        rtol = 1e-3 if array.type.bits < 64 else 1e-9
        np.testing.assert_allclose(flat.get(array.name, two[array.name]), one[array.name], rtol=rtol, atol=rtol)


def copies(values: Values) -> Values:
    """The arguments with arrays of their own."""
    return {name: x.copy() if isinstance(x, np.ndarray) else x for name, x in values.items()}
