"""Of several versions of a function, the fastest that was shown to compute the same; or the original.

>>> choose_fastest({"a": 2.0, "b": 1.0}, before=1.5)
'b'
>>> choose_fastest({"a": 2.0}, before=1.5) is None
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from planish.core.diagnostic import PlanishError, Remark
from planish.core.span import Span
from planish.run.calls.signature import CallCase, Signature
from planish.run.oracle.comparison import Verdict, compare
from planish.run.oracle.nest_coverage import LEAST_CALLS, missed
from planish.run.timing.clock import ClockError, Timing, measure, measure_afresh, measure_first
from planish.run.workbench import Reference, Version, Workbench

MARGIN = 0.98
"""A version must be at least this much faster than the original to take its place."""
TIE = 1.05
"""Versions whose times are so near are equally fast: which of them is the fastest would be another one each time."""
LOSS = 0.97
"""A version whose speed is below so many times that of the original is slower: what is nearer is the clock's noise."""
GAIN = 1.1
"""One that is as fast as the original is taken if it is so many times faster in another call, and slower in none."""
PROBE_SECONDS = 0.25
"""For the race in one call besides the first."""
RERUNS = 2
"""A race that seems lost is run again, so many times: the machine may have been busy. What counts is all samples."""
PATIENCE = 4.0
"""Seconds for a call of the original, besides some for its elements: it may loop for ever with sizes that it does not
expect."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What came out: the version in use (None: the original), how it was verified, and the times in seconds.

    `library` is the version in use as it was built and verified, in the workbench's folder; `clock` the call that was
    timed, `others` what other calls took. `limited`: sizes choose between the version and the original.
    `idle` are the beginnings of nests that no call ran.
    """

    version: Version | None
    verdict: Verdict | None
    before: Timing | None
    after: Timing | None
    remarks: tuple[Remark, ...]
    library: Path | None = None
    clock: CallCase | None = None
    idle: frozenset[int] = frozenset()
    others: tuple[Race, ...] = ()
    limited: bool = False

    def describe_times(self, signature: Signature) -> str:
        """The call that was timed, and the others with what the version gains in them."""
        first = [] if self.clock is None else [self.clock.describe(signature)]
        also = [f"{x.case.describe(signature)}: {x.ratio:.2f}x" for x in self.others]
        where = " (the original runs where the version is slower)" if self.limited else ""
        return "; ".join((*first, *also)) + where


@dataclass(frozen=True, slots=True)
class Race:
    """One call, and how long the original and a version take for it."""

    case: CallCase
    before: Timing
    after: Timing

    @property
    def middle(self) -> float:
        """How many times faster the version is by the medians."""
        return self.before.median / self.after.median

    @property
    def ratio(self) -> float:
        """How many times faster the version is. Where it seems to be slower, what the fast samples say counts if that
        is better: a machine that is busy with something else only ever adds to a time."""
        return self.middle if not self.seems_lost else max(self.middle, self.before.low / self.after.low)

    @property
    def seems_lost(self) -> bool:
        """Whether the version may be slower, so that another race is worth its time."""
        return self.middle < LOSS

    @property
    def is_lost(self) -> bool:
        """Whether the version is slower, by more than the clock is off."""
        return self.ratio < LOSS

    def joined(self, more: Race) -> Race:
        """Of the samples of both."""
        return Race(self.case, self.before.joined(more.before), self.after.joined(more.after))


@dataclass(frozen=True, slots=True)
class Probes:
    """Calls in which a version must not be slower either, and what makes a version that is only used for calls like
    some, and not like others (None: nothing tells these apart)."""

    cases: tuple[CallCase, ...] = ()
    limit: Callable[[str, Sequence[CallCase], Sequence[CallCase]], Version | None] = lambda label, fast, slow: None


Find = Callable[[Workbench, Sequence[int]], tuple[CallCase, ...]]
"""More calls, in which the original comes to nests that begin in some places of the text."""


