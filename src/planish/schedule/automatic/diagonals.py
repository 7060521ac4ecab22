"""Square blocks of an array that is filled from its own elements, by diagonals: those of one do not wait for each
other. What a block makes of other blocks alone comes first, in any order of loops, as in a product of matrices.

Before: for i { for j { A[i, j] from A[i, k] and A[k, j], for k between i and j } }
After:  for each diagonal of blocks { for each block of it {
          for k in the blocks between { all A[i, j] of the block from A[i, k] and A[k, j] };  the rest as before } }

>>> from planish.ir.parser import parse_kernel
>>> from planish.poly.dependence import find_order
>>> from planish.poly.scop import extract_scop
>>> update = "for k in n - r .. j { A[n - r - 1, j] max= A[n - r - 1, k] + A[k, j] }"
>>> nest = "for r in 0 .. n { for j in n - r .. n { %s } }" % update
>>> scop = extract_scop(parse_kernel("kernel k(n; A: f64[n, n]) { %s }" % nest))
>>> band = block_diagonals(scop, find_order(scop), scop.schedule, 64).get_root().get_child(0)
>>> band.band_n_member(), band.band_member_get_coincident(1)
(2, True)
"""

from __future__ import annotations

from functools import reduce

import islpy as isl

from planish.poly.legality import find_violation, schedule_map
from planish.poly.scop import Scop, Statement
from planish.schedule.automatic.band import same_time
from planish.schedule.automatic.shape import floor_of

BLOCK = 64
"""The rows and columns of a block: a few registers wide; its columns of all rows stay in the second cache."""


def block_diagonals(
    scop: Scop, order: isl.UnionMap, schedule: isl.Schedule, size: int = BLOCK
) -> isl.Schedule | None:
    """The schedule inside of loops over diagonals of blocks, and over the blocks of each, where all statements store to
    one matrix; None where there is no order of diagonals that keeps the pairs of `order` in order."""
    values = _places(scop)
    if values is None:
        return None
    rows, columns = (floor_of(x, size) for x in values)
    for down in (rows, rows.neg()):
        for across in (columns, columns.neg()):
            changed = _insert(schedule, down.add(across), rows)
            if find_violation(schedule_map(changed), order) is not None:
                continue
            band = changed.get_root().get_child(0)
            apart = same_time(_times(band, 0)).intersect(order).subtract(same_time(_times(band, 1)))
            if not apart.is_empty():
                return None
            blocked = band.band_member_set_coincident(1, 1).get_schedule()
            separated = (_separate(scop, blocked, size, begun) for begun in (False, True))
            legal = (x for x in separated if x is not None and find_violation(schedule_map(x), order) is None)
            return next(legal, blocked)
    return None


def _insert(schedule: isl.Schedule, diagonal: isl.UnionPwAff, block: isl.UnionPwAff) -> isl.Schedule:
    partial = isl.MultiUnionPwAff.from_union_pw_aff(diagonal).flat_range_product(
        isl.MultiUnionPwAff.from_union_pw_aff(block)
    )
    return schedule.get_root().get_child(0).insert_partial_schedule(partial).get_schedule()


def _separate(scop: Scop, schedule: isl.Schedule, size: int, begun: bool) -> isl.Schedule | None:
    """The schedule where a block begins with what is made of other blocks alone, or where it is `begun` by the
    statements in fewer loops, goes on so; None where nothing is made so."""
    deepest = max(len(x.iterators) for x in scop.statements)
    parts = {x.name: _from_others(x, size) for x in scop.statements if len(x.iterators) == deepest}
    parts = {name: part for name, part in parts.items() if not part.is_empty()}
    if len(parts) != 1:
        return None
    ((name, part),) = parts.items()
    node = schedule.get_root().get_child(0).get_child(0)
    begin = isl.UnionSet.empty(node.get_domain().get_space())
    for statement in scop.statements:
        if begun and len(statement.iterators) < deepest:
            begin = begin.union(isl.UnionSet.from_set(statement.domain))
    own = isl.UnionSet.from_set(part)
    phases = [x for x in (begin, own, node.get_domain().subtract(begin).subtract(own)) if not x.is_empty()]
    filters = isl.UnionSetList.alloc(node.get_ctx(), len(phases))
    for phase in phases:
        filters = filters.add(phase)
    node = node.insert_sequence(filters).get_child(0 if begin.is_empty() else 1).get_child(0).cut()
    space = isl.LocalSpace.from_space(part.get_space())
    for d in reversed(range(len(scop.statement(name).iterators))):
        value = isl.PwAff.from_aff(isl.Aff.var_on_domain(space, isl.dim_type.set, d)).intersect_domain(part)
        node = node.insert_partial_schedule(isl.MultiUnionPwAff.from_union_pw_aff(isl.UnionPwAff.from_pw_aff(value)))
    return node.get_schedule()


def _from_others(statement: Statement, size: int) -> isl.Set:
    """The instances that read nothing of the block to which they store, but for the place itself."""
    write, near = statement.write, isl.Set.empty(statement.domain.get_space())
    own = _block_of(write.relation, size)
    for access in statement.accesses[1:]:
        if access.array == write.array and access.index != write.index:
            near = near.union(_block_of(access.relation, size).intersect(own).domain())
    return statement.domain.subtract(near).coalesce()


def _block_of(relation: isl.Map, size: int) -> isl.Map:
    """The block in which the element lies that a map leads to."""
    name = relation.get_tuple_name(isl.dim_type.out)
    low = "".join(f" and {size} {b} <= {a} < {size} {b} + {size}" for a, b in ("ir", "jc"))
    tiles = isl.Map(f"{{ {name}[i, j] -> [r, c] : true{low} }}")
    return relation.apply_range(tiles.align_params(relation.get_space().params()))


def _times(band: isl.ScheduleNode, member: int) -> isl.UnionMap:
    partial = band.band_get_partial_schedule().get_at(member)
    return isl.UnionMap.from_union_pw_aff(partial).intersect_domain(band.get_domain())


def _places(scop: Scop) -> tuple[isl.UnionPwAff, isl.UnionPwAff] | None:
    """The row and the column to which each instance stores; None where these are not of one matrix, or nothing of that
    is read elsewhere in it."""
    (array, *others) = dict.fromkeys(x.write.array for x in scop.statements)
    if others or any(len(x.write.index) != 2 for x in scop.statements):
        return None
    elsewhere = (y for x in scop.statements for y in x.accesses if y.array == array and y.index != x.write.index)
    if not any(True for _ in elsewhere):
        return None
    pieces = [isl.PwMultiAff.from_map(x.write.relation.intersect_domain(x.domain)) for x in scop.statements]
    first, second = (
        reduce(isl.UnionPwAff.union_add, (isl.UnionPwAff.from_pw_aff(x.get_at(d)) for x in pieces)) for d in range(2)
    )
    return first, second
