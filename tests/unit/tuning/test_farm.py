"""Tuning on farms: the same trials on one worker and on many, deaths, stops, slow workers, budgets, interrupts."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.unit.tuning.simulations import Simulation, plan, points_of

from planish.core.diagnostic import PlanishError
from planish.run.processes.core_pairs import claimed_cores, pairs_of
from planish.run.processes.servant import Servant, ServantDiedError, ServantTimeoutError
from planish.tuning.farm.coordinator import Coordinator
from planish.tuning.farm.farm import FarmAnswer, FarmPiece
from planish.tuning.farm.local_farm import LocalFarm
from planish.tuning.farm.nest_run import NestRun
from planish.tuning.farm.simulated_farm import SimulatedWorker
from planish.tuning.farm.slow_workers import SlowWorkers
from planish.tuning.farm.trial_batch import TrialBatch
from planish.tuning.store.trial_store import TrialStore
from planish.tuning.tuner import TuningBudget

ONE = (SimulatedWorker("w0"),)


def simulate(path: Path, workers: tuple[SimulatedWorker, ...], nests: int = 3, trials: int = 20) -> TrialStore:
    store = TrialStore(path)
    farm, batch = Simulation(workers), TrialBatch(store)
    runs = [*Coordinator(farm, plan(farm, batch, nests, trials), batch).run()]
    assert len(runs) == nests and all(x.done for x in runs)
    assert not farm._kept, "results that nobody needs are given back"
    return store


def several(count: int, **changes: SimulatedWorker) -> tuple[SimulatedWorker, ...]:
    return tuple(changes.get(f"w{x}", SimulatedWorker(f"w{x}")) for x in range(count))


@pytest.mark.parametrize(
    "workers",
    [
        several(7),
        several(40),
        several(5, w1=SimulatedWorker("w1", slowness=20)),
        several(5, w0=SimulatedWorker("w0", dies=11.0), w3=SimulatedWorker("w3", dies=2.5)),
        several(5, w2=SimulatedWorker("w2", stops=6.0)),
        (*several(3), SimulatedWorker("t", building=False), SimulatedWorker("u", building=False, stops=20.0)),
    ],
    ids=["seven", "forty", "slow", "deaths", "stopped", "timers"],
)
def test_trials_are_those_of_one_worker(workers: tuple[SimulatedWorker, ...], tmp_path: Path) -> None:
    found = points_of(simulate(tmp_path / "many", workers))
    assert found == points_of(simulate(tmp_path / "one", ONE))
    assert len(found) >= 3 * 20 and {x for *_, x in found} == {"ok", "wrong"}


def test_a_slow_worker_is_left_out_and_told_of() -> None:
    slow, workers = SlowWorkers(), Simulation(several(3)).workers()
    run: NestRun = object()  # type: ignore[assignment]
    told: list[str] = []
    for number in range(20):
        worker = f"w{number % 3}"
        answer = FarmAnswer(number, "done", None, worker, 16.0 if worker == "w1" else 2.0)
        told += slow.hear(run, "build", answer)
    assert told == ["w1 is slow (builds take 8.0 times as long as elsewhere): left out"]
    assert slow.found(False, None, workers) == {"w1"}
    assert slow.found(True, None, workers) == frozenset(), "it may be quick in races"
    assert slow.found(False, None, workers[1:2]) == frozenset(), "there is no other one"


def test_a_budget_for_all_goes_where_the_gain_is(tmp_path: Path) -> None:
    farm, batch = Simulation(several(4)), TrialBatch(TrialStore(tmp_path / "s"))
    planned = plan(farm, batch, 4, 0, weights=(0.01, 1.0, 0.01, 0.2), budget=TuningBudget())
    runs = [*Coordinator(farm, planned, batch, TuningBudget(trials=80)).run()]
    made = {x.tuner.label: x.tuner.made for x in runs}
    assert made["nest 1"] > made["nest 3"] > made.get("nest 0", 0)
    assert 80 <= sum(made.values()) < 100
    assert all("80 trials for all" in x.tuner.result().reason for x in runs)


def test_an_interrupt_keeps_what_was_done(tmp_path: Path) -> None:
    class Interrupted(Simulation):
        def wait(self, seconds: float) -> list[FarmAnswer]:
            if self.done > 30:
                raise KeyboardInterrupt
            return [*super().wait(seconds)]

    store = TrialStore(tmp_path / "s")
    farm, batch = Interrupted(several(4)), TrialBatch(store)
    coordinator = Coordinator(farm, plan(farm, batch, 3, 50), batch)
    results = [x.result(coordinator.reason) for x in coordinator.run()]
    assert results and all(x is not None and x.reason == "it was interrupted" for x in results)
    kept = len([*store.trials()])
    assert kept == sum(x.trials for x in results if x is not None) > 8


def test_a_piece_whose_workers_die_is_a_trial_that_died(tmp_path: Path) -> None:
    class Dying(Simulation):
        def wait(self, seconds: float) -> list[FarmAnswer]:
            found = super().wait(seconds)
            bad = {x.number for x in found if self.points.get(x.number, None) == POISON}
            return [FarmAnswer(x.number, "died", worker=x.worker) if x.number in bad else x for x in found]

    store = TrialStore(tmp_path / "s")
    farm, batch = Dying(several(4)), TrialBatch(store)
    POISON = next(x[2] for x in points_of(simulate(tmp_path / "o", ONE, 1)) if x[1] == 5)
    assert [x.done for x in Coordinator(farm, plan(farm, batch, 1, 20), batch).run()] == [True]
    assert {x.outcome for x in store.trials() if x.point == POISON} == {"died"}


def _sleep(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def _die(how: int) -> None:
    os.kill(os.getpid(), how)


def _fail(code: str) -> None:
    raise ValueError(code)


def test_a_servant_tells_a_time_out_from_a_death_and_goes_on() -> None:
    with Servant() as servant:
        first = servant.call(_sleep, (0.0,), 60.0)
        assert servant.call(_sleep, (0.0,), 60.0) == first != os.getpid()
        with pytest.raises(ValueError, match="E7"):
            servant.call(_fail, ("E7",), 60.0)
        with pytest.raises(ServantTimeoutError, match="did not end within 0.2 s"):
            servant.call(_sleep, (60.0,), 0.2)
        with pytest.raises(ServantDiedError, match="SIGSEGV"):
            servant.call(_die, (signal.SIGSEGV,), 60.0)
        assert servant.call(_sleep, (0.0,), 60.0) != first


def test_core_pairs_are_claimed_once() -> None:
    assert pairs_of(range(4), {0: (0, 2), 2: (0, 2), 1: (1, 3), 3: (1, 3)}) == ((0, 2), (1, 3))
    assert pairs_of([1, 4, 7], {}) == ((1, 4), (7,))
    everything = len(os.sched_getaffinity(0))
    entered = threading.Event()

    def enter() -> None:
        with claimed_cores(1):
            entered.set()

    with claimed_cores(everything) as cores:
        assert len(cores) == everything
        other = threading.Thread(target=enter)
        other.start()
        assert not entered.wait(0.15)
    assert entered.wait(5)
    other.join()
    assert len(os.sched_getaffinity(0)) == everything


def test_jobs_of_this_machine_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(LocalFarm(2, "native", None)) as farm:
        assert [x.timing for x in farm.workers()] == [False, True]
        farm.submit(FarmPiece(1, _sleep, (0.0,), summary=str))
        farm.submit(FarmPiece(2, _die, (signal.SIGKILL,)))
        farm.submit(FarmPiece(3, abs, (-3,), timing=True))
        found: dict[int, FarmAnswer] = {}
        while len(found) < 3:
            found |= {x.number: x for x in farm.wait(10.0)}
        assert found[1].status == "done" and isinstance(found[1].value, str)
        assert found[2].status == "died" and "SIGKILL" in found[2].message
        assert found[3].value == 3 and found[3].worker == "timer"
    with pytest.raises(PlanishError):
        LocalFarm(1, "native", "no-such-compiler")