def select(
    reference: Reference, versions: Sequence[Version], signature: Signature, cases: Sequence[CallCase],
    clocks: Sequence[CallCase], bench: Workbench, span: Span | None, find: Find = lambda bench, starts: (),
    probes: Probes | None = None,
) -> Selection:  # fmt: skip
    """Verify the versions and, where there are `clocks`, time them against the original under its best flags: with the
    first of these calls in which it does not crash. `find` is asked for calls where these do not run all nests. The
    version in use is slower in none of the `probes`. PlanishError where the original does not compile."""
    reference.library_for(signature)  # first: what is wrong with the file itself is told
    remarks: list[Remark] = []
    good: list[tuple[Version, Verdict, Path]] = []
    idle: frozenset[int] = frozenset()
    for version in versions:
        outcome, cases = _verify(version, reference, signature, cases, bench)
        if not isinstance(outcome, Remark):
            outcome, cases, missing = _exercise(version, *outcome, reference, signature, cases, bench, find)
            idle |= missing
        if isinstance(outcome, Remark):
            remarks.append(replace(outcome, span=outcome.span or span))
            if not cases:
                break
            continue
        good.append((version, *outcome))
        if not clocks:
            break
    if not good:
        return Selection(None, None, None, None, tuple(remarks), idle=idle)
    if not clocks:
        version, verdict, library = good[0]
        taken = Selection(version, verdict, None, None, tuple(remarks), library)
        if probes is None or not probes.cases:
            return taken
        found = _probe(taken, _rival(reference, signature, bench), reference, signature, cases, bench, probes, span)
        if isinstance(found, Selection):
            return found
        return replace(taken, version=None, library=None, remarks=(*taken.remarks, found))
    return _select_timed(good, reference, signature, cases, clocks, bench, remarks, span, probes or Probes())


def _rival(reference: Reference, signature: Signature, bench: Workbench) -> tuple[str, Path]:
    """The original as it is timed, by the command that the user is told."""
    # Versions are called by the words of their strategies, one of which is "original": this name is none of them.
    return "source file", bench.build(reference.text, (signature,), bench.command_flags)


def _compile_shipped(version: Version, signature: Signature, bench: Workbench) -> Path:
    """A version as the user gets it: without what notes the nests that ran, by the command that he is told."""
    return bench.build(version.text, (signature,), (*bench.command_flags, *version.link))


def _verify(
    version: Version, reference: Reference, signature: Signature, cases: Sequence[CallCase], bench: Workbench
) -> tuple[tuple[Verdict, Path] | Remark, tuple[CallCase, ...]]:  # fmt: skip
    """The verdict and the library of a version that computes the same, or a remark; and the cases that the original
    itself comes through (what it may be called with is its author's to say)."""
    left, why = tuple(cases), "there are none"
    try:
        library = bench.build_checked(version, (signature,))
    except PlanishError as error:
        return Remark("verify-compile", "refused", f"{version.label}: {error.diagnostic.message}"), left
    while left:
        verdict = _compare(version, reference, library, signature, left, bench)
        match verdict.status:
            case "ok":
                return (verdict, library), left
            case "not comparable":
                left, why = _without_failed(left, verdict), verdict.message
            case _:
                return Remark("verify-result", "refused", f"{version.label}: {verdict.status}: {verdict.message}"), left
    message = f"the original comes through none of the calls that could be made up for it ({why}); kept as written"
    return Remark("verify-none", "refused", message), ()


