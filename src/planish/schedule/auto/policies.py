"""Legal orders to choose from: the original one, and isl's scheduler under several fusion policies.

>>> [s.name for s in POLICIES]
['fused', 'apart', 'distributed', 'chains', 'blocks', 'eager', 'diagonals', 'wavefront', 'original']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import islpy as isl

from planish.poly.isl.op_budget import budget
from planish.poly.isl.timeout import attempt
from planish.poly.scop.dependence import Dependences
from planish.poly.scop.extraction import Scop
from planish.schedule.auto.block_wavefront import block_diagonals
from planish.schedule.auto.inter_nest_tiling import block_passes
from planish.schedule.auto.rewrites.loop_fission import distribute, exchange, join_chains, merge_bands
from planish.schedule.auto.time_skewing import follow_sweeps

USUAL_ROOM = 512 * 1024
OPERATION_LIMIT, SECONDS = 5_000_000, 4.0
"""Bounds on isl's work for one call: operations, mostly two or three seconds of the scheduler's, and its time."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How statements are put into common loops: `fused` maximally, `apart` by component, `distributed` as
    written but with every loop cut where it may be, `chains` as that, with chains of several loops in one band with
    what is around them, `blocks` as `distributed`, but with the nests that go through one array
    doing so together, `eager` as written but with what is used put before what it is used for, `diagonals` as
    `eager`, in square blocks of a matrix that is filled from itself, `wavefront` with sweeps that follow each other
    closely, `original` as written."""

    name: Literal["fused", "apart", "distributed", "chains", "blocks", "eager", "diagonals", "wavefront", "original"]
    describe: str


POLICIES = (
    Policy("fused", "statements share loops where dependences allow it"),
    Policy("apart", "strongly connected statements only share loops"),
    Policy("distributed", "the loops as they were written, one nest for each statement where that is legal"),
    Policy("chains", "sums in their order, many at a time: loops that wait for nothing go inside of those that do"),
    Policy("blocks", "nests that go through one array take some of its rows each, before the next rows"),
    Policy("eager", "what is there is used at once for all that needs it"),
    Policy("diagonals", "square blocks of what is filled from itself, those of a diagonal in any order"),
    Policy("wavefront", "sweeps that are repeated follow each other a few rows behind"),
    Policy("original", "the loops as they were written"),
)

POLICY_NAMES = frozenset(x.name for x in POLICIES)


def compute_schedule(
    scop: Scop, dependences: Dependences, order: isl.UnionMap, policy: Policy, room: int = USUAL_ROOM
) -> isl.Schedule | None:
    """A schedule of the kernel that keeps the pairs of `order` in order; None where the scheduler gives up within its
    bound, or there is nothing that the policy is for. What is used again soon should fit in `room` bytes."""
    if policy.name == "original":
        return merge_bands(scop.schedule, order)
    if policy.name == "distributed":
        return merge_bands(distribute(scop.schedule, order), order)
    if policy.name == "chains":
        return join_chains(merge_bands(distribute(scop.schedule, order), order), order)
    if policy.name == "eager":
        exchanged = exchange(scop.schedule, order)
        return None if exchanged is None else merge_bands(exchanged, order)
    if policy.name == "diagonals":
        begun = exchange(scop.schedule, order) or scop.schedule
        return block_diagonals(scop, order, merge_bands(begun, order))
    if policy.name == "wavefront":
        followed = follow_sweeps(scop, order, room)
        return None if followed is None else merge_bands(followed, order)
    if policy.name == "blocks":
        ways = (merge_bands(distribute(scop.schedule, order, fully), order) for fully in (False, True))
        blocked = (block_passes(scop, order, way) for way in ways)
        return next((x for x in blocked if x is not None), None)
    text = attempt(lambda: _scheduled(scop, dependences, order, policy.name == "apart"), SECONDS)
    return isl.Schedule.read_from_str(scop.context.get_ctx(), text) if text else None


def _scheduled(scop: Scop, dependences: Dependences, order: isl.UnionMap, apart: bool) -> isl.Schedule | str:
    """The schedule that isl's scheduler finds; nothing where it gives up."""
    context = scop.context.get_ctx()
    context.set_schedule_serialize_sccs(1 if apart else 0)
    context.set_schedule_maximize_band_depth(1)
    context.set_schedule_whole_component(0)
    try:
        constraints = (
            isl.ScheduleConstraints.on_domain(scop.domain)
            .set_context(scop.context)
            .set_validity(order)
            .set_coincidence(order.subtract(dependences.reductions))
            .set_proximity(dependences.flow)
        )
        with budget(context, OPERATION_LIMIT):
            return merge_bands(constraints.compute_schedule(), order)
    except isl.Error:
        return ""
