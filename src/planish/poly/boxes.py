"""Boxes around what a nest uses of an array: whether what is written lies apart from what is read.

>>> from planish.ir.parser import parse_kernel
>>> text = "kernel k(n, b; A: f64[n, n]) { for i in b .. n { for k in 0 .. b { A[i, b] += A[i, k] } } }"
>>> reads_apart(parse_kernel(text).body.body[0], "A")
True
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planish.ir.expr import Expr, index
from planish.ir.nest import Assign, For, Reduce, Stmt
from planish.ir.polynomial import constant, linear_in, place, sub
from planish.ir.traverse import blocks_of, expressions, loads

Box = tuple[tuple[Expr, Expr] | None, ...]
"""The least and the greatest subscript in each dimension; None where a loop does not go through it in even steps."""


def reads_apart(nest: Stmt, array: str) -> bool:
    """Whether one statement writes to an array, and all elements of it that the nest reads besides, in bounds and
    values, are others, whatever the sizes are: in some dimension one box ends before the other begins."""
    stores: list[Box] = []
    reads: list[Box] = []
    for stmt, loops in _statements(nest, ()):
        reads += (_box(x.index, loops) for e in expressions(stmt) for x in loads(e) if x.array == array)
        if isinstance(stmt, Assign | Reduce) and stmt.array == array:
            stores.append(_box(stmt.index, loops))
    return len(stores) == 1 and all(_apart(stores[0], x) for x in reads)


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
    return least, greatest


def _end(expr: Expr, var: str, low: Expr, high: Expr) -> Expr | None:
    """An expression where a variable is `low`, or `high` where it falls as the variable grows."""
    found = linear_in(expr, var)
    if found is None or set(found[0]) - {()}:
        return None
    return place(expr, {var: low if found[0].get((), 0) >= 0 else high})


def _apart(one: Box, other: Box) -> bool:
    for a, b in zip(one, other, strict=True):
        if a is not None and b is not None:
            gaps = (constant(sub(a[1], b[0])), constant(sub(b[1], a[0])))
            if any(x is not None and x < 0 for x in gaps):
                return True
    return False
