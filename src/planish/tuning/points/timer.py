"""Measures built points beside a reference: in races, in turns on pinned cores, which are stopped early where they
cannot be won; and by what their libraries tell.

found, setup = time_reference(setup, default, folder)
time_point(setup, point, default, 0.8, folder).ratio
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path

from planish.run.timing.clock import ClockError, measure_bounded, measure_first
from planish.tuning.measurement import Measurement, TrialOutcome
from planish.tuning.points.built_point import BuiltPoint, RaceSetup
from planish.tuning.points.feedback import METRICS, measure_library

HOPELESS = 1.15
"""A point whose fastest sample takes so many times what the best takes is not measured further."""
SURER = 3.0
"""So many times as long is the race of a point that is measured once more, since it may be the luckiest."""
ROUNDS = 5
"""Samples of each in a race, at least."""
REFERENCE = "reference"
"""What points are timed beside is called so in races."""


def time_reference(setup: RaceSetup, built: BuiltPoint, folder: Path) -> tuple[Measurement, RaceSetup]:
    """What all others are measured beside, and the setup with the call that it comes through."""
    if "time" not in setup.feedback:
        return _with_libraries(_begun(built), setup, built, built), setup
    try:
        clock, (timing,) = measure_first(
            [(built.label, _written(built, folder))], setup.signature, setup.clocks, setup.seconds, 3, setup.threads
        )
    except ClockError as error:
        return _failed(built, error), setup
    found = replace(_begun(built), value=timing.median, reference=timing.median, samples=timing.samples)
    return _with_libraries(found, setup, built, built), replace(setup, clocks=(clock,))


def time_point(
    setup: RaceSetup, built: BuiltPoint, reference: BuiltPoint, best: float, folder: Path
) -> Measurement:  # fmt: skip
    """What a point takes beside the reference; `best`: the least ratio so far, at which the race is stopped where it
    cannot be reached; infinite: the race goes on to its end, and for longer. What is compared by more than time is
    raced to the end."""
    if "time" not in setup.feedback:
        return _with_libraries(_begun(built), setup, built, reference)
    rival, own = (REFERENCE, _written(reference, folder)), (built.label, _written(built, folder))
    bound, seconds = (HOPELESS * min(best, 1.0), setup.seconds) if best < inf else (0.0, SURER * setup.seconds)
    if len(setup.feedback) > 1:
        bound = 0.0
    found = _begun(built)
    try:
        before, after, stopped = measure_bounded(
            rival, own, setup.signature, setup.clocks[0], bound, seconds, ROUNDS, setup.threads
        )  # fmt: skip
    except ClockError as error:
        return _failed(built, error)
    if stopped:
        found = replace(found, outcome="stopped", message="it cannot win")
    found = replace(found, value=after.median, reference=before.median, samples=after.samples)
    return _with_libraries(found, setup, built, reference)


def _with_libraries(found: Measurement, setup: RaceSetup, built: BuiltPoint, reference: BuiltPoint) -> Measurement:
    """What was raced, and what the libraries tell, the first kind of feedback as the value."""
    measured: dict[str, tuple[float | None, float | None]] = {}
    for kind in setup.feedback:
        if kind == "time":
            measured[METRICS[kind]] = found.value, found.reference
        else:
            measured[METRICS[kind]] = measure_library(kind, built.library), measure_library(kind, reference.library)
    (metric, (value, default)), *others = measured.items()
    more = tuple((name, own, its) for name, (own, its) in others if own is not None and its is not None)
    return replace(found, metric=metric, value=value, reference=default, more=more)


def _begun(built: BuiltPoint) -> Measurement:
    return Measurement("ok", calls=built.calls, worst=built.worst, script=built.script, code=built.code)


def _failed(built: BuiltPoint, error: ClockError) -> Measurement:
    outcome: TrialOutcome = "crash" if error.too_large else "timeout"
    return replace(_begun(built), outcome=outcome, message=error.diagnostic.message)


def _written(built: BuiltPoint, folder: Path) -> Path:
    """The file of a library; libraries of the same content are one."""
    path = folder / f"{built.digest}.so"
    if not path.exists():
        path.write_bytes(built.library)
    return path
