"""Of several versions of a function, the fastest that was shown to compute the same; or the original.

>>> Selection(None, None, None, None, ()).version is None
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from planish.build.time import MARGIN, RERUNS, Race, build_rival, choose_alike, choose_fastest, race, race_others
from planish.build.verify import Find, Verified, compare_calls, compile_shipped, enter, refute, verify, verify_all
from planish.core.diagnostic import Remark
from planish.core.passes import PassTimes
from planish.core.span import Span
from planish.run.calls.signature import CallCase, Signature
from planish.run.oracle.comparison import Verdict
from planish.run.timing.clock import ClockError, Timing, measure_afresh
from planish.run.workbench import DropIn, Reference, Workbench

GAIN = 1.1
"""One that is as fast as the original is taken if it is so many times faster in another call, and slower in none."""
HOPELESS = 0.9
"""One that seems to be as much slower is not as fast in truth."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What came out: the version in use (None: the original), how it was verified, and the times in seconds.

    `library` is the version in use as it was built and verified, in the workbench's folder; `clock` the call that was
    timed, `others` what other calls took. `limited`: sizes choose between the version and the original.
    `idle` are the beginnings of nests that no call ran; `refuted`: a version did not compile, or computed something
    else, so that another one may do better. `raced`: what all versions took that ran beside the original.
    """

    version: DropIn | None
    verdict: Verdict | None
    before: Timing | None
    after: Timing | None
    remarks: tuple[Remark, ...]
    library: Path | None = None
    clock: CallCase | None = None
    idle: frozenset[int] = frozenset()
    others: tuple[Race, ...] = ()
    limited: bool = False
    refuted: bool = False
    raced: tuple[Timing, ...] = ()
    cases: tuple[CallCase, ...] = ()

    def describe_times(self, signature: Signature) -> str:
        """The call that was timed, and the others with what the version gains in them."""
        first = [] if self.clock is None else [self.clock.describe(signature)]
        also = [f"{x.case.describe(signature)}: {x.ratio:.2f}x" for x in self.others]
        where = " (the original runs where the version is slower)" if self.limited else ""
        return "; ".join((*first, *also)) + where


@dataclass(frozen=True, slots=True)
class Probes:
    """Calls in which a version must not be slower either, and what makes a version that is only used for calls like
    some, and not like others (None: nothing tells these apart)."""

    cases: tuple[CallCase, ...] = ()
    limit: Callable[[str, Sequence[CallCase], Sequence[CallCase]], DropIn | None] = lambda label, fast, slow: None


def select(
    reference: Reference, versions: Sequence[DropIn], signature: Signature, cases: Sequence[CallCase],
    clocks: Sequence[CallCase], bench: Workbench, span: Span | None, find: Find = lambda bench, nests: (),
    probes: Probes | None = None, times: PassTimes | None = None,
) -> Selection:  # fmt: skip
    """Verify the versions and, where there are `clocks`, time them against the original under its best flags: with the
    first of these calls in which it does not crash. `find` is asked for calls where these do not run all nests. The
    version in use is slower in none of the `probes`; `times` gets what this takes. PlanishError where the original does
    not compile."""
    times = times or PassTimes()
    with times.during("verify"):
        seen = verify_all(reference, versions, signature, cases, bench, span, find, 1 if not clocks else None)
    if not seen.good:
        return Selection(None, None, None, None, seen.remarks, idle=seen.idle, refuted=seen.refuted)
    with times.during("time"):
        if clocks:
            made = _select_timed(
                [*seen.good], reference, signature, seen.cases, clocks, bench, [*seen.remarks], span, probes or Probes()
            )  # fmt: skip
        else:
            made = _select_first(seen, reference, signature, bench, span, probes)
    return replace(made, refuted=seen.refuted, cases=made.cases or seen.cases)


def _select_first(
    seen: Verified, reference: Reference, signature: Signature, bench: Workbench, span: Span | None,
    probes: Probes | None,
) -> Selection:  # fmt: skip
    """The first version, where it is slower in no probe."""
    version, verdict, library = seen.good[0]
    taken = Selection(version, verdict, None, None, seen.remarks, library)
    if probes is None or not probes.cases:
        return taken
    rival = build_rival(reference, signature, bench)
    found = _probe(taken, rival, reference, signature, seen.cases, bench, probes, span)
    if isinstance(found, Selection):
        return found
    return replace(taken, version=None, library=None, remarks=(*taken.remarks, found))


def _select_timed(
    good: list[tuple[DropIn, Verdict, Path]], reference: Reference, signature: Signature, cases: Sequence[CallCase],
    clocks: Sequence[CallCase], bench: Workbench, remarks: list[Remark], span: Span | None, probes: Probes,
) -> Selection:  # fmt: skip
    rival = build_rival(reference, signature, bench)
    timings, good, clock = race(rival, good, signature, clocks, bench, remarks, span)
    if not good:
        return Selection(None, None, None, None, tuple(remarks), clock=clock)
    raced = tuple(timings[version.label] for version, _, _ in good)
    chosen = _select_raced(timings, good, clock, rival, reference, signature, cases, bench, remarks, span, probes)
    return replace(chosen, raced=raced)


def _select_raced(
    timings: Mapping[str, Timing], good: list[tuple[DropIn, Verdict, Path]], clock: CallCase, rival: tuple[str, Path],
    reference: Reference, signature: Signature, cases: Sequence[CallCase], bench: Workbench, remarks: list[Remark],
    span: Span | None, probes: Probes,
) -> Selection:  # fmt: skip
    """The fastest of the versions that were timed that holds in a second race, and in no other call is slower."""
    before = timings[rival[0]]
    even: list[tuple[DropIn, Verdict, Path]] = []
    refused: Selection | None = None
    size = {v.label: len(v.text) for v, _, _ in good}
    while good:
        label = choose_fastest({v.label: timings[v.label].median for v, _, _ in good}, before.median, size)
        if label is None:
            break
        first = next(g for g in good if g[0].label == label)
        version, verdict, library = first
        chosen = Selection(version, verdict, before, timings[label], tuple(remarks), library, clock)
        found = confirm(chosen, rival, signature, clock, bench, span)
        good = [x for x in good if x is not first]
        if found.version is None:
            if found.before is None:
                return found
            # The machine may have been busy while the others ran: one of them may be the fastest in truth.
            even, refused = [*even, first], refused or found
            continue
        wrong = check_timed(found, reference, signature, cases, bench)
        if wrong is None:
            kept = _probe(found, rival, reference, signature, cases, bench, probes, span)
            if isinstance(kept, Selection):
                return kept
            wrong = kept
        remarks.append(replace(wrong, span=span))
    even += good
    if even:
        label = choose_alike({x.label: timings[x.label].median for x, _, _ in even}, size)
        version, verdict, library = next(x for x in even if x[0].label == label)
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
    one; or where there is no other one, so that what is expected of it decides, and not the moment. None where that is
    not so."""
    assert best.before is not None and best.after is not None and best.clock is not None
    if Race(best.clock, best.before, best.after).ratio < HOPELESS:
        return None
    try:
        again = _race_again(best, rival, signature, best.clock, bench)
        for _ in range(RERUNS):
            if again.seems_lost:
                again = again.joined(_race_again(best, rival, signature, best.clock, bench))
    except ClockError:
        return None
    found = replace(best, before=again.before, after=again.after)
    if again.is_lost or check_timed(found, reference, signature, cases, bench) is not None:
        return None
    if not probes.cases:
        return found
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
        races += race_others(version, rival, signature, left, bench)
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
    outcome, _ = verify(limited, reference, signature, cases, bench)
    if isinstance(outcome, Remark):
        return outcome
    kept = min((x.case for x in races if not x.is_lost), key=lambda x: sum(x.elements.values()), default=None)
    entered = enter(limited, outcome, reference, signature, kept, bench)
    if isinstance(entered, Remark):
        return entered
    try:
        again = race_others(limited, rival, signature, [x.case for x in races], bench)
    except ClockError as error:
        return Remark("clock", "refused", error.diagnostic.message, span)
    if len(again) < len(races) or any(x.is_lost for x in again):
        return refused
    # What could not be limited is left as it was written: something has to be gained without it.
    if first and again[0].after.median >= MARGIN * again[0].before.median:
        return refused
    found = replace(
        chosen, version=limited, verdict=entered, library=outcome[1], others=tuple(again[first:]), limited=True,
        cases=(*cases, *([] if kept is None else [kept])),
    )  # fmt: skip
    return replace(found, before=again[0].before, after=again[0].after) if first else found


