"""Times built points beside a reference, in turns on pinned cores; a race that cannot be won is stopped early.

found, setup = time_reference(setup, default, folder)
time_point(setup, point, default, 0.8, folder).ratio
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from planish.run.timing.clock import ClockError, Timing, measure, measure_first
from planish.tuning.measurement import Measurement, TrialOutcome
from planish.tuning.points.built_point import BuiltPoint, RaceSetup

FIRST_PART = 0.2
"""Of the time of a trial, the race after which it is stopped where it cannot win."""
HOPELESS = 1.2
"""A point that takes so many times what the best takes in the first race is not measured further."""
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
    cannot be reached."""
    both = [(REFERENCE, _written(reference, folder)), (built.label, _written(built, folder))]

    def run(seconds: float, rounds: int) -> tuple[Timing, ...]:
        return measure(both, setup.signature, setup.clocks[0], seconds, rounds, setup.threads)

    found = _begun(built)
    try:
        before, own = run(FIRST_PART * setup.seconds, 1)
        if own.median <= HOPELESS * min(best, 1.0) * before.median:
            more = run((1 - FIRST_PART) * setup.seconds, 3)
            before, own = before.joined(more[0]), own.joined(more[1])
        else:
            found = replace(found, outcome="stopped", message="it cannot win")
    except ClockError as error:
        return _failed(built, error)
    return replace(found, value=own.median, reference=before.median, samples=own.samples)


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
