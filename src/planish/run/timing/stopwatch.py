"""The child's side of the clock: contestants take turns on one core, with data restored for each of them.

    value = measure_rounds(Race((("before", a), ("after", b)), signature, case, 2.0, 5, 1), report)
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from planish.run.calls.loaded_library import Arguments, Drawn, Library, LibraryError, Restore, clear_environment, draw
from planish.run.calls.signature import CallCase, Signature
from planish.run.oracle.tolerance import finite
from planish.run.processes.child import Report
from planish.run.sizes.random_arguments import AUTO

SHORT, SHORT_OF_THREADS = 200e-6, 1e-3
"""Seconds: a call that takes less is repeated inside one sample; of threads, which fall asleep while Python restores
the arrays, and whose first call pays for waking them."""

_ALONE = 50e-6
"""Seconds: a call that takes as much is not repeated where its arrays take as long to be restored, since that would be
the difference of two long times, which may come out as nothing; reading the clock around one call takes a hundredth."""
_CALLS = 5  # a sample takes at least so many times as long as the longest call that is repeated
_MOST_REPEATS = 1 << 22
_LONG = 0.5  # seconds: a call that takes more needs no warm-up, and the first one is a sample
_OVERRUN = 4.0  # the budget may be overrun by this factor to reach the least number of rounds


@dataclass(frozen=True, slots=True)
class TimingRequest:
    """The request: labelled libraries, what to call, the seconds to spend, the least rounds, the cores to run on; and
    the seconds of each core that a first call may take before SIGPROF ends the child, 0 for any."""

    contestants: tuple[tuple[str, str], ...]
    signature: Signature
    case: CallCase
    budget_seconds: float
    min_rounds: int
    cores: int
    patience: float = 0.0


@dataclass(frozen=True, slots=True)
class _Runner:
    library: Library
    arguments: Arguments
    restore: Restore
    repeats: int
    looped: bool
    first: float | None
    """The seconds of the first call where that is a sample already."""


def measure_rounds(request: TimingRequest, report: Report) -> dict[str, Any]:
    """Samples in seconds per call, a list for each contestant: {"samples": [...]}, or {"error": text}."""
    pin(request.cores)
    try:
        libraries = [Library(path, request.signature) for _, path in request.contestants]
    except LibraryError as error:
        return {"error": str(error)}
    drawn = _settle(request, libraries[0], report)
    deadline = time.perf_counter() + request.budget_seconds
    hard = deadline + (_OVERRUN - 1) * request.budget_seconds
    arguments = Arguments(request.signature, drawn, request.case.placement)
    runners = []
    for (label, _), library in zip(request.contestants, libraries, strict=True):
        report(label)
        short = SHORT if request.cores == 1 else SHORT_OF_THREADS
        runners.append(_prepare(library, arguments, drawn, short, request.patience * request.cores))
    samples: list[list[float]] = [[] if r.first is None else [r.first] for r in runners]
    rounds = 0
    while not all(samples) or time.perf_counter() < (hard if rounds < request.min_rounds else deadline):
        # Each round starts with another contestant, so that no one always runs after the same neighbour.
        for turn in range(len(runners)):
            number = (rounds + turn) % len(runners)
            if samples[number] and time.perf_counter() >= hard:
                continue
            report(request.contestants[number][0])
            samples[number].append(_sample(runners[number], drawn))
        rounds += 1
    return {"samples": samples}


def pin(cores: int) -> None:
    """Binds this process to the last `cores` cores that it may use (the first ones serve interrupts)."""
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, allowed[-cores:])


def _settle(request: TimingRequest, library: Library, report: Report) -> Drawn:
    """The first distribution on which the first contestant gives finite results, as the oracle would choose."""
    chosen = request.case.distribution
    if chosen != "auto":
        return draw(request.signature, request.case, chosen)
    report(request.contestants[0][0])
    first: Drawn | None = None
    for distribution in AUTO:
        drawn = draw(request.signature, request.case, distribution)
        first = first or drawn
        arguments = Arguments(request.signature, drawn, request.case.placement)
        with _limited(request.patience * request.cores):
            library.call(arguments)
        if all(finite(arguments.views[p.name], p.type) for p in request.signature.arrays):
            return drawn
        if distribution == AUTO[-1]:
            break
    assert first is not None
    return first


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """What takes more of the processor's time than it may (0: any) ends this process."""
    if seconds:
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)
    yield
    if seconds:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def _prepare(library: Library, arguments: Arguments, drawn: Drawn, short: float, patience: float = 0.0) -> _Runner:
    """Warms a contestant up, finds which arrays it changes, and how many calls make a sample: one, unless they are
    short."""
    nothing = Restore(arguments, {}, ())
    arguments.fill(drawn.arrays)
    clear_environment()
    started = time.perf_counter()
    with _limited(patience):
        library.call(arguments)
    first = time.perf_counter() - started
    if first >= _LONG:
        return _Runner(library, arguments, nothing, 1, False, first)
    # Never called on its own result: that may be no valid input, and its values may leave the range of floats.
    changed = tuple(name for name, view in arguments.views.items() if not _same(view, drawn.arrays[name]))
    arguments.fill(drawn.arrays)
    alone = seconds = _timed(library, arguments, 1, nothing)
    if seconds >= short:
        return _Runner(library, arguments, nothing, 1, False, None)
    restore = Restore(arguments, drawn.arrays, changed)
    repeats, sample = 4, _CALLS * short
    while repeats < _MOST_REPEATS:
        seconds = _timed(library, arguments, repeats, restore)
        if seconds >= sample / 2:
            break
        repeats *= 2
    if alone >= _ALONE and _restoring(library, arguments, repeats, restore) > seconds / 2:
        return _Runner(library, arguments, nothing, 1, False, None)
    times = max(1, round(repeats * sample / max(seconds, 1e-9)))
    return _Runner(library, arguments, restore, times, True, None)


def _sample(runner: _Runner, drawn: Drawn) -> float:
    """Seconds per call."""
    runner.arguments.fill(drawn.arrays)
    clear_environment()
    if not runner.looped:
        return max(1e-9, _timed(runner.library, runner.arguments, 1, runner.restore))
    total = _timed(runner.library, runner.arguments, runner.repeats, runner.restore)
    empty = _restoring(runner.library, runner.arguments, runner.repeats, runner.restore)
    return max(1e-12, (total - empty) / runner.repeats)


def _timed(library: Library, arguments: Arguments, times: int, restore: Restore) -> float:
    started = time.perf_counter()
    library.repeat(arguments, times, True, restore)
    return time.perf_counter() - started


def _restoring(library: Library, arguments: Arguments, times: int, restore: Restore) -> float:
    """Seconds of a sample in which the arrays are restored and nothing is called."""
    started = time.perf_counter()
    library.repeat(arguments, times, False, restore)
    return time.perf_counter() - started


def _same(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    return bool(np.array_equal(a.view(np.uint8), b.view(np.uint8)))
