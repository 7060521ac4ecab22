"""Legal orders to choose from: the original one, and isl's scheduler under several fusion policies.

>>> import pprint
>>> pprint.pprint([s.name for s in POLICIES], width=118, compact=True)
['maxfuse', 'nofuse', 'distributed', 'inner-parallel', 'inter-nest-tiling', 'interchange', 'block-wavefront',
 'time-skewing', 'original']
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

PolicyName = Literal[
    "maxfuse", "nofuse", "distributed", "inner-parallel", "inter-nest-tiling", "interchange", "block-wavefront",
    "time-skewing", "parallel-time-tiles", "original",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Policy:
    """How statements share loops, after isl's and Pluto's names: `maxfuse` fuses all that dependences allow, `nofuse`
    only strongly connected components; `distributed` is the original order with every loop distributed where that is
    legal; `inner-parallel` is that, with sequential reductions moved outside of the parallel loops around them;
    `inter-nest-tiling` is `distributed`, with tiles of rows across the nests that sweep one array; `interchange` swaps
    loops of imperfect nests (left-looking becomes right-looking); `block-wavefront` is that by square blocks of a DP
    table; `time-skewing` lets repeated sweeps follow each other closely; `original` is the source's order."""

    name: PolicyName
    describe: str


POLICIES = (
    Policy("maxfuse", "maximal fusion: statements share loops wherever dependences allow it"),
    Policy("nofuse", "no fusion: only strongly connected statements share loops"),
    Policy("distributed", "loop distribution: the source's order, one nest for each statement where that is legal"),
    Policy("inner-parallel", "many sequential reductions at a time: parallel loops go inside of those that carry them"),
    Policy("inter-nest-tiling", "tiles across nests: consecutive nests process some rows of an array before the next"),
    Policy("interchange", "interchange in imperfect nests: a value updates all that needs it as soon as it is final"),
    Policy("block-wavefront", "blocked wavefront over a DP table: the blocks of a diagonal are independent"),
    Policy("time-skewing", "time skewing: repeated sweeps follow each other a few rows behind"),
    Policy("original", "the source's order of loops"),
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
    if policy.name == "inner-parallel":
        return join_chains(merge_bands(distribute(scop.schedule, order), order), order)
    if policy.name == "interchange":
        exchanged = exchange(scop.schedule, order)
        return None if exchanged is None else merge_bands(exchanged, order)
    if policy.name == "block-wavefront":
        begun = exchange(scop.schedule, order) or scop.schedule
        return block_diagonals(scop, order, merge_bands(begun, order))
    if policy.name == "time-skewing":
        followed = follow_sweeps(scop, order, room)
        return None if followed is None else merge_bands(followed, order)
    if policy.name == "inter-nest-tiling":
        ways = (merge_bands(distribute(scop.schedule, order, fully), order) for fully in (False, True))
        blocked = (block_passes(scop, order, way) for way in ways)
        return next((x for x in blocked if x is not None), None)
    text = attempt(lambda: _compute(scop, dependences, order, policy.name == "nofuse"), SECONDS)
    return isl.Schedule.read_from_str(scop.context.get_ctx(), text) if text else None


def _compute(scop: Scop, dependences: Dependences, order: isl.UnionMap, serialize: bool) -> isl.Schedule | str:
    """The schedule that isl's scheduler finds; nothing where it gives up."""
    context = scop.context.get_ctx()
    context.set_schedule_serialize_sccs(1 if serialize else 0)
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
