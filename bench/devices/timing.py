"""Times of several contestants in turns, by events of the device: all in each round, over buffers that rotate.

times = run_rounds(torch, "cuda", {"own": [f, g], "anchor": [h]}, seconds=3.0)
times["own"].median; len(times["own"].seconds)
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ROUNDS = 21
FEWEST = 5
SEGMENT = 4e-4
"""Seconds of the device in which a contestant runs between two events, at least."""
MOST_CALLS = 24
CYCLES = 2.0e9
"""Cycles of the device in a second, for a wait while calls are queued behind it."""


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of a call in each round."""

    seconds: tuple[float, ...]
    calls: int
    first: float

    @property
    def median(self) -> float:
        """The median of its rounds."""
        return statistics.median(self.seconds)


def run_rounds(
    torch: Any, place: str, calls: Mapping[str, Sequence[Callable[[], object]]], seconds: float
) -> dict[str, Times]:  # fmt: skip
    """Rounds until there are enough, or until the seconds are over; the order turns around in every other round."""
    clock = _Device(torch) if place == "cuda" else _Host()
    first: dict[str, float] = {}
    for name, each in calls.items():
        begun = time.perf_counter()
        for call in each:
            call()
        clock.wait()
        first[name] = time.perf_counter() - begun
    once = {name: clock.time(each[:1], 1, 0.0) for name, each in calls.items()}
    repeats = {x: max(1, min(MOST_CALLS, int(SEGMENT / max(y[0], 1e-9)) + 1)) for x, y in once.items()}
    taken: dict[str, list[float]] = {x: [] for x in calls}
    end = time.perf_counter() + seconds
    for number in range(ROUNDS):
        if number >= FEWEST and time.perf_counter() > end:
            break
        order = list(calls) if number % 2 == 0 else list(reversed(calls))
        for name in order:
            turned = [calls[name][(number + x) % len(calls[name])] for x in range(repeats[name])]
            queued = once[name][1] * repeats[name] * 1.5 + 2e-5
            taken[name].append(clock.time(turned, repeats[name], queued)[0])
    return {x: Times(tuple(y), repeats[x], first[x]) for x, y in taken.items()}


class _Device:
    """Events around calls, behind a wait that lasts until they are queued."""

    def __init__(self, torch: Any):
        self._torch = torch
        self._begin, self._end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def wait(self) -> None:
        self._torch.cuda.synchronize()

    def time(self, calls: Sequence[Callable[[], object]], count: int, queued: float) -> tuple[float, float]:
        """Seconds of the device for a call, and seconds of the host to queue one."""
        self._torch.cuda.synchronize()
        if queued:
            self._torch.cuda._sleep(int(queued * CYCLES))
        self._begin.record()
        begun = time.perf_counter()
        for call in calls:
            call()
        host = time.perf_counter() - begun
        self._end.record()
        self._torch.cuda.synchronize()
        return self._begin.elapsed_time(self._end) * 1e-3 / count, host / count


class _Host:
    """The same by the clock of the host, to try the script without a device."""

    def wait(self) -> None:
        return None

    def time(self, calls: Sequence[Callable[[], object]], count: int, queued: float) -> tuple[float, float]:
        begun = time.perf_counter()
        for call in calls:
            call()
        return (time.perf_counter() - begun) / count, 0.0
