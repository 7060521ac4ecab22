"""How often packets are issued: which of them run again, and how often that is for so many iterations of their loop.

>>> kernel = PacketPasses(4, 6, "i", "kernel", before=2, by=2)
>>> [issued(10, (kernel, PacketPasses(2, 8, "i", "around", before=2, by=2)), lambda _: n) for n in (3, 10)]
[4.0, 16.0]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, assert_never

import numpy as np

PassPart = Literal["all", "kernel", "around", "rest", "short"]
"""Packets of each iteration; of a pipelined loop its kernel, its prologue and epilogue, the iterations that are left
over, and what runs where there are too few for the kernel."""


@dataclass(frozen=True, slots=True)
class PacketPasses:
    """Packets from `first` up to `end` that belong to a part of a loop. A kernel begins `by` iterations in a pass,
    after `before` in the prologue; `count`: how often all of them run, where that is known (-1: the loop tells)."""

    first: int
    end: int
    loop: str
    part: PassPart = "all"
    before: int = 0
    by: int = 1
    count: int = -1

    def times(self, trip: Any) -> Any:
        """How often they run for so many iterations, or for each of several numbers of them."""
        if self.count >= 0:
            return self.count
        trip = np.maximum(trip, 0)
        enough = trip >= self.before + self.by
        match self.part:
            case "all":
                return trip
            case "kernel":
                return np.where(enough, (trip - self.before) // self.by, 0)
            case "around":
                return np.where(enough, 1, 0)
            case "rest":
                return np.where(enough, (trip - self.before) % self.by, trip)
            case "short":
                return np.where(enough & ((trip - self.before) % self.by == 0), 0, 1)
            case _:
                assert_never(self.part)


def issued(packets: int, passes: Sequence[PacketPasses], trips: Callable[[str], Any]) -> Any:
    """How many packets are issued in all, out of so many that there are; `trips`: the iterations of a loop by its
    name, a number or an array of them."""
    times = [x.times(0 if x.count >= 0 else trips(x.loop)) for x in passes]
    bounds = sorted({0, packets, *(y for x in passes for y in (x.first, x.end))})
    total: Any = 0.0
    for first, end in zip(bounds, bounds[1:], strict=False):
        runs: Any = end - first
        for x, count in zip(passes, times, strict=True):
            runs = runs * count if x.first <= first and end <= x.end else runs
        total = total + runs
    return total if np.ndim(total) else float(total)
