"""The clock: how long one call of each library takes, measured in one child, pinned and interleaved.

    before, after = measure([("before", a), ("after", b)], signature, case, budget_seconds=2.0)
    before.median / after.median
"""

from __future__ import annotations

import signal
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.run.calls.signature import CallCase, Signature
from planish.run.processes.sandbox import Limits, run_child
from planish.run.timing.stopwatch import TimingRequest

CHILDREN = 3
"""In which `measure_afresh` measures."""
DEFAULT_SECONDS = 300.0
"""Seconds, besides some for the budget, until a race counts as endless."""
PATIENCE = 3.0
"""Seconds of the processor's time that a first call may take where there is a smaller one: what it costs is estimated
by the nests that are known alone."""


class ClockError(PlanishError):
    """E0806: a contestant did not come to its end; `label` says which one, as far as that is known, and `too_large`
    whether it may come to it with smaller arrays: it left them, or its first call took too long."""

    def __init__(self, diagnostic: Diagnostic, label: str, too_large: bool = False) -> None:
        super().__init__(diagnostic)
        self.label = label
        self.too_large = too_large


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds per call: the median over the `samples`, which are in order, and the 10th and 90th percentile as the
    spread.

    >>> timing_of("x", [3.0, 1.0]).joined(timing_of("x", [2.0])).median
    2.0
    """

    label: str
    median: float
    low: float
    high: float
    samples: tuple[float, ...]

    @property
    def rounds(self) -> int:
        """How many samples there are."""
        return len(self.samples)

    def joined(self, more: Timing) -> Timing:
        """Of the samples of both."""
        return timing_of(self.label, (*self.samples, *more.samples))


def measure(
    libraries: Sequence[tuple[str, Path]],
    signature: Signature,
    case: CallCase,
    budget_seconds: float = 2.0,
    min_rounds: int = 5,
    cores: int = 1,
    limits: Limits | None = None,
    patience: float = 0.0,
    forked: bool = False,
) -> tuple[Timing, ...]:
    """Times the libraries (built with `entry_text` in them) on the same data, one sample each per round.

    The child is bound to `cores` cores; on one it is the processor's time that is measured, so that what else runs
    beside it costs none of it. Arrays are restored before every sample, in the default floating environment;
    calls below 200 µs (1 ms on several cores, whose threads have to be awake) are repeated by a loop in C, which
    restores what the function changes before every call, and what the copies alone cost is subtracted. Rounds go on
    until the budget is spent, and until `min_rounds` unless that takes four times the budget; a call of seconds may be
    made only once. Raises ClockError (E0806) where a contestant crashes or does not end, or where its first call takes
    longer than `patience`, seconds of each core's time (0: any). `forked`: the child is no new interpreter, which takes
    less time than it takes to start one.
    """
    return _measure(libraries, signature, case, budget_seconds, min_rounds, cores, limits, patience, 0.0, forked)[0]


def measure_bounded(
    rival: tuple[str, Path], own: tuple[str, Path], signature: Signature, case: CallCase, bound: float,
    budget_seconds: float = 0.5, min_rounds: int = 5, cores: int = 1,
) -> tuple[Timing, Timing, bool]:  # fmt: skip
    """As `measure`, for a contestant beside its rival: the race is stopped after few rounds where the fastest of its
    samples is not within `bound` times the rival's time. The times of both, and whether the race was stopped."""
    (before, after), stopped = _measure(
        (rival, own), signature, case, budget_seconds, min_rounds, cores, None, 0.0, bound
    )  # fmt: skip
    return before, after, stopped


def _measure(
    libraries: Sequence[tuple[str, Path]], signature: Signature, case: CallCase, budget_seconds: float,
    min_rounds: int, cores: int, limits: Limits | None, patience: float, bound: float, forked: bool = False,
) -> tuple[tuple[Timing, ...], bool]:  # fmt: skip
    if not libraries:
        return (), False
    contestants = tuple((label, str(path)) for label, path in libraries)
    # Against the front guard every array starts on a page: the alignment that benchmark programs ask for.
    placed = replace(case, placement="start")
    request = TimingRequest(contestants, signature, placed, budget_seconds, min_rounds, cores, patience, bound)
    bounds = limits or Limits(seconds=DEFAULT_SECONDS + 8 * budget_seconds)
    child = run_child("planish.run.timing.stopwatch:measure_rounds", request, bounds, forked=forked)
    label = child.progress or contestants[0][0]
    where = f"'{label}' ({case.describe(signature)})"
    match child.status:
        case "ok" if "error" in child.value:
            reason = str(child.value["error"])
        case "ok":
            found = zip(contestants, child.value["samples"], strict=True)
            return tuple(timing_of(label, s) for (label, _), s in found), bool(child.value["stopped"])
        case "timeout":
            seconds = patience if child.signal == signal.SIGPROF.name else bounds.seconds
            reason = f"{where} did not end within {seconds:g} s"
        case "memory":
            reason = f"{where} used more than {bounds.memory_bytes >> 20} MB of memory"
        case _:
            reason = f"{where} crashed {child.signal}".rstrip()
    advice = "measure smaller sizes, or build without measuring"
    diagnostic = Diagnostic("E0806", f"cannot measure {signature.function}: {reason}", help=advice)
    raise ClockError(diagnostic, label, child.status == "crashed" or child.signal == signal.SIGPROF.name)


def measure_afresh(
    libraries: Sequence[tuple[str, Path]], signature: Signature, case: CallCase, budget_seconds: float = 2.0,
    min_rounds: int = 5, cores: int = 1,
) -> tuple[Timing, ...]:  # fmt: skip
    """As `measure`, in several children one after the other. Each has other pages of memory, and what walks down the
    columns of a matrix may take half as long again with some as with others. Where the first one needs twice the
    budget, it is the only one."""
    began = time.monotonic()
    rounds = -(-min_rounds // CHILDREN)
    found = measure(libraries, signature, case, budget_seconds / CHILDREN, rounds, cores)
    for _ in range(CHILDREN - 1):
        if time.monotonic() - began > 2 * budget_seconds:
            break
        more = measure(libraries, signature, case, budget_seconds / CHILDREN, rounds, cores)
        found = tuple(x.joined(y) for x, y in zip(found, more, strict=True))
    return found


def measure_first(
    libraries: Sequence[tuple[str, Path]], signature: Signature, cases: Sequence[CallCase], budget_seconds: float = 2.0,
    min_rounds: int = 5, cores: int = 1,
) -> tuple[CallCase, tuple[Timing, ...]]:  # fmt: skip
    """As `measure`, with the first of some calls that the first library comes through, soon enough where it is not the
    last; and which one that is. What arrays have to hold, and what a call costs, are guesses where a function's own
    sums and loops decide it. Raises ClockError for the last of them."""
    failed: ClockError | None = None
    for case, smaller in pairwise(chain(cases, (None,))):
        assert case is not None
        patience = 0.0 if smaller is None else PATIENCE
        try:
            return case, measure(libraries, signature, case, budget_seconds, min_rounds, cores, patience=patience)
        except ClockError as error:
            if not error.too_large or error.label != libraries[0][0]:
                raise
            failed = error
    assert failed is not None
    raise failed


def timing_of(label: str, samples: Sequence[float]) -> Timing:
    """What some samples say."""
    ordered = tuple(sorted(samples))
    last = len(ordered) - 1
    return Timing(label, statistics.median(ordered), ordered[round(0.1 * last)], ordered[round(0.9 * last)], ordered)
