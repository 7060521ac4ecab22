"""Describes a version by the nest that it is: plans that the nest does not show are not reported.

>>> from planish.ir.text.parser import parse_kernel
>>> kernel = parse_kernel("kernel k(n; x: f64[n], y: f64[n]) { for i in 0 .. n { y[i] = x[i] } }")
>>> loops = observe(kernel, {x.span for x in walk(kernel.body) if isinstance(x, Assign)})
>>> loops.steps, loops.lanes, loops.copies
(frozenset({1}), frozenset(), 0)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import prod

from planish.core.diagnostic import Remark
from planish.core.span import Span
from planish.frontend.c.translation_unit import Region
from planish.ir.nest import Alloc, Assign, Block, For, Kernel, Let, Reduce
from planish.ir.passes.vector_loops import runs_in_lanes, values_of
from planish.ir.text.printer import print_expr
from planish.ir.traverse import blocks_of, walk
from planish.schedule.auto.tiling.band import Band, Lanes
from planish.schedule.auto.tiling.tile_sizes import BandPlan


@dataclass(frozen=True, slots=True)
class DescribedLoops:
    """The loops around some statements of a nest: their steps, how they run in lanes, and how many copies of one
    statement stand side by side, whose results are in registers."""

    steps: frozenset[int]
    lanes: frozenset[Lanes]
    copies: int


def observe(kernel: Kernel, spans: Collection[Span | None]) -> DescribedLoops:
    """The loops around the statements of a kernel that came from these places."""
    steps, lanes, copies, values = set[int](), set[Lanes](), 0, values_of(kernel)
    kept = {x.array.name for x in walk(kernel.body) if isinstance(x, Alloc) and x.array.memory == "register"}
    for block, around in _blocks(kernel.body, ()):
        own = [x for x in block.body if isinstance(x, Assign | Reduce | Let) and x.span in spans]
        if not own:
            continue
        steps |= {x.step for x in around}
        lanes |= {"reduction" if x.facts.reductions else "parallel" for x in around if runs_in_lanes(x, values)}
        held = Counter(x.span for x in own if isinstance(x, Let) or x.array in kept)
        copies = max(copies, *held.values(), 0)
    return DescribedLoops(frozenset(steps), frozenset(lanes), copies)


def _blocks(block: Block, around: tuple[For, ...]) -> Iterator[tuple[Block, tuple[For, ...]]]:
    """Every block, with the loops around it."""
    yield block, around
    for stmt in block.body:
        for inner in blocks_of(stmt):
            yield from _blocks(inner, (*around, stmt) if isinstance(stmt, For) else around)


def describe_band(band: Band, choice: BandPlan, kernel: Kernel) -> Remark:
    """What was done to a band, as far as the kernel that was made of it has it."""
    loops = observe(kernel, {s.stmt.span for s in band.statements})
    names = ", ".join(s.name for s in band.statements)
    parts = [f"{names}: {len(band.members)} loops"]
    tiles = tuple(t if t in loops.steps else 0 for t in choice.tiles)
    if any(tiles):
        parts.append("tiles " + " x ".join(str(t) if t else "all" for t in tiles))
    kinds = [x for x in dict.fromkeys(g.lanes for g in choice.groups) if x in loops.lanes]
    if kinds:
        parts.append(f"lanes along loop {choice.lanes_member + 1} ({', '.join(kinds)})")
    if choice.jam and loops.copies >= prod(f for _, f in choice.jam):
        parts.append("registers " + " x ".join(f"{f} of loop {m + 1}" for m, f in choice.jam))
    span = band.statements[0].stmt.span if band.statements else None
    brief = "; ".join(parts[1:]) or "as one loop nest"
    return Remark("schedule-band", "done", "; ".join(parts), span, brief=brief)


def describe_memory(kernel: Kernel) -> Iterator[Remark]:
    """The arrays that a version takes from the heap."""
    for stmt in kernel.body.body:
        if isinstance(stmt, Alloc) and stmt.array.shape and stmt.array.memory in ("dram", "scratch"):
            extents = " x ".join(print_expr(x) for x in stmt.array.shape if x is not None)
            message = f"`{stmt.array.name}`: {extents} elements of {stmt.array.type.size} bytes on the heap"
            yield Remark("schedule-memory", "done", message, kernel.span, brief="")


def tell_nothing_found(some: bool, region: Region) -> Remark:
    """Why there is no version of a nest, of which `some` statements are left or none."""
    if some:
        return Remark("schedule-none", "refused", "no legal schedule was found within the bounds", region.span)
    if not region.updates:
        return Remark("scop-empty", "refused", "nothing that it computes is used", region.span)
    stepped = ", ".join(dict.fromkeys(f"`{x.variable}`" for x in region.updates))
    message = f"it only steps {stepped}, and how far follows from how often it runs: there is nothing to schedule"
    return Remark("scop-empty", "refused", message, region.span)
