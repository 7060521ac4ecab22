"""The whole compiler on one screen: C text, or MLIR, in, a verified and faster drop-in out.

read -> prepare (rows and columns, private locals, dependences) -> plan (versions, each proven legal)
     -> lower (a nest) -> emit (C) -> verify (beside the original) -> measure -> assemble

>>> Options().fp
'reassociate'
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar, assert_never

import islpy as isl

from planish.core.cache import Cache
from planish.core.diagnostic import Remark
from planish.core.fork_pool import Bounds, Lost, run_apart
from planish.core.progress import Progress, keep_quiet
from planish.core.reasons import LOSSES
from planish.core.span import Source
from planish.emit.dropin.header import emit_header, share_types
from planish.emit.dropin.patched_file import emit_banner
from planish.emit.dropin.replacement import Replacement, compose
from planish.frontend.c.translation_unit import CFile, CFunction, Region
from planish.ir.checker import check_kernel
from planish.library.dense.panel_factorisation import is_searching, stepwise_versions
from planish.library.further import further_versions, library_versions
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.likely import likely_version
from planish.library.parallel.thread_threshold import start_where_worth
from planish.library.signal.fft_stages.radix_stages import stage_versions
from planish.library.signal.fft_stages.stage_kernels import StageVersion
from planish.library.signal.stockham_fft import transform_versions
from planish.options import Options as Options
from planish.poly.isl.affine import NotAffineError
from planish.poly.isl.op_budget import PASS, OverBudgetError, within
from planish.reading import read_file as read_file
from planish.run.calls.passing import signature_of, why_not
from planish.run.calls.signature import CallCase, Signature
from planish.run.oracle.batch import Entrant, check_together
from planish.run.oracle.interpreter_check import confirm_meaning
from planish.run.selection import Probes, Selection, select
from planish.run.size_condition import limit_candidate, limit_stages
from planish.run.sizes.branch_inputs import BranchFinder
from planish.run.sizes.call_sizes import KnownSizes, check_cases, find_known
from planish.run.sizes.workloads import clock_cases, probe_cases, require_sizes
from planish.run.toolchains.blas import find_blas
from planish.run.toolchains.cross import compiler_for, runner_for
from planish.run.toolchains.missing_headers import pointing_at_headers
from planish.run.toolchains.toolchain import missing_type
from planish.run.workbench import Reference, Version, Workbench
from planish.schedule.auto.plan import Candidate, plan, prepare
from planish.schedule.auto.tiling.description import tell_nothing_found
from planish.schedule.run_script import follow
from planish.target.load import load_target
from planish.target.machine import Target
from planish.target.probe import usable_cores
from planish.texts import BLAS, tell_over
from planish.texts import RegionPlan as RegionPlan
from planish.texts import make_replacement as make_replacement
from planish.texts import make_versions as make_versions
from planish.texts import sizes_of as sizes_of
from planish.version import VERSION

BOUNDS = Bounds(cpu=60.0, wall=900.0)
"""For all analysis of a function, with the kernels of the library that are made on the way: a net below the bounds on
operations, which give the same everywhere. Only the clock on the wall counts what compilers and calls take."""


@dataclass(frozen=True, slots=True, eq=False)
class FunctionResult:
    """What became of one function; `timed` says with which arguments."""

    function: CFunction
    plans: tuple[RegionPlan, ...]
    selection: Selection | None
    replacements: tuple[Replacement, ...]
    remarks: tuple[Remark, ...]
    timed: str = ""


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
    versions: tuple[Version, ...] = ()
    refused: tuple[Remark, ...] = ()

    def settled(self, selection: Selection) -> FunctionResult:
        """What becomes of the function by what was selected."""
        used = selection.version.shipped if selection.version is not None else ()
        timed = selection.describe_times(self.signature)
        return FunctionResult(self.function, self.plans, selection, used, self.said(selection), timed)

    def said(self, selection: Selection) -> tuple[Remark, ...]:
        """All remarks, each once, with those of what was selected."""
        return tuple(dict.fromkeys((*self.remarks, *self.refused, *selection.remarks)))


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """What all functions of a build have in common; see `make_job`."""

    file: CFile
    options: Options
    target: Target
    bench: Workbench
    reference: Reference


_Made = TypeVar("_Made", bound="Draft | FunctionResult")


@dataclass(frozen=True, slots=True, eq=False)
class FileResult:
    """What became of one file: the drop-in's text, its header, and the account of each function; `emulator`: what ran
    the checks, where this processor did not."""

    source: Source
    text: str
    header: str
    functions: tuple[FunctionResult, ...]
    remarks: tuple[Remark, ...]
    emulator: str = ""


def build_file(source: Source, options: Options, tell: Progress = keep_quiet) -> FileResult:
    """The drop-in replacement of a C file, or the C of one of MLIR; PlanishError for input that cannot be read."""
    tell("reading")
    target, file = load_target(options.target), read_file(source, options)
    functions = [f for f in file.functions if options.function in (None, f.name)]
    with tempfile.TemporaryDirectory(prefix="planish-") as folder:
        bench = make_workbench(options, target, Path(folder), source)
        with pointing_at_headers(file.remarks, source):
            results = build_functions(functions, file, options, target, bench, tell)
    return assemble_file(file, options, results, bench)


def make_workbench(options: Options, target: Target, folder: Path, source: Source) -> Workbench:
    """The compiler and flags with which versions are checked and timed, what runs them, and the BLAS; PlanishError as
    of `compiler_for` and `find_blas`."""
    compiler = compiler_for(target, options.compiler)
    blas = find_blas(options.blas, options.ilp64, compiler) if options.blas is not None else None
    beside = Path(source.name).resolve().parent
    return Workbench(
        compiler, target.flags_for(compiler.kind), folder, options.fp, options.threads,
        (beside, *options.include_dirs), options.defines, options.budget, blas, runner_for(target, compiler, folder),
    )  # fmt: skip


def plan_region(region: Region, options: Options, target: Target, most: int | None = None) -> RegionPlan:
    """The versions of one region, the most promising first; at most `most` of them, and of those that do several
    iterations of the loop around it."""
    if options.script is not None:
        return _plan_nest(region, options, target, most)
    nest = RegionPlan(region, None, (), ()) if region.reversal else _plan_nest(region, options, target, most)
    try:
        stages, remarks = within(lambda: stage_versions(region, target, most, options.threads), 4 * PASS)
    except OverBudgetError:
        stages, remarks = (), (tell_over("versions of the loop around it are not found", region.span),)
    remarks = (*nest.remarks, *remarks)
    if not (stages or nest.candidates or any(r.kind == "refused" for r in remarks)):
        remarks = (*remarks, Remark("schedule-none", "refused", "no legal schedule was found", region.span))
    return replace(nest, stages=stages, remarks=remarks)


def _plan_nest(region: Region, options: Options, target: Target, most: int | None) -> RegionPlan:
    """The versions of one region by itself."""
    spoken: tuple[Remark, ...] = ()
    try:
        check_kernel(region.kernel, "read")
        prepared = within(lambda: prepare(region.kernel))
        reassociate = options.fp == "reassociate"
        if options.script is not None:
            prepared, made = follow(prepared, options.script, options.fp, options.catalogue)
            candidates: tuple[Candidate, ...] = (made,)
        elif is_searching(region.kernel):
            # To search for what is chosen is no version that is worth trying.
            candidates, spoken = stepwise_versions(
                region.kernel, prepared, target, options.fp, KernelCache(Cache()), options.threads
            )
        else:
            sizes = sizes_of(region, options)
            candidates, spoken = transform_versions(prepared, target, options.fp, sizes, options.threads)
            if most is not None and options.raising and not candidates:
                likely, said = likely_version(
                    region.kernel, prepared, region.scratch, target, options.fp, _maker(region), options.threads, sizes
                )
                candidates, spoken = (likely,) if likely is not None else (), (*spoken, *said)
            if most is None or len(candidates) < most:
                candidates += plan(prepared, target, reassociate=reassociate, threads=options.threads, most=most)
            if most is None and options.measure:
                candidates += further_versions(
                    prepared, target, candidates, reassociate, options.threads, sizes, region.scratch
                )
    except NotAffineError as error:
        return RegionPlan(region, None, (), (Remark("scop-affine", "refused", error.reason, region.span),))
    except isl.Error as error:
        message = f"the polyhedral library gave up: {str(error).partition(' in /')[0]}"
        return RegionPlan(region, None, (), (Remark("scop-limit", "refused", message, region.span),))
    except OverBudgetError:
        return RegionPlan(region, None, (), (tell_over("its instances and dependences are not found", region.span),))
    candidates = start_where_worth(prepared, candidates)
    for candidate in candidates:
        check_kernel(candidate.kernel, f"schedule {candidate.name}")
    if not candidates:
        spoken = (*spoken, tell_nothing_found(bool(prepared.scop.statements), region))
    return RegionPlan(region, prepared, candidates, spoken)


def with_kernels(plan: RegionPlan, options: Options, target: Target, tell: Progress = keep_quiet) -> RegionPlan:
    """The plan with versions that call kernels of the library, where there are such."""
    if plan.prepared is None or not plan.candidates or is_searching(plan.region.kernel):
        return plan
    region = plan.region
    made, remarks = library_versions(
        region.kernel, plan.prepared, region.scratch, target, options.fp, _maker(region, tell), options.threads,
        sizes_of(region, options),
    )  # fmt: skip
    for x in made:
        check_kernel(x.kernel, f"schedule {x.name}")
    return replace(plan, candidates=(*plan.candidates, *made), remarks=(*plan.remarks, *remarks))


def _maker(region: Region, tell: Progress = keep_quiet) -> KernelCache:
    return KernelCache(Cache(), tell=lambda x: tell(f"{region.function}: making {x}"))


def make_job(
    functions: Sequence[CFunction], file: CFile, options: Options, target: Target, bench: Workbench
) -> Job:  # fmt: skip
    """What is given to build some functions of a file. How long an emulator takes says nothing of the processor."""
    signatures = tuple(x for f in functions if f.regions and (x := signature_of(f)) is not None)
    options = replace(options, measure=options.measure and not bench.runner.command)
    return Job(file, options, target, bench, Reference(file.source.text, bench, signatures))


def build_functions(
    functions: Sequence[CFunction], file: CFile, options: Options, target: Target, bench: Workbench,
    tell: Progress = keep_quiet,
) -> tuple[FunctionResult, ...]:  # fmt: skip
    """What becomes of each function, within bounds: one that takes too long, or is too much for what analyses it, stays
    as it is, with a remark. Where there is no clock, all are checked together, and those that are no good alone."""
    job = make_job(functions, file, options, target, bench)
    if len(functions) < 2 or job.options.measure or job.options.race:
        found = run_apart(lambda f, tell: build_function(f, job, tell), functions, BOUNDS, tell)
        return tuple(_kept(f, x) for f, x in zip(functions, found, strict=True))
    pieces = run_apart(lambda f, tell: _draft_first(f, job, tell), functions, BOUNDS, tell, usable_cores())
    made = [_kept(f, x) for f, x in zip(functions, pieces, strict=True)]
    results = _check_together(made, job, tell)
    left = [x for x in made if isinstance(x, Draft) and x.function.name not in results]
    rest = run_apart(lambda x, tell: _settle(x, job, tell), left, BOUNDS, tell)
    results |= {x.function.name: _kept(x.function, y) for x, y in zip(left, rest, strict=True)}
    return tuple(results[x.function.name] if isinstance(x, Draft) else x for x in made)


def _check_together(made: Sequence[Draft | FunctionResult], job: Job, tell: Progress) -> dict[str, FunctionResult]:
    """The drafts whose first version is good beside those of the others, by the names of the functions."""
    drafts = {x.function.name: x for x in made if isinstance(x, Draft)}
    if len(drafts) < 2:
        return {}
    tell(f"checking {len(drafts)} functions together")
    entrants = [Entrant(x.signature, x.cases, x.versions[0]) for x in drafts.values() if x.cases]
    taken = check_together(entrants, job.reference, job.bench)
    return {name: drafts[name].settled(selection) for name, selection in taken.items()}


def _kept(function: CFunction, found: _Made | Lost) -> _Made | FunctionResult:
    """What was found in another process, of the function as it is known here."""
    if isinstance(found, Lost):
        remark = Remark(LOSSES[found.cause], "refused", f"its analysis {_describe(found)}", function.span)
        return FunctionResult(function, (), None, (), (remark,))
    return replace(found, function=function)


def _describe(lost: Lost) -> str:
    match lost.cause:
        case "processor":
            return f"takes more than {BOUNDS.cpu:g} s of the processor's time"
        case "wall":
            return f"is not done after {BOUNDS.wall:g} s, most of which it waited"
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
    if job.options.measure or not _was_refused(first):
        return first
    again = _draft(draft.function, job, tell, None)
    return _choose_version(again, job, tell) if isinstance(again, Draft) else again


def _was_refused(result: FunctionResult) -> bool:
    """Whether a version did not compile or computed something else, so that another one may do better."""
    if result.selection is None or result.selection.version is not None:
        return False
    return any(r.id in ("verify-compile", "verify-result") for r in result.selection.remarks)


def _draft(function: CFunction, job: Job, tell: Progress, most: int | None) -> Draft | FunctionResult:
    """The versions of a function and the calls that check them, or why there are none."""
    file, options, bench = job.file, job.options, job.bench
    tell(f"{function.name}: finding schedules")
    plans = tuple(_plan_seen(r, options, job.target, most) for r in function.regions)
    if options.measure and options.raising and options.script is None:
        # Such a version is used where it was seen to be faster.
        plans = tuple(with_kernels(x, options, job.target, tell) for x in plans)
    remarks = tuple(r for p in plans for r in p.remarks)
    signature = signature_of(function)
    if signature is None and any(p.stages or p.candidates for p in plans):
        message = f"it cannot be called for a check: {why_not(function)}; kept as written"
        remarks = (*remarks, Remark("verify-signature", "refused", message, function.span))
    if signature is None or not any(p.stages or p.candidates for p in plans):
        return FunctionResult(function, plans, None, (), remarks)
    known = tuple(known_arguments(p, function, file.source.text) for p in plans if p.prepared is not None)
    require_sizes(function, known, options.sizes, file.source)
    try:
        cases = within(lambda: check_cases(function, known, options.sizes))
    except OverBudgetError:
        over = tell_over("calls that check it are not found", function.span)
        return FunctionResult(function, plans, None, (), (*remarks, over))
    if file.origin is not None:
        library = job.reference.library_for(signature)
        confirm_meaning(library, function.regions[0].kernel, signature, cases, bench.runner.command)
    return _with_versions(Draft(function, plans, remarks, signature, known, tuple(cases)), job)


def _plan_seen(region: Region, options: Options, target: Target, most: int | None) -> RegionPlan:
    """The versions of a region as far as a check compares all that it changes."""
    if not region.unseen:
        return plan_region(region, options, target, most)
    message = f"no check compares what {', '.join(region.unseen)} holds; kept as written"
    return RegionPlan(region, None, (), (Remark("verify-unseen", "refused", message, region.span),))


def _with_versions(draft: Draft, job: Job) -> Draft | FunctionResult:
    """A draft with the texts that its plans give, or why there are none."""
    versions, refused = make_versions(draft.plans, job.file, job.options, job.bench.blas)
    if not versions:
        return FunctionResult(draft.function, draft.plans, None, (), (*draft.remarks, *refused))
    return replace(draft, versions=versions, refused=refused)


def _choose_version(draft: Draft, job: Job, tell: Progress) -> FunctionResult:
    """The version that is taken of those of a draft, checked alone and timed where there is a clock."""
    function, signature, known, options, file = draft.function, draft.signature, draft.known, job.options, job.file
    clocks = clock_cases(function, known, options.sizes, file.source) if options.measure else ()
    probing = options.measure or options.race
    probes = probe_cases(function, known, options.sizes, job.target.caches, file.source) if probing else ()

    def limited(label: str, fast: Sequence[CallCase], slow: Sequence[CallCase]) -> Version | None:
        """A version for calls like some and not like others, by a condition on the sizes of each region; what asks
        nothing of sizes, as a call of a BLAS, is none."""
        if label == BLAS:
            return None
        told = tuple(_limit_plan(p, label, function, fast, slow) for p in draft.plans)
        # Each region has one version now, so that there is one text, of whatever name.
        made, _ = make_versions(told, file, options)
        return replace(made[0], label=label) if made else None

    more = Probes(probes, limited)
    finder = BranchFinder(file.source.text, function, signature, known)
    while True:
        tell(f"{function.name}: checking{' and timing' if clocks else ''} {len(draft.versions)} versions")
        selection = select(
            job.reference, draft.versions, signature, draft.cases, clocks, job.bench, function.span, finder.find, more
        )
        # What was not seen to run stays as it is, and the other nests are tried without it.
        idle = selection.idle
        left = tuple(replace(p, candidates=(), stages=()) if p.region.start in idle else p for p in draft.plans)
        if selection.version is not None or left == draft.plans or not any(p.stages or p.candidates for p in left):
            return draft.settled(selection)
        again = _with_versions(replace(draft, plans=left, remarks=draft.said(selection)), job)
        if not isinstance(again, Draft):
            return again
        draft = again


def _limit_plan(
    plan: RegionPlan, label: str, function: CFunction, fast: Sequence[CallCase], slow: Sequence[CallCase]
) -> RegionPlan:
    """The plan with the version of that name for calls like some and not like others; with none where that cannot be
    told, or there was none: what is written there stays."""
    candidates, stages = tuple[Candidate, ...](), tuple[StageVersion, ...]()
    match plan.choose(label):
        case StageVersion() as chosen:
            limited = limit_stages(chosen, function, fast, slow)
            stages = (limited,) if limited is not None else ()
        case Candidate() as chosen if plan.prepared is not None:
            made = limit_candidate(chosen, plan.prepared.kernel, known_arguments(plan, function), fast, slow)
            candidates = (made,) if made is not None else ()
        case _:
            pass
    return replace(plan, candidates=candidates, stages=stages)


def known_arguments(plan: RegionPlan, function: CFunction, text: str = "") -> KnownSizes:
    """The kernel's sizes and arrays that are the function's own parameters; `text` is the file's."""
    assert plan.prepared is not None
    return find_known(plan.region, plan.prepared.scop, function, text)


def assemble_file(
    file: CFile, options: Options, results: tuple[FunctionResult, ...], bench: Workbench
) -> FileResult:
    """The final text and header of a file."""
    replacements = [r for result in results for r in result.replacements]
    used = [(r.selection, r.selection.version) for r in results if r.selection is not None and r.selection.version]
    link = " ".join(dict.fromkeys(f for _, version in used for f in version.link))
    command = f"{bench.compiler.name} {' '.join(bench.command_flags)}"
    banner = emit_banner(VERSION, options.describe(), file.given.text, command, link)
    text, stem = compose(file.source.text, replacements, banner), Path(file.given.name).stem
    text, header = share_types(text, stem, file.interface), banner + emit_header(stem, file.interface)
    return FileResult(file.given, text, header, results, file.remarks, bench.runner.emulator)
