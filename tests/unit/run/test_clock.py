"""The clock: order of fast and slow, short calls, restored data, failures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from planish.core.diagnostic import PlanishError
from planish.ir.types import F64, I32
from planish.run.calls.loaded_library import Library
from planish.run.calls.signature import CallCase, Parameter, Signature
from planish.run.processes.sandbox import Limits
from planish.run.timing import clock, contents, stopwatch
from planish.run.timing.clock import CHILDREN, ClockError, measure, measure_afresh, measure_bounded, measure_first

Build = Callable[[str, Signature], Path]

SCALE = Signature("scale", (Parameter("n", I32, "value"), Parameter("x", F64, "array")), None)
FAST = "static void scale(int n, double *x) { for (int i = 0; i < n; i++) x[i] *= 2; }"
SLOW = FAST.replace("{", "{ for (volatile int k = 0; k < 20 * n; k++) ; ")


@pytest.mark.parametrize("n", [20, 200_000], ids=["repeated", "single"])
def test_slower_takes_longer(build: Build, n: int) -> None:
    libraries = [("fast", build(FAST, SCALE)), ("slow", build(SLOW, SCALE))]
    fast, slow = measure(libraries, SCALE, CallCase({"n": n}, {"x": n}), budget_seconds=0.2)
    assert (fast.label, slow.label) == ("fast", "slow")
    assert fast.rounds == slow.rounds >= 1
    assert 0 < fast.low <= fast.median <= fast.high
    assert 3 * fast.median < slow.median
    assert slow.median < 1.0


@pytest.mark.parametrize(("microseconds", "cores"), [(0, 1), (400, 1), (400, 2)], ids=["short", "single", "threads"])
def test_every_call_sees_the_same_data(build: Build, microseconds: int, cores: int) -> None:
    """The function dies when it is called on its own result: restoring must happen before each repeated call."""
    text = f"""
    #include <time.h>
    static double now(void)
    {{
        struct timespec t;
        clock_gettime({'CLOCK_MONOTONIC' if cores > 1 else 'CLOCK_PROCESS_CPUTIME_ID'}, &t);
        return 1e6 * t.tv_sec + 1e-3 * t.tv_nsec;
    }}
    void scale(int n, double *x)
    {{
        if (x[0] > 2) __builtin_trap();
        x[0] += 2;
        for (double end = now() + {microseconds}; now() < end;) ;
    }}
    """
    libraries = [("once", build(text, SCALE))]
    (timing,) = measure(libraries, SCALE, CallCase({"n": 4}, {"x": 4}), budget_seconds=0.1, cores=cores)
    assert timing.rounds >= 5
    assert timing.low >= 1e-6 * microseconds / 2


def test_several_children_have_their_samples_together(build: Build, tmp_path: Path) -> None:
    noted = FAST.replace("{", f'{{ static int noted; if (!noted++) {{ FILE *f = fopen("{tmp_path}/noted", "a"); '
                              'fprintf(f, "%p\\n", (void *)&noted); fclose(f); }', 1)  # fmt: skip
    libraries = [("fast", build("#include <stdio.h>\n" + noted, SCALE)), ("slow", build(SLOW, SCALE))]
    fast, slow = measure_afresh(libraries, SCALE, CallCase({"n": 2000}, {"x": 2000}), 1.5, 6)
    assert (fast.label, slow.label) == ("fast", "slow") and fast.median < slow.median
    assert fast.rounds == slow.rounds >= 6 and list(fast.samples) == sorted(fast.samples)
    assert 1 < len((tmp_path / "noted").read_text().split()) <= CHILDREN


def test_an_endless_contestant_is_a_diagnostic(build: Build) -> None:
    endless = build("void scale(int n, double *x) { for (volatile int i = 0; ; i++) ; }", SCALE)
    libraries = [("good", build(FAST, SCALE)), ("bad", endless)]
    with pytest.raises(PlanishError) as caught:
        measure(libraries, SCALE, CallCase({"n": 4}, {"x": 4}), 0.1, limits=Limits(2.0))
    assert caught.value.diagnostic.code == "E0806"
    assert "'bad'" in caught.value.diagnostic.message


@pytest.mark.parametrize("long", ["for (volatile int k = 0; n > 4; k++) ;", "if (n > 4) x[1 << 24] = 1;"])
def test_a_call_that_costs_more_than_was_known_is_made_smaller(
    build: Build, long: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "PATIENCE", 0.2)
    libraries = [("original", build(FAST.replace("{", f"{{ {long}", 1), SCALE)), ("good", build(FAST, SCALE))]
    cases = [CallCase({"n": n}, {"x": n}) for n in (400, 20, 4, 2)]
    case, timings = measure_first(libraries, SCALE, cases, 0.05)
    assert case.values == {"n": 4} and len(timings) == 2
    with pytest.raises(ClockError, match="did not end within 0.2 s|crashed SIGSEGV"):
        measure(libraries, SCALE, cases[0], 0.05, patience=0.2)


def test_no_contestants_no_timings() -> None:
    assert measure([], SCALE, CallCase({"n": 4}, {"x": 4})) == ()


@pytest.mark.parametrize(
    ("call", "restore", "repeated"), [(90e-6, 100e-6, False), (90e-6, 1e-6, True), (1e-6, 100e-6, True)]
)
def test_long_calls_are_not_the_difference_of_longer_times(
    call: float, restore: float, repeated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]

    class Timed:
        """A library whose calls take as long as is said."""

        def call(self, arguments: object) -> None:
            clock[0] += call

        def repeat(self, arguments: object, times: int, run: bool, kept: object) -> None:
            copied = restore if str(kept) == "restore" else 0.0
            clock[0] += times * (copied + (call if run else 0.0))

    class Copies(str):
        """What is copied before each call."""

        def advance(self, calls: int) -> None:
            pass

    class Given:
        """Arguments of which one array changes."""

        views = {"x": np.ones(3)}

        def fill(self, arrays: object) -> None:
            pass

    monkeypatch.setattr(stopwatch, "Restore", lambda x, arrays, names: Copies("restore" if names else "nothing"))
    drawn: Any = SimpleNamespace(arrays={"x": np.zeros(3)})
    library: Any = Timed()
    given: Any = Given()
    runner = stopwatch._prepare(library, given, [drawn], stopwatch.SHORT, lambda: clock[0])
    assert runner.looped is repeated
    assert stopwatch._sample(runner, drawn.arrays) == pytest.approx(call, rel=1e-6)


def test_a_race_that_cannot_be_won_is_stopped(build: Build) -> None:
    fast, slow = ("fast", build(FAST, SCALE)), ("slow", build(SLOW, SCALE))
    case = CallCase({"n": 20_000}, {"x": 20_000})
    before, after, stopped = measure_bounded(fast, slow, SCALE, case, 1.5, budget_seconds=0.5)
    assert stopped and before.rounds == after.rounds <= 3
    *_, stopped = measure_bounded(slow, fast, SCALE, case, 1.5, budget_seconds=0.05)
    assert not stopped


def test_on_one_core_what_waits_costs_nothing(build: Build) -> None:
    """What else runs on the machine makes a call wait: sleeping stands for it."""
    text = "#include <unistd.h>\nvoid scale(int n, double *x) { x[0] += 1; usleep(20000); }"
    (timing,) = measure([("asleep", build(text, SCALE))], SCALE, CallCase({"n": 4}, {"x": 4}), budget_seconds=0.1)
    assert timing.low < 5e-3


ARRAYS = (Parameter("a", F64, "array"), Parameter("o", F64, "array"))
PACK = Signature("pack", (Parameter("n", I32, "value"), *ARRAYS), I32)


def test_branches_are_not_learnt(build: Build) -> None:
    """The same data again and again is learnt by the processor, which goes wrong on the user's."""
    text = "int pack(int n, const double *a, double *o)\n"
    text += "{ int k = 0; for (int i = 0; i < n; i++) if (a[i] > 0.25) o[k++] = a[i]; return k; }"
    library, case = [("pack", build(text, PACK))], CallCase({"n": 500}, {"a": 500, "o": 500})
    (learnt,) = measure(library, PACK, case, 0.1)
    (fresh,) = measure(library, PACK, replace(case, choosing=True), 0.1)
    assert fresh.median > 2 * learnt.median


@pytest.mark.parametrize(
    ("body", "both"),
    [("o[0] = a[0];", True), ("o[(a[0] < 0) * (1 << 24)] = a[0];", False), ("o[0] = __builtin_sqrt(a[0]);", False),
     ("for (volatile int k = 0; a[0] < 0; k++) ;", False), ("return n;", True)],
    ids=["any", "crash", "root", "endless", "none"],
)  # fmt: skip
def test_floats_have_both_signs_where_the_function_takes_them(
    build: Build, body: str, both: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "TRIAL_SECONDS", 0.2)
    text = f"int pack(int n, const double *a, double *o) {{ {body} return 0; }}"
    library = Library(str(build(text, PACK)), PACK)
    case = CallCase({"n": 40_000}, {"a": 40_000, "o": 40_000}, choosing=True, placement="start")
    sets, _ = contents.settle(PACK, case, library, 0.0)
    assert all(bool((x.arrays["a"] < 0).any()) is both for x in sets)
    assert len({x.arrays["a"][:9].tobytes() for x in sets}) == len(sets) == (4 if both else len(sets))
    alone, _ = contents.settle(PACK, replace(case, choosing=False), library, 0.0)
    assert len(alone) == 1 and bool((alone[0].arrays["a"] > 0).all())
