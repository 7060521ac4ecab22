"""The oracle: two libraries that claim to compute the same are run side by side, and all that they leave is compared.

    verdict = compare(original, rewritten, signature, [Case({"n": 17}, {"x": 17})], Tolerance())
    verdict.status, verdict.message
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from planish.run.calls.signature import CallCase, Parameter, Signature
from planish.run.oracle.differential import LEAST_SECONDS, Comparison
from planish.run.oracle.series import DONE, SEEN, Series
from planish.run.oracle.tolerance import Tolerance
from planish.run.processes.sandbox import ChildResult, Limits, run_child
from planish.run.toolchains.link_stubs import missing_name

__all__ = ["CallCase", "Limits", "Parameter", "Signature", "Tolerance", "Verdict", "Where", "compare", "compare_each"]

DEFAULT_LIMITS = Limits(seconds=60)

VerdictStatus = Literal["ok", "mismatch", "crashed", "timeout", "memory", "weak", "not comparable"]


@dataclass(frozen=True, slots=True)
class Where:
    """The first place of a mismatch: the array (or "return"), its flat index (-1: beside the array), and the values."""

    array: str
    index: int
    got: float | int | None
    want: float | int | None
    case: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the oracle says of a candidate; only "ok" means verified.

    - "mismatch": a result differs, or the candidate writes beside an array; `where` tells the place.
    - "crashed", "timeout", "memory": the candidate did not come to its end.
    - "weak": nothing wrong was seen, but no random data gave a finite, well-conditioned result for the largest case,
      or for at least half of the cases (`weak_cases` holds their numbers).
    - "not comparable": the reference itself fails in the case after the `cases_run` that it came through.

    `worst_relative` is relative to the magnitude that `Tolerance` describes. `effects` are the calls of the candidate
    that changed an element or returned another number than 0, and `ran` in how many of these each nest ran that it
    counts (`planish.run.oracle.nest_coverage`).
    """

    status: VerdictStatus
    cases_run: int
    worst_absolute: float
    worst_relative: float
    where: Where | None
    message: str
    weak_cases: tuple[int, ...] = ()
    ran: tuple[int, ...] = ()
    effects: int = 0

    def joined(self, more: Verdict) -> Verdict:
        """Both of two verdicts that are "ok", on different calls."""
        return Verdict(
            "ok", self.cases_run + more.cases_run, max(self.worst_absolute, more.worst_absolute),
            max(self.worst_relative, more.worst_relative), None, "", self.weak_cases,
            tuple(a + b for a, b in zip(self.ran, more.ran, strict=True)), self.effects + more.effects,
        )  # fmt: skip


def compare(
    reference: Path,
    candidate: Path,
    signature: Signature,
    cases: Sequence[CallCase],
    tolerance: Tolerance | Literal["exact"] = "exact",
    limits: Limits = DEFAULT_LIMITS,
    patience: float = 0.0,
    emulator: tuple[str, ...] = (),
    exact: Path | None = None,
    least_seconds: float = LEAST_SECONDS,
) -> Verdict:
    """Runs both libraries (built with `entry_text` in them) in a child process on every case.

    Both get equal copies of random arrays between guard pages; every array and the returned value must agree in
    every bit ("exact"; any two NaNs agree) or within the tolerance. `limits` hold for all cases together; besides, one
    call of the candidate gets 50 times what the reference took, and at least `least_seconds`; one of the reference gets
    `patience` seconds, and some for its elements, where that is not 0. `emulator`: the command that calls libraries for
    another processor (`planish.run.toolchains.emulated`). `exact`: the reference in wider numbers
    (`planish.run.oracle.long_double`): where the tolerance does not hold, a result is accepted that is not much farther
    from it than the reference's own.
    """
    request = make_comparison(
        reference, candidate, signature, cases, tolerance, patience, emulator, exact, least_seconds
    )  # fmt: skip
    return compare_each((request,), limits)[0]


