"""Nests on a simulated farm: what a point takes is a formula, and what a piece takes is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import inf, log2
from random import Random
from typing import Any

from planish.core.cache import key
from planish.core.span import Source
from planish.options import Options
from planish.schedule.arguments import Point, TuningArgument, TuningArguments
from planish.tuning.farm.coordinator import PlannedRun
from planish.tuning.farm.farm import FarmPiece
from planish.tuning.farm.nest_run import NestRun
from planish.tuning.farm.simulated_farm import SIMULATED, SimulatedFarm, SimulatedWorker
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
SPACE = SearchSpace({"a": TuningArguments(tuple(TuningArgument(x, SIZES, 1) for x in ("t", "u", "v")))})
SETUP = RaceSetup(None, ())  # type: ignore[arg-type]


def ratio(point: Point) -> float:
    t, u, v = (log2(int(point.get(x) or 1)) for x in "tuv")
    return inf if t + u > 11 else 0.5 + (abs(t - 5) + abs(u - 2) + 0.3 * abs(v - 3)) / 14


def do(piece: FarmPiece, rng: Random, built: dict[str, Point]) -> tuple[Any, float]:
    """What a worker makes of a piece, and the seconds."""
    match piece.function.__name__:
        case "build_point":
            point = piece.arguments[1]
            built[code := key("code", point)] = point
            if ratio(point) == inf:
                return Measurement("wrong", code=code), rng.uniform(1, 4)
            return BuiltPoint("a", code, b"ELF", script=code), rng.uniform(1, 4)
        case "begin_race":
            return (Measurement("ok", 1e-3, 1e-3), SETUP), 1.5
        case "time_built":
            return 1.0, rng.uniform(0.5, 1.5)
    raise AssertionError(piece.function)


class Simulation(SimulatedFarm):
    """A farm that knows the points of the nests below by their numbers."""

    def __init__(self, workers: Sequence[SimulatedWorker], **rest: Any) -> None:
        self.points: dict[int, Point] = {}
        super().__init__(workers, self._make, **rest)

    def _make(self, piece: FarmPiece, rng: Random) -> tuple[Any, float]:
        value, seconds = do(piece, rng, {})
        if piece.function.__name__ == "build_point":
            self.points[piece.number] = piece.arguments[1]
        if piece.function.__name__ == "time_built":
            found = ratio(self.points[piece.needs[0]])
            value = Measurement("ok", 1e-3 * found, 1e-3)
        return value, seconds


def plan(
    farm: SimulatedFarm, batch: TrialBatch, nests: int, trials: int, ahead: int = 4, search: str = "evolutionary",
    weights: Sequence[float] = (), budget: TuningBudget | None = None,
) -> Iterator[PlannedRun]:  # fmt: skip
    for number in range(nests):
        weight = weights[number] if weights else 1.0
        yield PlannedRun(weight, partial(_begin, farm, batch, number, trials, ahead, search, weight, budget))


def _begin(
    farm: SimulatedFarm, batch: TrialBatch, number: int, trials: int, ahead: int, search: str, weight: float,
    budget: TuningBudget | None,
) -> NestRun:  # fmt: skip
    task = TuningTask(f"kernel nest{number}(; )", "native", "0f", "gcc 12")
    tuner = Tuner(
        task, SPACE, lambda point, best: Measurement("died"), batch, f"nest {number}", number, ahead=ahead,
        clock=farm.now, now=lambda: "2030-01-01", session="s",
    )  # fmt: skip
    tuner.begin(make_search(search, SPACE, number), budget or TuningBudget(trials=trials))
    return NestRun(tuner, TuningSite(Source("a.c", ""), Options(), number), SIMULATED.kind, weight)


def points_of(store: TrialStore) -> list[tuple[str, int, Point, str]]:
    """All trials, in an order that does not depend on which came first."""
    return sorted((x.task.kernel, x.number, x.point, x.outcome) for x in store.trials())
