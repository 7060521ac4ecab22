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

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce

import islpy as isl

from planish.core.diagnostic import Remark
from planish.ir.expr import Call, Expr, Load, Select
from planish.ir.nest import Kernel
from planish.ir.traverse import walk_expr
from planish.poly.isl.schedule_tree import find_node
from planish.poly.scop.dependence import movable_updates
from planish.poly.scop.extraction import Statement
from planish.schedule.auto.cost.estimate import CostModel
from planish.schedule.auto.cost.recurrences import Way
from planish.schedule.auto.plan import Prepared, Version, cycles_of, lower_schedule
from planish.schedule.auto.tiling.band import Band, StatementGroup, read_band
from planish.schedule.auto.tiling.strip_mining import leaf_bands, shape_band
from planish.schedule.auto.tiling.tile_sizes import BandPlan
from planish.target.machine import Target

INLINED = frozenset(("abs", "copysign", "fabs", "fma", "sqrt", "ceil", "floor", "trunc", "rint", "nearbyint"))
"""The functions of C's library that are instructions, with which a loop still has lanes; all others are calls."""


def estimate_source(
    prepared: Prepared, target: Target, sizes: Mapping[str, int], instances: Prepared | None = None,
    linear: Mapping[str, Way] | None = None,
) -> float:  # fmt: skip
    """Cycles for each instance of the deepest statements, as `cycles_of` has them for versions; infinitely many where
    that is not known. `instances`: the nest whose instances these are, where it is another form of the same one;
    `linear`: as the model has it."""
    # GCC makes each sum in one register, and keeps in registers what was declared as a scalar.
    cells = [x.name for x in prepared.declared if not x.shape]
    model = CostModel(prepared.scop, target, sizes, cells, partial_sums=1, linear=linear or {})
    found = cycles_of(model, _shaped(prepared, _vectorise))
    if instances is None:
        return found
    return found * model.instances / CostModel(instances.scop, target, sizes).instances


def in_source_order(prepared: Prepared) -> tuple[Version, bool]:
    """The nest in its own order, and whether all of its innermost loops are in lanes; others stay as they are."""
    locals, plans = {x.name for x in prepared.scop.locals}, list[BandPlan]()

    def plan(band: Band) -> BandPlan:
        # A cell of the nest's own would be shared by all lanes.
        shared = any(x.write.array in locals for x in band.statements)
        found = _vectorise(band)
        plans.append(replace(found, groups=_serial(found.groups)) if shared else found)
        return plans[-1]

    schedule = _shaped(prepared, plan)
    kernel: Kernel = lower_schedule(prepared, schedule, {})
    remark = Remark("schedule-original", "done", "the source's order of loops", kernel.span, brief="")
    in_lanes = all(x.lanes == "parallel" for y in plans for x in y.groups)
    return Version("original", schedule, kernel, (remark,), 0.0), in_lanes


def _shaped(prepared: Prepared, plan: Callable[[Band], BandPlan]) -> isl.Schedule:
    """The schedule of the source with its innermost bands shaped as planned."""
    scop, order = prepared.scop, prepared.dependences.order
    # Under -O3 alone sums of floats keep their order.
    movable = movable_updates(scop, prepared.dependences, reassociate=False)
    schedule = scop.schedule
    for path in leaf_bands(schedule):
        band = read_band(find_node(schedule, path), scop, order, movable)
        schedule = shape_band(find_node(schedule, path), band, plan(band), "whole").get_schedule()
    return schedule


def _vectorise(band: Band) -> BandPlan:
    """The loops of a band in their order, the innermost one in lanes where vectorisers are able to."""
    last = len(band.members) - 1
    groups = band.lanes(last, False)
    # What is gathered costs more than lanes gain.
    alone = any(_calls(x) or _chooses(x) for x in band.statements) or band.irregular
    if alone or _is_split(band) or _crosses(band):
        groups = _serial(groups)
    return BandPlan(last, groups, (), tuple(0 for _ in band.members), 0.0)


def _serial(groups: Iterable[StatementGroup]) -> tuple[StatementGroup, ...]:
    return tuple(StatementGroup(x.names, "serial") for x in groups)


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