def _exercise(
    version: Version, verdict: Verdict, library: Path, reference: Reference, signature: Signature,
    cases: tuple[CallCase, ...], bench: Workbench, find: Find,
) -> tuple[tuple[Verdict, Path] | Remark, tuple[CallCase, ...], frozenset[int]]:  # fmt: skip
    """The verdict of a version that was seen to run, also in calls that are searched for that, or a remark; all cases;
    and the beginnings of the nests that did not run."""
    least = min(LEAST_CALLS, len(cases))
    idle = missed(verdict.ran, len(version.nests), least)
    if idle and (more := find(bench, [version.nests[x].start for x in idle])):
        outcome, more = _verify(version, reference, signature, more, bench)
        if not isinstance(outcome, Remark):
            verdict, cases = verdict.joined(outcome[0]), (*cases, *more)
            idle = missed(verdict.ran, len(version.nests), LEAST_CALLS)
        elif outcome.id != "verify-none":
            return outcome, cases, frozenset()
    if not idle:
        return (verdict, library), cases, frozenset()
    nest, count = version.nests[idle[0]], verdict.ran[idle[0]]
    what = f"the new code ran and changed something in {count or 'none'} of {verdict.cases_run} calls"
    remark = Remark("verify-exercised", "refused", f"{version.label}: not exercised: {what}", nest.span)
    return remark, cases, frozenset(version.nests[x].start for x in idle)


def _compare(
    version: Version,
    reference: Reference,
    library: Path,
    signature: Signature,
    cases: Sequence[CallCase],
    bench: Workbench,
) -> Verdict:
    tolerance, command = version.tolerance(bench.floats), bench.runner.command
    right = reference.library_for(signature)
    found = compare(right, library, signature, cases, tolerance, bench.limits, PATIENCE, command)
    beside = found.where is not None and found.where.index < 0
    if found.status not in ("mismatch", "weak") or beside or tolerance == "exact" or command:
        return found
    if (exact := reference.widen(signature)) is None:
        return found
    return compare(right, library, signature, cases, tolerance, bench.limits, PATIENCE, (), exact)


def _without_failed(cases: tuple[CallCase, ...], verdict: Verdict) -> tuple[CallCase, ...]:
    """The cases but the one at which the original failed; after one that does not end, no later one would either."""
    failed = verdict.cases_run
    return cases[:failed] if "did not come to its end" in verdict.message else cases[:failed] + cases[failed + 1 :]


def _select_timed(
    good: list[tuple[Version, Verdict, Path]], reference: Reference, signature: Signature, cases: Sequence[CallCase],
    clocks: Sequence[CallCase], bench: Workbench, remarks: list[Remark], span: Span | None, probes: Probes,
) -> Selection:  # fmt: skip
    rival = _rival(reference, signature, bench)
    timings, good, clock = _race(rival, good, signature, clocks, bench, remarks, span)
    if not good:
        return Selection(None, None, None, None, tuple(remarks), clock=clock)
    before = timings[rival[0]]
    even: list[tuple[Version, Verdict, Path]] = []
    refused: Selection | None = None
    while good:
        size = {v.label: len(v.text) for v, _, _ in good}
        label = choose_fastest({v.label: timings[v.label].median for v, _, _ in good}, before.median, size)
        if label is None:
            break
        first = next(g for g in good if g[0].label == label)
        version, verdict, library = first
        chosen = Selection(version, verdict, before, timings[label], tuple(remarks), library, clock)
        found = _confirm(chosen, rival, signature, clock, bench, span, MARGIN)
        good = [x for x in good if x is not first]
        if found.version is None:
            if found.before is None:
                return found
            # The machine may have been busy while the others ran: one of them may be the fastest in truth.
            even, refused = [*even, first], refused or found
            continue
        wrong = _check_timed(found, reference, signature, cases, bench)
        if wrong is None:
            kept = _probe(found, rival, reference, signature, cases, bench, probes, span)
            if isinstance(kept, Selection):
                return kept
            wrong = kept
        remarks.append(replace(wrong, span=span))
    even += good
    if even:
        version, verdict, library = min(even, key=lambda x: timings[x[0].label].median)
        best = Selection(version, verdict, before, timings[version.label], tuple(remarks), library, clock)
        if (taken := _take_even(best, rival, reference, signature, cases, bench, probes, span)) is not None:
            return taken
        if refused is not None:
            said = tuple(x for x in refused.remarks if x not in remarks)
            return replace(refused, remarks=(*remarks, *said))
        ratio = before.median / min(timings[v.label].median for v, _, _ in even)
        message = f"no version is faster (the best is {ratio:.2f}x); kept as written"
        remarks.append(Remark("clock", "refused", message, span))
    return Selection(None, even[0][1] if even else None, before, before, tuple(remarks), clock=clock)


