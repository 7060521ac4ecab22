"""Times built points beside a reference, in turns on pinned cores; a race that cannot be won is stopped early.

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

HOPELESS = 1.15
"""A point whose fastest sample takes so many times what the best takes is not measured further."""
SURER = 3.0
"""So many times as long is the race of a point that is measured once more, since it may be the luckiest."""
ROUNDS = 5
"""Samples of each in a race, at least."""
REFERENCE = "reference"
"""What points are timed beside is called so in races."""


def time_reference(setup: RaceSetup, built: BuiltPoint, folder: Path) -> tuple[Measurement, RaceSetup]:
    """The times of what all others are measured beside, and the setup with the call that it comes through."""
    try:
        clock, (timing,) = measure_first(
            [(built.label, _written(built, folder))], setup.signature, setup.clocks, setup.seconds, 3, setup.threads
        )
    except ClockError as error:
        return _failed(built, error), setup
    found = replace(_begun(built), value=timing.median, reference=timing.median, samples=timing.samples)
    return found, replace(setup, clocks=(clock,))


def time_point(
    setup: RaceSetup, built: BuiltPoint, reference: BuiltPoint, best: float, folder: Path
) -> Measurement:  # fmt: skip
    """What a point takes beside the reference; `best`: the least ratio so far, at which the race is stopped where it
    cannot be reached; infinite: the race goes on to its end, and for longer."""
    rival, own = (REFERENCE, _written(reference, folder)), (built.label, _written(built, folder))
    bound, seconds = (HOPELESS * min(best, 1.0), setup.seconds) if best < inf else (0.0, SURER * setup.seconds)
    found = _begun(built)
    try:
        before, after, stopped = measure_bounded(
            rival, own, setup.signature, setup.clocks[0], bound, seconds, ROUNDS, setup.threads
        )  # fmt: skip
    except ClockError as error:
        return _failed(built, error)
    if stopped:
        found = replace(found, outcome="stopped", message="it cannot win")
    return replace(found, value=after.median, reference=before.median, samples=after.samples)


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
