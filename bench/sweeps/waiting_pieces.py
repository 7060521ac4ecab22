"""Pieces of tuning that wait for recorded times in place of working: coordinators and farms by themselves.

    run = run_waiting(farm, nests=4, trials=20, store=TrialStore(path), seed=1)

What a point takes is a formula; how long its pieces wait is drawn from the record by its text, `scale` times as long.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import log2
from pathlib import Path
from random import Random

from bench.sweeps.recorded_pieces import read_record
from planish.core.cache import key
from planish.core.progress import Progress, keep_quiet
from planish.core.span import Source
from planish.options import Options
from planish.schedule.arguments import Point, TuningArgument, TuningArguments
from planish.tuning.farm.coordinator import Coordinator, PlannedRun
from planish.tuning.farm.farm import Farm
from planish.tuning.farm.nest_run import NestRun, PointFunctions
from planish.tuning.farm.trial_batch import TrialBatch
from planish.tuning.measurement import Measurement
from planish.tuning.points.built_point import BuiltPoint, RaceSetup
from planish.tuning.points.site import TuningSite
from planish.tuning.searches.registry import make_search
from planish.tuning.spaces.search_space import SearchSpace
from planish.tuning.store.trial_store import TrialStore
from planish.tuning.trial import TuningTask
from planish.tuning.tuner import Tuner, TuningBudget

SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
SPACE = SearchSpace({"a": TuningArguments(tuple(TuningArgument(x, SIZES, 1) for x in ("t", "u", "v", "w")))})
SETUP = RaceSetup(None, ())  # type: ignore[arg-type]
LIBRARY = b"\x7fELF" + bytes(15_000)


def ratio_of(point: Point) -> float:
    """What a point takes of what the default takes."""
    t, u, v, w = (log2(int(point.get(x) or 1)) for x in "tuvw")
    return 0.5 + (abs(t - 5) + abs(u - 2) + 0.3 * abs(v - 3) + 0.1 * w) / 14


def draw(values: Sequence[float], text: str) -> float:
    """One of the values, always the same for a text."""
    return Random(text).choice(values)


def build(site: TuningSite, point: Point) -> BuiltPoint:
    """Waits as long as a build takes."""
    scale = float(site.source.text or 1)
    time.sleep(scale * draw(read_record().builds, str(point)))
    return BuiltPoint(f"{ratio_of(point)!r}", key("code", site.number, point), LIBRARY)


def begin(site: TuningSite, built: BuiltPoint) -> tuple[Measurement, RaceSetup]:
    """Waits as long as the first race takes."""
    time.sleep(float(site.source.text or 1) * draw(read_record().begins, built.code))
    return Measurement("ok", 1e-3, 1e-3, code=built.code), RaceSetup(None, (), seconds=float(site.source.text or 1))  # type: ignore[arg-type]


def race(setup: RaceSetup, best: float, built: BuiltPoint, reference: BuiltPoint) -> Measurement:
    """Waits as long as a race takes."""
    time.sleep(setup.seconds * draw(read_record().races, built.code))
    found = float(built.label)
    return Measurement("ok", 1e-3 * found, 1e-3, (1e-3 * found,) * 8, code=built.code)


WAITING = PointFunctions(build, build, begin, race)


@dataclass(frozen=True, slots=True)
class WaitingRun:
    """What came of a run: trials and builds in some seconds, and all trials in an order that is their own."""

    seconds: float
    trials: int
    told: tuple[str, ...]
    points: tuple[tuple[str, int, Point, str], ...]

    @property
    def rate(self) -> float:
        """Trials a second."""
        return self.trials / self.seconds


def run_waiting(
    farm: Farm, nests: int, trials: int, store: TrialStore, scale: float = 1.0, search: str = "evolutionary",
    ahead: int = 8, functions: PointFunctions = WAITING,
) -> WaitingRun:  # fmt: skip
    """Tunes some nests, each by so many trials."""
    batch, told = TrialBatch(store), list[str]()
    began = farm.now()
    tell: Progress = told.append
    kind = next(x.machine.kind for x in farm.workers() if x.timing) if functions is WAITING else None
    planned = _plan(farm, batch, nests, trials, scale, search, ahead, functions, kind)
    done = sum(x.tuner.made for x in Coordinator(farm, planned, batch, tell=tell).run())
    points = sorted((x.task.kernel, x.number, x.point, x.outcome) for x in store.trials())
    return WaitingRun(farm.now() - began, done, tuple(told), tuple(points))


def _plan(
    farm: Farm, batch: TrialBatch, nests: int, trials: int, scale: float, search: str, ahead: int,
    functions: PointFunctions, kind: str | None,
) -> Iterator[PlannedRun]:  # fmt: skip
    for number in range(nests):
        yield PlannedRun(1.0, partial(_begin, farm, batch, number, trials, scale, search, ahead, functions, kind))


def _begin(
    farm: Farm, batch: TrialBatch, number: int, trials: int, scale: float, search: str, ahead: int,
    functions: PointFunctions, kind: str | None,
) -> NestRun:  # fmt: skip
    task = TuningTask(f"kernel nest{number}(; )", "native", "0f", "gcc 12")
    tuner = Tuner(
        task, SPACE, lambda point, best: Measurement("died"), batch, f"nest {number}", number + 1, tell=keep_quiet,
        clock=farm.now, ahead=ahead,
    )  # fmt: skip
    tuner.begin(make_search(search, SPACE, number + 1), TuningBudget(trials=trials))
    site = TuningSite(Source("waiting.c", f"{scale!r}"), Options(), number)
    return NestRun(tuner, site, kind, functions=functions)


def store_in(folder: str, name: str) -> TrialStore:
    """A store in a folder."""
    return TrialStore(Path(folder) / f"{name}.sqlite")
