"""Where a function stands under the roofs of this machine: its operations and bytes, and the times that were measured.

>>> read_values("n=700, m=3; n=32: 11.13x; n=128: 47.68x")
{'n': 700, 'm': 3}
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import islpy as isl

from planish.build.lower import RegionPlan, known_arguments
from planish.frontend.c.translation_unit import CFunction
from planish.ir.expr import Binary, Call, Expr, Unary, type_of
from planish.ir.nest import Reduce
from planish.ir.traverse import expressions, walk_expr
from planish.poly.isl.op_budget import OverBudgetError, within
from planish.poly.scop.extents import count_elements, fix_sizes
from planish.poly.scop.extraction import Scop, Statement
from planish.report.account import FunctionAccount
from planish.run.timing.roofs import MemoryRoof, Roofs
from planish.schedule.auto.cost.instance_counts import NoEstimateError, sample_domain

SOURCE = "source file"
"""What the function as it was written is called among its versions, one of which may be called "original"."""
_VALUE = re.compile(r"(\w+)=(-?\d+)\b")


@dataclass(frozen=True, slots=True)
class WorkDone:
    """What one call does: floating operations, and the bytes of its arrays, each moved once in and once out where it is
    read and written; `type` of most operations ("f64", "f32", or another one)."""

    operations: float
    bytes: float
    type: str

    @property
    def intensity(self) -> float:
        """Operations for each byte that has to move."""
        return self.operations / self.bytes


@dataclass(frozen=True, slots=True)
class MeasuredPoint:
    """A version under the roofs: operations per second, in the call that was timed."""

    name: str
    rate: float


@dataclass(frozen=True, slots=True)
class Roofline:
    """The roofs, what a call does, and the measured versions, the original first."""

    roofs: Roofs
    work: WorkDone
    points: tuple[MeasuredPoint, ...]

    @property
    def peak(self) -> float:
        """Operations per second of the type, that one core reaches at most; 0 where that was not measured."""
        return self.roofs.peak.get(self.work.type, 0.0)

    @property
    def memory(self) -> MemoryRoof:
        """The nearest memory that holds all arrays."""
        return next((x for x in self.roofs.memories if x.capacity >= self.work.bytes), self.roofs.memories[-1])

    @property
    def bound(self) -> float:
        """Operations per second that the memory allows that holds the arrays, and the units reach."""
        fed = self.memory.bytes_per_second * self.work.intensity
        return min(self.peak, fed) if self.peak else fed


def draw_roofline(
    function: CFunction, plans: Sequence[RegionPlan], account: FunctionAccount, roofs: Roofs | None, text: str
) -> Roofline | str:  # fmt: skip
    """The roofline of a function that was timed, or why there is none."""
    if account.before is None or account.after is None:
        return "nothing was timed: build without --no-measure"
    if roofs is None:
        return "the roofs of this machine cannot be measured"
    done: list[WorkDone] = []
    for plan in plans:
        if plan.prepared is None:
            return "a nest of it is not affine, so that its operations are not counted"
        found = _count(plan, function, account.timed, text)
        if found is None:
            return "the sizes of the call that was timed do not tell all trip counts"
        done.append(found)
    operations, moved = sum(x.operations for x in done), sum(x.bytes for x in done)
    if not operations or not moved:
        return "it has no floating operations to count"
    work = WorkDone(operations, moved, max(done, key=lambda x: x.operations).type)
    times = {SOURCE: account.before.median} | {x.name: x.time.median for x in account.raced}
    if account.replaced:
        times[account.version] = account.after.median
    return Roofline(roofs, work, tuple(MeasuredPoint(name, operations / x) for name, x in times.items()))


def read_values(timed: str) -> dict[str, int]:
    """The integers that the call had that was timed first."""
    return {name: int(value) for name, value in _VALUE.findall(timed.partition(";")[0])}


def _count(plan: RegionPlan, function: CFunction, timed: str, text: str) -> WorkDone | None:
    """The work of one region; None where its sizes are not known."""
    assert plan.prepared is not None
    scop, known, values = plan.prepared.scop, known_arguments(plan, function, text), read_values(timed)
    sizes = {name: values[x] for name, x in known.sizes.items() if x in values}
    try:
        return within(lambda: count_work(scop, sizes))
    except (NoEstimateError, OverBudgetError, isl.Error, KeyError):
        return None


def count_work(scop: Scop, sizes: Mapping[str, int]) -> WorkDone:
    """The work of a nest; NoEstimateError where the sizes do not tell how often a statement runs.

    >>> from planish.ir.text.parser import parse_kernel
    >>> from planish.poly.scop.extraction import extract_scop
    >>> text = "kernel k(n; x: f64[n], y: f64[n]) { for i in 0 .. n { y[i] += x[i] * 2.0 } }"
    >>> count_work(extract_scop(parse_kernel(text)), {"n": 1000})
    WorkDone(operations=2000.0, bytes=24000.0, type='f64')
    """
    counts = {s.name: float(round(sample_domain(_given(s.domain, sizes), sizes).count)) for s in scop.statements}
    operations: dict[str, float] = {}
    for statement in scop.statements:
        for type, count in _operations(statement).items():
            operations[type] = operations.get(type, 0.0) + count * counts[statement.name]
    elements = count_elements(scop, sizes)
    seen = {(x.array, x.write) for s in scop.statements for x in s.accesses}
    ways = [(a, way) for a in scop.kernel.arrays for way in (False, True) if (a.name, way) in seen]
    moved = sum(elements[a.name] * a.type.size for a, _ in ways)
    most = max(operations, key=lambda x: operations[x], default="")
    return WorkDone(sum(operations.values()), float(moved), most)


def _given(domain: isl.Set, sizes: Mapping[str, int]) -> isl.Set:
    """The domain; NoEstimateError where it depends on a size that is not given."""
    left = fix_sizes(domain, sizes)
    names = [left.get_dim_name(isl.dim_type.param, k) for k in range(left.dim(isl.dim_type.param))]
    if any(left.involves_dims(isl.dim_type.param, k, 1) for k in range(len(names)) if names[k] not in sizes):
        raise NoEstimateError
    return domain


def _operations(statement: Statement) -> dict[str, int]:
    """The floating operations of one instance by type; a function of C's library counts as one."""
    out: dict[str, int] = {}
    for expr in (x for e in expressions(statement.stmt) for x in walk_expr(e)):
        _tally(out, expr)
    if isinstance(statement.stmt, Reduce) and type_of(statement.stmt.value).is_float:
        name = str(type_of(statement.stmt.value))
        out[name] = out.get(name, 0) + 1
    return out


def _tally(out: dict[str, int], expr: Expr) -> None:
    if isinstance(expr, Unary | Binary | Call) and type_of(expr).is_float:
        name = str(type_of(expr))
        out[name] = out.get(name, 0) + 1