def check_timed(
    chosen: Selection, reference: Reference, signature: Signature, cases: Sequence[CallCase], bench: Workbench
) -> Remark | None:
    """What is wrong with a version at the call that was timed, if that is none of the cases: where there is much to do,
    it may take other ways. None where nothing is."""
    version, library, clock = chosen.version, chosen.library, chosen.clock
    if version is None or library is None or clock is None:
        return None
    if any((x.values, x.elements) == (clock.values, clock.elements) for x in cases):
        return None
    found = compare_calls(version, reference, library, signature, (clock,), bench)
    if found.status in ("ok", "weak", "not comparable"):
        return None
    return refute(f"{version.label}: the call that was timed", found, bench)


def confirm(
    chosen: Selection, original: tuple[str, Path], signature: Signature, clock: CallCase, bench: Workbench,
    span: Span | None,
) -> Selection:  # fmt: skip
    """A second race of the winner with the original, as the user gets it: the best of several may owe its place to a
    moment in which the machine was busy with something else."""
    try:
        again = _race_again(chosen, original, signature, clock, bench)
    except ClockError as error:
        remark = Remark("clock", "refused", error.diagnostic.message, span)
        return Selection(None, None, None, None, (*chosen.remarks, remark), clock=clock)
    before, after = again.before, again.after
    if after.median >= MARGIN * before.median:
        message = f"no version is faster (the best is {before.median / after.median:.2f}x); kept as written"
        remark = Remark("clock", "refused", message, span)
        remarks = (*chosen.remarks, remark)
        return replace(chosen, version=None, library=None, before=before, after=before, remarks=remarks)
    return replace(chosen, before=before, after=after)


def _race_again(
    chosen: Selection, original: tuple[str, Path], signature: Signature, clock: CallCase, bench: Workbench
) -> Race:
    """The version in use beside the original, as the user gets both; raises ClockError."""
    assert chosen.version is not None
    contestants = [original, (chosen.version.label, compile_shipped(chosen.version, signature, bench))]
    return Race(clock, *measure_afresh(contestants, signature, clock, bench.budget / 2, 3, bench.threads))
