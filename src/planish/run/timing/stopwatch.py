"""The child's side of the clock: contestants take turns on one core, with data restored for each of them.

On one core the processor's time is measured: what else runs on the machine is no part of it. Where several share the
work, it is the time on the wall.

    value = measure_rounds(Race((("before", a), ("after", b)), signature, case, 2.0, 5, 1), report)
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from planish.run.calls.loaded_library import Arguments, Drawn, Library, LibraryError, Restore, clear_environment
from planish.run.calls.signature import CallCase, Signature
from planish.run.processes.child import Report
from planish.run.timing.contents import limited, settle

SHORT, SHORT_OF_THREADS = 200e-6, 1e-3
"""Seconds: a call that takes less is repeated inside one sample; of threads, which fall asleep while Python restores
the arrays, and whose first call pays for waking them."""

_ALONE = 50e-6
"""Seconds: a call that takes as much is not repeated where its arrays take as long to be restored, since that would be
the difference of two long times, which may come out as nothing; reading the clock around one call takes a hundredth."""
_CALLS = 5  # a sample takes at least so many times as long as the longest call that is repeated
_MOST_REPEATS = 1 << 22
_LONG = 0.5  # seconds: a call that takes more needs no warm-up, and the first one is a sample
_BEYOND_CACHES = 1 << 26  # bytes of arrays, of which no cache of a core's own keeps anything
_LOOKED_AT = (1, 3, 8)  # rounds after which a race may be stopped
_OVERRUN = 4.0  # the budget may be overrun by this factor to reach the least number of rounds


@dataclass(frozen=True, slots=True)
class TimingRequest:
    """The request: labelled libraries, what to call, the seconds to spend, the least rounds, the cores to run on; the
    seconds of each core that a first call may take before SIGPROF ends the child, 0 for any; and the part of the first
    contestant's time that the last one has to reach, or else the race is stopped early, 0 for any."""

    contestants: tuple[tuple[str, str], ...]
    signature: Signature
    case: CallCase
    budget_seconds: float
    min_rounds: int
    cores: int
    patience: float = 0.0
    bound: float = 0.0


@dataclass(frozen=True, slots=True)
class _Runner:
    library: Library
    arguments: Arguments
    restore: Restore
    repeats: int
    looped: bool
    first: float | None
    """The seconds of the first call where that is a sample already."""
    now: Callable[[], float]
    changed: tuple[str, ...] | None
    """The arrays that a call changes; None where that was not looked at."""


def measure_rounds(request: TimingRequest, report: Report) -> dict[str, Any]:
    """Samples in seconds per call, a list for each contestant: {"samples": [...], "stopped": whether the race was
    stopped early}, or {"error": text}."""
    pin(request.cores)
    try:
        libraries = [Library(path, request.signature) for _, path in request.contestants]
    except LibraryError as error:
        return {"error": str(error)}
    report(request.contestants[0][0])
    sets, arguments = settle(request.signature, request.case, libraries[0], request.patience * request.cores)
    deadline = time.perf_counter() + request.budget_seconds
    hard = deadline + (_OVERRUN - 1) * request.budget_seconds
    runners = []
    for (label, _), library in zip(request.contestants, libraries, strict=True):
        report(label)
        short = SHORT if request.cores == 1 else SHORT_OF_THREADS
        now = time.process_time if request.cores == 1 else time.perf_counter
        runners.append(_prepare(library, arguments, sets, short, now, request.patience * request.cores))
    samples: list[list[float]] = [[] if r.first is None else [r.first] for r in runners]
    rounds, restored = 0, _list_restored(sets, (x.changed for x in runners))
    while not all(samples) or time.perf_counter() < (hard if rounds < request.min_rounds else deadline):
        # Each round starts with another contestant, so that no one always runs after the same neighbour.
        for turn in range(len(runners)):
            number = (rounds + turn) % len(runners)
            if samples[number] and time.perf_counter() >= hard:
                continue
            report(request.contestants[number][0])
            samples[number].append(_sample(runners[number], restored[rounds % len(restored)]))
        rounds += 1
        if rounds in _LOOKED_AT and request.bound and _is_hopeless(samples, request.bound):
            return {"samples": samples, "stopped": True}
    return {"samples": samples, "stopped": False}


