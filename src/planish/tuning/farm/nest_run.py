"""One nest in a run on a farm: which pieces of work its points need, and what their results say to its tuner.

A point is built anywhere; then, in the order of the points' numbers, it is timed, or has the measurement of another
point with the same text. The first point is the default, beside which all others are timed.

>>> TrialWork("time", None, abs, ()).timing
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import inf, isfinite, log
from statistics import mean
from typing import Any, Literal

from planish.core.diagnostic import PlanishError
from planish.tuning.evaluator import NO_REFERENCE, MeasuredCodes
from planish.tuning.measurement import Measurement
from planish.tuning.points.built_point import BuiltPoint, RaceSetup
from planish.tuning.points.site import TuningSite, begin_race, build_original, build_point, time_built
from planish.tuning.tuner import TrialRequest, Tuner, TuningResult

Role = Literal["build", "original", "begin", "time"]
FIRST_STEP = 0.1
"""How much faster (the natural logarithm) the first points are expected to be that are better than all before."""


@dataclass(frozen=True, slots=True)
class PointFunctions:
    """What is called for points, of a module, with arguments that travel: simulations have others."""

    build: Callable[..., Any] = build_point
    original: Callable[..., Any] = build_original
    begin: Callable[..., Any] = begin_race
    time: Callable[..., Any] = time_built


@dataclass(frozen=True, slots=True, eq=False)
class TrialWork:
    """A piece of work for a request: a function, its arguments, and the works whose results it needs besides."""

    role: Role
    request: TrialRequest | None
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    needs: tuple[TrialWork, ...] = ()

    @property
    def timing(self) -> bool:
        """Whether it is to be done where nothing else runs."""
        return self.role in ("begin", "time")


@dataclass(slots=True, eq=False)
class NestRun:
    """A nest with its tuner, whose `begin` was called. `kind`: of the machines that it is tuned for; `weight`: its
    share of a program's time, or 1. `refused`: why it cannot be tuned."""

    tuner: Tuner
    site: TuningSite
    kind: str | None = None
    weight: float = 1.0
    functions: PointFunctions = PointFunctions()
    setup: RaceSetup | None = None
    reference: TrialWork | None = None
    refused: PlanishError | None = None
    codes: MeasuredCodes = field(default_factory=MeasuredCodes)
    heard: int = 0
    best: float = 1.0
    steps: list[float] = field(default_factory=list)
    _builds: dict[int, TrialWork] = field(default_factory=dict)
    _built: dict[int, BuiltPoint] = field(default_factory=dict)
    _timed: set[int] = field(default_factory=set)
    _racing: dict[str, int] = field(default_factory=dict)
    _failed: Measurement | None = None

    @property
    def done(self) -> bool:
        """Whether nothing is left to do."""
        return self.refused is not None or (self.tuner.done and not self._builds)

    def result(self, reason: str = "") -> TuningResult | None:
        """What tuning came to; None where it was refused."""
        return None if self.refused is not None else self.tuner.result(reason)

    def gain(self) -> float:
        """What the next trial is expected to gain, in shares of the program's time. Of points in random order the one
        of number n is better than all before with a chance of 1/n; by how much, the earlier ones say."""
        return self.weight * self.best * mean((FIRST_STEP, *self.steps)) / (self.heard + 1)

    def start(self) -> TrialWork | None:
        """The next point is to be built; None while others have to be heard first, or all is done."""
        if self.refused is not None:
            return None
        request = self.tuner.next_request()
        if request is None:
            return None
        work = TrialWork("build", request, self.functions.build, (self.site, request.point))
        self._builds[request.number] = work
        return work

    def refuse(self, error: PlanishError) -> None:
        """The nest cannot be tuned."""
        self.refused = error
        self._builds.clear()

    def take(self, work: TrialWork, value: Any) -> Iterator[TrialWork]:
        """The result of a work, and what is to be done next because of it."""
        assert work.request is not None
        match work.role:
            case "build" if isinstance(value, BuiltPoint):
                self._built[work.request.number] = value
                if work.request.number == 0:
                    yield TrialWork("begin", work.request, self.functions.begin, (self.site,), (work,))
            case "build" if work.request.number == 0:
                yield self._without_default(work.request, value)
            case "build":
                self._hear(work.request, value)
            case "original" if isinstance(value, BuiltPoint):
                yield TrialWork("begin", work.request, self.functions.begin, (self.site,), (work,))
            case "original":
                self._begin(work.request, self._failed)
            case "begin":
                yield from self._take_reference(work, value)
            case "time":
                self._racing.pop(self._built[work.request.number].code, None)
                self._hear(work.request, value)
        yield from self._race()

    def lost(self, work: TrialWork, message: str) -> Any:
        """What stands for the result of a work whose processes died."""
        found = Measurement("died", message=message)
        return (found, None) if work.role == "begin" else found

    def late(self, work: TrialWork, message: str) -> Any:
        """What stands for the result of a work that was not done in time."""
        found = Measurement("timeout", message=message)
        return (found, None) if work.role == "begin" else found

    def needed(self) -> set[TrialWork]:
        """The works whose results are still of use."""
        return {*self._builds.values(), *(() if self.reference is None else (self.reference,))}

    def _without_default(self, request: TrialRequest, found: Measurement) -> TrialWork:
        self._failed = found
        return TrialWork("original", request, self.functions.original, (self.site,))

    def _take_reference(self, work: TrialWork, value: tuple[Measurement, RaceSetup | None]) -> Iterator[TrialWork]:
        assert work.request is not None
        found, setup = value
        if found.outcome == "ok":
            self.setup, self.reference = setup, work.needs[0]
            self._begin(work.request, found if work.needs[0].role == "build" else self._failed)
        elif work.needs[0].role == "build":
            yield self._without_default(work.request, found)
        else:
            self._begin(work.request, self._failed)

    def _begin(self, request: TrialRequest, found: Measurement | None) -> None:
        assert found is not None
        self.codes.keep(found)
        self._hear(request, found)

    def _race(self) -> Iterator[TrialWork]:
        """Points whose turn it is are timed, as far as their text was not measured."""
        for number in sorted(self._builds):
            if number not in self._built:
                return
            request, built = self._builds[number].request, self._built[number]
            assert request is not None
            if number in self._timed or number == 0:
                continue
            if self.setup is None or self.reference is None:
                failed = Measurement("timeout", code=built.code, script=built.script, message=NO_REFERENCE)
                self._hear(request, failed)
                continue
            if request.bound < inf:
                if (same := self.codes.known(built)) is not None:
                    self._hear(request, same)
                    continue
                if built.code in self._racing:
                    continue
                self._racing[built.code] = number
            self._timed.add(number)
            needs = (self._builds[number], self.reference)
            yield TrialWork("time", request, self.functions.time, (self.setup, request.bound), needs)

    def _hear(self, request: TrialRequest, found: Measurement) -> None:
        built = self._built.pop(request.number, None)
        if built is not None:
            found = replace(found, script=built.script)
        self.codes.keep(found)
        self.tuner.hear(request, found)
        del self._builds[request.number]
        self._timed.discard(request.number)
        self.heard += 1
        if found.outcome == "ok" and isfinite(found.ratio) and 0 < found.ratio < self.best:
            self.steps.append(log(self.best / found.ratio))
            self.best = found.ratio
