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
from functools import partial
from pathlib import Path

import islpy as isl

from planish.core.apart import Bounds, Lost, run_apart
from planish.core.cache import Cache
from planish.core.diagnostic import PlanishError, Remark
from planish.core.span import Source, Span
from planish.core.telling import Tell, keep_quiet
from planish.emit.dropin import defined_macros, emit_banner
from planish.emit.header import emit_header, share_types
from planish.emit.ladders import replace_by_ladder
from planish.emit.raised.vendor import replace_by_calls
from planish.emit.replacement import NoExtentError, Replacement, compose, replace_region
from planish.frontend.c.unit import CFile, CFunction, Region
from planish.ir.checker import check_kernel
from planish.isa.shipped import shipped
from planish.library.further import further_versions, library_versions
from planish.library.likely import likely_version
from planish.library.maker import Maker
from planish.library.portions.starts import start_where_worth
from planish.library.stages.pieces import StageVersion
from planish.library.stages.versions import stage_versions
from planish.library.stepwise import is_searching, stepwise_versions
from planish.library.transforms import transform_versions
from planish.options import Options as Options
from planish.poly.affine import NotAffineError
from planish.poly.budget import PASS, SHORT, OverBudgetError, within
from planish.reading import read_file as read_file
from planish.run.blas import Blas, find_blas
from planish.run.cases import Known, check_cases, find_known
from planish.run.cross import compiler_for, runner_for
from planish.run.entry import entry_text
from planish.run.exercise import count_calls, with_counters
from planish.run.finder import Finder
from planish.run.headers import pointing_at_headers
from planish.run.limits import limit_candidate
from planish.run.meaning import confirm_meaning
from planish.run.passing import signature_of, why_not
from planish.run.selection import Nest, Probes, Selection, Version, Workbench, select
from planish.run.signature import Case
from planish.run.tolerance import with_slack
from planish.run.toolchain import compile_library, missing_type
from planish.run.workloads import clock_cases, probe_cases, require_sizes
from planish.schedule.automatic.described import tell_nothing_found
from planish.schedule.automatic.plan import Candidate, Prepared, plan, prepare
from planish.schedule.follow import follow
from planish.target.load import load_target
from planish.target.machine import Target
from planish.version import VERSION

_BLAS = "blas"
"""The version that calls a BLAS."""

ANALYSIS = 60.0
"""Seconds of the processor's time for all analysis of a function, with the kernels of the library that are made on the
way: a net below the bounds on operations, which give the same everywhere."""


@dataclass(frozen=True, slots=True, eq=False)
class RegionPlan:
    """A region on its way: what was prepared, and the versions found; empty ones say why in `remarks`."""

    region: Region
    prepared: Prepared | None
    candidates: tuple[Candidate, ...]
    remarks: tuple[Remark, ...]
    stages: tuple[StageVersion, ...] = ()

    def choose(self, label: str) -> StageVersion | Candidate | None:
        """The version of that name, or else the most promising one."""
        versions: tuple[StageVersion | Candidate, ...] = (*self.stages, *self.candidates)
        return next((x for x in versions if x.name == label), next(iter(versions), None))


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
class FileResult:
    """What became of one file: the drop-in's text, its header, and the account of each function; `emulator`: what ran
    the checks, where this processor did not."""

    source: Source
    text: str
    header: str
    functions: tuple[FunctionResult, ...]
    remarks: tuple[Remark, ...]
    emulator: str = ""


