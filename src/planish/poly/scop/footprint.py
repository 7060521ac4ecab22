"""Footprints: the elements of each array that a kernel touches at most, as expressions over its sizes; what callers
must provide.

>>> from planish.ir.index.evaluate import evaluate
>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_expr
>>> text = "for i in 0 .. m { for j in 0 .. n { A[i * lda + j] = 0.0 } }"
>>> kernel = parse_kernel("kernel k(m, n, lda; A: f32[?]) { " + text + " }")
>>> box = find_boxes(kernel)["A"]
>>> [x if x is None else print_expr(x) for x in box.shape]
[None, 'lda']
>>> [evaluate(x, {"m": 3, "n": 4, "lda": 9}) for x in box.upper]
[3, 4]
>>> [evaluate(x, {"m": 3, "n": 0, "lda": 9}) for x in box.upper]
[0, 0]
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import islpy as isl

from planish.ir.expr import Expr, Select, index
from planish.ir.nest import Kernel
from planish.poly.canonical.delinearise import delinearise
from planish.poly.isl.expression import TRUE, add, extremum, piecewise_expr, set_condition
from planish.poly.scop.extents import NoExtentError, subscript_ends
from planish.poly.scop.extraction import Access, Scop, Statement, extract_scop

SET = isl.dim_type.set


@dataclass(frozen=True, slots=True)
class Box:
    """The box around all subscripts of an array: `lower` inclusive (0 or less), `upper` exclusive (0 or more).

    `shape` holds the extents of the array in which the subscripts are counted: linear subscripts `A[i*lda + j]` are
    rows and columns here, so that an element (r, c) lies at r*lda + c. The first extent may be None.
    """

    shape: tuple[Expr | None, ...]
    lower: tuple[Expr, ...]
    upper: tuple[Expr, ...]


def find_boxes(kernel: Kernel) -> dict[str, Box]:
    """The box of every array parameter; raises NotAffineError where the kernel is not a static control part,
    NoExtentError where nothing says how far some array is read.

    It holds for any sizes, also for those that the kernel's assumptions exclude: such calls run the original.
    """
    split = delinearise(kernel)
    scop = extract_scop(replace(split, assumptions=()), exact=False)
    return {array.name: _box(scop, array.name, array.shape) for array in split.arrays}


def find_known_boxes(kernel: Kernel) -> dict[str, Box]:
    """The boxes of the array parameters of which something says how far they are accessed; raises NotAffineError."""
    split = delinearise(kernel)
    scop = extract_scop(replace(split, assumptions=()), exact=False)
    out: dict[str, Box] = {}
    for array in split.arrays:
        with suppress(NoExtentError):
            out[array.name] = _box(scop, array.name, array.shape)
    return out


def _box(scop: Scop, array: str, shape: tuple[Expr | None, ...]) -> Box:
    lower, upper = [], []
    for dimension in range(len(shape)):
        # Sizes with which nothing runs touch nothing.
        space = scop.context.get_space()
        least, most = _constant(0, space), _constant(-1, space)
        inexact: list[tuple[Expr, Expr]] = []
        for statement in scop.statements:
            for access in statement.accesses:
                if access.array == array and dimension in access.inexact:
                    inexact.append(_ends(scop, statement, access, dimension))
                elif access.array == array:
                    reached = access.relation.range()
                    least = least.union_min(reached.dim_min(dimension))
                    most = most.union_max(reached.dim_max(dimension))
        lower.append(extremum("min", [piecewise_expr(least, ()), *(x for x, _ in inexact)]))
        upper.append(extremum("max", [add(piecewise_expr(most, ()), index(1)), *(x for _, x in inexact)]))
    return Box(shape, tuple(lower), tuple(upper))


def _ends(scop: Scop, statement: Statement, access: Access, dimension: int) -> tuple[Expr, Expr]:
    """The least subscript, and what is one more than the greatest; 0 and 0 for sizes with which nothing runs."""
    low, high = subscript_ends(scop, statement, access, dimension)
    runs = set_condition(statement.domain.params(), ())
    if runs == TRUE:
        return low, add(high, index(1))
    return Select(runs, low, index(0)), Select(runs, add(high, index(1)), index(0))


def _constant(value: int, space: isl.Space) -> isl.PwAff:
    local = isl.LocalSpace.from_space(space)
    return isl.PwAff.from_aff(isl.Aff.val_on_domain(local, isl.Val(value)))
