"""Dependences between statement instances: by value (what is read was written there) and by memory (cells are reused).

`flow` maps the instance that wrote a value to those that read it. `order` holds all pairs that use one cell, one of
them writing; a schedule that respects `order` computes the same values.

>>> from planish.ir.expr import Binary, Load, index
>>> from planish.ir.nest import Array, Assign, Block, For, Kernel
>>> from planish.ir.types import F32
>>> from planish.poly.scop import extract_scop
>>> i = index("i")
>>> body = Assign("A", (i,), Load("A", (Binary("sub", i, index(1)),), F32))
>>> loop = For("i", index(1), index("n"), 1, Block((body,)))
>>> kernel = Kernel("scan", ("n",), arrays=(Array("A", F32, (index("n"),)),), body=Block((loop,)))
>>> print(find_dependences(extract_scop(kernel)).flow)
[n] -> { S0[i] -> S0[i' = 1 + i] : 0 < i <= -2 + n }
"""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from planish.poly.legality import schedule_map
from planish.poly.scop import Scop, Statement


@dataclass(frozen=True, slots=True, eq=False)
class Dependences:
    """Pairs of instances (earlier to later) that must keep their order.

    `flow`: value-based read-after-write. `order`: all conflicts in memory, not only those of successive uses.
    `reductions`: the part of `order` that only chains the updates of a reduction to one cell. `live_in`: reads of
    values from before the kernel.
    """

    flow: isl.UnionMap
    order: isl.UnionMap
    reductions: isl.UnionMap
    live_in: isl.UnionMap


def find_dependences(scop: Scop) -> Dependences:
    """The dependences of a kernel in its original order."""
    reads, writes = scop.reads, scop.writes
    times = schedule_map(scop.schedule)
    pairs = writes.apply_range(reads.union(writes).reverse()).union(reads.apply_range(writes.reverse()))
    order = pairs.intersect(times.lex_lt_union_map(times)).coalesce()
    sources = _find_sources(scop, reads, writes, times)
    flow = sources.domain_factor_domain().reverse().coalesce()
    live_in = reads.subtract(sources.domain().unwrap())
    return Dependences(flow, order, _reduction_chains(scop, order), live_in)


def _find_sources(scop: Scop, reads: isl.UnionMap, writes: isl.UnionMap, times: isl.UnionMap) -> isl.UnionMap:
    """[reader -> cell] to the instance that wrote the value which is read.

    isl's own flow analysis is asked first. On some sets with several strides it fails, or names a write that another
    one hides; so its answer is checked by composition alone, and worked out by composition where it is wrong.
    """
    # Both map [reader -> cell] to the writers of the cell before the reader.
    writers = reads.range_map().apply_range(writes.reverse())
    before = reads.domain_map().apply_range(times.lex_gt_union_map(times)).intersect(writers)
    info = isl.UnionAccessInfo.from_sink(reads).set_must_source(writes).set_schedule(scop.schedule)
    try:
        found = info.compute_flow().get_full_must_dependence().reverse()
    except isl.Error:
        found = isl.UnionMap.empty(reads.get_space())
    if _are_last(found, before, times):
        return found
    return before.apply_range(times).lexmax().apply_range(times.reverse()).intersect(before)


def _are_last(found: isl.UnionMap, before: isl.UnionMap, times: isl.UnionMap) -> bool:
    """Whether `found` gives each read that has writes before it one of them, with no other one in between."""
    hidden = found.apply_range(times.lex_lt_union_map(times)).intersect(before)
    return bool(hidden.is_empty() and found.is_subset(before) and before.domain().is_subset(found.domain()))


def _reduction_chains(scop: Scop, order: isl.UnionMap) -> isl.UnionMap:
    """Dependences of a reduction statement on itself through its own target."""
    out = isl.UnionMap.empty(scop.context.get_space())
    for statement in scop.statements:
        if statement.reduction is None or _reads_own_target(statement):
            continue
        same = statement.write.relation.apply_range(statement.write.relation.reverse())
        out = out.union(order.intersect(isl.UnionMap.from_map(same)))
    return out


def _reads_own_target(statement: Statement) -> bool:
    """Whether the value that an instance adds may itself read the cell that it updates."""
    write = statement.write
    others = [a for a in statement.accesses[2:] if a.array == write.array]
    return any(not a.relation.intersect(write.relation).is_empty() for a in others)
