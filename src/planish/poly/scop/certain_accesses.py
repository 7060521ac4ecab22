"""Arrays whose elements may be read whether a condition on data holds or not, since the kernel touches them anyway.

In C what is read under a condition need not exist where that does not hold. It does where the same call reads or
writes, under no condition on data, the element itself, or one before and one behind it in its row.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.poly.scop.extraction import extract_scop
>>> body = "B[i] = A[i] + A[i + 2] s[] += select(M[i] > 0:i32, A[i + 1] + C[i], 0:i32)"
>>> text = "kernel k(n; A: i32[n + 2], B: i32[n], C: i32[n], M: i32[n], s: i32[]) { for i in 0 .. n { %s } }" % body
>>> sorted(always_readable(extract_scop(parse_kernel(text))))
['A']
"""

from __future__ import annotations

from functools import lru_cache, partial

import islpy as isl

from planish.ir.conditional_accesses import conditional_store, read_always
from planish.ir.expr import Expr, Load, type_of
from planish.ir.nest import Reduce
from planish.poly.isl.op_budget import SHORT, OverBudgetError, within
from planish.poly.scop.extraction import Access, Scop, Statement

SET = isl.dim_type.set


@lru_cache(maxsize=64)
def always_readable(scop: Scop) -> frozenset[str]:
    """The arrays some elements of which are read under conditions on data only, none of them but what exists for sure.
    Those for which that takes isl too long are left out."""
    certain: dict[str, list[isl.Map]] = {}
    chosen: dict[str, list[Access]] = {}
    derived = {x.name for x in scop.kernel.derived}
    for statement in scop.statements:
        sure = _certain(statement)
        for x in statement.accesses:
            if x in sure and not x.inexact:
                certain.setdefault(x.array, []).append(x.relation)
            elif x not in sure:
                chosen.setdefault(x.array, []).append(x)
    found = set()
    for array, accesses in chosen.items():
        if array in derived or array not in certain or any(x.inexact or x.write for x in accesses):
            continue
        try:
            if within(partial(_covers, certain[array], [x.relation for x in accesses]), SHORT):
                found.add(array)
        except OverBudgetError:
            continue
    return frozenset(found)


def _certain(statement: Statement) -> list[Access]:
    """The accesses of a statement that each of its instances makes."""
    stmt = statement.stmt
    found = None
    if not isinstance(stmt, Reduce):
        found = conditional_store(stmt.value, Load(stmt.array, stmt.index, type_of(stmt.value)))
    value: Expr = stmt.value if found is None else found.guard
    reads = {x for y in (value, *stmt.index, *(z.value for z in statement.lets)) for x in read_always(y)}
    places = {(x.array, x.index) for x in reads}
    own = found is None, isinstance(stmt, Reduce)
    return [
        x for at, x in enumerate(statement.accesses)
        if (at < 2 and own[at] and x.index == stmt.index and x.array == stmt.array)
        or (not x.write and (x.array, x.index) in places)
    ]  # fmt: skip


def _covers(certain: list[isl.Map], chosen: list[isl.Map]) -> bool:
    """Whether elements lie in rows between those of others."""
    known, asked = _elements(certain), _elements(chosen)
    if known.dim(SET) == 0:
        return asked.is_subset(known)
    return all(asked.is_subset(known.apply(_row_order(known.get_space(), before))) for before in (True, False))


def _elements(relations: list[isl.Map]) -> isl.Set:
    found = relations[0].range()
    for x in relations[1:]:
        found = found.union(x.range())
    return found


def _row_order(space: isl.Space, before: bool) -> isl.Map:
    """From the elements of a row to those behind them, or before them, and to themselves."""
    last = space.dim(SET) - 1
    pairs = isl.Map.universe(space.map_from_set())
    for at in range(last):
        pairs = pairs.equate(isl.dim_type.in_, at, isl.dim_type.out, at)
    ends = (isl.dim_type.in_, last), (isl.dim_type.out, last)
    return pairs.order_le(*ends[0], *ends[1]) if before else pairs.order_ge(*ends[0], *ends[1])
