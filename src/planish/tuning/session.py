"""A session of tuning: all nests of a file, one after the other, each with a budget of its own.

for found in tune_file(source, Options(), TuningWishes(TuningBudget(seconds=60.0)), store):
    print(found.nest.label, found.result.best)
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from planish.build.job import Job, make_job, make_workbench
from planish.build.read import read_file
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.progress import Progress, keep_quiet
from planish.core.span import Source
from planish.frontend.c.translation_unit import CFile
from planish.options import Options
from planish.run.toolchains.missing_headers import pointing_at_headers
from planish.target.load import load_target
from planish.tuning.evaluator import NestEvaluator
from planish.tuning.measurement import Evaluate
from planish.tuning.points.builder import PointBuilder
from planish.tuning.points.feedback import Feedback
from planish.tuning.searches.registry import make_search
from planish.tuning.spaces.script_space import HoledScript, read_holes
from planish.tuning.spaces.search_space import SearchSpace
from planish.tuning.store.trial_store import TrialStore
from planish.tuning.tasks import TunedNest, find_nests, task_compared_by
from planish.tuning.tuner import INTERRUPTED, Tuner, TuningBudget, TuningResult

MakeEvaluate = Callable[[TunedNest, Job, "HoledScript | None"], Evaluate]
"""Gives what measures the points of a nest."""


@dataclass(frozen=True, slots=True)
class TuningWishes:
    """What the user asks of tuning: a `budget` for each nest, the `search` with its `seed`, whether what is known of
    the nests does not count (`fresh`), a `script` with holes, what a race takes in seconds, and what points are
    compared by (`feedback`), of which the first decides what is best."""

    budget: TuningBudget
    search: str = "auto"
    seed: int = 1
    fresh: bool = False
    script: Source | None = None
    seconds: float = 0.5
    feedback: tuple[Feedback, ...] = ("time",)


@dataclass(frozen=True, slots=True, eq=False)
class TunedResult:
    """A nest with its space and what tuning came to; `refused` says why it was not tuned."""

    nest: TunedNest
    space: SearchSpace
    result: TuningResult | None
    script: HoledScript | None = None
    refused: PlanishError | None = None


def list_spaces(source: Source, options: Options, script: Source | None = None) -> Iterator[tuple[str, SearchSpace]]:
    """The nests of a file with their spaces; PlanishError as of `tune_file`."""
    target = load_target(options.target)
    with tempfile.TemporaryDirectory(prefix="planish-") as folder:
        bench = make_workbench(options, target, Path(folder), source)
        file = read_file(source, options)
        for nest in find_nests(file, options, target, bench.compiler):
            yield nest.label, nest.find_space() if script is None else read_holes(script).space


def tune_file(
    source: Source, options: Options, wishes: TuningWishes, store: TrialStore, tell: Progress = keep_quiet,
    measure: MakeEvaluate | None = None, clock: Callable[[], float] = time.monotonic,
) -> Iterator[TunedResult]:  # fmt: skip
    """Tunes the nests of a file and yields each when it is done; after an interrupt, which is the reason of the last
    one's result, nothing follows. `measure` and `clock` are for simulations. PlanishError as of `read_file`, the
    store, and `read_holes`; E0927 where the file has nothing to tune, or a script is given for several nests."""
    yield from tune_read(read_file(source, options), options, wishes, store, tell, measure, clock)


def tune_read(
    file: CFile, options: Options, wishes: TuningWishes, store: TrialStore, tell: Progress = keep_quiet,
    measure: MakeEvaluate | None = None, clock: Callable[[], float] = time.monotonic,
) -> Iterator[TunedResult]:  # fmt: skip
    """The same, of a file that was read, which need not have been written in C."""
    target, source = load_target(options.target), file.given
    script = None if wishes.script is None else read_holes(wishes.script)
    with tempfile.TemporaryDirectory(prefix="planish-") as folder:
        bench = make_workbench(options, target, Path(folder), source)
        with pointing_at_headers(file.missing, source):
            job = make_job(file.functions, file, options, target, bench)
            nests = find_nests(file, options, target, bench.compiler, tell)
            _check(nests, script, source)
            for nest in nests:
                found = _tune(nest, job, wishes, store, script, tell, measure or _measure_here(wishes), clock)
                yield found
                if found.result is not None and found.result.reason == INTERRUPTED:
                    return


def _check(nests: tuple[TunedNest, ...], script: HoledScript | None, source: Source) -> None:
    if not nests:
        message, advice = f"{source.name} has no nest that can be scheduled", f"planish explain {source.name} says why"
        raise PlanishError(Diagnostic("E0927", message, source.point(1), advice), source)
    if script is not None and len(nests) != 1:
        message = f"a script schedules one nest, and there are {len(nests)} here"
        raise PlanishError(Diagnostic("E0927", message, nests[1].region.span, "choose a --function"), source)


def _measure_here(wishes: TuningWishes) -> MakeEvaluate:
    def make(nest: TunedNest, job: Job, script: HoledScript | None) -> Evaluate:
        return NestEvaluator(
            PointBuilder.of(nest, job, script, wishes.feedback), job.bench.folder, wishes.seconds
        ).evaluate

    return make


def _tune(
    nest: TunedNest, job: Job, wishes: TuningWishes, store: TrialStore, script: HoledScript | None, tell: Progress,
    measure: MakeEvaluate, clock: Callable[[], float],
) -> TunedResult:  # fmt: skip
    tell(f"{nest.label}: finding its space")
    task = task_compared_by(nest.task, wishes.feedback, None if script is None else script.source)
    space = nest.find_space() if script is None else script.space
    try:
        evaluate = measure(nest, job, script)
    except PlanishError as error:
        return TunedResult(nest, space, None, script, error)
    things = len(wishes.feedback)
    tuner = Tuner(task, space, evaluate, store, nest.label, wishes.seed, wishes.fresh, tell, clock, things=things)
    return TunedResult(nest, space, tuner.run(make_search(wishes.search, space, wishes.seed), wishes.budget), script)
