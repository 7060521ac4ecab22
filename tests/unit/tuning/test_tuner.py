"""Tuning: the default first, every trial at once, budgets, interrupts, resumption, and searches on recorded spaces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from math import inf, log2
from pathlib import Path
from random import Random
from unittest.mock import Mock

import pytest

from planish.core.diagnostic import PlanishError
from planish.report.tuning import describe_result
from planish.schedule.arguments import Point, TuningArgument, TuningArguments
from planish.tuning.measurement import Measurement
from planish.tuning.recorded_space import RecordedSpace
from planish.tuning.searches.registry import SEARCHES, make_search
from planish.tuning.searches.search import TuningSearch
from planish.tuning.session import TunedResult, TuningWishes
from planish.tuning.spaces.search_space import SearchSpace
from planish.tuning.store.trial_store import TrialStore
from planish.tuning.trial import TuningTask
from planish.tuning.tuner import TrialRequest, Tuner, TuningBudget

TASK = TuningTask("kernel nest(; )", "native", "0f", "gcc 12")
SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
SPACE = SearchSpace(
    {
        "a": TuningArguments(tuple(TuningArgument(x, SIZES, 1) for x in ("t", "u", "v"))),
        "b": TuningArguments((TuningArgument("w", SIZES, 8),)),
    }
)
HERE = [x for x in SEARCHES if x != "tpe" or find_spec("optuna")]


def ratio(point: Point) -> float:
    """A bowl with a place where nothing works."""
    if point.get("version") == "b":
        return 0.9 + abs(log2(int(point.get("w") or 1)) - 5) / 10
    t, u, v = (log2(int(point.get(x) or 1)) for x in "tuv")
    return inf if t + u > 11 else 0.5 + (abs(t - 5) + abs(u - 2) + 0.3 * abs(v - 3)) / 14


def measure(point: Point, best: float) -> Measurement:
    found = ratio(point)
    if found == inf:
        return Measurement("crash", message="it left its arrays")
    return Measurement("ok", 1e-3 * found, 1e-3, (1e-3 * found,), calls=9)


@pytest.fixture
def store(tmp_path: Path) -> TrialStore:
    return TrialStore(tmp_path / "trials.sqlite")


def tuner(store: TrialStore, evaluate: Callable[[Point, float], Measurement] = measure, **rest: object) -> Tuner:
    return Tuner(TASK, SPACE, evaluate, store, now=lambda: "2030-01-01", session="s", **rest)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", HERE)
def test_searches_find_what_is_good(store: TrialStore, name: str) -> None:
    result = tuner(store).run(make_search(name, SPACE, 3), TuningBudget(trials=40))
    assert result.best is not None and result.default is not None
    assert result.best.score <= result.default.score
    assert result.best.score < (0.75 if name in ("model", "evolutionary", "tpe") else 1.0)
    assert next(store.trials()).point == SPACE.default, "the default is measured first"
    assert not result.complete and "40 trials" in result.reason


@pytest.mark.parametrize("name", HERE)
def test_the_same_seed_gives_the_same_trials(name: str, tmp_path: Path) -> None:
    def points(seed: int, file: str) -> list[Point]:
        kept = TrialStore(tmp_path / file)
        tuner(kept).run(make_search(name, SPACE, seed), TuningBudget(trials=14))
        return [x.point for x in kept.trials()]

    first = points(1, "a")
    assert first == points(1, "b")
    assert name == "exhaustive" or first != points(2, "c")


def test_a_small_space_is_searched_whole_and_a_second_run_measures_the_default_alone(store: TrialStore) -> None:
    space = SearchSpace({"b": SPACE.alternatives["b"]})
    first = Tuner(TASK, space, measure, store)
    result = first.run(make_search("auto", space, 1), TuningBudget(trials=100))
    assert result.complete and result.known == 8
    assert result.best is not None and result.best.point.get("w") == 32
    again = Tuner(TASK, space, measure, store).run(make_search("auto", space, 1), TuningBudget(trials=100))
    assert again.complete and again.trials == 1


def test_each_trial_is_kept_when_it_is_done_and_an_interrupt_keeps_all(store: TrialStore) -> None:
    seen: list[int] = []

    def interrupted(point: Point, best: float) -> Measurement:
        seen.append(len([*store.trials()]))
        if len(seen) == 6:
            raise KeyboardInterrupt
        return measure(point, best)

    result = tuner(store, interrupted).run(make_search("random", SPACE, 1), TuningBudget())
    assert seen == [0, 1, 2, 3, 4, 5]
    assert result.reason == "it was interrupted" and not result.complete and result.trials == 5
    more = tuner(store).run(make_search("random", SPACE, 1), TuningBudget(trials=5))
    assert more.known == 5 + 4, "the default is known already"


def test_a_budget_of_time_is_kept(store: TrialStore) -> None:
    time = iter(range(1000))
    result = tuner(store, clock=lambda: float(next(time))).run(make_search("random", SPACE, 1), TuningBudget(5.0))
    assert 4 <= result.trials <= 8 and "5 s" in result.reason


def test_nothing_is_worse_than_the_default(store: TrialStore) -> None:
    def worse(point: Point, best: float) -> Measurement:
        return Measurement("ok", 1.0 if point == SPACE.default else 2.0, 1.0)

    result = tuner(store, worse).run(make_search("evolutionary", SPACE, 1), TuningBudget(trials=12))
    assert result.best == result.default


def test_the_luckiest_trial_has_to_win_again(store: TrialStore) -> None:
    lucky = Point.of({"version": "b", "w": 8})
    tried: list[Point] = []

    def once(point: Point, best: float) -> Measurement:
        tried.append(point)
        fast = point == lucky and tried.count(lucky) == 1
        return Measurement("ok", 0.2 if fast else 1.0, 1.0)

    result = tuner(store, once).run(make_search("exhaustive", SPACE, 1), TuningBudget(trials=10))
    assert tried.count(lucky) == 2
    assert result.best == result.default


def test_a_process_that_died_is_tried_again_and_is_not_its_points_fault(store: TrialStore) -> None:
    deaths: list[Point] = []

    def dying(point: Point, best: float) -> Measurement:
        if point.get("version") == "b":
            deaths.append(point)
            return Measurement("died", message="killed")
        return measure(point, best)

    tuner(store, dying).run(make_search("exhaustive", SPACE, 1), TuningBudget(trials=3))
    assert deaths == [SPACE.default_of("b")] * 2
    tuner(store).run(make_search("exhaustive", SPACE, 1), TuningBudget(trials=3))
    assert [x.outcome for x in store.trials() if x.point == SPACE.default_of("b")] == ["died", "ok"]


def test_a_default_that_fails_is_told(store: TrialStore) -> None:
    def failing(point: Point, best: float) -> Measurement:
        return Measurement("wrong") if point == SPACE.default else measure(point, best)

    result = tuner(store, failing).run(make_search("evolutionary", SPACE, 1), TuningBudget(trials=10))
    assert result.default is not None and result.default.outcome == "wrong"
    assert result.best is not None and result.best.point != SPACE.default
    none = tuner(TrialStore(store.path.with_name("x")), lambda point, best: Measurement("compile"))
    assert none.run(make_search("random", SPACE, 1), TuningBudget(trials=4)).best is None


def test_times_of_zero_are_no_failure(store: TrialStore) -> None:
    result = tuner(store, lambda p, b: Measurement("ok", 0.0, 0.0)).run(
        make_search("random", SPACE, 1), TuningBudget(trials=4)
    )
    assert result.best is not None and result.best == result.default and result.best.score == 1.0


def test_a_store_that_is_full_ends_it(store: TrialStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.path.parent.joinpath("blocker").write_text("")
    broken = TrialStore(store.path.parent / "blocker" / "trials.sqlite")
    with pytest.raises(PlanishError, match="E0920"):
        tuner(broken).run(make_search("random", SPACE, 1), TuningBudget(trials=4))


@pytest.mark.parametrize("name", HERE)
def test_searches_are_compared_on_recorded_spaces(name: str) -> None:
    recorded = RecordedSpace(SPACE, {x: ratio(x) for x in SPACE.points()})
    curves = recorded.compare({name: lambda space, seed: make_search(name, space, seed)}, 20, (1, 2, 3))
    curve = curves[name]
    assert len(curve) == 20 and curve == sorted(curve, reverse=True) and curve[-1] >= 1.0


def test_a_stores_trials_are_a_recorded_space(store: TrialStore) -> None:
    space = SearchSpace({"b": SPACE.alternatives["b"]})
    Tuner(TASK, space, measure, store).run(make_search("exhaustive", space, 1), TuningBudget(trials=100))
    recorded = RecordedSpace.of(space, store, TASK)
    assert recorded.ratios == {x: ratio(x) for x in space.points()} and recorded.optimum == 0.9
    assert recorded.run(make_search("exhaustive", space, 1), 8)[-1] == 0.9


def test_what_was_not_recorded_helps_nobody() -> None:
    few = {SPACE.default: 1.0, SPACE.default_of("b"): 0.9}
    assert RecordedSpace(SPACE, few).run(make_search("random", SPACE, 1), 4) == (1.0, 0.9, 0.9, 0.9)


def test_a_search_may_be_another_one() -> None:
    class Fixed:
        name = "fixed"

        def suggest(self) -> Point | None:
            return None

        def hear(self, point: Point, ratio: float) -> None:
            """Nothing."""

    search: TuningSearch = Fixed()
    assert replace(TuningBudget(), trials=3).trials == 3 and search.suggest() is None


@pytest.mark.parametrize("name", HERE)
@pytest.mark.parametrize("order", ["first", "last", "any"])
def test_points_that_are_measured_side_by_side_do_not_depend_on_which_comes_first(
    name: str, order: str, tmp_path: Path
) -> None:
    def points(file: str, choose: Callable[[int], int], most: int) -> list[tuple[int, Point]]:
        one = tuner(TrialStore(tmp_path / file), ahead=4)
        one.begin(make_search(name, SPACE, 7), TuningBudget(trials=25))
        waiting: list[TrialRequest] = []
        while not one.done:
            while len(waiting) < most and (request := one.next_request()) is not None:
                waiting.append(request)
            if waiting:
                request = waiting.pop(choose(len(waiting)))
                one.hear(request, measure(request.point, request.bound))
        assert one.result().trials == one.made >= 25
        return sorted((x.number, x.point) for x in one.store.trials())

    rng = Random(5)
    choose = {"first": lambda n: 0, "last": lambda n: n - 1, "any": rng.randrange}[order]
    found = points("a", choose, 4)
    assert found == points("b", lambda n: 0, 1), "as of one machine"
    assert len({x for _, x in found}) >= 24, "no point is measured twice, but the best"


@pytest.mark.parametrize("trials", [1, 8])
def test_a_budget_for_the_whole_space_ends_no_search(trials: int, store: TrialStore) -> None:
    own = SPACE.alternatives["b"] if trials == 8 else TuningArguments((TuningArgument("w", (8,), 8),))
    space = SearchSpace({"b": own})
    for name in ("random", "exhaustive"):
        tuner = Tuner(TASK, space, measure, store, fresh=True)
        result = tuner.run(make_search(name, space, 1), TuningBudget(trials=trials))
        assert result.complete and result.trials == result.known == trials
    tuner = Tuner(TASK, SPACE, measure, store, fresh=True)
    short = tuner.run(make_search("exhaustive", SPACE, 1), TuningBudget(trials=8))
    assert not short.complete and short.reason == "the budget of 8 trials is spent"


def test_what_confirms_the_best_is_counted_by_itself(store: TrialStore) -> None:
    result = tuner(store).run(make_search("exhaustive", SPACE, 1), TuningBudget(trials=3))
    assert (result.trials, result.known, result.confirmations) == (3, 3, 1) and len([*store.trials()]) == 4
    found = TunedResult(Mock(label="f"), SPACE, result)
    one = TunedResult(Mock(label="f"), SPACE, replace(result, trials=1, known=1, confirmations=0))
    told = [next(describe_result(x, TuningWishes(TuningBudget()), Path("s"))) for x in (found, one)]
    assert told[0].startswith("f: 3 trials and 1 for confirmation (seed 1), 3 of 520 points known")
    assert told[1].startswith("f: 1 trial (seed 1), 1 of 520 points known")