def _take_even(
    best: Selection, rival: tuple[str, Path], reference: Reference, signature: Signature, cases: Sequence[CallCase],
    bench: Workbench, probes: Probes, span: Span | None,
) -> Selection | None:  # fmt: skip
    """The best version, where the clock does not tell it from the original at this call, and it is faster in another
    one; None where that is not so."""
    assert best.before is not None and best.after is not None and best.clock is not None
    if not probes.cases or LOSS * best.after.median > best.before.median:
        return None
    found = _confirm(best, rival, signature, best.clock, bench, span, 1 / LOSS)
    if found.version is None or _check_timed(found, reference, signature, cases, bench) is not None:
        return None
    kept = _probe(found, rival, reference, signature, cases, bench, probes, span)
    return kept if isinstance(kept, Selection) and any(x.ratio > GAIN for x in kept.others) else None


def _probe(
    chosen: Selection, rival: tuple[str, Path], reference: Reference, signature: Signature, cases: Sequence[CallCase],
    bench: Workbench, probes: Probes, span: Span | None,
) -> Selection | Remark:  # fmt: skip
    """The winner with its times in other calls; where it is slower in some, a version that leaves those to the original
    in its place, which is verified and timed as well; a remark where nothing tells these calls apart."""
    assert chosen.version is not None
    version, label, races = chosen.version, chosen.version.label, list[Race]()
    if chosen.clock is not None and chosen.before is not None and chosen.after is not None:
        races.append(Race(chosen.clock, chosen.before, chosen.after))
    first = len(races)
    left = [x for x in probes.cases if all(x.values != y.case.values for y in races)]
    try:
        races += _time_others(version, rival, signature, left, bench)
    except ClockError as error:
        return Remark("clock", "refused", error.diagnostic.message, span)
    lost = [x for x in races if x.is_lost]
    if not lost:
        return replace(chosen, others=tuple(races[first:]))
    worst = min(lost, key=lambda x: x.ratio)
    message = f"{label}: slower than the original for {worst.case.describe(signature)} ({worst.ratio:.2f}x)"
    refused = Remark("clock", "refused", message, span)
    limited = probes.limit(label, [x.case for x in races if not x.is_lost], [x.case for x in lost])
    if limited is None:
        return refused
    outcome, _ = _verify(limited, reference, signature, cases, bench)
    if isinstance(outcome, Remark):
        return outcome
    kept = min((x.case for x in races if not x.is_lost), key=lambda x: sum(x.elements.values()), default=None)
    entered = _enter(limited, outcome, reference, signature, kept, bench)
    if isinstance(entered, Remark):
        return entered
    try:
        again = _time_others(limited, rival, signature, [x.case for x in races], bench)
    except ClockError as error:
        return Remark("clock", "refused", error.diagnostic.message, span)
    if len(again) < len(races) or any(x.is_lost for x in again):
        return refused
    # What could not be limited is left as it was written: something has to be gained without it.
    if first and again[0].after.median >= MARGIN * again[0].before.median:
        return refused
    found = replace(
        chosen, version=limited, verdict=entered, library=outcome[1], others=tuple(again[first:]), limited=True
    )  # fmt: skip
    return replace(found, before=again[0].before, after=again[0].after) if first else found


