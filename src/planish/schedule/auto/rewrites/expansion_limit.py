"""Limits memory expansion: an array that expands a scalar is no larger than the arrays of the nest.

>>> from planish.ir.text.parser import parse_kernel
>>> head = "kernel k(n, m; x: f64[n], y: f64[m]) { alloc s: f64[n] alloc d: f64[n, m] "
>>> kernel = parse_kernel(head + "for i in 0 .. n { for j in 0 .. m { d[i, j] = x[i] y[j] = d[i, j] } } }")
>>> from planish.poly.scop.extraction import extract_scop
>>> [x.name for x in find_excess(kernel, extract_scop(kernel))]
['d']
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import reduce

import islpy as isl

from planish.ir.expr import Binary, Const, Expr, index
from planish.ir.index.polynomial import Polynomial, add, cofactor, mul, polynomial
from planish.ir.nest import Alloc, Array, Kernel
from planish.ir.traverse import map_expr
from planish.poly.scop.extents import NoExtentError, byte_extent
from planish.poly.scop.extraction import Scop

SMALL = 1 << 20
"""Bytes that a local array of a fixed size may have, and elements besides those that grow with a size."""
TIMES = 8
"""A local array may have so many times the elements of one that the nest is given."""


def find_excess(
    kernel: Kernel, scop: Scop, declared: Sequence[Array] = (), kept: Collection[str] = ()
) -> tuple[Array, ...]:
    """Those of a scop's local arrays that a kernel has on the heap and that grow faster with the sizes than every array
    that the nest is given or has `declared` itself; those that are `kept` are no matter."""
    own = {x.name for x in scop.locals} - {*kept}
    found = [x.array for x in kernel.body.body if isinstance(x, Alloc) and x.array.name in own]
    local = [x for x in found if x.memory in ("dram", "scratch") and x.shape]
    if not local:
        return ()
    given = [x for array in scop.kernel.arrays for x in _counts(array, scop)] + [_count(x) for x in declared]
    return tuple(x for x in local if not _is_small(x) and not any(_is_within(_count(x), y) for y in given))


def _count(array: Array) -> Polynomial:
    return polynomial(reduce(mul, (_plain(x) for x in array.shape if x is not None), index(1)))


def _counts(array: Array, scop: Scop) -> Iterator[Polynomial]:
    """The elements of an array of the kernel, as declared and as far as accesses reach."""
    if array.shape and array.shape[0] is not None:
        yield _count(array)
    try:
        last = [byte_extent(scop, array, d) for d in range(len(array.shape))]
    except (isl.Error, NoExtentError):
        return
    known = [_plain(add(x, index(1))) for x in last if x is not None]
    if known and len(known) == len(last):
        yield polynomial(reduce(mul, known))


def _plain(extent: Expr) -> Expr:
    """An extent without the test that it is not negative."""

    def visit(x: Expr) -> Expr:
        match x:
            case Binary(op="max", left=inner, right=Const()) | Binary(op="max", left=Const(), right=inner):
                return inner
            case _:
                return x

    return map_expr(visit, extent)


def _is_small(array: Array) -> bool:
    count = _count(array)
    return not any(count.keys() - {()}) and count.get((), 0) * array.type.size <= SMALL


def _is_within(count: Polynomial, most: Polynomial) -> bool:
    """Whether each term divides one of the other count's, and is no more than some times that."""
    return all(
        c <= (SMALL if m == () else 0) or any(cofactor(n, m) is not None and c <= TIMES * d for n, d in most.items())
        for m, c in count.items()
    )
