"""Of several versions of a function, the fastest that was shown to compute the same; or the original.

>>> choose_fastest({"a": 2.0, "b": 1.0}, before=1.5)
'b'
>>> choose_fastest({"a": 2.0}, before=1.5) is None
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from planish.core.diagnostic import PlanishError, Remark
from planish.core.span import Span
from planish.ir.types import Floats
from planish.run.blas import Blas
from planish.run.clock import ClockError, Timing, measure, measure_first
from planish.run.cross import Runner
from planish.run.entry import entry_text
from planish.run.oracle import DEFAULT_LIMITS, Verdict, compare
from planish.run.process import Limits
from planish.run.signature import Case, Signature
from planish.run.tolerance import Tolerance
from planish.run.toolchain import Compiler, compile_library

MARGIN = 0.98
"""A version must be at least this much faster than the original to take its place."""
PATIENCE = 4.0
"""Seconds for a call of the original, besides some for its elements: it may loop for ever with sizes that it does not
expect."""
EMULATED_LIMITS = Limits(seconds=400)
"""For all calls of a check in an emulator."""

_WRONG_CODE = {"gcc": ("-fno-loop-unroll-and-jam",)}
"""What a kind of compiler must not do: with that, gcc 12 takes loads before the stores that they wait for, where a loop
in lanes whose elements lie apart stands in one whose iterations depend on each other."""


@dataclass(frozen=True, slots=True)
class Workbench:
    """Where and how versions are built: the compiler, its flags for the target, a folder, what floats may do, a BLAS
    that versions may call; and what calls them."""

    compiler: Compiler
    flags: tuple[str, ...]
    folder: Path
    floats: Floats
    threads: int = 1
    include_dirs: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()
    budget: float = 2.0
    blas: Blas | None = None
    runner: Runner = Runner()

    @property
    def limits(self) -> Limits:
        """How long all calls of a check may take; emulators are slow."""
        return EMULATED_LIMITS if self.runner.command else DEFAULT_LIMITS

    @property
    def plain_flags(self) -> tuple[str, ...]:
        """Flags with which the original says what is right."""
        machine = self.flags if self.runner.command else ()
        return ("-O1", "-ffp-contract=off", "-fwrapv", *machine)

    @property
    def shared_flags(self) -> tuple[str, ...]:
        """Flags for the original and every version alike."""
        exact = ("-ffp-contract=off",) if self.floats == "strict" else ()
        return ("-O3", *self.flags, *exact, *(f"-D{d}" for d in self.defines))

    @property
    def version_flags(self) -> tuple[str, ...]:
        """What versions are compiled with besides: the loop directives that were proven."""
        proven = "-fopenmp" if self.threads > 1 else "-fopenmp-simd"
        return (proven, *_WRONG_CODE.get(self.compiler.kind, ()))


@dataclass(frozen=True, slots=True)
class Version:
    """A text of the whole file in which one function is transformed; `link` are the flags of libraries it calls,
    `slack` is that of `Tolerance`."""

    label: str
    text: str
    link: tuple[str, ...] = ()
    slack: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Selection:
    """What came out: the version in use (None: the original), how it was verified, and the times in seconds.

    `library` is the version in use as it was built and verified, in the workbench's folder; `clock` the call that was
    timed.
    """

    version: Version | None
    verdict: Verdict | None
    before: Timing | None
    after: Timing | None
    flags: tuple[str, ...]
    remarks: tuple[Remark, ...]
    library: Path | None = None
    clock: Case | None = None


def select(
    original: str, versions: Sequence[Version], signature: Signature, cases: Sequence[Case],
    clocks: Sequence[Case], bench: Workbench, span: Span | None,
) -> Selection:  # fmt: skip
    """Verify the versions and, where there are `clocks`, time them against the original under its best flags: with the
    first of these calls in which it does not crash."""
    remarks: list[Remark] = []
    reference = _compile(original, signature, bench, (*bench.plain_flags, *_defines(bench)))
    good: list[tuple[Version, Verdict, Path]] = []
    for version in versions:
        outcome, cases = _verify(version, reference, signature, cases, bench)
        if isinstance(outcome, Remark):
            remarks.append(replace(outcome, span=span))
            if not cases:
                break
            continue
        good.append((version, *outcome))
        if not clocks:
            break
    if not good:
        return Selection(None, None, None, None, bench.version_flags, tuple(remarks))
    if not clocks:
        version, verdict, library = good[0]
        return Selection(version, verdict, None, None, bench.version_flags, tuple(remarks), library)
    return _select_timed(original, good, reference, signature, cases, clocks, bench, remarks, span)


def _defines(bench: Workbench) -> tuple[str, ...]:
    return tuple(f"-D{d}" for d in bench.defines)


def _compile(text: str, signature: Signature, bench: Workbench, flags: Sequence[str]) -> Path:
    full = text + entry_text(signature)
    return compile_library(bench.compiler, full, ("-w", *flags), bench.folder, Limits(120.0), bench.include_dirs)


def _verify(
    version: Version, reference: Path, signature: Signature, cases: Sequence[Case], bench: Workbench,
    more: tuple[str, ...] = (),
) -> tuple[tuple[Verdict, Path] | Remark, tuple[Case, ...]]:  # fmt: skip
    """The verdict and the library of a version that computes the same, or a remark; and the cases that the original
    itself comes through (what it may be called with is its author's to say)."""
    left = tuple(cases)
    try:
        flags = (*bench.shared_flags, *bench.version_flags, *more, *version.link)
        library = _compile(version.text, signature, bench, flags)
    except PlanishError as error:
        return Remark("verify-compile", "refused", f"{version.label}: {error.diagnostic.message}"), left
    while left:
        verdict = _compare(version, reference, library, signature, left, bench)
        match verdict.status:
            case "ok":
                return (verdict, library), left
            case "not comparable":
                left = _without_failed(left, verdict)
            case _:
                return Remark("verify-result", "refused", f"{version.label}: {verdict.status}: {verdict.message}"), left
    message = "the original comes through none of the calls that could be made up for it; kept as written"
    return Remark("verify-none", "refused", message), ()


def _compare(
    version: Version, reference: Path, library: Path, signature: Signature, cases: Sequence[Case], bench: Workbench
) -> Verdict:
    tolerance, command = _tolerance(version, bench), bench.runner.command
    return compare(reference, library, signature, cases, tolerance, bench.limits, PATIENCE, command)


def _without_failed(cases: tuple[Case, ...], verdict: Verdict) -> tuple[Case, ...]:
    """The cases but the one at which the original failed; after one that does not end, no later one would either."""
    failed = verdict.cases_run
    return cases[:failed] if "did not come to its end" in verdict.message else cases[:failed] + cases[failed + 1 :]


def _select_timed(
    original: str, good: list[tuple[Version, Verdict, Path]], reference: Path, signature: Signature,
    cases: Sequence[Case], clocks: Sequence[Case], bench: Workbench, remarks: list[Remark], span: Span | None,
) -> Selection:  # fmt: skip
    fast = ("-ffast-math",) if bench.floats == "reassociate" else ()
    # Versions are called by the words of their strategies, one of which is "original": these names are none of them.
    contestants = [("source file", _compile(original, signature, bench, bench.shared_flags))]
    if fast:
        contestants.append(("source file, fast", _compile(original, signature, bench, (*bench.shared_flags, *fast))))
    timings, good, clock = _race(contestants, good, signature, clocks, bench, remarks, span)
    if not good:
        return Selection(None, None, None, None, (), tuple(remarks), clock=clock)
    before = min((timings[name] for name, _ in contestants), key=lambda t: t.median)
    rivals = dict(contestants)
    while good:
        times = {v.label: timings[v.label].median for v, _, _ in good}
        # One that is faster than the original without -ffast-math may be so with it.
        label = choose_fastest(times, before.median) or choose_fastest(times, timings[contestants[0][0]].median)
        if label is None:
            break
        version, verdict, library = next(g for g in good if g[0].label == label)
        flags = bench.version_flags
        chosen = Selection(version, verdict, before, timings[label], flags, tuple(remarks), library, clock)
        rival = (before.label, rivals[before.label])
        found = _confirm(chosen, rival, reference, signature, cases, clock, bench, fast, span)
        wrong = _check_timed(found, reference, signature, cases, bench)
        if wrong is None:
            return found
        remarks.append(replace(wrong, span=span))
        good = [x for x in good if x[0].label != label]
    if good:
        ratio = before.median / min(timings[v.label].median for v, _, _ in good)
        message = f"no version is faster (the best is {ratio:.2f}x); kept as written"
        remarks.append(Remark("clock", "refused", message, span))
    return Selection(None, good[0][1] if good else None, before, before, (), tuple(remarks), clock=clock)


def _check_timed(
    chosen: Selection, reference: Path, signature: Signature, cases: Sequence[Case], bench: Workbench
) -> Remark | None:
    """What is wrong with a version at the call that was timed, if that is none of the cases: where there is much to do,
    it may take other ways. None where nothing is."""
    version, library, clock = chosen.version, chosen.library, chosen.clock
    if version is None or library is None or clock is None:
        return None
    if any((x.values, x.elements) == (clock.values, clock.elements) for x in cases):
        return None
    found = _compare(version, reference, library, signature, (clock,), bench)
    if found.status in ("ok", "weak", "not comparable"):
        return None
    message = f"{version.label}: the call that was timed: {found.status}: {found.message}"
    return Remark("verify-result", "refused", message)


def _race(
    originals: Sequence[tuple[str, Path]], good: list[tuple[Version, Verdict, Path]], signature: Signature,
    clocks: Sequence[Case], bench: Workbench, remarks: list[Remark], span: Span | None,
) -> tuple[dict[str, Timing], list[tuple[Version, Verdict, Path]], Case]:  # fmt: skip
    """The times, the versions that came to their end, and the call; a version that does not is left out with a
    remark."""
    while good:
        contestants = [*originals, *((v.label, library) for v, _, library in good)]
        try:
            clock, timings = measure_first(contestants, signature, clocks, bench.budget, 3, bench.threads)
            return {t.label: t for t in timings}, good, clock
        except ClockError as error:
            remarks.append(Remark("clock", "refused", error.diagnostic.message, span))
            left = [g for g in good if g[0].label != error.label]
            good = left if len(left) < len(good) else []
    return {}, [], clocks[-1]


def _confirm(
    chosen: Selection, original: tuple[str, Path], reference: Path, signature: Signature, cases: Sequence[Case],
    clock: Case, bench: Workbench, fast: tuple[str, ...], span: Span | None,
) -> Selection:  # fmt: skip
    """A second race of the winner, also under -ffast-math where that is allowed, with the original: the best of
    several may owe its place to a moment in which the machine was busy with something else."""
    assert chosen.version is not None and chosen.library is not None and chosen.verdict is not None
    entries = {"plain": (chosen.verdict, chosen.library, bench.version_flags)}
    if fast:
        outcome, _ = _verify(chosen.version, reference, signature, cases, bench, fast)
        if not isinstance(outcome, Remark):
            entries["fast"] = (*outcome, (*bench.version_flags, *fast))
    try:
        contestants = [original, *((label, library) for label, (_, library, _) in entries.items())]
        before, *after = measure(contestants, signature, clock, bench.budget / 2, 3, bench.threads)
    except ClockError as error:
        remark = Remark("clock", "refused", error.diagnostic.message, span)
        return Selection(None, None, None, None, (), (*chosen.remarks, remark), clock=clock)
    times = {t.label: t for t in after}
    plain, quick = times["plain"], times.get("fast")
    label = "fast" if quick is not None and quick.median < MARGIN * plain.median else "plain"
    if times[label].median >= MARGIN * before.median:
        message = f"no version is faster (the best is {before.median / times[label].median:.2f}x); kept as written"
        remark = Remark("clock", "refused", message, span)
        return Selection(None, chosen.verdict, before, before, (), (*chosen.remarks, remark), clock=clock)
    verdict, library, flags = entries[label]
    return Selection(chosen.version, verdict, before, times[label], flags, chosen.remarks, library, clock)


def _tolerance(version: Version, bench: Workbench) -> Tolerance | Literal["exact"]:
    return "exact" if bench.floats == "strict" else Tolerance(slack=version.slack)


def choose_fastest(times: Mapping[str, float], before: float) -> str | None:
    """The label of the least time, if it beats the original by the margin."""
    if not times:
        return None
    label = min(times, key=lambda name: times[name])
    return label if times[label] < MARGIN * before else None
