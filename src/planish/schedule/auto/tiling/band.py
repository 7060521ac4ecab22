"""A band as tiler and vectoriser see it: members, statements, strides, dependences.

>>> import islpy as isl
>>> same_time(isl.UnionMap("{ S[i, j] -> [i] }")).is_equal(isl.UnionMap("{ S[i, j] -> S[i, j'] }"))
True
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import islpy as isl

from planish.core.graph import order_components
from planish.poly.isl.to_list import list_maps, list_sets
from planish.poly.scop.extents import valid_sizes
from planish.poly.scop.extraction import Access, Scop, Statement
from planish.schedule.auto.tiling.strides import steps_of

Lanes = Literal["parallel", "reduction", "serial"]
"""May the iterations of a member, innermost in its band, run in lanes: freely, as partial sums, or not."""


@dataclass(frozen=True, slots=True)
class StatementGroup:
    """Statements that share an innermost loop, and how its iterations may run."""

    names: frozenset[str]
    lanes: Lanes


@dataclass(frozen=True, slots=True, eq=False)
class Motion:
    """An access of a statement with its step (change of each subscript) along every member of the band."""

    statement: Statement
    access: Access
    steps: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """A band of a schedule tree.

    `members` give each loop's value; `prefix` the time outside the band; `inside` the pairs of instances of equal
    prefix that use one cell, `movable` those pairs that may change places; `motions` the accesses whose steps are
    constant, `irregular` the number of the others; `extents` bound the number of values of each member for fixed outer
    ones, where array extents bound it.
    """

    members: tuple[isl.UnionMap, ...]
    prefix: isl.UnionMap
    domain: isl.UnionSet
    permutable: bool
    statements: tuple[Statement, ...]
    inside: isl.UnionMap
    movable: isl.UnionMap
    motions: tuple[Motion, ...]
    irregular: int
    extents: tuple[int | None, ...]

    @property
    def free(self) -> frozenset[int]:
        """The members along which nothing waits: they may go anywhere, in a band that is not permutable, too."""
        return find_free(self.members, self.kept)

    @property
    def movers(self) -> tuple[int, ...]:
        """The members that may go inside of all others."""
        return tuple(range(len(self.members)) if self.permutable else sorted(self.free))

    @property
    def tileable(self) -> tuple[int, ...]:
        """The members that may be cut: of those that keep their order the first one only, whose blocks are around."""
        members = range(len(self.members))
        if self.permutable:
            return tuple(members)
        free = self.free
        first = next((m for m in members if m not in free), None)
        return tuple(m for m in members if m in free or m == first) if free else ()

    @property
    def kept(self) -> isl.UnionMap:
        """The pairs of instances of equal prefix that keep their order."""
        return self.inside.subtract(self.movable)

    @property
    def is_lone(self) -> bool:
        """Whether it is one loop, with none around it."""
        return len(self.members) == 1 and not any(x.dim(isl.dim_type.out) for x in list_maps(self.prefix))

    def targets_stay(self, member: int, names: Container[str]) -> bool:
        """Whether some statements store to the same cell in all iterations of `member`, for fixed others."""
        others = (m for i, m in enumerate(self.members) if i != member)
        place = reduce(lambda a, b: a.flat_range_product(b), others, self.prefix)
        writes = (s.write.relation for s in self.statements if s.name in names)
        return all(place.reverse().apply_range(isl.UnionMap.from_map(w)).is_single_valued() for w in writes)

    @property
    def dominant(self) -> tuple[Statement, ...]:
        """The statements in the deepest nests: they run most often."""
        most = max((len(s.iterators) for s in self.statements), default=0)
        return tuple(s for s in self.statements if len(s.iterators) == most)

    def lanes(self, member: int, apart: bool) -> tuple[StatementGroup, ...]:
        """How statements may run when `member` is the innermost loop of the band: one group in a common loop, or (with
        `apart`) as many groups as dependences allow, each with a loop of its own, in this order."""
        others = [m for i, m in enumerate(self.members) if i != member]
        together = reduce(lambda deps, m: deps.intersect(same_time(m)), others, self.inside)
        names = [s.name for s in self.statements]
        source, sink = isl.dim_type.in_, isl.dim_type.out
        edges = {(m.get_tuple_name(source), m.get_tuple_name(sink)): m for m in list_maps(together)}
        parts = _split(names, edges) if apart else (frozenset(names),)
        return tuple(StatementGroup(part, self._kind(part, edges, member)) for part in parts)

    def _kind(self, part: frozenset[str], edges: dict[tuple[str, str], isl.Map], member: int) -> Lanes:
        moved = same_time(self.members[member])
        carried = isl.UnionMap.empty(moved.get_space())
        for (first, second), relation in edges.items():
            if first in part and second in part:
                carried = carried.add_map(relation)
        carried = carried.subtract(moved)
        if carried.is_empty():
            return "parallel"
        # What waits for nothing may share a lone loop with sums; rows are stored past the caches, or fetched ahead, by
        # loops that make no sums.
        sums = {x.get_tuple_name(side) for x in list_maps(carried) for side in (isl.dim_type.in_, isl.dim_type.out)}
        if not carried.is_subset(self.movable) or not self.targets_stay(member, sums):
            return "serial"
        alone = self.targets_stay(member, part)
        return "reduction" if alone or (self.is_lone and self._run_together(part)) else "serial"

    def _run_together(self, names: Container[str]) -> bool:
        """Whether some statements have an instance each in every iteration in which one of them has any."""
        place = reduce(lambda a, b: a.flat_range_product(b), self.members, self.prefix)
        own = (isl.UnionSet.from_set(s.domain).intersect(self.domain) for s in self.statements if s.name in names)
        times = [x.apply(place) for x in own]
        return all(x.is_equal(times[0]) for x in times)


def _split(names: list[str], edges: Container[tuple[str, str]]) -> tuple[frozenset[str], ...]:
    """The statements in as many groups as edges (from the earlier to the later) allow, in their order."""
    parts = order_components(len(names), lambda a, b: (names[b], names[a]) in edges)
    return tuple(frozenset(names[i] for i in part) for part in parts)


def same_time(times: isl.UnionMap) -> isl.UnionMap:
    """Pairs of instances that have the same time."""
    return times.apply_range(times.reverse())


def read_band(node: isl.ScheduleNode, scop: Scop, order: isl.UnionMap, movable: isl.UnionMap) -> Band:
    """What the band at `node` is made of. `order`: pairs that use one cell; `movable`: those that may be reversed."""
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
    valid = valid_sizes(scop)
    extents: list[int | None] = [0] * len(members)
    for statement in statements:
        own = isl.UnionSet.from_set(statement.domain).intersect(domain)
        times = reduce(lambda a, b: a.flat_range_product(b), members, prefix.intersect_domain(own))
        times = times.intersect_domain(own)
        if times.is_empty():
            continue
        extents = [_widest(a, b) for a, b in zip(extents, _extents(statement, times, outer, valid), strict=True)]
        for access in statement.accesses:
            steps = None if times.is_empty() else steps_of(access.relation, isl.Map.from_union_map(times))
            if steps is None:
                irregular += 1
            else:
                motions.append(Motion(statement, access, steps[outer:]))
    permutable = bool(node.band_get_permutable()) or len(members) == 1
    return Band(
        members, prefix, domain, permutable, statements, inside, movable, tuple(motions), irregular, tuple(extents)
    )


def find_free(members: Sequence[isl.UnionMap], kept: isl.UnionMap) -> frozenset[int]:
    """The members of a band along which no instance waits for another one, of pairs that are `kept` in order."""
    return frozenset(i for i, x in enumerate(members) if kept.is_subset(same_time(x)))


def _widest(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else max(a, b)


def _extents(statement: Statement, times: isl.UnionMap, outer: int, valid: isl.Set) -> list[int | None]:
    """The number of values that each member of the band takes for one statement; None where nothing bounds it."""
    domain = statement.domain.intersect_params(valid)
    if domain.is_empty():
        return [0] * (isl.Map.from_union_map(times).dim(isl.dim_type.out) - outer)
    spans: list[int | None] = []
    for i in range(len(statement.iterators)):
        low, high = domain.dim_min_val(i), domain.dim_max_val(i)
        known = low.is_int() and high.is_int()
        spans.append(int(high.to_python()) - int(low.to_python()) + 1 if known else None)
    rows = steps_of(statement.domain.identity().reset_tuple_id(isl.dim_type.out), isl.Map.from_union_map(times))
    if rows is None:
        return [None] * (isl.Map.from_union_map(times).dim(isl.dim_type.out) - outer)
    out: list[int | None] = []
    for row in rows[outer:]:
        moving = [spans[d] for d, step in enumerate(row) if step]
        widths = [s for s in moving if s is not None]
        out.append(max(widths, default=0) if len(widths) == len(moving) else None)
    return out

