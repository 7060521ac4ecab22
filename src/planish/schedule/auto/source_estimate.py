"""What a C compiler makes of a nest as it is written, in the cycles of the performance model: innermost loops run in
lanes where a vectoriser puts them there, everything else stays in the order of the source.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.auto.plan import prepare
>>> from planish.target.load import load_target
>>> def cycles(statement):
...     text = "kernel k(n; a: f32[n] distinct, b: f32[n] distinct) { for i in 1 .. n { %s } }" % statement
...     return estimate_source(prepare(parse_kernel(text)), load_target("x86-avx512"), {})
>>> cycles("a[i] = b[i] + 1.0") < 1 < cycles("a[i] = a[i - 1] + b[i]")
True
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce

import islpy as isl

from planish.ir.expr import Call, Expr, Load, Select
from planish.ir.traverse import walk_expr
from planish.poly.isl.schedule_tree import find_node
from planish.poly.scop.dependence import movable_updates
from planish.poly.scop.extraction import Statement
from planish.schedule.auto.cost.estimate import CostModel
from planish.schedule.auto.plan import Prepared, cycles_of
from planish.schedule.auto.tiling.band import Band, StatementGroup, read_band
from planish.schedule.auto.tiling.strip_mining import leaf_bands, shape_band
from planish.schedule.auto.tiling.tile_sizes import BandPlan
from planish.target.machine import Target

INLINED = frozenset(("abs", "copysign", "fabs", "fma", "sqrt", "ceil", "floor", "trunc", "rint", "nearbyint"))
"""The functions of C's library that are instructions, with which a loop still has lanes; all others are calls."""


def estimate_source(prepared: Prepared, target: Target, sizes: Mapping[str, int]) -> float:
    """Cycles for each instance of the deepest statements, as `cycles_of` has them for versions; infinitely many where
    that is not known."""
    scop, order = prepared.scop, prepared.dependences.order
    # Under -O3 alone sums of floats keep their order.
    movable = movable_updates(scop, prepared.dependences, reassociate=False)
    schedule = scop.schedule
    for path in leaf_bands(schedule):
        band = read_band(find_node(schedule, path), scop, order, movable)
        schedule = shape_band(find_node(schedule, path), band, _vectorise(band), "whole").get_schedule()
    # GCC makes each sum in one register.
    return cycles_of(CostModel(scop, target, sizes, partial_sums=1), schedule)


def _vectorise(band: Band) -> BandPlan:
    """The loops of a band in their order, the innermost one in lanes where vectorisers are able to."""
    last = len(band.members) - 1
    groups = band.lanes(last, False)
    if any(map(_calls, band.statements)) or any(map(_chooses, band.statements)) or _is_split(band) or _crosses(band):
        groups = tuple(StatementGroup(x.names, "serial") for x in groups)
    return BandPlan(last, groups, (), tuple(0 for _ in band.members), 0.0)


def _values(statement: Statement) -> Iterator[Expr]:
    for x in (statement.stmt.value, *(x.value for x in statement.lets)):
        yield from walk_expr(x)


def _calls(statement: Statement) -> bool:
    """Whether an iteration calls a function of C's library."""
    return any(isinstance(x, Call) and x.function not in INLINED for x in _values(statement))


def _chooses(statement: Statement) -> bool:
    """Whether it is a chain of alternatives, some of which load: compilers do not load what may not be needed."""
    chains = (x for x in _values(statement) if isinstance(x, Select) and isinstance(x.otherwise, Select))
    return any(isinstance(y, Load) for x in chains for y in walk_expr(x.then))


def _is_split(band: Band) -> bool:
    """Whether iterations differ in the statements that they have: there are branches in the loop."""
    times = reduce(lambda a, b: a.flat_range_product(b), band.members, band.prefix)
    parts = [times.intersect_domain(isl.UnionSet.from_set(x.domain)).range() for x in band.statements]
    return any(not x.is_equal(parts[0]) for x in parts[1:])


def _crosses(band: Band) -> bool:
    """Whether an array that is stored to is also accessed in other steps, so that only exact dependences would tell
    that iterations are independent."""
    steps: dict[str, set[tuple[int, ...]]] = {}
    for x in band.motions:
        steps.setdefault(x.access.array, set()).add(x.steps[-1])
    return any(len(steps.get(x.write.array, ())) > 1 for x in band.statements)
