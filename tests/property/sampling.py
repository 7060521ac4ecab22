"""Long parametrisations: some of the values are in the suite, and `-m slow` runs the others.

Where a test has several parameters, `@pytest.mark.each_value` leaves so many combinations in the suite that it has each
value of each parameter, `@pytest.mark.each_value(2)` each of them twice.

>>> [(x.values[0], [m.name for m in x.marks]) for x in one_in(2, range(3))]
[(0, []), (1, ['slow']), (2, [])]
>>> slow("avx2", 3).values, [x.name for x in slow("avx2", 3).marks]
(('avx2', 3), ['slow'])
>>> combinations = [{"type": x, "size": y} for x in "ab" for y in (1, 2, 3, 4)]
>>> [combinations[k] for k in choose(combinations)]
[{'type': 'a', 'size': 1}, {'type': 'b', 'size': 2}, {'type': 'a', 'size': 3}, {'type': 'b', 'size': 4}]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import pytest
from _pytest.mark import ParameterSet

_T = TypeVar("_T")


def one_in(number: int, values: Iterable[_T]) -> list[ParameterSet]:
    """The values as parameters, of which each `number`-th one, from the first, is not slow."""
    return [pytest.param(x, marks=pytest.mark.slow if k % number else ()) for k, x in enumerate(values)]


def slow(*values: object, id: str | None = None) -> ParameterSet:
    """Values for the parameters of a test that are left to `-m slow`."""
    return pytest.param(*values, marks=pytest.mark.slow, id=id)


def choose(combinations: Sequence[Mapping[str, str | int]], times: int = 1) -> list[int]:
    """The places of so many combinations of parameters that each value of each of them is in `times` of them, where it
    is in so many: those first that have most values that are still missing, and of these the values seen least."""
    left = list(range(len(combinations)))
    wanted = {x: min(times, n) for x, n in Counter(x for y in combinations for x in y.items()).items()}
    seen: Counter[tuple[str, str | int]] = Counter()
    out = []
    while any(seen[x] < n for x, n in wanted.items()):
        values = {k: combinations[k].items() for k in left}
        best = max(left, key=lambda k: (sum(seen[x] < wanted[x] for x in values[k]), -sum(seen[x] for x in values[k])))
        seen.update(values[best])
        left.remove(best)
        out.append(best)
    return out
