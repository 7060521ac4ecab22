"""A permutable band as the tiler and the vectoriser see it: its members, statements, strides and dependences.

>>> import islpy as isl
>>> same_time(isl.UnionMap("{ S[i, j] -> [i] }")).is_equal(isl.UnionMap("{ S[i, j] -> S[i, j'] }"))
True
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Literal

import islpy as isl

from planish.poly.dependence import Dependences
from planish.poly.listing import list_sets
from planish.poly.scop import Access, Scop, Statement
from planish.schedule.strides import steps_of

Lanes = Literal["parallel", "reduction", "serial"]
"""May the iterations of a member, innermost in its band, run in lanes: freely, as partial sums, or not."""


@dataclass(frozen=True, slots=True, eq=False)
class Motion:
    """An access of a statement with its step (change of each subscript) along every member of the band."""

    statement: Statement
    access: Access
    steps: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """A band of a schedule tree.

    `members` give each loop's value; `prefix` the time outside the band; `inside` the dependences between instances of
    equal prefix; `motions` the accesses whose steps are constant, `irregular` the number of the others.
    """

    members: tuple[isl.UnionMap, ...]
    prefix: isl.UnionMap
    domain: isl.UnionSet
    permutable: bool
    statements: tuple[Statement, ...]
    inside: isl.UnionMap
    reductions: isl.UnionMap
    motions: tuple[Motion, ...]
    irregular: int

    @property
    def dominant(self) -> tuple[Statement, ...]:
        """The statements that run at every point of the band, not only on a face of it."""
        depth = {s.name: self.rank(s) for s in self.statements}
        most = max(depth.values(), default=0)
        return tuple(s for s in self.statements if depth[s.name] == most)

    def rank(self, statement: Statement) -> int:
        """How many members change while `statement` runs in the band."""
        rows = [m.steps for m in self.motions if m.statement is statement]
        own = isl.UnionSet.from_set(statement.domain)
        return sum(
            1 for i, m in enumerate(self.members)
            if any(any(steps[i]) for steps in rows) or not _is_fixed(m.intersect_domain(own))
        )  # fmt: skip

    def lanes(self, member: int) -> Lanes:
        """How the iterations of `member` may run when it is the innermost loop of the band."""
        others = [m for i, m in enumerate(self.members) if i != member]
        together = reduce(lambda deps, m: deps.intersect(same_time(m)), others, self.inside)
        carried = together.subtract(same_time(self.members[member]))
        if carried.is_empty():
            return "parallel"
        return "reduction" if carried.is_subset(self.reductions) else "serial"


def same_time(times: isl.UnionMap) -> isl.UnionMap:
    """Pairs of instances that have the same time."""
    return times.apply_range(times.reverse())


def _is_fixed(times: isl.UnionMap) -> bool:
    values = list_sets(times.range())
    return all(v.is_singleton() for v in values)


def read_band(
    node: isl.ScheduleNode, scop: Scop, dependences: Dependences, order: isl.UnionMap, reassociate: bool
) -> Band:
    """What the band at `node` is made of."""
    schedule = node.band_get_partial_schedule()
    domain = node.get_domain()
    prefix = node.get_prefix_schedule_union_map().intersect_domain(domain)
    members = tuple(
        isl.UnionMap.from_union_pw_aff(schedule.get_at(i)).intersect_domain(domain)
        for i in range(node.band_n_member())
    )
    inside = order.intersect_domain(domain).intersect_range(domain).intersect(same_time(prefix))
    names = {s.get_tuple_name() for s in list_sets(domain)}
    statements = tuple(s for s in scop.statements if s.name in names)
    motions: list[Motion] = []
    irregular = 0
    outer = node.get_schedule_depth()
    for statement in statements:
        own = isl.UnionSet.from_set(statement.domain).intersect(domain)
        times = reduce(lambda a, b: a.flat_range_product(b), members, prefix.intersect_domain(own))
        times = times.intersect_domain(own)
        for access in statement.accesses:
            steps = None if times.is_empty() else steps_of(access.relation, isl.Map.from_union_map(times))
            if steps is None:
                irregular += 1
            else:
                motions.append(Motion(statement, access, steps[outer:]))
    allowed = _movable_reductions(scop, dependences, reassociate)
    permutable = bool(node.band_get_permutable()) or len(members) == 1
    return Band(members, prefix, domain, permutable, statements, inside, allowed, tuple(motions), irregular)


def _movable_reductions(scop: Scop, dependences: Dependences, reassociate: bool) -> isl.UnionMap:
    """Chains of updates that may be summed in another order: integers always, floats where the user allows it."""
    out = isl.UnionMap.empty(scop.context.get_space())
    for statement in scop.statements:
        arrays = {a.name: a for a in (*scop.kernel.arrays, *scop.locals)}
        if statement.reduction is None or not (reassociate or arrays[statement.stmt.array].type.is_int):
            continue
        own = isl.UnionSet.from_set(statement.domain)
        out = out.union(dependences.reductions.intersect_domain(own))
    return out
