"""How many elements of an array, counted in memory from its first one on, a kernel reaches: up to the very last.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_expr
>>> from planish.poly.scop.extraction import extract_scop
>>> text = "kernel k(n, m; A: f32[?, 9]) { for i in 0 .. n { for j in 0 .. m { A[i, j] = 0.0:f32 } } }"
>>> scop = extract_scop(parse_kernel(text))
>>> print_expr(reached_elements(scop, scop.kernel.arrays[0]))
'select(n > 0 && m > 0, m + 9 * n - 9, 0)'
"""

from __future__ import annotations

import islpy as isl

from planish.ir.expr import Binary, Expr, Select, index
from planish.ir.nest import Array
from planish.poly.isl.expression import TRUE, normalise, piecewise_expr, set_condition
from planish.poly.scop.extents import NoExtentError, byte_extent
from planish.poly.scop.extraction import Scop


def reached_elements(scop: Scop, array: Array) -> Expr:
    """The number of elements from the first one to the last one that is accessed; more where a subscript is not affine.
    Raises NoExtentError."""
    if not array.shape:
        return index(1)
    reached: isl.Set | None = None
    accesses = [x for statement in scop.statements for x in statement.accesses if x.array == array.name]
    for access in accesses:
        cells = access.relation.range().intersect_params(scop.context)
        reached = cells if reached is None else reached.union(cells)
    if reached is None or reached.is_empty():
        return index(0)
    if any(x.inexact for x in accesses):
        count = _whole_rows(scop, array)
    else:
        # The greatest subscripts, the first ones first, are those of the last element in memory.
        last = reached.lexmax()
        count = _linear(array, [piecewise_expr(last.dim_max(d), ()) for d in range(len(array.shape))])
    some = set_condition(isl.Set.from_params(reached.params().gist(scop.context)), ())
    return count if some == TRUE else Select(some, count, index(0))


def _linear(array: Array, places: list[Expr]) -> Expr:
    """The number of an element, and one more."""
    out = places[0]
    for extent, at in zip(array.shape[1:], places[1:], strict=True):
        if extent is None:
            raise NoExtentError(array.name)
        out = Binary("add", Binary("mul", out, extent), at)
    return normalise(Binary("add", out, index(1)))


def _whole_rows(scop: Scop, array: Array) -> Expr:
    """All elements of the rows up to the last one."""
    first = byte_extent(scop, array)
    if first is None:
        return index(0)
    out: Expr = Binary("add", first, index(1))
    for extent in array.shape[1:]:
        if extent is None:
            raise NoExtentError(array.name)
        out = Binary("mul", out, extent)
    return normalise(out)
