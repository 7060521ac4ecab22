"""A thousand workers, simulated: the real coordinator with its searches and its store, recorded times of pieces.

    python -m bench.sweeps.simulated_workers                       # 1000 workers, 1500 nests of 40 trials
    python -m bench.sweeps.simulated_workers --workers 300 --search model

The clock is the simulation's. The coordinator's own processor time on this machine is added to it as it is taken, the
wait for the disk of each commit of the store (`--commit`), and what Dask's scheduler takes for each piece
(`--scheduler`), one after the other; `bench.sweeps.tuning_limits` measures these two. Each worker builds and times, one
piece at a time; how long is drawn from the record.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from bench.sweeps.recorded_pieces import read_record
from bench.sweeps.waiting_pieces import SETUP, ratio_of, run_waiting
from planish.core.cache import key
from planish.tuning.farm.farm import FarmPiece
from planish.tuning.farm.nest_run import PointFunctions
from planish.tuning.farm.simulated_farm import SimulatedFarm, SimulatedWorker
from planish.tuning.measurement import Measurement
from planish.tuning.points.built_point import BuiltPoint
from planish.tuning.store.trial_store import TrialStore

SCHEDULER, COMMIT = 1e-3, 5e-3
"""Seconds of a scheduler for a piece, and of a disk for a commit; see `bench.sweeps.tuning_limits`."""


@dataclass(frozen=True, slots=True)
class Utilisation:
    """What a simulated run came to: the share of the workers' time that they worked, the same between the first and the
    last tenth of the trials, trials a second, the coordinator's milliseconds for a trial, how many trials there are and
    how many are expected."""

    whole: float
    steady: float
    rate: float
    coordinator_ms: float
    trials: int
    kept: int


def simulate(
    workers: int, nests: int, trials: int, search: str = "evolutionary", scheduler: float = SCHEDULER, ill: float = 0.0,
    commit: float = COMMIT, seed: int = 1,
) -> Utilisation:  # fmt: skip
    """Some workers, of which a share is `ill`: a third of those each dies, stops, or is slow."""
    record, rng = read_record(), Random(seed)
    builds = [max(0.05, x) for x in record.builds]

    def do(piece: FarmPiece, drawn: Random) -> tuple[Any, float]:
        match piece.function.__name__:
            case "_build":
                site, point = piece.arguments
                return BuiltPoint(f"{ratio_of(point)!r}", key("code", site.number, point), b""), drawn.choice(builds)
            case "_begin":
                return (Measurement("ok", 1e-3, 1e-3), SETUP), drawn.choice(record.begins)
            case _:
                found = farm.ratio(piece.needs[0])
                return Measurement("ok", 1e-3 * found, 1e-3, (1e-3 * found,) * 8), drawn.choice(record.races)

    crowd = [_worker(f"w{x}", rng, ill, nests * trials * 3.0 / workers) for x in range(workers)]
    farm = _Farm(crowd, do, scheduler=scheduler, charged=True, seed=seed)
    farm.commit = commit
    # The wait for the disk is the simulation's: the file itself is in memory where that can be.
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="planish-simulated-", dir=memory) as folder:
        store = TrialStore(Path(folder) / "trials.sqlite")
        functions = PointFunctions(_build, _build, _begin, _race)
        found = run_waiting(farm, nests, trials, store, search=search, functions=functions)
        # What is best is measured once more behind the last trial, outside of the budget.
        kept = sum(x.number <= trials for x in store.trials())
    steady = farm.between(0.1, 0.9)
    whole = sum(farm.busy.values()) / (workers * found.seconds)
    return Utilisation(whole, steady, found.rate, 1e3 * farm.coordinating / found.trials, found.trials, kept)


def _worker(name: str, rng: Random, ill: float, seconds: float) -> SimulatedWorker:
    if rng.random() >= ill:
        return SimulatedWorker(name)
    at = rng.uniform(0, seconds)
    match rng.randrange(3):
        case 0:
            return SimulatedWorker(name, dies=at)
        case 1:
            return SimulatedWorker(name, stops=at)
        case _:
            return SimulatedWorker(name, slowness=6.0)


class _Farm(SimulatedFarm):
    """Remembers what the points of builds take, and how far all have worked at each moment."""

    def __init__(self, *arguments: Any, **rest: Any) -> None:
        self.ratios: dict[int, float] = {}
        self.history: list[tuple[float, float]] = [(0.0, 0.0)]
        self.commit, self._took = 0.0, False
        super().__init__(*arguments, **rest)

    def submit(self, piece: FarmPiece) -> None:
        if piece.summary is not None:
            self.ratios[piece.number] = ratio_of(piece.arguments[1]) if len(piece.arguments) > 1 else 1.0
        super().submit(piece)

    def ratio(self, number: int) -> float:
        return self.ratios[number]

    def wait(self, seconds: float) -> Any:
        if self._took:
            self._clock += self.commit  # what came before is on the disk
        found = super().wait(seconds)
        self._took = bool(found)
        if self.now() - self.history[-1][0] > 1.0:
            self.history.append((self.now(), sum(self.busy.values())))
        return found

    def between(self, first: float, last: float) -> float:
        """The workers' share of working between two shares of all their work."""
        total = self.history[-1][1]
        inner = [x for x in self.history if first * total <= x[1] <= last * total]
        (began, before), (ended, after) = inner[0], inner[-1]
        return (after - before) / (len(self.busy) * max(ended - began, 1e-9))


def _build(*arguments: Any) -> None:
    """Stands for a build."""


def _begin(*arguments: Any) -> None:
    """Stands for the first race."""


def _race(*arguments: Any) -> None:
    """Stands for a race."""


def main() -> None:
    """Prints the utilisation."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--nests", type=int, default=1500)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--search", default="evolutionary")
    parser.add_argument("--scheduler", type=float, default=SCHEDULER)
    parser.add_argument("--commit", type=float, default=COMMIT)
    parser.add_argument("--ill", type=float, default=0.0)
    x = parser.parse_args()
    found = simulate(x.workers, x.nests, x.trials, x.search, x.scheduler, x.ill, x.commit)
    print(
        f"{x.workers} workers, {x.nests} nests of {x.trials} trials, {x.search}, {1e3 * x.scheduler:g} ms a piece in"
        f" the scheduler, {1e3 * x.commit:g} ms a commit, {x.ill:.0%} ill: {found.whole:.1%} of all time worked"
        f" ({found.steady:.1%} between the first and the last tenth), {found.rate:.0f} trials/s,"
        f" coordinator {found.coordinator_ms:.2f} ms a trial, {found.kept} of {found.trials} trials kept"
    )


if __name__ == "__main__":
    main()
