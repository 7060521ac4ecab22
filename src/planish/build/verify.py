"""Verifies versions: each computes what the original does, in calls in which its new code was seen to run.

>>> PATIENCE
4.0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from planish.core.diagnostic import PlanishError, Remark
from planish.core.span import Span
from planish.run.calls.signature import CallCase, Signature
from planish.run.oracle.comparison import Verdict, compare
from planish.run.oracle.nest_coverage import LEAST_CALLS, missed
from planish.run.workbench import DropIn, Reference, ReplacedNest, Workbench

PATIENCE = 4.0
"""Seconds for a call of the original, besides some for its elements: it may loop for ever with sizes that it does not
expect."""

Find = Callable[[Workbench, Sequence[ReplacedNest]], tuple[CallCase, ...]]
"""More calls, in which the original comes to some nests."""


@dataclass(frozen=True, slots=True, eq=False)
class Verified:
    """The versions that compute the same, with what was found and their libraries; the cases that the original comes
    through; why the others are not `good`; the beginnings of nests that no call ran; and whether any was `refuted`: it
    did not compile, or computed something else."""

    good: tuple[tuple[DropIn, Verdict, Path], ...]
    cases: tuple[CallCase, ...]
    remarks: tuple[Remark, ...]
    idle: frozenset[int]
    refuted: bool


def verify_all(
    reference: Reference, versions: Sequence[DropIn], signature: Signature, cases: Sequence[CallCase],
    bench: Workbench, span: Span | None, find: Find, enough: int | None = None,
) -> Verified:  # fmt: skip
    """Verifies versions until `enough` are good; PlanishError where the original does not compile."""
    reference.library_for(signature)  # first: what is wrong with the file itself is told
    remarks: list[Remark] = []
    good: list[tuple[DropIn, Verdict, Path]] = []
    idle, refuted, failed = frozenset[int](), False, 0
    for version in versions:
        missing = frozenset[int]()
        given = len(cases)
        outcome, cases = verify(version, reference, signature, cases, bench)
        failed += given - len(cases)
        if not isinstance(outcome, Remark):
            outcome, cases, missing = exercise(version, *outcome, reference, signature, cases, bench, find, failed)
            idle |= missing
        if isinstance(outcome, Remark):
            remarks.append(replace(outcome, span=outcome.span or span))
            if not cases:
                break
            refuted = refuted or not missing
            continue
        good.append((version, *outcome))
        if len(good) == enough:
            break
    return Verified(tuple(good), tuple(cases), tuple(remarks), idle, refuted)


def compile_shipped(version: DropIn, signature: Signature, bench: Workbench) -> Path:
    """A version as the user gets it: without what notes the nests that ran, by the command that he is told."""
    return bench.build(version.text, (signature,), (*bench.command_flags, *version.link))


def verify(
    version: DropIn, reference: Reference, signature: Signature, cases: Sequence[CallCase], bench: Workbench
) -> tuple[tuple[Verdict, Path] | Remark, tuple[CallCase, ...]]:  # fmt: skip
    """The verdict and the library of a version that computes the same, or a remark; and the cases that the original
    itself comes through (what it may be called with is its author's to say)."""
    left, why = tuple(cases), "there are none"
    try:
        library = bench.build_checked(version, (signature,))
    except PlanishError as error:
        return Remark("verify-compile", "refused", f"{version.label}: {error.diagnostic.message}"), left
    while left:
        verdict = compare_calls(version, reference, library, signature, left, bench)
        match verdict.status:
            case "ok":
                return (verdict, library), left
            case "not comparable":
                left, why = without_failed(left, verdict), verdict.message
            case _:
                return refute(version.label, verdict, bench), left
    message = f"the original comes through none of the calls that could be made up for it ({why}); kept as written"
    return Remark("verify-none", "refused", message), ()


def refute(what: str, found: Verdict, bench: Workbench) -> Remark:
    """What is said of a version, or a call of it, that is not right. A float that differs may be a sum in another
    order, where that is allowed."""
    differs = found.status == "mismatch" and found.where is not None and isinstance(found.where.want, float)
    message = f"{what}: {found.status}: {found.message}"
    if differs and bench.floats != "strict":
        return Remark("verify-order", "refused", message)
    if found.status == "timeout":
        return Remark("verify-time", "refused", message)
    return Remark("verify-result", "refused", message)


def exercise(
    version: DropIn, verdict: Verdict, library: Path, reference: Reference, signature: Signature,
    cases: tuple[CallCase, ...], bench: Workbench, find: Find, failed: int = 0,
) -> tuple[tuple[Verdict, Path] | Remark, tuple[CallCase, ...], frozenset[int]]:  # fmt: skip
    """The verdict of a version that was seen to run, also in calls that are searched for that, or a remark; all cases;
    and the beginnings of the nests that did not run. `failed`: in so many others the original fails, or, behind one in
    which it does not come to its end, was not tried."""
    least = min(LEAST_CALLS, len(cases))
    idle = missed(verdict.ran, len(version.nests), least)
    if idle and (more := find(bench, [version.nests[x] for x in idle])):
        outcome, more = verify(version, reference, signature, more, bench)
        if not isinstance(outcome, Remark):
            verdict, cases = verdict.joined(outcome[0]), (*cases, *more)
            idle = missed(verdict.ran, len(version.nests), LEAST_CALLS)
        elif more:
            return outcome, cases, frozenset()
    if not idle:
        return (verdict, library), cases, frozenset()
    nest, count = version.nests[idle[0]], verdict.ran[idle[0]]
    what = f"the new code ran and changed something in {count or 'none'} of {verdict.cases_run} calls"
    what += f"; the original fails, or was not tried, in {failed} others" if failed else ""
    remark = Remark("verify-exercised", "refused", f"{version.label}: not exercised: {what}", nest.span)
    return remark, cases, frozenset(version.nests[x].start for x in idle)


def compare_calls(
    version: DropIn,
    reference: Reference,
    library: Path,
    signature: Signature,
    cases: Sequence[CallCase],
    bench: Workbench,
) -> Verdict:
    tolerance, command, least = version.tolerance(bench.floats), bench.runner.command, bench.least_seconds
    right = reference.library_for(signature)
    found = compare(right, library, signature, cases, tolerance, bench.limits, PATIENCE, command, None, least)
    beside = found.where is not None and found.where.index < 0
    if found.status not in ("mismatch", "weak") or beside or tolerance == "exact" or command:
        return found
    if (exact := reference.widen(signature)) is None:
        return found
    return compare(right, library, signature, cases, tolerance, bench.limits, PATIENCE, (), exact, least)


def without_failed(cases: tuple[CallCase, ...], verdict: Verdict) -> tuple[CallCase, ...]:
    """The cases but the one at which the original failed; after one that does not end, no later one would either."""
    failed = verdict.cases_run
    return cases[:failed] if "did not come to its end" in verdict.message else cases[:failed] + cases[failed + 1 :]


def enter(
    limited: DropIn, found: tuple[Verdict, Path], reference: Reference, signature: Signature, case: CallCase | None,
    bench: Workbench,
) -> Verdict | Remark:  # fmt: skip
    """What is said of a version that some sizes do not enter, after a call that does; a remark where all of its nests
    have not been seen to run."""
    verdict, library = found
    if case is not None:
        more = compare_calls(limited, reference, library, signature, (case,), bench)
        if more.status not in ("ok", "weak", "not comparable"):
            return refute(limited.label, more, bench)
        verdict = verdict.joined(more) if more.status == "ok" else verdict
    if idle := missed(verdict.ran, len(limited.nests), 1):
        message = f"{limited.label}: not exercised: the new code ran and changed something in none of its calls"
        return Remark("verify-exercised", "refused", message, limited.nests[idle[0]].span)
    return verdict