def make_comparison(
    reference: Path, candidate: Path, signature: Signature, cases: Sequence[CallCase],
    tolerance: Tolerance | Literal["exact"], patience: float, emulator: tuple[str, ...], exact: Path | None = None,
    least_seconds: float = LEAST_SECONDS,
) -> Comparison:  # fmt: skip
    """What `compare_each` is asked; as of `compare`."""
    bound = None if tolerance == "exact" else tolerance
    wider = "" if exact is None or bound is None else str(exact)
    return Comparison(
        str(reference), str(candidate), signature, tuple(cases), bound, patience, emulator, wider, least_seconds
    )  # fmt: skip


def compare_each(requests: Sequence[Comparison], limits: Limits = DEFAULT_LIMITS) -> tuple[Verdict, ...]:
    """The verdicts of comparisons that are made one after the other, each as if it were the only one, in one child
    process, and in another one after each that does not come to its end; `limits` hold for every single one."""
    verdicts: list[Verdict] = []
    while left := requests[len(verdicts) :]:
        series, bounds = Series(tuple(left), limits.seconds), replace(limits, seconds=limits.seconds * len(left))
        child = run_child("planish.run.oracle.series:check_each", series, bounds, spoiled=True)
        answers = [x.partition("\t")[2] for x in child.lines if x.startswith(DONE)]
        for request, answer in zip(left, answers, strict=False):
            verdicts.append(_verdict(json.loads(answer), request.signature, request.cases))
        if len(answers) == len(left):
            break
        failed = left[len(answers)]
        if child.progress.startswith("exact"):
            # It is the wider reference that does not come to its end: what it would say is not known.
            verdicts += compare_each((replace(failed, exact=""),), limits)
        else:
            verdicts.append(_broken(child, failed.signature, failed.cases, limits))
    return tuple(verdicts)


def survey(
    reference: Path, signature: Signature, cases: Sequence[CallCase], patience: float, emulator: tuple[str, ...] = (),
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[tuple[int, int, bool], ...]:  # fmt: skip
    """The numbers of the cases that a library (with `entry_text`) comes through, each with the bits of the nests that
    ran in it and whether it had an effect. A case at which the library ends the process is left out, and so are those
    to which it does not come within the limits."""
    request = Comparison(str(reference), "", signature, tuple(cases), None, patience, emulator)
    child = run_child("planish.run.oracle.series:survey_each", request, limits, spoiled=True)
    seen = [map(int, x.split("\t")[1:]) for x in child.lines if x.startswith(SEEN)]
    return tuple((number, nests, bool(effect)) for number, nests, effect in seen)


def _verdict(value: dict[str, Any], signature: Signature, cases: tuple[CallCase, ...]) -> Verdict:
    weak = tuple(value["weak_cases"])
    status: VerdictStatus = value["status"]
    message: str = value["message"]
    if status == "ok" and weak:
        largest = max(range(len(cases)), key=lambda number: sum(cases[number].elements.values()))
        if largest in weak or 2 * len(weak) > len(cases):
            status = "weak"
            example = cases[weak[-1]].describe(signature)
            message = f"no random data gave a finite and well-conditioned result for {len(weak)} cases, as {example}"
    where = None if value["where"] is None else Where(**value["where"])
    return Verdict(
        status, value["cases_run"], value["worst_absolute"], value["worst_relative"], where, message, weak,
        tuple(value["ran"]), value["effects"],
    )  # fmt: skip


def _broken(child: ChildResult, signature: Signature, cases: tuple[CallCase, ...], limits: Limits) -> Verdict:
    side, _, digits = child.progress.partition("\t")
    number = int(digits) if digits else 0
    match child.status:
        case "timeout":
            what = "did not come to its end"
        case "memory":
            what = f"used more than {limits.memory_bytes >> 20} MB of memory"
        case _:
            missing = missing_name(child.stderr)
            calls = f"calls `{missing}`, which this file does not define"
            what = calls if missing else f"crashed ({child.signal or 'it ended the process'})"
    at = f" ({cases[number].describe(signature)})" if digits else ""
    status: VerdictStatus = "crashed" if child.status == "ok" else child.status
    if side != "candidate":
        status = "not comparable"
    return Verdict(status, number, 0.0, 0.0, None, f"the {side or 'comparison'} {what}{at}")
