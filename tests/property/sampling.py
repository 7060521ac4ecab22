"""Long parametrisations: some of the values are in the suite, and `-m slow` runs the others.

>>> [(x.values[0], [m.name for m in x.marks]) for x in one_in(2, range(3))]
[(0, []), (1, ['slow']), (2, [])]
>>> slow("avx2", 3).values, [x.name for x in slow("avx2", 3).marks]
(('avx2', 3), ['slow'])
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import pytest
from _pytest.mark import ParameterSet

_T = TypeVar("_T")


def one_in(number: int, values: Iterable[_T]) -> list[ParameterSet]:
    """The values as parameters, of which each `number`-th one, from the first, is not slow."""
    return [pytest.param(x, marks=pytest.mark.slow if k % number else ()) for k, x in enumerate(values)]


def slow(*values: object) -> ParameterSet:
    """Values for the parameters of a test that are left to `-m slow`."""
    return pytest.param(*values, marks=pytest.mark.slow)
