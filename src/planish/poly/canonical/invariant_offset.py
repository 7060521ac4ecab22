"""Arrays begin where a kernel works on them: of `x[(c * h + i) * w + j]`, in a loop over i and j, behind `c * h * w`.

A product of sizes that no loop changes is no row of an array, and needs none.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.index.polynomial import show
>>> plane = parse_kernel("kernel k(c, n; x: f32[?]) { for i in 0 .. n { x[c * n + i] = 2.0 * x[c * n + i] } }")
>>> moved, offsets = begin_at_offset(plane)
>>> show(offsets["x"]), show(moved.body.body[0].body.body[0].index[0])
('c*n', 'i')
"""

from __future__ import annotations

from collections.abc import Collection

from planish.ir.expr import Expr, Var
from planish.ir.index.polynomial import build, neg, polynomial
from planish.ir.nest import Array, Kernel
from planish.poly.canonical.delinearise import delinearise, iterators, subscripts
from planish.poly.canonical.first_element import begin_later
from planish.poly.isl.affine import NotAffineError
from planish.poly.scop.extraction import extract_scop


def begin_at_offset(kernel: Kernel, pinned: Collection[str] = ()) -> tuple[Kernel, dict[str, Expr]]:
    """The kernel whose arrays of unknown length begin so many elements later, by products of sizes that all of their
    subscripts have; those that are `pinned` stay. As it is where its subscripts are rows and columns as they are."""
    linear = [x for x in kernel.arrays if len(x.shape) == 1 and x.shape[0] is None and x.name not in pinned]
    offsets = {x.name: found for x in linear if (found := _offset(x, kernel)) is not None}
    if not offsets:
        return kernel, {}
    try:
        extract_scop(delinearise(kernel))
    except NotAffineError:
        return begin_later(kernel, {x: neg(y) for x, y in offsets.items()}), offsets
    return kernel, {}


def _offset(array: Array, kernel: Kernel) -> Expr | None:
    """The products of sizes in each subscript of an array; None where there are none, or they are not the same."""
    moving = iterators(kernel)
    found: set[Expr] = set()
    for (subscript,) in subscripts(array.name, kernel.body):
        fixed = {
            factors: number for factors, number in polynomial(subscript).items()
            if len(factors) > 1 and all(isinstance(x, Var) and x.name not in moving for x in factors)
        }  # fmt: skip
        found.add(build(fixed) if fixed else _NONE)
    return found.pop() if len(found) == 1 and _NONE not in found else None


_NONE = build({})

__all__ = ["begin_at_offset"]
