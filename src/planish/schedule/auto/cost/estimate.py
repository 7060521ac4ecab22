"""The performance model of schedules, after the execution-cache-memory (ECM) model: lines come from cache to cache
while the core computes, but not while it loads.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.poly.scop.extraction import extract_scop
>>> from planish.target.load import load_target
>>> text = "kernel k(n; A: f64[n, n], x: f64[n]) { for i in 0 .. n { for j in 0 .. n { x[i] += A[j, i] } } }"
>>> model = CostModel(extract_scop(parse_kernel(text)), load_target("x86-avx512"), {"n": 1024})
>>> (loop,) = model.estimate(model.scop.schedule).loops
>>> round(loop.core.busy / 1024**2), [round(x / 1024**2, 1) for x in loop.moved]
(4, [2.0, 0.7, 1.2, 0.0])
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import islpy as isl

from planish.poly.isl.affine import isl_name
from planish.poly.scop.extents import busy_sizes, evaluate_extent, largest_sizes, pick_sizes
from planish.poly.scop.extraction import Scop
from planish.schedule.auto.cost.cache_traffic import Room, missed_lines
from planish.schedule.auto.cost.core_cycles import PARTIAL, Cycles, core_cycles
from planish.schedule.auto.cost.instance_counts import DomainSample, sample_domain
from planish.schedule.auto.cost.loop_tree import Leaf, LoopNode, Node, leaves, read_loops
from planish.schedule.auto.cost.recurrences import Way
from planish.target.machine import PAGE, Target

USUAL = 1000
"""A size of which nothing is known."""
MOST = 1 << 24
"""A size that may be larger than this is as good as unknown: it has the bound of its type."""
GUARD = 12.0
"""Cycles in which it is found out whether an iteration has something to do."""


@dataclass(frozen=True, slots=True)
class LoopEstimate:
    """An innermost loop: its cycles in the core, and those in which each level of the caches, and then the table of
    pages, brings what it misses."""

    core: Cycles
    moved: tuple[float, ...]

    @property
    def cycles(self) -> float:
        """Cycles in all."""
        return max(self.core.busy, self.core.loads + sum(self.moved)) + self.core.lost


@dataclass(frozen=True, slots=True)
class Estimate:
    """The innermost loops of a schedule, and the cycles in which it is asked what belongs to full strips."""

    loops: tuple[LoopEstimate, ...]
    guards: float

    @property
    def cycles(self) -> float:
        """Cycles in all."""
        return sum(x.cycles for x in self.loops) + self.guards


@dataclass(frozen=True, eq=False)  # not slotted: what is found once is kept
class CostModel:
    """Estimates schedules of one scop on a target. `given`: sizes that calls are likely to have; `registers`: local
    arrays of which each iteration keeps its own elements in registers; `partial_sums`: in how many registers a lone sum
    is made in lanes; `linear`: statements that are recurrences which are made some values at a time, and how."""

    scop: Scop
    target: Target
    given: Mapping[str, int] = field(default_factory=dict)
    registers: Collection[str] = ()
    partial_sums: int = PARTIAL
    linear: Mapping[str, Way] = field(default_factory=dict)

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """The sizes that are estimated for: as given, else as large as arrays with constant extents let them be, as far
        as all statements run with them."""
        names = sorted(self.scop.kernel.sizes, key=lambda x: x not in self.given)
        busy = busy_sizes(self.scop)
        largest = {x: n for x, n in largest_sizes(busy).items() if 0 < n <= MOST}
        wanted = {x: self.given.get(x, largest.get(isl_name(x), USUAL)) for x in names}
        return pick_sizes(busy, wanted) or wanted

    @cached_property
    def samples(self) -> Mapping[str, DomainSample]:
        """Instances of each statement."""
        return {x.name: sample_domain(x.domain, self.sizes) for x in self.scop.statements}

    @cached_property
    def extents(self) -> Mapping[str, tuple[int | None, ...]]:
        """The extents of arrays, as far as they are known."""
        return {
            x.name: tuple(None if e is None else evaluate_extent(e, self.sizes) for e in x.shape)
            for x in (*self.scop.kernel.arrays, *self.scop.locals)
        }  # fmt: skip

    @cached_property
    def instances(self) -> float:
        """About how many instances the statements in the most loops have."""
        deepest = max((len(x.iterators) for x in self.scop.statements), default=0)
        return max(1.0, sum(self.samples[x.name].count for x in self.scop.statements if len(x.iterators) == deepest))

    def estimate(self, schedule: isl.Schedule) -> Estimate:
        """What a schedule takes whose marks say what is done with its loops. NoEstimateError where it goes on without
        end, as far as is known."""
        loops = read_loops(schedule, self.scop, self.sizes, self.samples)
        loops = tuple(_contracted(x, _common(loops, {y.name for y in self.scop.locals}), self.registers) for x in loops)
        missed = [
            (missed_lines(loops, Room(x.share, x.line, self.extents, x.level > 1)), x.line / self.target.refill(x))
            for x in self.target.caches
        ]  # fmt: skip
        pages = Room(self.target.tlb_entries * PAGE, PAGE, self.extents)
        missed.append((missed_lines(loops, pages, stored=1), self.target.page_walk))
        found = []
        for body in _bodies(loops):
            moved = tuple(sum(lines.get(id(x), 0.0) for x in body) * cycles for lines, cycles in missed)
            found.append(LoopEstimate(core_cycles(body, self.target, self.partial_sums, self.linear), moved))
        return Estimate(tuple(found), _guards(loops) * GUARD)

    def cycles_of(self, schedule: isl.Schedule) -> float:
        """Cycles for each instance of the statements in the most loops; NoEstimateError as of `estimate`."""
        return self.estimate(schedule).cycles / self.instances


def _bodies(nodes: Sequence[Node]) -> Iterator[tuple[Leaf, ...]]:
    """The statements that share an innermost loop."""
    own = tuple(x for x in nodes if isinstance(x, Leaf) and x.instances)
    if own:
        yield own
    for x in nodes:
        if isinstance(x, LoopNode):
            yield from _bodies(x.body)


def _guards(nodes: Sequence[Node]) -> float:
    """How often it is asked, for each iteration of a strip, whether it has other statements that full strips have not:
    that is found out in the innermost loops, and not once for the strip."""
    strips = [x for x in leaves(nodes) if x.mark.startswith("registers")]
    if any(isinstance(x, LoopNode) and _is_strip(x) for x in nodes):
        names = {x.statement.name for x in strips}
        parts = [x for x in leaves(nodes) if x.statement.name in names and x.lanes is not None]
        others = any(x.statement.name not in names for x in leaves(nodes))
        return sum(x.instances / x.trips[x.lanes or 0] for x in parts) if others else 0.0
    return sum(_guards(x.body) for x in nodes if isinstance(x, LoopNode)) if strips else 0.0


def _is_strip(node: LoopNode) -> bool:
    """Whether a loop is that over the lanes of strips."""
    return any(x.lanes == node.depth and x.mark.startswith("registers") for x in leaves((node,)))


def _common(nodes: Sequence[Node], locals: Collection[str]) -> Mapping[str, int]:
    """In how many loops a local array needs no cells of its own for each iteration: all its users share them, and each
    of their iterations has its own values."""
    out: dict[str, int] = {}
    for name in locals:
        depth, here = 0, tuple(nodes)
        while True:
            users = [x for x in here if _uses(x, name)]
            if len(users) != 1 or not isinstance(users[0], LoopNode):
                break
            own = (x for leaf in leaves(users) for x in leaf.references if x.array == name)
            if not all(x.moves(users[0].depth) for x in own):
                break  # what one iteration leaves, another one uses
            here, depth = users[0].body, users[0].depth + 1
        out[name] = depth
    return out


def _uses(node: Node, name: str) -> bool:
    return any(x.array == name for leaf in leaves((node,)) for x in leaf.references)


def _contracted(node: Node, common: Mapping[str, int], registers: Collection[str]) -> Node:
    """A node whose references to local arrays do not move along loops that all their users share, but for lanes; and do
    not move at all where they are registers."""
    if isinstance(node, LoopNode):
        return replace(node, body=tuple(_contracted(x, common, registers) for x in node.body))
    kept = {*node.unrolled, node.lanes}
    references = []
    for x in node.references:
        if x.regular and x.array in common:
            still = (0,) * len(x.origin)
            stays = [x.array in registers or (d < common[x.array] and d not in kept) for d in range(len(x.steps))]
            x = replace(x, steps=tuple(still if s else step for s, step in zip(stays, x.steps, strict=True)))
        references.append(x)
    return replace(node, references=tuple(references))
