"""Workers that take far longer than others for the same are left out, as long as there are others.

>>> SlowWorkers().found(False, None, ())
frozenset()
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from planish.tuning.farm.farm import FarmAnswer, FarmWorker
from planish.tuning.farm.nest_run import NestRun, Role
from planish.tuning.measurement import Measurement

SAMPLES = 4
"""Pieces of a worker, until anything is said of it."""
SLOW_BUILD, SLOW_RACE = 3.0, 1.5
"""So many times what others take: for builds, which differ, and for the reference in races, which is the same code."""


@dataclass(slots=True)
class SlowWorkers:
    """What workers take beside others: the seconds of builds of the same nest, those of its reference in races."""

    ratios: dict[tuple[str, bool], deque[float]] = field(
        default_factory=lambda: defaultdict(lambda: deque(maxlen=5 * SAMPLES))
    )
    slow: set[tuple[str, bool]] = field(default_factory=set)
    _taken: dict[tuple[NestRun, bool], dict[str, deque[float]]] = field(default_factory=dict)

    def hear(self, run: NestRun, role: Role, answer: FarmAnswer) -> Iterator[str]:
        """What a worker took; what is to be said of it."""
        timing = role == "time"
        if role not in ("build", "time"):
            return
        seconds = answer.seconds
        if timing:
            found = answer.value
            if not isinstance(found, Measurement) or not found.reference:
                return
            seconds = found.reference
        by_worker = self._taken.setdefault((run, timing), {})
        by_worker.setdefault(answer.worker, deque(maxlen=SAMPLES)).append(seconds)
        others = [x for name, taken in by_worker.items() if name != answer.worker for x in taken]
        if len(others) < SAMPLES:
            return
        ratios = self.ratios[answer.worker, timing]
        ratios.append(seconds / max(median(others), 1e-12))
        place = answer.worker, timing
        slow = len(ratios) >= SAMPLES and median(ratios) > (SLOW_RACE if timing else SLOW_BUILD)
        if slow and place not in self.slow:
            what = "the same races take" if timing else "builds take"
            yield f"{answer.worker} is slow ({what} {median(ratios):.1f} times as long as elsewhere): left out"
        (self.slow.add if slow else self.slow.discard)(place)

    def found(self, timing: bool, kind: str | None, workers: Sequence[FarmWorker]) -> frozenset[str]:
        """The slow ones, if there are others that may do the same."""
        if not self.slow:
            return frozenset()
        able = {
            x.name for x in workers
            if (x.timing if timing else x.building) and (kind is None or kind == x.machine.kind)
        }  # fmt: skip
        slow = {x for x in able if (x, timing) in self.slow}
        return frozenset(slow) if slow < able else frozenset()

    def forget(self, run: NestRun) -> None:
        """A run is over."""
        for timing in (False, True):
            self._taken.pop((run, timing), None)
