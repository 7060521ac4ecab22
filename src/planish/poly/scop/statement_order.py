"""Statement order after full loop distribution: each statement runs to its end before the next, as far as that is
legal.

Statements that wait for each other stay together. Updates of one array by one operator do not wait for each other
where sums may be regrouped.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.poly.scop.extraction import extract_scop
>>> text = "for i in 0 .. n { s[i] = 0.0 for j in 0 .. n { s[i] += A[i, j] t[j] += A[i, j] } }"
>>> scop = extract_scop(parse_kernel("kernel k(n; A: f64[n, n], s: f64[n], t: f64[n]) { " + text + " }"))
>>> distribute(scop).components
((0,), (1,), (2,))
"""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from planish.core.graph import order_components
from planish.ir.nest import Reduce
from planish.poly.isl.to_list import list_maps
from planish.poly.scop.dependence import find_order
from planish.poly.scop.extraction import Scop, Statement

IN, OUT = isl.dim_type.in_, isl.dim_type.out


@dataclass(frozen=True, slots=True)
class Distribution:
    """Groups of statements (by number) in an order that may be run, and which statement waits for which.

    `order`: all pairs of instances that meet in a cell, the earlier first."""

    components: tuple[tuple[int, ...], ...]
    waits: frozenset[tuple[int, int]]
    order: isl.UnionMap

    def comes_after(self, later: tuple[int, ...], earlier: tuple[int, ...]) -> bool:
        """Whether a statement of one group waits for one of the other."""
        return any((a, b) in self.waits for a in later for b in earlier)


def distribute(scop: Scop, reassociate: bool = True) -> Distribution:
    """The groups of statements of a nest; without `reassociate`, sums of floats keep their order."""
    order = find_order(scop)
    numbers = {x.name: n for n, x in enumerate(scop.statements)}
    waits: set[tuple[int, int]] = set()
    for pairs in list_maps(order):
        early, late = scop.statement(pairs.get_tuple_name(IN)), scop.statement(pairs.get_tuple_name(OUT))
        if early is not late and not (commute(early, late, reassociate) and not _meet(early, late, pairs)):
            waits.add((numbers[late.name], numbers[early.name]))
    groups = order_components(len(scop.statements), lambda a, b: (a, b) in waits)
    return Distribution(tuple(map(tuple, groups)), frozenset(waits), order)


def commute(early: Statement, late: Statement, reassociate: bool) -> bool:
    """Whether the two update one array in one way, in any order."""
    a, b = early.stmt, late.stmt
    if not (isinstance(a, Reduce) and isinstance(b, Reduce) and a.array == b.array and a.op == b.op):
        return False
    return reassociate or a.op not in ("add", "mul")


def _meet(early: Statement, late: Statement, pairs: isl.Map) -> bool:
    """Whether one of two updates reads, besides, what the other writes."""
    for first, second in ((early, late), (late, early)):
        for access in second.accesses[2:]:
            if access.array == first.write.array:
                cells = first.write.relation.apply_range(access.relation.reverse())
                if not (cells if first is early else cells.reverse()).intersect(pairs).is_empty():
                    return True
    return False
