"""From a kernel to the versions of it that are worth trying, each with its schedule and the proof that it is legal.

>>> from planish.ir.nest import Kernel
>>> from planish.target.load import load_target
>>> plan(prepare(Kernel("empty")), load_target("generic"), reassociate=False)
()
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from math import inf

import islpy as isl

from planish.core.diagnostic import Remark
from planish.ir.nest import Alloc, Array, Kernel
from planish.ir.passes.vector_loops import long_enough
from planish.ir.traverse import walk
from planish.isa.instruction import Catalogue
from planish.poly.canonical.canonicalise import tidy
from planish.poly.canonical.index_set_splitting import split_statements
from planish.poly.canonical.privatise import contract
from planish.poly.isl.op_budget import PASS, OverBudgetError, budget, within
from planish.poly.isl.schedule_tree import Path, find_node
from planish.poly.scop.dead_stores import without_dead_stores
from planish.poly.scop.dependence import Dependences, find_dependences, movable_updates
from planish.poly.scop.extraction import Scop, extract_scop, read_schedule
from planish.poly.scop.legality import find_violation, schedule_map
from planish.schedule.auto.cost.estimate import CostModel
from planish.schedule.auto.cost.instance_counts import NoEstimateError
from planish.schedule.auto.cost.recurrences import Way
from planish.schedule.auto.lower import lower
from planish.schedule.auto.policies import POLICIES, Policy, compute_schedule
from planish.schedule.auto.recurrence import WORTH, is_recurrence, use_blocks
from planish.schedule.auto.rewrites.expansion_limit import find_excess
from planish.schedule.auto.rewrites.node_splitting import split_nodes
from planish.schedule.auto.rewrites.reassociate import collect_terms
from planish.schedule.auto.rewrites.rematerialise import without_carried
from planish.schedule.auto.rewrites.store_forwarding import pass_values
from planish.schedule.auto.tiling.band import Band, StatementGroup, read_band
from planish.schedule.auto.tiling.description import describe_band, describe_memory
from planish.schedule.auto.tiling.parallel_loops import mark_threads, with_private_cells
from planish.schedule.auto.tiling.strip_mining import StripOrder, leaf_bands, shape_band
from planish.schedule.auto.tiling.tile_sizes import BandPlan, choose, room_for_sweeps, share_out
from planish.target.machine import Target

CONTRACTION_LIMIT = 3_000_000
"""Bound on isl's work for all local arrays of one version; what is not proven by then keeps its cells."""

