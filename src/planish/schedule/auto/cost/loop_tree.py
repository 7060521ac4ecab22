"""A schedule tree as loops with trip counts around statements whose references say how far each loop moves them.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.poly.scop.extraction import extract_scop
>>> loops = "for i in 0 .. n { for j in 0 .. i { A[j, i] = 0.0 } }"
>>> scop = extract_scop(parse_kernel("kernel k(n; A: f64[n, n]) { %s }" % loops))
>>> (loop,) = read_loops(scop.schedule, scop, {"n": 9})
>>> [x.trips for x in (loop, *loop.body)], [x.steps for x in loop.body[0].body[0].references]
([8, 4], [((0, 1), (1, 0))])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import islpy as isl

from planish.ir.index.evaluate import evaluate
from planish.poly.isl.schedule_tree import SEQUENCES, Kind, kind_of, loop_type_of
from planish.poly.isl.to_list import list_maps
from planish.poly.scop.extents import fix_sizes
from planish.poly.scop.extraction import Access, Scop, Statement
from planish.schedule.auto.cost.instance_counts import DomainSample, bounds_of

SET = isl.dim_type.set

Step = tuple[int, ...]
"""How far each subscript moves when a loop advances."""


@dataclass(frozen=True, slots=True)
class ArrayReference:
    """An access as loops see it: `origin` in the middle of all loops, `steps` for each loop around, outermost first;
    both are empty where subscripts are no functions of the loops (or there are none)."""

    array: str
    bytes: int
    write: bool
    origin: Step
    steps: tuple[Step, ...]
    regular: bool = True

    def moves(self, depth: int) -> bool:
        """Whether the loop at a depth moves it."""
        return not self.regular or any(self.steps[depth])


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """A statement in its loops: how often it runs, the trip counts that it has around it by itself, its references, the
    write first. `around`: the trip counts of these loops for all that is in them; `mark`: that of the tree; `lanes`:
    the depth of the loop that it marks; `unrolled`: the depths of loops that are written out."""

    statement: Statement
    instances: float
    trips: tuple[int, ...]
    references: tuple[ArrayReference, ...]
    around: tuple[int, ...] = ()
    mark: str = ""
    lanes: int | None = None
    unrolled: tuple[int, ...] = ()

    @property
    def copies(self) -> int:
        """How often it stands in the loop around those that are written out."""
        return prod(self.trips[d] for d in self.unrolled)

    def share(self, depth: int) -> float:
        """The part of the iterations of the outermost loops, down to a depth, in which the statement runs."""
        outer = prod(x / y for x, y in zip(self.trips[:depth], self.around[:depth], strict=True))
        return outer * min(1.0, self.instances / prod(self.trips))


@dataclass(frozen=True, slots=True, eq=False)
class LoopNode:
    """A loop at a depth, how many iterations it has in the middle of those around it, and what is in it."""

    depth: int
    trips: int
    body: tuple[Node, ...]


Node = Leaf | LoopNode


def leaves(nodes: Sequence[Node]) -> Iterator[Leaf]:
    """All statements, in their order."""
    for x in nodes:
        if isinstance(x, Leaf):
            yield x
        else:
            yield from leaves(x.body)


def read_loops(
    schedule: isl.Schedule, scop: Scop, sizes: Mapping[str, int], samples: Mapping[str, DomainSample] | None = None
) -> tuple[Node, ...]:
    """The loops of a schedule for given sizes of all that the kernel depends on."""
    arrays = {x.name: x.type.size for x in (*scop.kernel.arrays, *scop.locals)}
    read = _Reader(scop, sizes, arrays, samples or {}).visit(schedule.get_root(), 0, _Around())
    return tuple(_with_loops(x, ()) for x in read)


def _with_loops(node: Node, around: tuple[int, ...]) -> Node:
    """The node whose statements know the trip counts of the loops around them."""
    if isinstance(node, Leaf):
        return replace(node, around=around)
    return replace(node, body=tuple(_with_loops(x, (*around, node.trips)) for x in node.body))


@dataclass(frozen=True, slots=True)
class _Around:
    """What was passed on the way to a node."""

    mark: str = ""
    lanes: int | None = None
    unrolled: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Reader:
    scop: Scop
    sizes: Mapping[str, int]
    arrays: Mapping[str, int]
    samples: Mapping[str, DomainSample]

    def visit(self, node: isl.ScheduleNode, depth: int, around: _Around) -> tuple[Node, ...]:
        kind = kind_of(node)
        if kind == Kind.leaf:
            return tuple(self._leaves(node, around))
        if kind in SEQUENCES:
            return tuple(y for i in range(node.n_children()) for y in self.visit(node.get_child(i), depth, around))
        if kind == Kind.mark:
            around = _Around(node.mark_get_id().get_name(), depth)
        if kind != Kind.band:
            return self.visit(node.get_child(0), depth, around)
        members = node.band_n_member()
        written = tuple(depth + m for m in range(members) if loop_type_of(node, m) == isl.ast_loop_type.unroll)
        around = replace(around, unrolled=(*around.unrolled, *written))
        body = self.visit(node.get_child(0), depth + members, around)
        for at in reversed(range(depth, depth + members)):
            body = (LoopNode(at, max((x.trips[at] for x in leaves(body)), default=1), body),) if body else ()
        return body

    def _leaves(self, node: isl.ScheduleNode, around: _Around) -> Iterator[Leaf]:
        times = node.get_prefix_schedule_union_map().intersect_domain(node.get_domain())
        for own in list_maps(times):
            statement = self.scop.statement(own.get_tuple_name(isl.dim_type.in_) or "")
            graph = fix_sizes(own.reverse().wrap(), self.sizes).project_out_all_params()
            yield self._leaf(statement, own.domain(), graph, around)

    def _leaf(self, statement: Statement, part: isl.Set, graph: isl.Set, around: _Around) -> Leaf:
        """The statement in a part of its domain, whose instances have these times: times, then iterators."""
        count, sample = len(statement.iterators), self.samples.get(statement.name)
        depth = graph.dim(SET) - count
        instances = None if sample is None else sample.count
        if sample is not None and not statement.domain.is_subset(part):
            instances = sample.count * sample.share(part)
        if instances == 0 or graph.is_empty():
            return Leaf(statement, 0.0, (1,) * depth, (), (), around.mark, around.lanes, around.unrolled)
        trips: list[int] = []
        ends: list[tuple[Step, Step] | None] = []
        for d in range(depth):
            low, high = bounds_of(graph, d)
            stride = max(1, int(graph.get_stride(d).to_python())) if high > low else 1
            trips.append((high - low) // stride + 1)
            middle = low + stride * ((trips[-1] - 1) // 2)
            here = _fixed(graph, d, middle)
            if here.is_empty():  # a gap
                middle = int(graph.sample_point().get_coordinate_val(SET, d).to_python())
                here = _fixed(graph, d, middle)
            after = _fixed(graph, d, middle + stride)
            ends.append(None if after.is_empty() else (_first(here, count), _first(after, count)))
            graph = here
        place = _first(graph, count)
        references = tuple(self._reference(x, statement, place, ends) for x in statement.accesses)
        total = float(prod(trips)) if instances is None else instances
        return Leaf(statement, total, tuple(trips), references, (), around.mark, around.lanes, around.unrolled)

    def _reference(
        self, access: Access, statement: Statement, here: Step, ends: Sequence[tuple[Step, Step] | None]
    ) -> ArrayReference:
        def place(point: Step) -> Step:
            known = {**self.sizes, **dict(zip(statement.iterators, point, strict=True))}
            return tuple(evaluate(x, known) for x in access.index)

        size, still = self.arrays[access.array], (0,) * len(access.index)
        try:
            moved = [still if x is None else _difference(*map(place, x)) for x in ends]
            return ArrayReference(access.array, size, access.write, place(here), tuple(moved))
        except (KeyError, ValueError, ZeroDivisionError):
            return ArrayReference(access.array, size, access.write, (), (), False)


def _difference(first: Step, second: Step) -> Step:
    return tuple(b - a for a, b in zip(first, second, strict=True))


def _fixed(graph: isl.Set, dimension: int, value: int) -> isl.Set:
    return graph.fix_val(SET, dimension, isl.Val(value))


def _first(graph: isl.Set, count: int) -> Step:
    """The iterators of the instance with the least time."""
    depth = graph.dim(SET) - count
    for d in range(depth):
        least = _fixed(graph, d, bounds_of(graph, d)[0])
        graph = graph.intersect(isl.Set.from_point(graph.sample_point())) if least.is_empty() else least
    point = graph.sample_point()
    return tuple(int(point.get_coordinate_val(SET, depth + d).to_python()) for d in range(count))
