"""When each instance is to run, for all values of the sizes: the relation that a schedule stands for.

A time is a vector compared from left to right. It holds the values of the bands' members and the positions in sequences
on the way to a leaf. The children of a set node may run in any order; where a tree has one, the dimensions come in
pairs, and the first of each pair (the number of a set's child) has to be equal for the second to count.

>>> import islpy as isl
>>> times = map_times(isl.UnionMap("{ S[i] -> [i, 1] : 0 <= i < 9; T[] -> [4] }"), isl.Set("{ : }"))
>>> print(times.relation)
{ S[i] -> [i, 1] : 0 <= i <= 8; T[] -> [4, 0] }
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import islpy as isl

from planish.astgen.checking.verify import Instance
from planish.astgen.dimensions.project import pad_range
from planish.poly.isl.affine import isl_name
from planish.poly.isl.coalesce import coalesce
from planish.poly.isl.schedule_tree import SEQUENCES, Kind, kind_of, relation_below
from planish.poly.isl.to_list import list_maps

IN, OUT, PARAM = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.param


@dataclass(frozen=True, slots=True, eq=False)
class Times:
    """From instances to times of `length` dimensions, for the sizes in `context`; `paired` where there are sets."""

    relation: isl.UnionMap
    context: isl.Set
    length: int
    paired: bool

    def later(self) -> isl.Map:
        """From each time to those that have to come after it."""
        space = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, self.length)
        if not self.paired:
            return isl.Map.lex_lt(space)
        universe = isl.Map.universe(space.map_from_set())
        out = isl.Map.empty(space.map_from_set())
        for k in range(1, self.length, 2):
            part = universe.order_lt(IN, k, OUT, k).equate(IN, k - 1, OUT, k - 1)
            for i in range(k - 1):
                part = part.equate(IN, i, OUT, i)
            out = out.union(part)
        return out


def map_times(schedule: isl.UnionMap, context: isl.Set) -> Times:
    """The times of a schedule map: its values, with zeros at the end of the shorter ones."""
    parts = list_maps(schedule)
    length = max((p.dim(OUT) for p in parts), default=0)
    space = context.get_space().params().align_params(schedule.get_space())
    allowed = context.params().align_params(space)
    out = isl.UnionMap.empty(space)
    for part in parts:
        flat = part.set_tuple_name(OUT, "at").reset_tuple_id(OUT)
        out = out.union(isl.UnionMap.from_map(pad_range(flat, length)))
    return Times(out.intersect_params(allowed), allowed, length, False)


Step = tuple[Kind, int] | None
"""What a dimension of time is made of: None for a band member's value, else a kind of node and a child's number."""


def tree_times(schedule: isl.Schedule, context: isl.Set | None = None) -> Times:
    """The times of a schedule tree; what context nodes say is assumed."""
    domain = schedule.get_domain()
    space = domain.get_space().params()
    given = isl.Set.universe(space) if context is None else context.params().align_params(space)
    walk = _Walk([], given)
    walk.visit(schedule.get_root(), isl.UnionMap.from_domain_and_range(_origin(given.get_space()), domain), ())
    paired = any(step is not None and step[0] == Kind.set for _, layout in walk.leaves for step in layout)
    length = max((len(layout) for _, layout in walk.leaves), default=0) * (2 if paired else 1)
    out = isl.UnionMap.empty(walk.context.get_space())
    for relation, layout in walk.leaves:
        out = out.union(isl.UnionMap.from_map(pad_range(_timed(relation, layout, paired), length)))
    return Times(coalesce(out.intersect_params(walk.context)), walk.context, length, paired)


def _origin(params: isl.Space) -> isl.UnionSet:
    return isl.UnionSet.from_set(isl.Set.universe(params.set_from_params()))


def _timed(executed: isl.Map, layout: tuple[Step, ...], paired: bool) -> isl.Map:
    """From instances to times, given the instances at each point of the bands' dimensions."""
    out = executed.reverse()
    position = 0
    for step in layout:
        numbers: tuple[int | None, ...]
        if step is None:
            numbers = (0, None) if paired else (None,)
        elif not paired:
            numbers = (step[1],)
        else:
            numbers = (step[1], 0) if step[0] == Kind.set else (0, step[1])
        for number in numbers:
            if number is not None:
                out = out.insert_dims(OUT, position, 1).fix_val(OUT, position, isl.Val(number))
            position += 1
    return out


@dataclass(slots=True, eq=False)
class _Walk:
    """Gathers what runs at the leaves, and for which sizes the context nodes hold wherever they are reached."""

    leaves: list[tuple[isl.Map, tuple[Step, ...]]]
    context: isl.Set

    def visit(self, node: isl.ScheduleNode, executed: isl.UnionMap, layout: tuple[Step, ...]) -> None:
        """`executed` maps points of the bands' dimensions to instances."""
        kind = kind_of(node)
        if kind == Kind.leaf:
            self.leaves += [(relation, layout) for relation in list_maps(executed)]
            return
        if kind in SEQUENCES:
            for i in range(node.n_children()):
                self.visit(node.get_child(i), executed, (*layout, (kind, i)))
            return
        if kind == Kind.band:
            layout = (*layout, *(None for _ in range(node.band_n_member())))
        elif kind == Kind.context:
            self.assume(node.context_get_context(), executed.domain())
        self.visit(node.get_child(0), relation_below(node, executed), layout)

    def assume(self, condition: isl.Set, reached: isl.UnionSet) -> None:
        """Leave out the sizes for which a context node is reached where its condition does not hold."""
        if condition.dim(isl.dim_type.set) == 0:
            self.context = self.context.intersect(condition.params())
            return
        wrong = reached.subtract(isl.UnionSet.from_set(condition)).params()
        self.context = coalesce(self.context.subtract(wrong))


def fix_sizes(times: Times, sizes: Mapping[str, int]) -> isl.UnionMap:
    """The relation for given sizes; those that it does not know are left out."""
    fixed = times.context
    for name, value in sizes.items():
        position = fixed.find_dim_by_name(PARAM, isl_name(name))
        if position >= 0:
            fixed = fixed.fix_val(PARAM, position, isl.Val(value))
    return times.relation.intersect_params(fixed)


def list_times(times: Times, sizes: Mapping[str, int]) -> list[tuple[tuple[int, ...], Instance]]:
    """All instances with their times, sorted by time, for given sizes (which have to make the domain bounded); as
    `verify.list_instances`, where the children of a set run one after the other."""
    found: list[tuple[tuple[int, ...], Instance]] = []
    for relation in list_maps(fix_sizes(times, sizes)):
        name, dims = str(relation.get_tuple_name(IN)), relation.dim(IN)

        def visit(point: isl.Point, name: str = name, dims: int = dims) -> None:
            count = point.get_space().dim(isl.dim_type.set)
            values = [int(point.get_coordinate_val(isl.dim_type.set, i).to_python()) for i in range(count)]
            found.append((tuple(values[dims:]), (name, tuple(values[:dims]))))

        relation.wrap().foreach_point(visit)
    return sorted(found)
