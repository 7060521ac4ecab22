"""Times versions beside the original, as the user gets both: what is the fastest, and what is slower in some call.

>>> choose_fastest({"a": 2.0, "b": 1.0}, before=1.5)
'b'
>>> choose_fastest({"a": 2.0}, before=1.5) is None
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planish.build.verify import compile_shipped
from planish.core.diagnostic import Remark
from planish.core.span import Span
from planish.run.calls.signature import CallCase, Signature
from planish.run.oracle.comparison import Verdict
from planish.run.timing.clock import PATIENCE, ClockError, Timing, measure, measure_first
from planish.run.workbench import DropIn, Reference, Workbench

MARGIN = 0.98
"""A version must be at least this much faster than the original to take its place."""
TIE = 1.05
"""Versions whose times are so near are equally fast: which of them is the fastest would be another one each time."""
LOSS = 0.97
"""A version whose speed is below so many times that of the original is slower: what is nearer is the clock's noise."""
PROBE_SECONDS = 0.25
"""For the race in one call besides the first."""
RERUNS = 2
"""A race that seems lost is run again, so many times: the machine may have been busy. What counts is all samples."""


@dataclass(frozen=True, slots=True)
class Race:
    """One call, and how long the original and a version take for it."""

    case: CallCase
    before: Timing
    after: Timing

    @property
    def middle(self) -> float:
        """How many times faster the version is by the medians."""
        return self.before.median / self.after.median

    @property
    def ratio(self) -> float:
        """How many times faster the version is. Where it seems to be slower, what the fast samples say counts if that
        is better: a machine that is busy with something else only ever adds to a time."""
        return self.middle if not self.seems_lost else max(self.middle, self.before.low / self.after.low)

    @property
    def seems_lost(self) -> bool:
        """Whether the version may be slower, so that another race is worth its time."""
        return self.middle < LOSS

    @property
    def is_lost(self) -> bool:
        """Whether the version is slower, by more than the clock is off."""
        return self.ratio < LOSS

    def joined(self, more: Race) -> Race:
        """Of the samples of both."""
        return Race(self.case, self.before.joined(more.before), self.after.joined(more.after))


def build_rival(reference: Reference, signature: Signature, bench: Workbench) -> tuple[str, Path]:
    """The original as it is timed, by the command that the user is told."""
    # Versions are called by the words of their strategies, one of which is "original": this name is none of them.
    return "source file", bench.build(reference.text, (signature,), bench.command_flags)


def race_others(
    version: DropIn, rival: tuple[str, Path], signature: Signature, cases: Sequence[CallCase], bench: Workbench
) -> list[Race]:
    """The races of the original and a version, in a short time each, in those calls that the original comes through;
    one that seems lost is run again. ClockError where it is the version that does not come through one."""
    races = []
    both = [rival, (version.label, compile_shipped(version, signature, bench))]

    def run(case: CallCase) -> Race:
        times = measure(both, signature, case, PROBE_SECONDS, 3, bench.threads, patience=PATIENCE, forked=True)
        return Race(case, *times)

    for case in cases:
        try:
            race = run(case)
            for _ in range(RERUNS):
                if race.seems_lost:
                    race = race.joined(run(case))
        except ClockError as error:
            if error.label == version.label:
                raise
            continue  # the original does not come through it, or it takes too long
        races.append(race)
    return races


def race(
    original: tuple[str, Path], good: list[tuple[DropIn, Verdict, Path]], signature: Signature,
    clocks: Sequence[CallCase], bench: Workbench, remarks: list[Remark], span: Span | None,
) -> tuple[dict[str, Timing], list[tuple[DropIn, Verdict, Path]], CallCase]:  # fmt: skip
    """The times, the versions that came to their end, and the call; a version that does not is left out with a
    remark."""
    while good:
        contestants = [original, *((v.label, library) for v, _, library in good)]
        try:
            clock, timings = measure_first(contestants, signature, clocks, bench.budget, 3, bench.threads)
            return {t.label: t for t in timings}, good, clock
        except ClockError as error:
            remarks.append(Remark("clock", "refused", error.diagnostic.message, span))
            left = [g for g in good if g[0].label != error.label]
            good = left if len(left) < len(good) else []
    return {}, [], clocks[-1]


def choose_fastest(times: Mapping[str, float], before: float, sizes: Mapping[str, int] | None = None) -> str | None:
    """The label of the least time, if it beats the original by the margin; of those that the clock does not tell apart,
    the one with the shortest text (of these `sizes`), or the first."""
    faster = {x: y for x, y in times.items() if y < MARGIN * before}
    return choose_alike(faster, sizes or {}) if faster else None


def choose_alike(times: Mapping[str, float], sizes: Mapping[str, int]) -> str:
    """Of the versions that the clock does not tell from the fastest one, the label of that with the shortest text.

    >>> choose_alike({"a": 1.0, "b": 1.01, "c": 2.0}, {"a": 9, "b": 5, "c": 1})
    'b'
    """
    near = [x for x in times if times[x] <= TIE * min(times.values())]
    return min(near, key=lambda x: sizes.get(x, 0))
