"""Separation of footprints: bounding boxes around a nest's accesses, to prove that writes and reads do not overlap.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "kernel k(n, b; A: f64[n, n]) { for i in b .. n { for k in 0 .. b { A[i, b] += A[i, k] } } }"
>>> from planish.ir.text.printer import print_expr
>>> kernel = parse_kernel(text)
>>> [print_expr(x) for x in reads_apart(kernel.body.body[0], kernel.arrays[0])]
['b >= 0', 'b < n', 'b < n + 1']
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from planish.ir.expr import Compare, Const, Expr, index
from planish.ir.index.polynomial import linear_in, place, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, For, Let, Reduce, Stmt
from planish.ir.traverse import blocks_of, expressions, loads, walk
from planish.ir.types import BOOL

Box = tuple[tuple[Expr, Expr] | None, ...]
"""The least and the greatest subscript in each dimension; None where a loop does not go through it in even steps."""


Known = Callable[[Expr], bool]
"""Whether a condition is known to hold where a nest stands."""


def nowhere(condition: Expr) -> bool:
    """Nothing is known of the place where a nest stands."""
    return False


def everywhere(condition: Expr) -> bool:
    """All that has to hold has been proven before."""
    return True


def reads_apart(nest: Stmt, array: Array, known: Known = nowhere) -> tuple[Expr, ...] | None:
    """The conditions under which a statement writes to other elements of an array than the nest reads besides, in
    bounds and values: that their rows do not run into each other, which is so wherever subscripts are less than
    extents. The element that an update adds to does not count. None where no box ends before the other begins whatever
    the sizes are, or as is `known`, two statements write, or names are bound of which nothing is known."""
    if any(isinstance(x, Let | Alloc) for x in walk(nest)):
        return None
    stores: list[Box] = []
    reads: list[Box] = []
    for stmt, loops in _statements(nest, ()):
        reads += (_box(x.index, loops) for e in expressions(stmt) for x in loads(e) if x.array == array.name)
        if isinstance(stmt, Assign | Reduce) and stmt.array == array.name:
            stores.append(_box(stmt.index, loops))
    if len(stores) != 1:
        return None
    conditions: list[Expr] = []
    for box in dict.fromkeys(reads):
        found = _apart(stores[0], box, array.shape, known)
        if found is None:
            return None
        conditions += found
    return tuple(dict.fromkeys(x for x in conditions if x != Const(True, BOOL)))


def _statements(stmt: Stmt, loops: tuple[For, ...]) -> Iterator[tuple[Stmt, tuple[For, ...]]]:
    """All statements of a nest, each with the loops around it."""
    yield stmt, loops
    around = (*loops, stmt) if isinstance(stmt, For) else loops
    for block in blocks_of(stmt):
        for inner in block.body:
            yield from _statements(inner, around)


def _box(at: Sequence[Expr], loops: Sequence[For]) -> Box:
    return tuple(_range(x, loops) for x in at)


def _range(expr: Expr, loops: Sequence[For]) -> tuple[Expr, Expr] | None:
    """The least and the greatest value of a subscript, the inner loops' variables replaced by their bounds first."""
    least = greatest = expr
    for loop in reversed(loops):
        first, last = loop.lower, sub(loop.upper, index(1))
        ends = _end(least, loop.var, first, last), _end(greatest, loop.var, last, first)
        if ends[0] is None or ends[1] is None:
            return None
        least, greatest = ends[0], ends[1]
    # What is read may change while the nest runs.
    return None if loads(least) or loads(greatest) else (least, greatest)


def _end(expr: Expr, var: str, low: Expr, high: Expr) -> Expr | None:
    """An expression where a variable is `low`, or `high` where it falls as the variable grows."""
    found = linear_in(expr, var)
    if found is None or set(found[0]) - {()}:
        return None
    return place(expr, {var: low if found[0].get((), 0) >= 0 else high})


def _apart(one: Box, other: Box, shape: Sequence[Expr | None], known: Known) -> list[Expr] | None:
    """What has to hold for two boxes to have no element in common; None where no dimension keeps them apart."""
    for d, (a, b) in enumerate(zip(one, other, strict=True)):
        if a is not None and b is not None:
            before = [simplify(Compare("lt", x[1], y[0])) for x, y in ((a, b), (b, a))]
            if Const(True, BOOL) in before or any(map(known, before)):
                return _within((one, other), max(1, d), shape)
    return None


def _within(boxes: Sequence[Box], first: int, shape: Sequence[Expr | None]) -> list[Expr] | None:
    """That the subscripts of some boxes are not negative and less than the extents, from a dimension on."""
    out: list[Expr] = []
    for box in boxes:
        for ends, extent in zip(box[first:], shape[first:], strict=True):
            if ends is None or extent is None:
                return None
            out += simplify(Compare("ge", ends[0], index(0))), simplify(Compare("lt", ends[1], extent))
    return None if Const(False, BOOL) in out else out
