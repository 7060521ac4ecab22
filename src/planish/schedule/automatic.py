"""Legal orders to choose from: the original one, and isl's scheduler under several fusion strategies.

>>> [s.name for s in STRATEGIES]
['fused', 'apart', 'original']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import islpy as isl

from planish.poly.dependence import Dependences
from planish.poly.scop import Scop

OPERATION_LIMIT = 60_000_000
"""Bound on isl's work for one call, about five seconds."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """How statements are put into common loops: `fused` maximally, `apart` by component, `original` as written."""

    name: Literal["fused", "apart", "original"]
    describe: str


STRATEGIES = (
    Strategy("fused", "statements share loops where dependences allow it"),
    Strategy("apart", "strongly connected statements only share loops"),
    Strategy("original", "the loops as they were written"),
)


def compute_schedule(scop: Scop, dependences: Dependences, order: isl.UnionMap, strategy: Strategy) -> isl.Schedule | None:
    """A schedule of the kernel that respects `order`; None where the scheduler gives up within its bound."""
    if strategy.name == "original":
        return scop.schedule
    context = scop.context.get_ctx()
    context.set_schedule_serialize_sccs(1 if strategy.name == "apart" else 0)
    context.set_schedule_maximize_band_depth(1)
    context.set_schedule_whole_component(0)
    constraints = (
        isl.ScheduleConstraints.on_domain(scop.domain)
        .set_context(scop.context)
        .set_validity(order)
        .set_coincidence(order.subtract(dependences.reductions))
        .set_proximity(dependences.flow)
    )
    context.reset_operations()
    context.set_max_operations(OPERATION_LIMIT)
    try:
        return constraints.compute_schedule()
    except isl.Error:
        return None
    finally:
        context.set_max_operations(0)
        context.reset_operations()