def _enter(
    limited: Version, found: tuple[Verdict, Path], reference: Reference, signature: Signature, case: CallCase | None,
    bench: Workbench,
) -> Verdict | Remark:  # fmt: skip
    """What is said of a version that some sizes do not enter, after a call that does; a remark where all of its nests
    have not been seen to run."""
    verdict, library = found
    if case is not None:
        more = _compare(limited, reference, library, signature, (case,), bench)
        if more.status not in ("ok", "weak", "not comparable"):
            return Remark("verify-result", "refused", f"{limited.label}: {more.status}: {more.message}")
        verdict = verdict.joined(more) if more.status == "ok" else verdict
    if idle := missed(verdict.ran, len(limited.nests), 1):
        message = f"{limited.label}: not exercised: the new code ran and changed something in none of its calls"
        return Remark("verify-exercised", "refused", message, limited.nests[idle[0]].span)
    return verdict


def _time_others(
    version: Version, rival: tuple[str, Path], signature: Signature, cases: Sequence[CallCase], bench: Workbench
) -> list[Race]:
    """The races of the original and a version, in a short time each, in those calls that the original comes through;
    one that seems lost is run again. ClockError where it is the version that does not come through one."""
    races = []
    both = [rival, (version.label, _compile_shipped(version, signature, bench))]
    for case in cases:
        try:
            race = Race(case, *measure(both, signature, case, PROBE_SECONDS, 3, bench.threads))
            for _ in range(RERUNS):
                if race.seems_lost:
                    race = race.joined(Race(case, *measure(both, signature, case, PROBE_SECONDS, 3, bench.threads)))
        except ClockError as error:
            if error.label == version.label:
                raise
            continue  # the original does not come through it, or it takes too long
        races.append(race)
    return races


def _check_timed(
    chosen: Selection, reference: Reference, signature: Signature, cases: Sequence[CallCase], bench: Workbench
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
    original: tuple[str, Path], good: list[tuple[Version, Verdict, Path]], signature: Signature,
    clocks: Sequence[CallCase], bench: Workbench, remarks: list[Remark], span: Span | None,
) -> tuple[dict[str, Timing], list[tuple[Version, Verdict, Path]], CallCase]:  # fmt: skip
    """The times, the versions that came to their end, and the call; a version that does not is left out with a
    remark."""
    while good:
        contestants = [original, *((v.label, library) for v, _, library in good)]
        try:
            clock, timings = measure_first(contestants, signature, clocks, bench.budget, 3, bench.threads)
            return {t.label: t for t in timings}, good, clock
        except ClockError as error:
            remarks.append(Remark("clock", "refused", error.diagnostic.message, span))
            left = [g for g in good if g[0].label != error.label]
            good = left if len(left) < len(good) else []
    return {}, [], clocks[-1]


def _confirm(
    chosen: Selection, original: tuple[str, Path], signature: Signature, clock: CallCase, bench: Workbench,
    span: Span | None, most: float,
) -> Selection:  # fmt: skip
    """A second race of the winner with the original, as the user gets it, of whose time it may take so much: the best
    of several may owe its place to a moment in which the machine was busy with something else."""
    assert chosen.version is not None
    try:
        contestants = [original, (chosen.version.label, _compile_shipped(chosen.version, signature, bench))]
        before, after = measure_afresh(contestants, signature, clock, bench.budget / 2, 3, bench.threads)
    except ClockError as error:
        remark = Remark("clock", "refused", error.diagnostic.message, span)
        return Selection(None, None, None, None, (*chosen.remarks, remark), clock=clock)
    if after.median >= most * before.median:
        message = f"no version is faster (the best is {before.median / after.median:.2f}x); kept as written"
        remark = Remark("clock", "refused", message, span)
        remarks = (*chosen.remarks, remark)
        return replace(chosen, version=None, library=None, before=before, after=before, remarks=remarks)
    return replace(chosen, before=before, after=after)


def choose_fastest(times: Mapping[str, float], before: float, sizes: Mapping[str, int] | None = None) -> str | None:
    """The label of the least time, if it beats the original by the margin; of those that the clock does not tell apart,
    the one with the shortest text (of these `sizes`), or the first."""
    if not times:
        return None
    best = min(times.values())
    near = [x for x in times if times[x] <= TIE * best and times[x] < MARGIN * before]
    return min(near, key=lambda x: (sizes or {}).get(x, 0), default=None)
