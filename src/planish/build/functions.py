"""Builds functions: drafts the versions of each, checks them, and takes the fastest; each within bounds of its own.

>>> BOUNDS.cpu
60.0
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, assert_never

from planish.build.batch import Entrant, check_together
from planish.build.emit import BLAS, make_drop_ins, tell_unemitted
from planish.build.job import Job, make_job
from planish.build.lower import RegionPlan, known_arguments, limit_plan, lower_plan
from planish.build.plan import plan_region, tell_over
from planish.build.selection import Probes, Selection, select
from planish.core.diagnostic import PlanishError, Remark
from planish.core.fork_pool import Bounds, Lost, run_apart
from planish.core.passes import PassTimes
from planish.core.progress import Progress, keep_quiet
from planish.core.reasons import LOSSES
from planish.emit.dropin.replacement import NoExtentError, Replacement
from planish.frontend.c.translation_unit import CFile, CFunction, Region
from planish.options import Options
from planish.poly.isl.affine import NotAffineError
from planish.poly.isl.op_budget import OverBudgetError, within
from planish.run.calls.passing import signature_of, why_not
from planish.run.calls.signature import CallCase, Signature
from planish.run.oracle.interpreter_check import confirm_meaning
from planish.run.processes.sandbox import expect_children
from planish.run.sizes.alike_elements import alike_cases
from planish.run.sizes.asked_sizes import chosen_cases
from planish.run.sizes.branch_inputs import BranchFinder
from planish.run.sizes.call_sizes import check_cases
from planish.run.sizes.derived_sizes import derived_cases
from planish.run.sizes.exit_inputs import exit_cases, with_far_exits
from planish.run.sizes.known_sizes import KnownSizes
from planish.run.sizes.workloads import clock_cases, probe_cases, require_sizes
from planish.run.toolchains.toolchain import missing_type
from planish.run.workbench import DropIn, Workbench
from planish.select.instruction import load_instructions
from planish.target.machine import Target
from planish.target.probe import usable_cores

BOUNDS = Bounds(cpu=60.0, wall=900.0)
"""For all analysis of a function, with the kernels of the library that are made on the way: a net below the bounds on
operations, which give the same everywhere. Only the clock on the wall counts what compilers and calls take."""

NARROW = 16
"""The bits of integers that strips are made of, of which one array at least consists."""
RETRIED = 8
"""The versions that are tried where the most promising one is no good, and nothing is timed."""


@dataclass(frozen=True, slots=True, eq=False)
class FunctionResult:
    """What became of one function; `timed` says with which arguments, `lost` is the code of what ended its analysis."""

    function: CFunction
    plans: tuple[RegionPlan, ...]
    selection: Selection | None
    replacements: tuple[Replacement, ...]
    remarks: tuple[Remark, ...]
    timed: str = ""
    lost: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class CalledNests:
    """Nests of a function that give way to calls, what is said of the others, and how the function is called for a
    check; `finder` finds calls that come to the nests."""

    plans: tuple[RegionPlan, ...]
    replacements: tuple[Replacement, ...]
    remarks: tuple[Remark, ...]
    signature: Signature
    known: tuple[KnownSizes, ...]
    finder: BranchFinder


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A function whose `versions` are to be checked by `cases`; `remarks` on it, and on what was `refused` when the
    versions were written."""

    function: CFunction
    plans: tuple[RegionPlan, ...]
    remarks: tuple[Remark, ...]
    signature: Signature
    known: tuple[KnownSizes, ...]
    cases: tuple[CallCase, ...]
    versions: tuple[DropIn, ...] = ()
    refused: tuple[Remark, ...] = ()

    def settled(self, selection: Selection) -> FunctionResult:
        """What becomes of the function by what was selected."""
        used = selection.version.shipped if selection.version is not None else ()
        timed = selection.describe_times(self.signature)
        remarks = self.said(selection)
        return FunctionResult(self.function, self.plans, selection, used, remarks, timed)

    def said(self, selection: Selection) -> tuple[Remark, ...]:
        """All remarks, each once, with those of what was selected."""
        return tuple(dict.fromkeys((*self.remarks, *self.refused, *selection.remarks)))