def build_file(source: Source, options: Options, tell: Tell = keep_quiet) -> FileResult:
    """The drop-in replacement of a C file, or the C of one of MLIR; PlanishError for input that cannot be read."""
    tell("reading")
    target, file = load_target(options.target), read_file(source, options)
    functions = [f for f in file.functions if options.function in (None, f.name)]
    with tempfile.TemporaryDirectory(prefix="planish-") as folder:
        bench = make_workbench(options, target, Path(folder), source)
        with pointing_at_headers(file.remarks, source):
            results = build_functions(functions, file, options, target, bench, tell)
    return assemble_file(file, options, results, target, bench)


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
        stages, remarks = (), (_tell_over("versions of the loop around it are not found", region.span),)
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
                region.kernel, prepared, target, options.fp, Maker(Cache()), options.threads
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
        return RegionPlan(region, None, (), (_tell_over("its instances and dependences are not found", region.span),))
    candidates = start_where_worth(prepared, candidates)
    for candidate in candidates:
        check_kernel(candidate.kernel, f"schedule {candidate.name}")
    if not candidates:
        spoken = (*spoken, tell_nothing_found(bool(prepared.scop.statements), region))
    return RegionPlan(region, prepared, candidates, spoken)


def _tell_over(what: str, span: Span | None, operations: int = PASS) -> Remark:
    return Remark("analysis-limit", "refused", f"{what} within {operations:,} operations", span)


def sizes_of(region: Region, options: Options) -> dict[str, int]:
    """The sizes of a region that are given."""
    return {name: options.sizes[text] for name, text in region.names if text in options.sizes}


def with_kernels(plan: RegionPlan, options: Options, target: Target, tell: Tell = keep_quiet) -> RegionPlan:
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


def _maker(region: Region, tell: Tell = keep_quiet) -> Maker:
    return Maker(Cache(), tell=lambda x: tell(f"{region.function}: making {x}"))


def build_functions(
    functions: Sequence[CFunction], file: CFile, options: Options, target: Target, bench: Workbench,
    tell: Tell = keep_quiet,
) -> tuple[FunctionResult, ...]:  # fmt: skip
    """What becomes of each function, within bounds: one that takes too long, or is too much for what analyses it, stays
    as it is, with a remark."""

    def build(function: CFunction, tell: Tell) -> FunctionResult:
        return build_function(function, file, options, target, bench, tell)

    found = run_apart(build, functions, Bounds(ANALYSIS), tell)
    return tuple(
        _give_up(f, x) if isinstance(x, Lost) else replace(x, function=f)
        for f, x in zip(functions, found, strict=True)
    )


def _give_up(function: CFunction, lost: Lost) -> FunctionResult:
    what = f"takes more than {ANALYSIS:g} s" if lost.reason == "time" else f"did not end well ({lost.reason})"
    remark = Remark("analysis-limit", "refused", f"its analysis {what}", function.span)
    return FunctionResult(function, (), None, (), (remark,))


def build_function(
    function: CFunction, file: CFile, options: Options, target: Target, bench: Workbench, tell: Tell = keep_quiet
) -> FunctionResult:
    """The fastest verified version of a function, or the function as it is."""
    if missing := missing_type(bench.compiler, file.types):
        return FunctionResult(function, (), None, (), (Remark("verify-type", "refused", missing, function.span),))
    if bench.runner.missing:
        message = f"nothing can be checked: {bench.runner.missing}; kept as written"
        return FunctionResult(function, (), None, (), (Remark("verify-emulator", "refused", message, function.span),))
    if options.measure and not bench.runner.command:
        return _choose_version(function, file, options, target, bench, tell, None)
    # What is not measured takes the most promising version; the others are made only if that one is no good. How long
    # an emulator takes says nothing of the processor.
    options = replace(options, measure=False)
    first = _choose_version(function, file, options, target, bench, tell, 1)
    return _choose_version(function, file, options, target, bench, tell, None) if _was_refused(first) else first


def _was_refused(result: FunctionResult) -> bool:
    """Whether a version did not compile or computed something else, so that another one may do better."""
    if result.selection is None or result.selection.version is not None:
        return False
    return any(r.id in ("verify-compile", "verify-result") for r in result.selection.remarks)


