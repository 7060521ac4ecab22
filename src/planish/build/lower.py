"""Lowers a plan: the versions of a region as nests, the most promising first.

>>> from planish.build.read import read_file
>>> from planish.core.span import Source
>>> from planish.target.load import load_target
>>> options = Options(target="x86-avx512")
>>> file = read_file(Source("f.c", "void f(int n, float *a) { for (int i = 0; i < n; i++) a[i] = 0; }"), options)
>>> region = file.functions[0].regions[0]
>>> [x.name for x in lower_region(region, options, load_target(options.target), most=1).versions]
['maxfuse']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import islpy as isl

from planish.build.plan import Plan, plan_region, tell_over
from planish.core.diagnostic import Diagnostic, PlanishError, Remark
from planish.core.progress import Progress, keep_quiet
from planish.frontend.c.translation_unit import CFunction, Region
from planish.ir.checker import check_kernel
from planish.library.driver import find_arguments, make_chosen, make_versions
from planish.library.gain import in_own_order, with_gain
from planish.library.least_sizes import with_least_sizes
from planish.library.loops.unit_stride import version_unit_strides
from planish.library.parallel.thread_threshold import start_where_worth
from planish.library.signal.fft_stages.stage_kernels import StageVersion
from planish.library.strategy import AnyVersion
from planish.options import Options
from planish.poly.isl.affine import NotAffineError
from planish.poly.isl.op_budget import OverBudgetError
from planish.run.calls.signature import CallCase
from planish.run.size_condition import limit_candidate, limit_stages
from planish.run.sizes.known_sizes import KnownSizes, find_known
from planish.schedule.arguments import VERSION, NestChoice, Point
from planish.schedule.auto.plan import Prepared, Version
from planish.schedule.auto.tiling.description import tell_nothing_found
from planish.schedule.run_script import follow
from planish.target.machine import Target

TUNED = "tuned"
"""What a version that was chosen is called after, and the remark on it."""


@dataclass(frozen=True, slots=True, eq=False)
class RegionPlan:
    """A region on its way: what was prepared, and the versions found, the most promising first; where there are none,
    `remarks` say why."""

    region: Region
    prepared: Prepared | None
    versions: tuple[AnyVersion, ...]
    remarks: tuple[Remark, ...]

    @property
    def candidates(self) -> tuple[Version, ...]:
        """The versions of the nest itself, without those of the loop around it."""
        return tuple(x for x in self.versions if isinstance(x, Version))

    def choose(self, label: str) -> AnyVersion | None:
        """The version of that name, or else the most promising one."""
        return next((x for x in self.versions if x.name == label), next(iter(self.versions), None))


def lower_region(
    region: Region, options: Options, target: Target, most: int | None = None, tell: Progress = keep_quiet
) -> RegionPlan:
    """The versions of one region, the most promising first, and at most `most` of them; the one that a script makes
    where there is a script."""
    return lower_plan(plan_region(region, options, target, tell), options, most)


def _stays_in_memory(region: Region) -> bool:
    """Whether the call passes the address of a variable itself, of which a copy would be seen: the loop as written has
    it in memory then in each iteration, and is slower than what the new code takes to begin."""
    passed = dict(region.names)
    places = (passed.get(x.name, "") for x in region.kernel.arrays if not x.shape)
    return any(x.startswith("&") and x[1:] not in region.registers for x in places)


def _is_piece(region: Region) -> bool:
    """Whether a nest is a piece of a loop, whose length the text in front of it makes, and asks for itself."""
    return any(text.startswith("planish_") for key, text in region.names if key in region.kernel.sizes)


def lower_plan(plan: Plan, options: Options, most: int | None = None, gaining: bool = False) -> RegionPlan:
    """The versions of a plan; see `lower_region`. `gaining`: they ask for the sizes from which on they gain."""
    region, prepared = plan.region, plan.context.nest
    if options.script is not None:
        return _follow_script(RegionPlan(region, prepared, (), plan.remarks), options)
    chosen = None if plan.choice is None else lower_choice(plan, plan.choice)
    if plan.choice is not None and chosen is not None and (plan.choice.only or most == 1):
        return chosen
    made = make_versions(plan.context, plan.strategies, most)
    found = bool(made.versions)
    if not options.measure:
        made = with_gain(plan.context, made, options.gain) if options.gain else in_own_order(plan.context, made)
    if gaining and not _stays_in_memory(region) and not _is_piece(region):
        made = with_least_sizes(plan.context, made, region.computed)
    remarks = (*plan.remarks, *made.remarks)
    if plan.choice is not None and chosen is None:
        message = f"{plan.choice.source}: no strategy makes `{plan.choice.point}`"
        remarks = (*remarks, Remark("tuned-stale", "refused", message, region.span))
    if found:
        pass
    elif prepared is not None:
        remarks = (*remarks, tell_nothing_found(bool(prepared.scop.statements), region))
    elif not remarks:
        remarks = (Remark("schedule-none", "refused", "no legal schedule was found", region.span),)
    first = () if chosen is None else chosen.versions
    versions = (*first, *_with_unit_strides(made.versions))
    return RegionPlan(region, prepared, versions[:most], remarks)


def lower_choice(plan: Plan, choice: NestChoice) -> RegionPlan | None:
    """The one version that a choice names, called after it; none where the nest is to stay as it is written. None where
    the choice is of no use: strategies make nothing of that name any more, or take other arguments. PlanishError E0931
    where nothing else is to be tried, and it has arguments that the version does not take."""
    region, nest = plan.region, plan.context.nest
    remark = Remark(TUNED, "done", f"{choice.source}: {choice.point or 'kept as written'}", region.span)
    if not choice.version:
        return RegionPlan(region, nest, (), (*plan.remarks, replace(remark, kind="note")))
    given = {name: value for name, value in choice.point.values if name != VERSION}
    own = find_arguments(plan.context, plan.strategies, choice.version) if given else None
    problem = None if own is None else own.problem(given)
    if problem is not None and choice.only:
        message, advice = problem
        raise PlanishError(Diagnostic("E0931", f"{choice.source}: {message}", region.span, advice))
    if problem is not None:
        return None
    match lower_at(plan, choice.point):
        case None if choice.only and choice.nest:
            message = f"{choice.source}: no strategy makes `{choice.point}` of this nest"
            raise PlanishError(Diagnostic("E0931", message, region.span, "tune again, or leave the record out"))
        case None:
            return None
        case Version() as made:
            tuned = replace(made, name=f"{made.name}, {TUNED}", remarks=(*made.remarks, remark))
            return RegionPlan(region, nest, (tuned,), plan.remarks)
        case StageVersion() as stages:
            named = replace(stages, name=f"{stages.name}, {TUNED}")
            return RegionPlan(region, nest, (named,), (*plan.remarks, replace(remark, kind="note")))


def lower_at(plan: Plan, point: Point) -> AnyVersion | None:
    """The version that a point names, with the arguments that it has; None where strategies make none."""
    version = str(point.get(VERSION) or "")
    made, _ = make_chosen(replace(plan.context, point=point), plan.strategies, version)
    return None if made is None else _with_unit_strides((made,))[0]


def _with_unit_strides(versions: Sequence[AnyVersion]) -> tuple[AnyVersion, ...]:
    return tuple(version_unit_strides(x) if isinstance(x, Version) else x for x in versions)


def _follow_script(plan: RegionPlan, options: Options) -> RegionPlan:
    """The version that a script makes; PlanishError where a step of it is not legal."""
    assert options.script is not None
    if plan.prepared is None:
        return plan
    region = plan.region
    try:
        prepared, made = follow(plan.prepared, options.script, options.fp, options.catalogue)
        (version,) = start_where_worth(prepared, (made,))
    except NotAffineError as error:
        return replace(plan, remarks=(Remark("scop-affine", "refused", error.reason, region.span),))
    except isl.Error as error:
        message = f"the polyhedral library gave up: {str(error).partition(' in /')[0]}"
        return replace(plan, remarks=(Remark("scop-limit", "refused", message, region.span),))
    except OverBudgetError:
        return replace(plan, remarks=(tell_over("its instances and dependences are not found", region.span),))
    check_kernel(version.kernel, f"schedule {version.name}")
    return replace(plan, prepared=prepared, versions=(version,))


def limit_plan(
    plan: RegionPlan, label: str, function: CFunction, fast: Sequence[CallCase], slow: Sequence[CallCase]
) -> RegionPlan:
    """The plan with the version of that name for calls like some and not like others; with none where that cannot be
    told, or there was none: what is written there stays."""
    made: AnyVersion | None = None
    match plan.choose(label):
        case StageVersion() as chosen:
            made = limit_stages(chosen, function, fast, slow)
        case Version() as chosen if plan.prepared is not None:
            made = limit_candidate(chosen, plan.prepared.kernel, known_arguments(plan, function), fast, slow)
        case _:
            pass
    return replace(plan, versions=() if made is None else (made,))


def known_arguments(plan: RegionPlan, function: CFunction, text: str = "") -> KnownSizes:
    """The kernel's sizes and arrays that are the function's own parameters; `text` is the file's."""
    assert plan.prepared is not None
    return find_known(plan.region, plan.prepared.scop, function, text)