_Made = TypeVar("_Made", bound="Draft | FunctionResult")
_Piece = TypeVar("_Piece")
_Result = TypeVar("_Result")


def build_functions(
    functions: Sequence[CFunction], file: CFile, options: Options, target: Target, bench: Workbench,
    tell: Progress = keep_quiet, times: PassTimes | None = None,
) -> tuple[FunctionResult, ...]:  # fmt: skip
    """What becomes of each function, within bounds: one that takes too long, or is too much for what analyses it, stays
    as it is, with a remark. Where there is no clock, all are checked together, and those that are no good alone.
    `times` gets what passes take."""
    job = make_job(functions, file, options, target, bench, times)
    patience = options.patience
    bounds = BOUNDS if patience is None else replace(BOUNDS, wall=patience, until=time.monotonic() + patience)
    if any(x.regions for x in functions):
        expect_children()
    if len(functions) < 2 or job.options.measure or job.options.race:
        found = _run_apart(build_function, functions, job, tell, bounds)
        return tuple(_kept(f, x, bounds) for f, x in zip(functions, found, strict=True))
    _load_shared(functions, target, job.options)
    pieces = _run_apart(_draft_first, functions, job, tell, bounds, usable_cores())
    made = [_kept(f, x, bounds) for f, x in zip(functions, pieces, strict=True)]
    results = _check_together(made, job, tell)
    left = [x for x in made if isinstance(x, Draft) and x.function.name not in results]
    rest = _run_apart(_settle, left, job, tell, bounds)
    results |= {x.function.name: _kept(x.function, y, bounds) for x, y in zip(left, rest, strict=True)}
    return tuple(results[x.function.name] if isinstance(x, Draft) else x for x in made)


def _load_shared(functions: Sequence[CFunction], target: Target, options: Options) -> None:
    """Reads what several functions need of the machine's instructions, so that the processes of all have it."""
    if target.vector_extension is None or options.threads != 1:
        return
    narrow = [{x.type.bits for r in f.regions for x in r.kernel.arrays if x.type.is_int} for f in functions]
    narrow = [x for x in narrow if x and min(x) <= NARROW]
    load_instructions(target, set.union(*narrow) if len(narrow) > 1 else ())


def _run_apart(
    work: Callable[[_Piece, Job, Progress], _Result], pieces: Sequence[_Piece], job: Job, tell: Progress,
    bounds: Bounds, lanes: int = 1,
) -> tuple[_Result | Lost, ...]:
    """What becomes of pieces of the work, each in a process with bounds, which measures its passes for itself."""

    def timed(piece: _Piece, tell: Progress) -> tuple[_Result, dict[str, float]]:
        own = replace(job, times=PassTimes())
        return work(piece, own, tell), own.times.seconds

    found = tuple(run_apart(timed, pieces, bounds, tell, lanes))
    for x in found:
        job.times.add({} if isinstance(x, Lost) else x[1])
    return tuple(x if isinstance(x, Lost) else x[0] for x in found)


def _check_together(made: Sequence[Draft | FunctionResult], job: Job, tell: Progress) -> dict[str, FunctionResult]:
    """The drafts whose first version is good beside those of the others, by the names of the functions."""
    drafts = {x.function.name: x for x in made if isinstance(x, Draft)}
    if len(drafts) < 2:
        return {}
    tell(f"checking {len(drafts)} functions together")
    entrants = [Entrant(x.signature, x.cases, x.versions[0]) for x in drafts.values() if x.cases]
    with job.times.during("verify"):
        taken = check_together(entrants, job.file.source, job.reference, job.bench)
    return {name: drafts[name].settled(selection) for name, selection in taken.items()}


