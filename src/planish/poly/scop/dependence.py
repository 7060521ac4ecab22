"""Dependences between statement instances: by value (what is read was written there) and by memory (cells are reused).

`flow` maps the instance that wrote a value to those that read it. `order` holds all pairs that use one cell, one of
them writing; a schedule that respects `order` computes the same values.

>>> from planish.ir.expr import Binary, Load, index
>>> from planish.ir.nest import Array, Assign, Block, For, Kernel
>>> from planish.ir.types import F32
>>> from planish.poly.scop.extraction import extract_scop
>>> i = index("i")
>>> body = Assign("A", (i,), Load("A", (Binary("sub", i, index(1)),), F32))
>>> loop = For("i", index(1), index("n"), 1, Block((body,)))
>>> kernel = Kernel("scan", ("n",), arrays=(Array("A", F32, (index("n"),)),), body=Block((loop,)))
>>> print(find_dependences(extract_scop(kernel)).flow)
[n] -> { S0[i] -> S0[i' = 1 + i] : 0 < i <= -2 + n }
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from itertools import product

import islpy as isl

from planish.poly.isl.coalesce import coalesce
from planish.poly.isl.op_budget import budget
from planish.poly.isl.to_list import list_maps
from planish.poly.scop.extraction import Scop, Statement

IN, OUT = isl.dim_type.in_, isl.dim_type.out
FLOW_LIMIT = 5_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Dependences:
    """Pairs of instances (earlier to later) that must keep their order.

    `flow`: value-based read-after-write; `live_in`: reads of values from before the kernel; both supersets where the
    answer cannot be had. `order`: all conflicts in memory, not only those of successive uses. `reductions`: the part
    of `order` that only chains updates of one cell by the same operation.
    """

    flow: isl.UnionMap
    order: isl.UnionMap
    reductions: isl.UnionMap
    live_in: isl.UnionMap


def find_dependences(scop: Scop) -> Dependences:
    """The dependences of a kernel in its original order."""
    order = find_order(scop)
    flow, live_in = find_flow(scop)
    return Dependences(flow, order, reduction_chains(scop, order), live_in)


def find_order(scop: Scop, private: Mapping[str, int] | None = None) -> isl.UnionMap:
    """All pairs of instances, the earlier first, that use one cell, one of them writing. A `private` array has cells of
    its own in each iteration of so many outermost loops."""
    depths = private or {}
    shared = {name for statement in scop.statements for name in _arrays(statement) if name not in depths}
    out = _conflicts(scop, shared)
    for name, depth in depths.items():
        out = out.union(_conflicts(scop, {name}).intersect(together(scop, depth)))
    return coalesce(out.intersect(_earlier(scop, out)))


def _earlier(scop: Scop, pairs: isl.UnionMap) -> isl.UnionMap:
    """Instances and those that run after them, of such statements as some pairs relate."""
    # Accesses know the domains; times that do not repeat them compare with far fewer cases.
    times = {x.get_tuple_name(IN): x for x in list_maps(scop.schedule.get_map())}
    out = isl.UnionMap.empty(scop.context.get_space())
    for pair in list_maps(pairs):
        first, second = times[pair.get_tuple_name(IN)], times[pair.get_tuple_name(OUT)]
        out = out.add_map(first.lex_lt_map(second))
    return out


def _arrays(statement: Statement) -> set[str]:
    return {access.array for access in statement.accesses}


def _conflicts(scop: Scop, arrays: Set[str]) -> isl.UnionMap:
    """Pairs of instances, in either order, that use one cell of some arrays, one of them writing."""
    reads, writes = scop.uses(arrays)
    return writes.apply_range(reads.union(writes).reverse()).union(reads.apply_range(writes.reverse()))


def together(scop: Scop, depth: int) -> isl.UnionMap:
    """Pairs of instances in the same iteration of the `depth` (one or more) outermost loops, which they share."""
    outer = isl.UnionMap.empty(scop.context.get_space())
    for statement in (x for x in scop.statements if len(x.iterators) >= depth):
        identity = isl.Map.identity(statement.domain.get_space().map_from_set())
        first = identity.project_out(OUT, depth, len(statement.iterators) - depth).reset_tuple_id(OUT)
        outer = outer.add_map(first.insert_dims(OUT, 0, 1).fix_val(OUT, 0, isl.Val(statement.loops[depth - 1])))
    return outer.apply_range(outer.reverse())


def find_flow(scop: Scop, arrays: Set[str] | None = None) -> tuple[isl.UnionMap, isl.UnionMap]:
    """The flow, and the reads of values from before the kernel; through some arrays only, where these are given.

    isl's analysis is asked first. On some sets with several strides it fails, takes very long, or names a write that
    another one hides (islpy 2026.2.2: seeds 389, 415 and 198 of the property tests); so its answer is checked by
    composition, which is cheap and does not share its machinery, and all earlier writes are taken where it is wrong.
    """
    reads, writes = scop.uses(arrays)
    before = _writers_before(scop, reads, writes)
    info = isl.UnionAccessInfo.from_sink(reads).set_must_source(writes).set_schedule(scop.schedule)
    all_earlier = before.domain_factor_domain().reverse()
    try:
        with budget(scop.context.get_ctx(), FLOW_LIMIT):
            result = info.compute_flow()
    except isl.Error:
        return all_earlier, reads
    found, nothing = result.get_full_must_dependence().reverse(), result.get_must_no_source()
    again = _earlier(scop, writes.apply_range(writes.reverse()))
    hidden = found.apply_range(again).intersect(before)
    missed = before.intersect_domain(nothing.wrap())
    if not hidden.is_empty() or not missed.is_empty():
        return all_earlier, reads
    return result.get_must_dependence(), nothing


def is_live_in(scop: Scop, arrays: Set[str]) -> bool:
    """Whether something may be read through some arrays that is from before the kernel; True where isl gives up.

    That some write is earlier is all that matters, so no last one is looked for, which is most of the work of a flow.
    """
    reads, writes = scop.uses(arrays)
    try:
        with budget(scop.context.get_ctx(), FLOW_LIMIT):
            return not reads.wrap().is_subset(_writers_before(scop, reads, writes).domain())
    except isl.Error:
        return True


def _writers_before(scop: Scop, reads: isl.UnionMap, writes: isl.UnionMap) -> isl.UnionMap:
    """[reader -> cell] to the writers of the cell before the reader."""
    earlier = _earlier(scop, writes.apply_range(reads.reverse()))
    writers = reads.range_map().apply_range(writes.reverse())
    return reads.domain_map().apply_range(earlier.reverse()).intersect(writers)


def reduction_chains(scop: Scop, order: isl.UnionMap) -> isl.UnionMap:
    """Dependences between updates of one cell that combine it with something by the same operation."""
    out = isl.UnionMap.empty(scop.context.get_space())
    updates = [x for x in scop.statements if x.reduction is not None and not _reads_own_target(x)]
    for first, second in product(updates, repeat=2):
        if (first.write.array, first.reduction) == (second.write.array, second.reduction):
            same = first.write.relation.apply_range(second.write.relation.reverse())
            out = out.union(order.intersect(isl.UnionMap.from_map(same)))
    return out


def movable_updates(scop: Scop, dependences: Dependences, reassociate: bool) -> isl.UnionMap:
    """Pairs of updates that may change places: of integers always, of floats where the user allows it."""
    types = {a.name: a.type for a in (*scop.kernel.arrays, *scop.locals)}
    free = isl.UnionSet.empty(scop.context.get_space())
    for statement in scop.statements:
        if reassociate or types[statement.stmt.array].is_int:
            free = free.union(isl.UnionSet.from_set(statement.domain))
    return dependences.reductions.intersect_domain(free)


def _reads_own_target(statement: Statement) -> bool:
    """Whether the value that an instance adds may itself read the cell that it updates."""
    write = statement.write
    others = [a for a in statement.accesses[2:] if a.array == write.array]
    return any(not a.relation.intersect(write.relation).is_empty() for a in others)
