"""The fastest version that computes the same is taken; wrong, broken and unverifiable ones are not."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planish.build import selection, verify
from planish.build.selection import Probes, Selection, select
from planish.build.time import choose_fastest
from planish.core.diagnostic import Remark
from planish.core.reasons import help_for
from planish.core.span import Source
from planish.ir.types import F64, I32, Floats
from planish.run.calls.signature import CallCase, Parameter, Signature
from planish.run.oracle.comparison import Verdict, VerdictStatus
from planish.run.timing.clock import Timing, timing_of
from planish.run.toolchains.toolchain import choose_compiler
from planish.run.workbench import DropIn, Reference, ReplacedNest, Workbench
from planish.target.load import load_target

SIGNATURE = Signature("scale", (Parameter("n", I32, "value"), Parameter("x", F64, "array")), None)
TEXT = "void scale(int n, double *x) { for (int i = 0; i < n; i++) x[i] = x[i] * 3 + 1; }\n"
RIGHT = DropIn("right", "void scale(int n, double *x) { while (n-- > 0) x[n] = x[n] * 3 + 1; }\n")
WRONG = DropIn("wrong", TEXT.replace("* 3", "* 3.001"))
BROKEN = DropIn("broken", TEXT.replace("int i", "inte i"))
SLOW = DropIn("slow", TEXT.replace("x[i] =", "for (volatile int k = 0; k < 99; k++) if (k == 50) x[i] ="))
CASES = tuple(CallCase({"n": n}, {"x": n}, seed=n) for n in (0, 1, 17))
CLOCK = CallCase({"n": 2000}, {"x": 2000})


def pick(
    place: Path, versions: list[DropIn], *clocks: CallCase, floats: Floats = "strict",
    text: str = TEXT, cases: tuple[CallCase, ...] = CASES, probes: Probes | None = None,
) -> Selection:  # fmt: skip
    bench = Workbench(choose_compiler(None), (), place, floats, budget=0.2)
    return select(Reference(text, bench), versions, SIGNATURE, cases, clocks, bench, None, probes=probes)


def test_the_first_that_is_right_is_taken_when_nothing_is_timed(tmp_path: Path) -> None:
    chosen = pick(tmp_path, [WRONG, BROKEN, RIGHT, SLOW])
    assert chosen.version is RIGHT
    assert chosen.verdict is not None and (chosen.verdict.status, chosen.verdict.cases_run) == ("ok", 3)
    assert [(r.id, r.message.partition(":")[0]) for r in chosen.remarks] == [
        ("verify-result", "wrong"), ("verify-compile", "broken"),
    ]  # fmt: skip
    assert chosen.library is not None and chosen.library.exists()
    (order,) = pick(tmp_path, [WRONG], floats="reassociate").remarks
    assert order.id == "verify-order" and "--fp strict" in help_for(order.id)
    assert "--fp strict" not in help_for("verify-result")


def test_without_a_right_one_the_original_stays(tmp_path: Path) -> None:
    chosen = pick(tmp_path, [WRONG, BROKEN])
    assert chosen.version is None and chosen.verdict is None
    assert len(chosen.remarks) == 2


def test_a_slower_one_does_not_take_the_place_of_the_original(tmp_path: Path) -> None:
    chosen = pick(tmp_path, [SLOW], CLOCK)
    assert chosen.version is None
    assert chosen.verdict is not None and chosen.verdict.status == "ok"
    assert chosen.before is not None and chosen.before.median > 0
    assert [r.id for r in chosen.remarks] == ["clock"]


def test_a_faster_one_does(tmp_path: Path) -> None:
    chosen = pick(tmp_path, [SLOW, RIGHT], CLOCK, text=SLOW.text)
    assert chosen.version is RIGHT
    assert chosen.before is not None and chosen.after is not None
    assert chosen.after.median < chosen.before.median


def test_a_version_may_have_any_name(tmp_path: Path) -> None:
    chosen = pick(tmp_path, [SLOW, replace(RIGHT, label="original")], CLOCK, floats="reassociate", text=SLOW.text)
    assert chosen.version is not None and chosen.version.text == RIGHT.text


def test_the_timed_call_is_one_that_the_original_comes_through(tmp_path: Path) -> None:
    short = CallCase({"n": 1 << 20}, {"x": 16})
    chosen = pick(tmp_path, [RIGHT], short, CLOCK, text=SLOW.text)
    assert chosen.version is RIGHT and chosen.clock is CLOCK
    chosen = pick(tmp_path, [RIGHT], short, text=SLOW.text)
    assert chosen.version is None and chosen.clock is short
    assert [r.id for r in chosen.remarks] == ["clock"]


def test_the_timed_call_is_checked_too(tmp_path: Path) -> None:
    # It is right in all the cases, which are small.
    late = replace(RIGHT, label="late", text=RIGHT.text.replace("while", "if (n > 99) x[98] = 0; while"))
    chosen = pick(tmp_path, [late], CLOCK, text=SLOW.text)
    assert chosen.version is None and [r.id for r in chosen.remarks] == ["verify-result"]
    assert "late: the call that was timed: mismatch: x[98]" in chosen.remarks[0].message
    slower = replace(RIGHT, text=RIGHT.text.replace("while", "for (volatile int k = 0; k < n; k++); while"))
    chosen = pick(tmp_path, [late, slower], CLOCK, text=SLOW.text)
    assert chosen.version is slower


SMALL = CallCase({"n": 3}, {"x": 3})
WAITS = DropIn("waits", TEXT.replace("{ for", "{ for (volatile int k = 0; k < 5000; k++) ; for"))
"""Slower for few elements, and faster than `SLOW` for many."""
QUICK = "if (n > 99) { for (int i = 0; i < n; i++) x[i] = x[i] * 3 + 1; return; }"
LIMITED = DropIn("waits", SLOW.text.replace("{ for", f"{{ {QUICK} for", 1))


@pytest.mark.parametrize(
    "limited, kept", [(None, False), (LIMITED, True), (replace(LIMITED, text=WRONG.text), False)],
    ids=["nothing tells", "told", "wrong"],
)  # fmt: skip
def test_a_version_is_slower_nowhere(
    tmp_path: Path, limited: DropIn | None, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def limit(label: str, fast: object, slow: object) -> DropIn | None:
        asked.append((label, fast, slow))
        return limited

    def new_time(case: CallCase) -> float:
        """Of what waits: less for many elements; for few more, until it is limited."""
        return 0.5 if case != SMALL else 1.0 if asked else 2.0

    set_clock(monkeypatch, new_time)
    chosen = pick(tmp_path, [WAITS], CLOCK, text=SLOW.text, probes=Probes((SMALL,), limit))
    assert asked == [("waits", [CLOCK], [SMALL])]
    assert (chosen.version is not None, chosen.limited) == (kept, kept)
    if kept:
        assert chosen.version is limited and [x.case for x in chosen.others] == [SMALL]


def set_clock(monkeypatch: pytest.MonkeyPatch, new_time: Callable[[CallCase], float]) -> None:
    """What the clock says: 1 of the original, and of a version what is given for a call."""

    def time(
        contestants: list[tuple[str, Path]], signature: Signature, case: CallCase, *given: object, **named: object
    ) -> tuple[Timing, ...]:
        times = (1.0 if k == 0 else new_time(case) for k in range(len(contestants)))
        return tuple(timing_of(label, [x] * 3) for (label, _), x in zip(contestants, times, strict=True))

    monkeypatch.setattr("planish.build.time.measure", time)
    monkeypatch.setattr(selection, "measure_afresh", time)
    first = lambda x, y, cases, *given: (cases[0], time(x, y, cases[0]))  # noqa: E731
    monkeypatch.setattr("planish.build.time.measure_first", first)


@pytest.mark.parametrize(("elsewhere", "taken"), [(0.5, True), (1.0, False), (2.0, False), (None, True)])
def test_a_version_that_is_as_fast_is_taken_where_it_is_faster_in_another_call_or_there_is_none(
    elsewhere: float | None, taken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_clock(monkeypatch, lambda case: elsewhere if elsewhere is not None and case == SMALL else 1.0)
    chosen = pick(tmp_path, [RIGHT], CLOCK, probes=Probes((SMALL,) if elsewhere is not None else ()))
    assert (chosen.version is RIGHT) is taken
    assert [x.id for x in chosen.remarks] == ([] if taken else ["clock"])


CRASHES = DropIn("crashes", TEXT.replace("{ for", "{ if (n == 5000) x[1 << 28] = 1; for"))
LARGER = CallCase({"n": 5000}, {"x": 5000})


@pytest.mark.parametrize("limited", [False, True])
def test_a_version_that_crashes_in_a_further_call_is_not_taken(tmp_path: Path, limited: bool) -> None:
    version = WAITS if limited else CRASHES
    probes = Probes((SMALL, LARGER) if limited else (LARGER,), lambda *given: replace(CRASHES, label="waits"))
    chosen = pick(tmp_path, [version], CLOCK, text=SLOW.text, probes=probes)
    assert chosen.version is None
    assert [(r.id, "crashed SIGSEGV" in r.message) for r in chosen.remarks][0] == ("clock", True)


def test_without_any_case_nothing_is_verified(tmp_path: Path) -> None:
    chosen = pick(tmp_path, [RIGHT], cases=())
    assert chosen.version is None
    assert [r.id for r in chosen.remarks] == ["verify-none"]


def test_calls_that_the_original_cannot_take_are_left_out(tmp_path: Path) -> None:
    short = CallCase({"n": 5000}, {"x": 1}, seed=3)
    chosen = pick(tmp_path, [RIGHT], cases=(CASES[1], short, CASES[2]))
    assert chosen.version is RIGHT
    assert chosen.verdict is not None and chosen.verdict.cases_run == 2


def test_calls_from_one_that_does_not_end_on_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planish.build.verify.PATIENCE", 1.0)
    text = TEXT.replace("{ for", "{ while (n == 17); for")
    chosen = pick(tmp_path, [RIGHT], text=text, cases=(*CASES, CallCase({"n": 3}, {"x": 3})))
    assert chosen.version is RIGHT
    assert chosen.verdict is not None and chosen.verdict.cases_run == 2


def test_rounding_is_tolerated_where_sums_may_be_reordered(tmp_path: Path) -> None:
    other = DropIn("other", TEXT.replace("x[i] * 3 + 1", "x[i] + 1 + x[i] + x[i]"))
    assert pick(tmp_path, [other], floats="reassociate").version is other
    assert pick(tmp_path, [other], floats="strict").version is None


def test_flags_say_what_floats_may_do(tmp_path: Path) -> None:
    def flags(floats: Floats, threads: int) -> tuple[str, ...]:
        bench = Workbench(choose_compiler(None), ("-mtune=native",), tmp_path, floats, threads, defines=("N=3",))
        return bench.check_flags

    assert "-ffp-contract=off" in flags("strict", 1) and "-ffp-contract=off" not in flags("contract", 1)
    assert "-fopenmp" in flags("reassociate", 2) and "-DN=3" in flags("reassociate", 2)


HARMLESS = re.compile(r"-O3|-m(arch|cpu|tune)=[\w.+-]+|-m\w+|-D\w+=\w+|--target=[\w-]+|-fopenmp")
"""What a command may have: nothing that lets a compiler change what a program means."""


@pytest.mark.parametrize("floats", ["strict", "contract", "reassociate"])
@pytest.mark.parametrize("target", ["native", "generic", "x86-avx2", "x86-avx512", "aarch64-neon"])
@pytest.mark.parametrize("threads", [1, 2])
def test_no_flag_changes_what_a_program_means(tmp_path: Path, floats: Floats, target: str, threads: int) -> None:
    compiler = choose_compiler(None)
    for kind in ("gcc", "clang"):
        flags = load_target(target).flags_for(kind)
        bench = Workbench(replace(compiler, kind=kind), flags, tmp_path, floats, threads, defines=("N=3",))
        assert [x for x in bench.command_flags if not HARMLESS.fullmatch(x)] == []


@pytest.mark.parametrize(
    ("times", "before", "label"),
    [({}, 1.0, None), ({"a": 0.99}, 1.0, None), ({"a": 0.5, "b": 0.4}, 1.0, "b"), ({"a": 2.0}, 1.0, None)],
)
def test_the_fastest_must_win_by_a_margin(times: dict[str, float], before: float, label: str | None) -> None:
    assert choose_fastest(times, before) == label


@pytest.mark.parametrize(("ran", "status", "says"), [
    (5, "ok", ""), (0, "ok", "verify-exercised"), (5, "weak", "verify-exercised"), (1, "mismatch", "verify-result"),
])  # fmt: skip
def test_a_version_for_some_sizes_is_seen_to_run_in_a_call_of_these(
    ran: int, status: VerdictStatus, says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    usual = Verdict("ok", 9, 0.0, 0.0, None, "", ran=(0,))
    inside = Verdict(status, 1, 0.0, 0.0, None, "differs", ran=(ran,))
    monkeypatch.setattr(verify, "compare_calls", lambda *given: inside)
    version = replace(RIGHT, nests=(ReplacedNest(0, Source("f.c", "x;").point(0)),))
    found: Any = (version, (usual, tmp_path), None, None, CallCase({"n": 5}, {"x": 5}), None)
    entered = verify.enter(*found)
    if says:
        assert isinstance(entered, Remark) and entered.id == says
    else:
        assert isinstance(entered, Verdict) and (entered.cases_run, entered.ran) == (10, (5,))


@pytest.mark.parametrize(("again", "taken"), [(0.5, True), (1.5, False)])
def test_where_the_fastest_is_not_when_it_runs_alone_the_next_one_is_tried(
    again: float, taken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(RIGHT, label="other", text=RIGHT.text + "\n")

    def time(contestants: list[tuple[str, Path]], *given: object) -> tuple[Timing, ...]:
        seconds = {"right": 0.5, "other": 0.8}
        return tuple(timing_of(label, [seconds.get(label, 1.0)] * 3) for label, _ in contestants)

    def alone(contestants: list[tuple[str, Path]], *given: object) -> tuple[Timing, ...]:
        seconds = {"right": 1.5, "other": again}
        return tuple(timing_of(label, [seconds.get(label, 1.0)] * 3) for label, _ in contestants)

    monkeypatch.setattr(selection, "measure_afresh", alone)
    monkeypatch.setattr("planish.build.time.measure_first", lambda x, y, cases, *given: (cases[0], time(x)))
    chosen = pick(tmp_path, [RIGHT, other], CLOCK)
    assert (chosen.version is other) is taken
    assert [x.id for x in chosen.remarks] == ([] if taken else ["clock"])