def call_nests(
    function: CFunction, plans: Iterable[RegionPlan], make: Callable[[RegionPlan], Replacement], text: str
) -> FunctionResult | CalledNests:
    """Nests of a function as calls of code that is made elsewhere, ready for a check; why the function stays as it is,
    where none can be called or it cannot."""
    called: list[RegionPlan] = []
    replacements: list[Replacement] = []
    remarks: list[Remark] = []
    for plan in plans:
        try:
            replacements.append(make(plan))
        except (NoExtentError, NotAffineError, PlanishError) as error:
            remarks.append(tell_unemitted(error, plan.region.span))
            continue
        called.append(plan)
    signature = signature_of(function)
    if signature is None and replacements:
        remarks.append(_tell_uncalled(function))
    if signature is None or not replacements:
        return FunctionResult(function, tuple(called), None, (), tuple(remarks))
    known = tuple(known_arguments(x, function, text) for x in called)
    finder = BranchFinder(text, function, signature, known)
    return CalledNests(tuple(called), tuple(replacements), tuple(remarks), signature, known, finder)


def _tell_uncalled(function: CFunction) -> Remark:
    message = f"it cannot be called for a check: {why_not(function)}; kept as written"
    return Remark("verify-signature", "refused", message, function.span)


def _kept(function: CFunction, found: _Made | Lost, bounds: Bounds) -> _Made | FunctionResult:
    """What was found in another process, of the function as it is known here."""
    if isinstance(found, Lost):
        remark = Remark(LOSSES[found.cause], "refused", f"its analysis {_describe(found, bounds)}", function.span)
        return FunctionResult(function, (), None, (), (remark,), lost=LOSSES[found.cause])
    return replace(found, function=function)


def _describe(lost: Lost, bounds: Bounds) -> str:
    match lost.cause:
        case "processor":
            return f"takes more than {bounds.cpu:g} s of the processor's time"
        case "wall":
            return f"is not done after {bounds.wall:.3g} s, most of which it waited"
        case "depth":
            return "meets what is nested too deep"
        case "killed":
            return f"was killed ({lost.how})"
        case "crash":
            return f"crashed ({lost.how}), which is a bug in Planish"
        case _:
            assert_never(lost.cause)


def build_function(function: CFunction, job: Job, tell: Progress = keep_quiet) -> FunctionResult:
    """The fastest verified version of a function, or the function as it is."""
    first = _draft_first(function, job, tell)
    return _settle(first, job, tell) if isinstance(first, Draft) else first


def _draft_first(function: CFunction, job: Job, tell: Progress) -> Draft | FunctionResult:
    """The versions that are tried first: without the clock the most promising one, and the others are made only if
    that one is no good."""
    bench = job.bench
    if missing := missing_type(bench.compiler, job.file.types):
        return FunctionResult(function, (), None, (), (Remark("verify-type", "refused", missing, function.span),))
    if bench.runner.missing:
        message = f"nothing can be checked: {bench.runner.missing}; kept as written"
        return FunctionResult(function, (), None, (), (Remark("verify-emulator", "refused", message, function.span),))
    return _draft(function, job, tell, None if job.options.measure else 1)


def _settle(draft: Draft, job: Job, tell: Progress) -> FunctionResult:
    """The result of a function that is checked alone."""
    first = _choose_version(draft, job, tell)
    if job.options.measure or first.selection is None or not first.selection.refuted:
        return first
    again = _draft(draft.function, job, tell, RETRIED)
    return _choose_version(again, job, tell) if isinstance(again, Draft) else again


def _draft(function: CFunction, job: Job, tell: Progress, most: int | None) -> Draft | FunctionResult:
    """The versions of a function and the calls that check them, or why there are none."""
    file, options, bench = job.file, job.options, job.bench
    tell(f"{function.name}: finding schedules")
    plans = tuple(_lower_seen(r, job, most, tell) for r in function.regions)
    remarks = tuple(r for p in plans for r in p.remarks)
    if not any(p.versions for p in plans):
        return FunctionResult(function, plans, None, (), remarks)
    signature = signature_of(function)
    if signature is None:
        return FunctionResult(function, plans, None, (), (*remarks, _tell_uncalled(function)))
    known = tuple(known_arguments(p, function, file.source.text) for p in plans if p.prepared is not None)
    require_sizes(function, known, options.sizes, file.source)
    try:
        cases = within(
            lambda: (
                *check_cases(function, known, options.sizes),
                *exit_cases(function, known),
                *alike_cases(function, known),
                *derived_cases(function, known),
            )
        )
    except OverBudgetError:
        over = tell_over("calls that check it are not found", function.span)
        return FunctionResult(function, plans, None, (), (*remarks, over))
    if function.meaning is not None:
        library = job.reference.library_for(signature)
        missing = confirm_meaning(library, function.meaning, signature, cases, bench.runner.command)
        if missing:
            remarks = (*remarks, Remark("verify-meaning", "note", missing, function.span))
    return _with_versions(Draft(function, plans, remarks, signature, known, tuple(cases)), job)


