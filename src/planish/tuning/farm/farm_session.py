"""A session of tuning on a farm: the nests of many files side by side, each for every kind of machine that times.

for found in tune_on_farm([TuningUnit(source, options)], wishes, store, farm): print(found)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NoReturn

from planish.build.read import read_file
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.progress import Progress, keep_quiet
from planish.core.span import Source
from planish.frontend.c.translation_unit import CFile
from planish.options import Options
from planish.schedule.arguments import Point
from planish.tuning.farm.coordinator import Coordinator, PlannedRun
from planish.tuning.farm.farm import Farm
from planish.tuning.farm.nest_run import FIRST_STEP, NestRun
from planish.tuning.farm.trial_batch import TrialBatch
from planish.tuning.points.site import BuildMachine, TuningSite
from planish.tuning.searches.registry import make_search
from planish.tuning.session import TunedResult, TuningWishes
from planish.tuning.spaces.script_space import HoledScript, read_holes
from planish.tuning.spaces.search_space import SearchSpace
from planish.tuning.store.trial_store import TrialStore
from planish.tuning.tasks import TunedNest, find_nests, task_compared_by
from planish.tuning.tuner import Tuner, TuningBudget

AHEAD = 8
"""Points of a nest that are measured side by side. Searches learn less between points the more there are."""


@dataclass(frozen=True, slots=True)
class TuningUnit:
    """A file that is tuned, with its options."""

    source: Source
    options: Options


@dataclass(frozen=True, slots=True)
class FarmWishes:
    """What is asked of tuning on a farm besides: points `ahead` of each nest; a budget for `all` nests together in
    place of one for each; `weights` of functions by name, their shares of a program's time."""

    ahead: int = AHEAD
    all: TuningBudget | None = None
    weights: Mapping[str, float] = field(default_factory=dict)


def tune_on_farm(
    units: Iterable[TuningUnit], wishes: TuningWishes, store: TrialStore, farm: Farm,
    asked: FarmWishes | None = None, tell: Progress = keep_quiet,
) -> Iterator[TunedResult | PlanishError]:  # fmt: skip
    """Tunes the nests of files and yields each when it is done, and of each file that cannot be read, or has nothing
    to tune, why. Nests that are the same are tuned once. PlanishError as of the farm, the store, and `read_holes`."""
    asked = asked or FarmWishes()
    session = _FarmSession(wishes, TrialBatch(store), farm, asked, tell)
    coordinator = Coordinator(farm, session.plan(units), session.batch, asked.all, tell)
    for run in coordinator.run():
        yield from session.take_refusals()
        yield session.result(run, coordinator.reason)
    yield from session.take_refusals()


@dataclass(slots=True)
class _FarmSession:
    wishes: TuningWishes
    batch: TrialBatch
    farm: Farm
    asked: FarmWishes
    tell: Progress
    refused: list[PlanishError] = field(default_factory=list)
    begun: dict[NestRun, tuple[TunedNest, SearchSpace, HoledScript | None]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def plan(self, units: Iterable[TuningUnit]) -> Iterator[PlannedRun]:
        script = None if self.wishes.script is None else read_holes(self.wishes.script)
        machines = {x.machine.kind: x.machine for x in self.farm.workers() if x.timing}
        for unit in units:
            try:
                file = read_file(unit.source, unit.options)
                for kind in sorted(machines):
                    yield from self._plan_file(file, unit, machines[kind], script)
            except PlanishError as error:
                self.refused.append(error)

    def _plan_file(
        self, file: CFile, unit: TuningUnit, machine: BuildMachine, script: HoledScript | None
    ) -> Iterator[PlannedRun]:  # fmt: skip
        nests = find_nests(file, unit.options, machine.target, machine.compiler, self.tell)
        if not nests:
            name = unit.source.name
            message, advice = f"{name} has no nest that can be scheduled", f"planish explain {name} says why"
            raise PlanishError(Diagnostic("E0927", message, unit.source.point(1), advice), unit.source)
        if script is not None and len(nests) != 1:
            message = f"a script schedules one nest, and there are {len(nests)} here"
            raise PlanishError(Diagnostic("E0927", message, nests[1].region.span, "choose a --function"), unit.source)
        for number, nest in enumerate(nests):
            if nest.task.digest in self.seen:
                self.tell(f"{nest.label}: the same nest as another one")
                continue
            self.seen.add(nest.task.digest)
            weight = self.weight_of(nest.function.name)
            site = TuningSite(
                unit.source, unit.options, number, self.wishes.script, self.wishes.seconds, self.wishes.feedback
            )
            yield PlannedRun(weight * FIRST_STEP, partial(self.begin, nest, site, machine.kind, weight, script))

    def weight_of(self, function: str) -> float:
        """A function's share; one that the profile does not name takes next to nothing."""
        weights = self.asked.weights
        return weights.get(function, min(weights.values()) / 10) if weights else 1.0

    def begin(self, nest: TunedNest, site: TuningSite, kind: str, weight: float, script: HoledScript | None) -> NestRun:
        wishes = self.wishes
        task = task_compared_by(nest.task, wishes.feedback, wishes.script)
        space = nest.find_space() if script is None else script.space
        tuner = Tuner(
            task, space, _elsewhere, self.batch, nest.label, wishes.seed, wishes.fresh, self.tell, self.farm.now,
            ahead=self.asked.ahead, things=len(wishes.feedback),
        )  # fmt: skip
        budget = TuningBudget() if self.asked.all is not None else wishes.budget
        tuner.begin(make_search(wishes.search, space, wishes.seed), budget)
        run = NestRun(tuner, site, kind, weight)
        self.begun[run] = nest, space, script
        return run

    def result(self, run: NestRun, reason: str) -> TunedResult:
        nest, space, script = self.begun.pop(run)
        return TunedResult(nest, space, run.result("" if run.done else reason), script, run.refused)

    def take_refusals(self) -> Iterator[PlanishError]:
        while self.refused:
            yield self.refused.pop(0)


def _elsewhere(point: Point, best: float) -> NoReturn:
    raise AssertionError("points are measured by the farm")