SHAPING_LIMIT = 4 * PASS
"""Bound on isl's work for the shapes of one version and the code of each; of all examples one takes more than PASS."""


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A kernel in the form that is scheduled: rows and columns, private locals; with its scop and dependences.

    `declared`: the local arrays as they were declared, before each iteration had its own."""

    kernel: Kernel
    scop: Scop
    dependences: Dependences
    declared: tuple[Array, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ScheduleDraft:
    """A version before the costly work: a legal schedule, its innermost bands with what is to be done, the cost; the
    pairs of instances that keep their order, and the local arrays that keep their dimensions. `shaped`: the schedule
    with these bands shaped, where that is known, and what was done."""

    policy: Policy
    schedule: isl.Schedule
    bands: tuple[tuple[Path, Band, BandPlan], ...]
    cost: float
    kept: isl.UnionMap
    whole: frozenset[str] = frozenset()
    shaped: tuple[isl.Schedule, tuple[BandPlan, ...]] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """A version of a nest: its name, its schedule, the kernel that runs it, what was done, the estimated cost; and
    the kernels that it calls. What the kernel assumes besides what was prepared is asked when it runs. `slack`: of
    some arrays, how far the constants are off of which the original makes them; those of this one are more exact.
    `bands`: those of the remarks that say how bands of loops were shaped, or mapped to a device."""

    name: str
    schedule: isl.Schedule
    kernel: Kernel
    remarks: tuple[Remark, ...]
    cost: float
    catalogue: Catalogue = Catalogue()
    slack: Mapping[str, float] = field(default_factory=dict)
    bands: tuple[Remark, ...] = ()


def prepare(kernel: Kernel) -> Prepared:
    """Delinearised and privatised; raises NotAffineError where the kernel is not a static control part."""
    return analyse(tidy(kernel), tuple(x.array for x in walk(kernel.body) if isinstance(x, Alloc)))


def analyse(private: Kernel, declared: tuple[Array, ...] = ()) -> Prepared:
    """What is tidy, with its scop and dependences; NotAffineError as of `extract_scop`. `declared`: its local arrays as
    they were declared."""
    scop = extract_scop(private)
    dependences = find_dependences(scop)
    needed = without_dead_stores(scop, dependences)
    if needed is not scop:
        dependences = find_dependences(needed)
    cut = split_statements(needed, dependences.order)
    return Prepared(private, cut, dependences if cut is needed else find_dependences(cut), declared)


def as_written(prepared: Prepared) -> Kernel:
    """The kernel in its own order, with local arrays as small as they may be in it."""
    scop = prepared.scop
    dropped = _contractions(scop, prepared.dependences.flow, scop.schedule, {})
    return lower(scop, scop.schedule, scop.locals, dropped)


def plan(
    prepared: Prepared, target: Target, *, reassociate: bool, threads: int = 1, most: int | None = None,
    policies: Sequence[Policy] = POLICIES, cells: Collection[str] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> tuple[Version, ...]:  # fmt: skip
    """Versions of the kernel, the most promising first, duplicates left out; at most `most` of them. `cells`: local
    arrays that will be registers, which are no matter where loops are ordered; nothing else is then. `sizes`: those
    that calls are likely to have."""
    out: list[Version] = []
    drafts = draft_versions(
        prepared, target, reassociate=reassociate, threads=threads, policies=policies, cells=cells, sizes=sizes
    )  # fmt: skip
    for draft in drafts:
        if most is not None and len(out) >= most:
            break
        candidate = lower_draft(prepared, draft, threads, reassociate)
        if candidate is not None and all(str(c.schedule) != str(candidate.schedule) for c in out):
            out.append(candidate)
    return tuple(out)


def draft_versions(
    prepared: Prepared, target: Target, *, reassociate: bool, threads: int = 1, policies: Sequence[Policy] = POLICIES,
    cells: Collection[str] | None = None, sizes: Mapping[str, int] | None = None,
) -> tuple[ScheduleDraft, ...]:  # fmt: skip
    """What each policy comes to, each schedule once, the cheapest first; the arguments are those of `plan`. A policy
    that takes too long gives nothing."""
    drafts: dict[str, ScheduleDraft] = {}
    if not prepared.scop.statements:
        return ()
    movable = movable_updates(prepared.scop, prepared.dependences, reassociate)
    kept = prepared.dependences.order.subtract(movable)
    linear: dict[str, Way] = {x.name: "blocks" for x in prepared.scop.statements if reassociate and is_recurrence(x)}
    room, model = room_for_sweeps(target), CostModel(prepared.scop, target, sizes or {}, cells or (), linear=linear)
    for policy in policies:
        with suppress(OverBudgetError):
            schedule = within(partial(compute_schedule, prepared.scop, prepared.dependences, kept, policy, room))
            if schedule is not None and str(schedule) not in drafts:
                drafts[str(schedule)] = within(partial(
                    draft_version, prepared, target, policy, schedule, movable, threads, cells, not reassociate, model
                ))  # fmt: skip
    return tuple(sorted(drafts.values(), key=lambda d: d.cost))


def lower_draft(
    prepared: Prepared, draft: ScheduleDraft, threads: int = 1, reassociate: bool = False
) -> Version | None:
    """The version that a draft is; None where it cannot be shaped within the bound, or not within memory."""
    try:
        return within(partial(_within_room, prepared, draft, threads, reassociate), SHAPING_LIMIT)
    except OverBudgetError:
        return None


def _within_room(prepared: Prepared, draft: ScheduleDraft, threads: int, reassociate: bool) -> Version | None:
    """The version as drafted, or without tiles and registers, or without lanes as well: the first that needs no array
    which is larger than those that the nest is given; None where each of them does."""
    for private in (False, True) if threads > 1 else (False,):
        for shaped in (draft, *_plainer(draft)):
            candidate = shape_schedule(prepared, shaped, threads, reassociate, private)
            if candidate is None:
                continue
            if not find_excess(candidate.kernel, prepared.scop, prepared.declared, draft.whole):
                return candidate
    return None


def _plainer(draft: ScheduleDraft) -> Iterator[ScheduleDraft]:
    """Drafts that let fewer values live at a time."""
    ways = [[(path, band, x) for path, band, x in draft.bands]]
    for plain in (_without_blocks, _with_last_lanes, _in_order):
        ways.append([(path, band, plain(band, x)) for path, band, x in ways[-1]])
    for before, bands in pairwise(ways):
        if bands != before:
            yield replace(draft, bands=tuple(bands), shaped=None)


def _without_blocks(band: Band, choice: BandPlan) -> BandPlan:
    """A plan without tiles and strips."""
    return replace(choice, jam=(), tiles=tuple(0 for _ in choice.tiles))


def _with_last_lanes(band: Band, choice: BandPlan) -> BandPlan:
    """A plan with all loops in their order, lanes along the innermost one or none."""
    return choice if choice.lanes_member == len(band.members) - 1 else _in_order(band, choice)


def _in_order(band: Band, choice: BandPlan) -> BandPlan:
    """A plan with all loops in their order, and no lanes."""
    serial = (StatementGroup(frozenset(s.name for s in band.statements), "serial"),)
    return replace(_without_blocks(band, choice), lanes_member=len(band.members) - 1, groups=serial)


def draft_version(
    prepared: Prepared, target: Target, policy: Policy, schedule: isl.Schedule, movable: isl.UnionMap,
    threads: int = 1, cells: Collection[str] | None = None, ordered: bool = False, model: CostModel | None = None,
) -> ScheduleDraft:  # fmt: skip
    """How every innermost band of a legal schedule is to be shaped for the target, and what that costs. `movable`: the
    pairs of updates that may change places. `cells`: as for `plan`; `ordered`: as for `choose`; `model`: estimates the
    cost, for usual sizes where it is not given. OverBudgetError where its bands cannot be shaped within the bound."""
    scop, order = prepared.scop, prepared.dependences.order
    arrays = {a.name: a for a in (*scop.kernel.arrays, *scop.locals)}
    bands = []
    for path in leaf_bands(schedule):
        band = read_band(find_node(schedule, path), scop, order, movable)
        band = replace(band, motions=tuple(x for x in band.motions if x.access.array not in (cells or ())))
        chosen = choose(band, target, arrays, ordered)
        if cells is not None:
            # Many values at a time fill the registers by themselves.
            chosen = replace(chosen, jam=())
        bands.append((path, band, share_out(chosen) if threads > 1 else chosen))
    shaped = within(partial(shape_bands, schedule, bands), SHAPING_LIMIT)
    cost = cycles_of(model or CostModel(scop, target, {}, cells or ()), shaped[0])
    kept = order.subtract(movable)
    return ScheduleDraft(policy, schedule, tuple(bands), cost, kept, frozenset(cells or ()), shaped)


def cycles_of(model: CostModel, schedule: isl.Schedule) -> float:
    """The cycles of an instance of the deepest statements; infinitely many where that is not known."""
    # A copy of its own: what is asked of isl's sets may change how they are written, and so the guards of a nest.
    apart = read_schedule(str(schedule))
    try:
        return within(partial(model.cycles_of, apart))
    except (NoEstimateError, OverBudgetError):
        return inf


def shape_schedule(
    prepared: Prepared, draft: ScheduleDraft, threads: int = 1, reassociate: bool = False, private: bool = False
) -> Version | None:
    """The version with every innermost band shaped as drafted; None where that breaks a dependence. `reassociate`: sums
    of floats may be made in another order; `private`: each thread has local scalars of its own, in the place of arrays
    that hold them for all iterations; None where that cannot be."""
    scop, policy = prepared.scop, draft.policy
    schedule, plans = draft.shaped or shape_bands(draft.schedule, draft.bands)
    kept = _Kept()
    for _, band, choice in draft.bands:
        kept.note(band, choice, {a.name for a in scop.locals})
    if find_violation(schedule_map(schedule), draft.kept) is not None:
        return None
    if threads > 1:
        schedule = mark_threads(schedule, prepared.dependences.order)
    kept.dimensions |= {x.name: {*range(len(x.shape))} for x in scop.locals if x.name in draft.whole}
    lowered = lower_schedule(prepared, schedule, kept.dimensions, 1 if private else threads)
    kernel = with_private_cells(lowered) if private else lowered
    if kernel is None:
        return None
    blocked: tuple[Remark, ...] = ()
    if reassociate:
        enough = tuple(long_enough(kernel, WORTH))
        kernel, blocked = use_blocks(collect_terms(kernel))
        kernel = replace(kernel, assumptions=(*kernel.assumptions, *enough)) if blocked else kernel
    kernel = split_nodes(without_carried(pass_values(kernel, draft.whole)))
    first = Remark(f"schedule-{policy.name}", "done", policy.describe, scop.kernel.span, brief="")
    shaped = zip(draft.bands, plans, strict=True)
    bands = (*(describe_band(band, made, kernel) for (_, band, _), made in shaped), *blocked)
    remarks = (first, *bands, *describe_memory(kernel))
    return Version(policy.name, schedule, kernel, remarks, draft.cost, bands=bands)


def lower_schedule(
    prepared: Prepared, schedule: isl.Schedule, kept: Mapping[str, Collection[int]], threads: int = 1
) -> Kernel:
    """The kernel that runs a legal schedule, with local arrays as small as they may be in it but for dimensions that
    are `kept`; where several threads run it, local arrays are as they are."""
    scop, flow = prepared.scop, prepared.dependences.flow
    dropped = _contractions(scop, flow, schedule, kept) if threads == 1 else {}
    return lower(scop, schedule, scop.locals, dropped)


def shape_bands(
    schedule: isl.Schedule, bands: Sequence[tuple[Path, Band, BandPlan]]
) -> tuple[isl.Schedule, tuple[BandPlan, ...]]:
    """The schedule with its bands shaped, each as it is planned or more simply; and what was done."""
    plans = []
    for path, band, choice in bands:
        schedule, made = _shape(schedule, path, band, choice)
        plans.append(made)
    return schedule, tuple(plans)


def _shape(
    schedule: isl.Schedule, path: Path, band: Band, choice: BandPlan
) -> tuple[isl.Schedule, BandPlan]:
    """The schedule with one band shaped; plans that would break a dependence give way to simpler ones."""
    whole, kept = replace(choice, jam=()), band.kept
    attempts: list[tuple[BandPlan, StripOrder]] = []
    if choice.jam:
        attempts += [(choice, "full-first"), (choice, "rest-first"), (choice, "whole")]
    attempts += [(whole, "whole"), (replace(whole, tiles=tuple(0 for _ in choice.tiles)), "whole")]
    for attempt, order in attempts:
        shaped = shape_band(find_node(schedule, path), band, attempt, order).get_schedule()
        # The rest of the tree is as it was, so only instances that the band puts in order can have come out of it.
        if find_violation(schedule_map(shaped).intersect_domain(band.domain), kept) is None:
            return shaped, attempt
    serial = (StatementGroup(frozenset(s.name for s in band.statements), "serial"),)
    return schedule, replace(whole, tiles=tuple(0 for _ in choice.tiles), groups=serial)


class _Kept:
    """Dimensions of local arrays that lanes move along: these keep their cells apart."""

    __slots__ = ("dimensions",)

    def __init__(self) -> None:
        self.dimensions: dict[str, set[int]] = {}

    def note(self, band: Band, choice: BandPlan, locals: set[str]) -> None:
        """Remember what the lanes of one band (and the strips in it) touch."""
        members = {choice.lanes_member, *(m for m, _ in choice.jam)}
        for motion in band.motions:
            if motion.access.array in locals:
                kept = self.dimensions.setdefault(motion.access.array, set())
                for m in members:
                    kept |= {d for d, step in enumerate(motion.steps[m]) if step}


def _contractions(
    scop: Scop, flow: isl.UnionMap, schedule: isl.Schedule, kept: Mapping[str, Collection[int]]
) -> dict[str, frozenset[int]]:
    """Dimensions that each local array may lose, but for those that are `kept`, found one by one from the outermost."""
    times = schedule_map(schedule)
    out: dict[str, frozenset[int]] = {}
    try:
        with budget(scop.context.get_ctx(), CONTRACTION_LIMIT):
            for array in scop.locals:
                out[array.name] = frozenset()
                for dimension in range(len(array.shape)):
                    if dimension not in kept.get(array.name, ()) and _is_added(array, dimension):
                        wider = out[array.name] | {dimension}
                        if contract(scop, flow, times, array, wider):
                            out[array.name] = wider
    except isl.Error:
        return out
    return out


def _is_added(array: Array, dimension: int) -> bool:
    return array.memory == "dram" and dimension < len(array.shape)