def _lower_seen(region: Region, job: Job, most: int | None, tell: Progress) -> RegionPlan:
    """The versions of a region as far as a check compares all that it changes."""
    if region.unseen:
        message = f"no check compares what {', '.join(region.unseen)} holds; kept as written"
        return RegionPlan(region, None, (), (Remark("verify-unseen", "refused", message, region.span),))
    with job.times.during("plan"):
        plan = plan_region(region, job.options, job.target, tell)
    with job.times.during("lower"):
        # Where there is a clock, it tells from which sizes on a version is used.
        return lower_plan(plan, job.options, most, gaining=not job.options.measure)


def _with_versions(draft: Draft, job: Job) -> Draft | FunctionResult:
    """A draft with the texts that its plans give, or why there are none."""
    with job.times.during("emit"):
        versions, refused = make_drop_ins(draft.plans, job.file, job.options, job.bench.blas)
    if not versions:
        return FunctionResult(draft.function, draft.plans, None, (), (*draft.remarks, *refused))
    nests = [y for x in versions for y in x.nests]
    try:
        chosen = within(lambda: chosen_cases(draft.function, draft.known, nests))
    except OverBudgetError:
        over = tell_over("sizes for which new code does something else are not found", draft.function.span)
        return FunctionResult(draft.function, draft.plans, None, (), (*draft.remarks, *refused, over))
    more = tuple(x for x in chosen if x not in draft.cases)
    return replace(draft, versions=versions, refused=refused, cases=(*draft.cases, *more))


def _choose_version(draft: Draft, job: Job, tell: Progress) -> FunctionResult:
    """The version that is taken of those of a draft, checked alone and timed where there is a clock."""
    function, signature, known, options, file = draft.function, draft.signature, draft.known, job.options, job.file
    clocks = clock_cases(function, known, options.sizes, file.source) if options.measure else ()
    clocks = with_far_exits(function, clocks)
    probing = options.measure or options.race
    probes = probe_cases(function, known, options.sizes, job.target.caches, file.source) if probing else ()
    probes = tuple(with_far_exits(function, probes))

    def limited(label: str, fast: Sequence[CallCase], slow: Sequence[CallCase]) -> DropIn | None:
        """A version for calls like some and not like others, by a condition on the sizes of each region; what asks
        nothing of sizes, as a call of a BLAS, is none."""
        if label == BLAS:
            return None
        told = tuple(limit_plan(p, label, function, fast, slow) for p in draft.plans)
        # Each region has one version now, so that there is one text, of whatever name.
        made, _ = make_drop_ins(told, file, options)
        return replace(made[0], label=label) if made else None

    more = Probes(probes, limited)
    finder = BranchFinder(file.source.text, function, signature, known)
    while True:
        tell(f"{function.name}: checking{' and timing' if clocks else ''} {len(draft.versions)} versions")
        selection = select(
            job.reference, draft.versions, signature, draft.cases, clocks, job.bench, function.span, finder.find, more,
            job.times,
        )
        # What was not seen to run stays as it is, and the other nests are tried without it.
        idle = selection.idle
        left = tuple(replace(p, versions=()) if p.region.start in idle else p for p in draft.plans)
        if selection.version is not None or left == draft.plans or not any(p.versions for p in left):
            return draft.settled(selection)
        again = _with_versions(replace(draft, plans=left, remarks=draft.said(selection)), job)
        if not isinstance(again, Draft):
            return again
        draft = again
