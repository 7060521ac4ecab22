"""Evaluates points of a nest in this process: each is built and verified, then timed beside the default version.

evaluator = NestEvaluator(PointBuilder.of(nest, job), folder)
evaluator.evaluate(space.default, 1.0).outcome
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path

from planish.schedule.arguments import Point
from planish.tuning.measurement import Measurement
from planish.tuning.points.builder import PointBuilder
from planish.tuning.points.built_point import BuiltPoint, RaceSetup
from planish.tuning.points.timer import time_point, time_reference

NO_REFERENCE = "neither the default version nor the original could be timed"


@dataclass(slots=True)
class MeasuredCodes:
    """What was measured of texts, by their digests: points that come to the same text are measured once."""

    found: dict[str, Measurement] = field(default_factory=dict)

    def known(self, built: BuiltPoint) -> Measurement | None:
        """What was measured of the same text."""
        same = self.found.get(built.code)
        return same and replace(same, script=built.script, message="the same code as of another point")

    def keep(self, measured: Measurement) -> None:
        """Remembers a measurement that was not stopped."""
        if measured.outcome == "ok":
            self.found[measured.code] = measured


@dataclass(slots=True)
class NestEvaluator:
    """Evaluates points one after the other. The first is the default, which all others are timed beside; where that is
    of no use, the original is. `seconds`: for the races of one point; `folder`: where libraries are written."""

    builder: PointBuilder
    folder: Path
    seconds: float = 0.5
    setup: RaceSetup | None = None
    reference: BuiltPoint | None = None
    codes: MeasuredCodes = field(default_factory=MeasuredCodes)

    def evaluate(self, point: Point, best: float) -> Measurement:
        """What comes of a point; `best`: the least ratio so far."""
        built = self.builder.build(point)
        if self.setup is None:
            return self._begin(built)
        if isinstance(built, Measurement):
            return built
        if best < inf and (same := self.codes.known(built)) is not None:
            return same
        if self.reference is None:
            return Measurement("timeout", code=built.code, script=built.script, message=NO_REFERENCE)
        found = time_point(self.setup, built, self.reference, best, self.folder)
        self.codes.keep(found)
        return found

    def _begin(self, built: BuiltPoint | Measurement) -> Measurement:
        """The default's own times, which all others are measured beside; or else those of the original."""
        self.setup = self.builder.setup(self.seconds)
        if isinstance(built, BuiltPoint):
            found = self._refer_to(built)
            self.codes.keep(found)
            if found.outcome == "ok":
                return found
        self._refer_to(self.builder.build_original())
        return found if isinstance(built, BuiltPoint) else built

    def _refer_to(self, built: BuiltPoint) -> Measurement:
        assert self.setup is not None
        found, self.setup = time_reference(self.setup, built, self.folder)
        if found.outcome == "ok":
            self.reference = built
        return found
