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

from planish.poly.scop import Scop


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
    reads, writes, schedule = scop.reads, scop.writes, scop.schedule
    flow_info = isl.UnionAccessInfo.from_sink(reads).set_must_source(writes).set_schedule(schedule)
    flow_result = flow_info.compute_flow()
    flow = flow_result.get_must_dependence()
    false_info = isl.UnionAccessInfo.from_sink(writes).set_must_source(writes).set_may_source(reads)
    false_dependences = false_info.set_schedule(schedule).compute_flow().get_may_dependence()
    order = flow.union(false_dependences).coalesce()
    return Dependences(flow.coalesce(), order, _reduction_chains(scop, order), flow_result.get_must_no_source())


def _reduction_chains(scop: Scop, order: isl.UnionMap) -> isl.UnionMap:
    """Dependences of a reduction statement on itself through its own target."""
    out = isl.UnionMap.empty(scop.context.get_space())
    for statement in scop.statements:
        if statement.reduction is None or _reads_target(statement.accesses[2:], statement.stmt.array):
            continue
        same = statement.write.relation.apply_range(statement.write.relation.reverse())
        out = out.union(order.intersect(isl.UnionMap.from_map(same)))
    return out


def _reads_target(accesses: tuple[object, ...], array: str) -> bool:
    return any(getattr(access, "array", None) == array for access in accesses)


def contracted_order(scop: Scop, flow: isl.UnionMap, local: frozenset[str]) -> isl.UnionMap:
    """Memory-based order without the cells of local arrays, whose values are tracked by `flow` alone."""
    keep = [s for s in scop.statements]
    reads = isl.UnionMap.empty(scop.context.get_space())
    writes = reads
    for statement in keep:
        for access in statement.accesses:
            if access.array in local:
                continue
            if access.write:
                writes = writes.add_map(access.relation)
            else:
                reads = reads.add_map(access.relation)
    info = isl.UnionAccessInfo.from_sink(writes).set_must_source(writes).set_may_source(reads)
    return flow.union(info.set_schedule(scop.schedule).compute_flow().get_may_dependence()).coalesce()
