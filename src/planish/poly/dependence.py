"""Dependences between statement instances: by value (what is read was written there) and by memory (cells are reused).

`flow` maps the instance that wrote a value to those that read it. `order` adds write-after-read and
write-after-write between successive uses of a cell; a schedule that respects `order` computes the same values.

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

    `flow`: value-based read-after-write. `order`: flow and the memory-based ones. `reductions`: the part of `order`
    that only chains the updates of a reduction to one cell. `live_in`: reads of values from before the kernel.
    """

    flow: isl.UnionMap
    order: isl.UnionMap
    reductions: isl.UnionMap
    live_in: isl.UnionMap


def find_dependences(scop: Scop) -> Dependences:
    """The dependences of a kernel in its original order."""
    reads, writes = scop.reads, scop.writes
    flow, live_in = _value_flow(scop, reads, writes)
    order = flow.union(_overwrites(scop, reads, writes)).coalesce()
    return Dependences(flow.coalesce(), order, _reduction_chains(scop, order), live_in)


def _value_flow(scop: Scop, reads: isl.UnionMap, writes: isl.UnionMap) -> tuple[isl.UnionMap, isl.UnionMap]:
    """Each read's last write before it, and the reads that have none."""
    info = isl.UnionAccessInfo.from_sink(reads).set_must_source(writes).set_schedule(scop.schedule)
    try:
        result = info.compute_flow()
    except isl.Error:
        return _last_writes(scop, reads, writes)
    return result.get_must_dependence(), result.get_must_no_source()


def _overwrites(scop: Scop, reads: isl.UnionMap, writes: isl.UnionMap) -> isl.UnionMap:
    """Write-after-read and write-after-write between successive uses of a cell."""
    info = isl.UnionAccessInfo.from_sink(writes).set_must_source(writes).set_may_source(reads)
    try:
        return info.set_schedule(scop.schedule).compute_flow().get_may_dependence()
    except isl.Error:
        return _earlier(scop, reads.union(writes), writes)


# isl's flow analysis fails on some relations with several strides (it factors a set and trips over its own divisions);
# what follows says the same by composition alone, for more work.


def _earlier(scop: Scop, first: isl.UnionMap, second: isl.UnionMap) -> isl.UnionMap:
    """Pairs of instances of which the first runs earlier and that access one cell."""
    times = schedule_map(scop.schedule)
    return first.apply_range(second.reverse()).intersect(times.lex_lt_union_map(times))


def _last_writes(scop: Scop, reads: isl.UnionMap, writes: isl.UnionMap) -> tuple[isl.UnionMap, isl.UnionMap]:
    times = schedule_map(scop.schedule)
    # All three map [reader -> cell] to writers.
    of_cell = reads.range_map().apply_range(writes.reverse())
    before = reads.domain_map().apply_range(times.lex_gt_union_map(times)).intersect(of_cell)
    last = before.apply_range(times).lexmax().apply_range(times.reverse()).intersect(before)
    return last.domain_factor_domain().reverse(), reads.subtract(last.domain().unwrap())


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