def _choose_version(
    function: CFunction, file: CFile, options: Options, target: Target, bench: Workbench, tell: Tell, most: int | None
) -> FunctionResult:
    tell(f"{function.name}: finding schedules")
    plans = tuple(plan_region(r, options, target, most) for r in function.regions)
    if options.measure and options.raising and options.script is None:
        # Such a version is used where it was seen to be faster.
        plans = tuple(with_kernels(x, options, target, tell) for x in plans)
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
        over = _tell_over("calls that check it are not found", function.span)
        return FunctionResult(function, plans, None, (), (*remarks, over))
    if file.origin is not None:
        text = file.source.text + entry_text(signature)
        library = compile_library(
            bench.compiler, text, ("-w", *bench.plain_flags), bench.folder, include_dirs=bench.include_dirs
        )  # fmt: skip
        confirm_meaning(library, function.regions[0].kernel, signature, cases, bench.runner.command)
    clocks = clock_cases(function, known, options.sizes, file.source) if options.measure else ()
    probing = options.measure or options.race
    probes = probe_cases(function, known, options.sizes, target.caches, file.source) if probing else ()

    def limited(label: str, fast: Sequence[Case], slow: Sequence[Case]) -> Version | None:
        """A version for calls like some and not like others, by a condition on the sizes of each region."""
        told = tuple(_limit_plan(p, label, function, fast, slow) for p in plans)
        if any(not p.candidates for p in told):
            return None
        made, changed, _ = make_versions(told, file, options)
        replaced.update(changed)
        return made[0] if made else None

    more = Probes(probes, limited)
    finder = Finder(file.source.text, function, signature, known)
    while True:
        versions, replaced, refused = make_versions(plans, file, options, bench.blas)
        if not versions:
            return FunctionResult(function, plans, None, (), (*remarks, *refused))
        tell(f"{function.name}: checking{' and timing' if clocks else ''} {len(versions)} versions")
        text = file.source.text
        selection = select(text, versions, signature, cases, clocks, bench, function.span, finder.find, more)
        # What was not seen to run stays as it is, and the other nests are tried without it.
        left = tuple(replace(p, candidates=(), stages=()) if p.region.start in selection.idle else p for p in plans)
        if selection.version is not None or left == plans or not any(p.stages or p.candidates for p in left):
            break
        plans, remarks = left, (*remarks, *(x for x in selection.remarks if x.id == "verify-exercised"))
    used = replaced[selection.version.label] if selection.version is not None else ()
    timed = selection.describe_times(signature)
    return FunctionResult(function, plans, selection, used, (*remarks, *refused, *selection.remarks), timed)


def _limit_plan(
    plan: RegionPlan, label: str, function: CFunction, fast: Sequence[Case], slow: Sequence[Case]
) -> RegionPlan:
    """The plan with the version of that name for calls like some and not like others; with none where that cannot be
    told."""
    chosen = plan.choose(label)
    made = None
    if plan.prepared is not None and isinstance(chosen, Candidate):
        made = limit_candidate(chosen, plan.prepared.kernel, known_arguments(plan, function), fast, slow)
    return replace(plan, candidates=(made,) if made is not None else (), stages=())


def known_arguments(plan: RegionPlan, function: CFunction, text: str = "") -> Known:
    """The kernel's sizes and arrays that are the function's own parameters; `text` is the file's."""
    assert plan.prepared is not None
    return find_known(plan.region, plan.prepared.scop, function, text)


