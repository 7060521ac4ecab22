"""Seconds that each pass of a build takes.

>>> times = PassTimes()
>>> with times.during("plan"):
...     pass
>>> [*times.seconds]
['plan']
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class PassTimes:
    """Seconds on the wall by pass, added up; passes do not overlap."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def during(self, name: str) -> Iterator[None]:
        """What is done inside counts for a pass."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.add({name: time.perf_counter() - begin})

    def add(self, seconds: Mapping[str, float]) -> None:
        """What was measured elsewhere, as in another process."""
        for name, x in seconds.items():
            self.seconds[name] = self.seconds.get(name, 0.0) + x


def spell_times(seconds: Mapping[str, float]) -> str:
    """A line for each pass, in the order in which they first ran.

    >>> print(spell_times({"read": 0.5, "plan": 1.5}), end="")
    read        0.500 s  25 %
    plan        1.500 s  75 %
    total       2.000 s
    """
    whole = sum(seconds.values())
    rows = [f"{name:<9}{x:8.3f} s {100 * x / whole if whole else 0:3.0f} %" for name, x in seconds.items()]
    return "\n".join((*rows, f"{'total':<9}{whole:8.3f} s")) + "\n"