def _is_hopeless(samples: Sequence[Sequence[float]], bound: float) -> bool:
    """Whether the last contestant is out of reach of a part of the first one's time: with its fastest sample, since
    what else runs on a machine only ever adds to a time."""
    return min(samples[-1]) > bound * median(samples[0])


def pin(cores: int) -> None:
    """Binds this process to the last `cores` cores that it may use (the first ones serve interrupts)."""
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, allowed[-cores:])


def _prepare(
    library: Library, arguments: Arguments, sets: Sequence[Drawn], short: float, now: Callable[[], float],
    patience: float = 0.0,
) -> _Runner:  # fmt: skip
    """Warms a contestant up, finds which arrays it changes, and how many calls make a sample: one, unless they are
    short."""
    nothing, drawn = Restore(arguments, (), ()), sets[0]
    arguments.fill(drawn.arrays)
    clear_environment()
    started = now()
    with limited(patience):
        library.call(arguments)
    first = now() - started
    if first >= _LONG:
        return _Runner(library, arguments, nothing, 1, False, first, now, None)
    # Never called on its own result: that may be no valid input, and its values may leave the range of floats.
    changed = tuple(name for name, view in arguments.views.items() if not _same(view, drawn.arrays[name]))
    arguments.fill(_list_restored(sets[:1], [changed])[0])
    alone = seconds = _timed(library, arguments, 1, nothing, now)
    if seconds >= short:
        return _Runner(library, arguments, nothing, 1, False, None, now, changed)
    copied = changed if len(sets) == 1 else tuple(drawn.arrays)
    restore = Restore(arguments, [x.arrays for x in sets], copied)
    repeats, sample = 4, _CALLS * short
    while repeats < _MOST_REPEATS:
        seconds = _timed(library, arguments, repeats, restore, now)
        if seconds >= sample / 2:
            break
        repeats *= 2
    if alone >= _ALONE and _restoring(library, arguments, repeats, restore, now) > seconds / 2:
        return _Runner(library, arguments, nothing, 1, False, None, now, changed)
    times = max(1, round(repeats * sample / max(seconds, 1e-9)))
    return _Runner(library, arguments, restore, times, True, None, now, changed)


def _list_restored(
    sets: Sequence[Drawn], changed: Iterable[Sequence[str] | None]
) -> list[dict[str, npt.NDArray[Any]]]:
    """The arrays that are restored before a sample, of each set: all, which so are in the caches as far as they fit; of
    those that do not by far the ones that some contestant changes, since copying the others would take most of the
    time."""
    names: set[str] = set()
    for some in changed:
        names |= {*(sets[0].arrays if some is None else some)}
    small = sum(x.nbytes for x in sets[0].arrays.values()) <= _BEYOND_CACHES
    return [{name: x for name, x in each.arrays.items() if small or name in names} for each in sets]


def _sample(runner: _Runner, restored: Mapping[str, npt.NDArray[Any]]) -> float:
    """Seconds per call."""
    runner.arguments.fill(restored)
    clear_environment()
    library, arguments, restore, now = runner.library, runner.arguments, runner.restore, runner.now
    if not runner.looped:
        return max(1e-9, _timed(library, arguments, 1, restore, now))
    total = _timed(library, arguments, runner.repeats, restore, now)
    empty = _restoring(library, arguments, runner.repeats, restore, now)
    restore.advance(runner.repeats)
    return max(1e-12, (total - empty) / runner.repeats)


def _timed(
    library: Library, arguments: Arguments, times: int, restore: Restore, now: Callable[[], float]
) -> float:  # fmt: skip
    started = now()
    library.repeat(arguments, times, True, restore)
    return now() - started


def _restoring(
    library: Library, arguments: Arguments, times: int, restore: Restore, now: Callable[[], float]
) -> float:  # fmt: skip
    """Seconds of a sample in which the arrays are restored and nothing is called."""
    started = now()
    library.repeat(arguments, times, False, restore)
    return now() - started


def _same(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    words = np.uint64 if a.nbytes % 8 == 0 else np.uint8
    return bool(np.array_equal(a.view(words), b.view(words)))