def make_versions(
    plans: tuple[RegionPlan, ...], file: CFile, options: Options, blas: Blas | None = None
) -> tuple[list[Version], dict[str, tuple[Replacement, ...]], tuple[Remark, ...]]:
    """Whole-file texts: one that calls a BLAS, where there is one, and one for each strategy, in the order of the first
    region's estimate."""
    calls, spoken = _call_blas(plans, file, options, blas) if blas is not None else ({}, [])
    # What does several iterations of the loop around a region is not left out for what another region has.
    known = [x.name for p in plans for x in p.stages] + [x.name for p in plans for x in p.candidates]
    labels = list(dict.fromkeys([*([_BLAS] if calls else []), *known]))
    versions: list[Version] = []
    replaced: dict[str, tuple[Replacement, ...]] = {}
    remarks: list[Remark] = list(spoken)
    regions = {p.region.start: p.region for p in plans}
    for label in labels:
        made = []
        slack: dict[str, float] = {}
        for p in plans:
            if label == _BLAS and p.region.start in calls:
                made.append(calls[p.region.start])
                continue
            chosen = p.choose(label)
            if chosen is None:
                continue
            try:
                if isinstance(chosen, StageVersion):
                    made.append(within(partial(_replace_stages, p.region, chosen, file.source, options), SHORT))
                elif p.prepared is not None:
                    slack = with_slack(slack, chosen.slack, p.region)
                    make = partial(make_replacement, p.region, p.prepared, chosen, file.source, options)
                    made.append(within(make, SHORT))
            except (NoExtentError, PlanishError) as error:
                remarks.append(Remark("emit-refused", "refused", str(error).splitlines()[0], p.region.span))
            except OverBudgetError:
                remarks.append(_tell_over(f"{label}: when it may run is not found", p.region.span, SHORT))
        if made:
            replaced[label] = tuple(made)
            link = blas.link if blas is not None and label == _BLAS else ()
            counted = with_counters(compose(file.source.text, count_calls(made, regions), ""))
            nests = tuple(Nest(x.patch.start, regions[x.patch.start].span) for x in made)
            versions.append(Version(label, compose(file.source.text, made, ""), link, slack, counted, nests))
    return versions, replaced, tuple(dict.fromkeys(remarks))


def _call_blas(
    plans: tuple[RegionPlan, ...], file: CFile, options: Options, blas: Blas
) -> tuple[dict[int, Replacement], list[Remark]]:
    """What calls a BLAS, by where the regions begin, and remarks on the others."""
    if options.fp != "reassociate":
        message = f"--fp {options.fp} keeps sums in their order, which no BLAS does: {blas.name} is not called"
        return {}, [Remark("blas-refused", "refused", message, p.region.span) for p in plans]
    target = load_target(options.target)
    calls: dict[int, Replacement] = {}
    remarks = []
    for p in plans:
        region = p.region
        try:
            made = replace_by_calls(
                region, target, file.source.text, blas.interface, declared=file.preprocessed,
                reserved=defined_macros(file.source.text), comment=f"{_place(region.span)}: calls of {blas.name}",
                typical=sizes_of(region, options), settings=options.settings,
            )  # fmt: skip
        except (NotAffineError, NoExtentError, PlanishError, isl.Error) as error:
            made = str(error).splitlines()[0]
        if isinstance(made, Replacement):
            calls[region.start] = made
        else:
            remarks.append(Remark("blas-refused", "refused", f"{blas.name} is not called: {made}", region.span))
    return calls, remarks


def make_replacement(
    region: Region, prepared: Prepared, candidate: Candidate, source: Source, options: Options
) -> Replacement:
    """The C for one version of one region."""
    return replace_region(
        region, prepared.scop, candidate.kernel, source.text,
        threads=options.threads > 1, strict=options.fp != "reassociate",
        comment=f"{_place(region.span)}: {candidate.name}", reserved=defined_macros(source.text),
        catalogue=shipped().joined(options.catalogue).joined(candidate.catalogue),
        settings=options.settings,
    )  # fmt: skip


def _replace_stages(region: Region, version: StageVersion, source: Source, options: Options) -> Replacement:
    """The C for a version of one region that does several iterations of the loop around it."""
    return replace_by_ladder(
        region, version, source.text, options.fp != "reassociate", f"{_place(region.span)}: {version.name}",
        defined_macros(source.text), shipped(), options.threads > 1, options.settings,
    )  # fmt: skip


def _place(span: Span | None) -> str:
    return "the nest" if span is None else f"lines {span.line} to {span.end_line}"


def assemble_file(
    file: CFile, options: Options, results: tuple[FunctionResult, ...], target: Target, bench: Workbench
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
