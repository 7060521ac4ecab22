"""Column access: whether statements keep to one column of a matrix, as panel algorithms do.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "for k in 0 .. n { for i in k .. n { A[i, k] = 2.0 * A[i, k] } for i in 0 .. n { A[i, 0] = A[i, k] } }"
>>> step, = parse_kernel("kernel z(n; A: f64[n, n]) { %s }" % text).body.body
>>> [is_in_column(x, "A", step, index("k"), index("n")) for x in step.body.body]
[True, False]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from planish.ir.expr import Expr, index
from planish.ir.index.polynomial import constant, same, sub
from planish.ir.index.ranges import extreme
from planish.ir.nest import Alloc, Assign, For, Reduce, Stmt
from planish.ir.traverse import blocks_of, expressions, flatten, loads, walk

Leaf = tuple[Assign | Reduce, tuple[For, ...]]
"""A store, and the loops around it."""


def is_at_most(a: Expr, b: Expr) -> bool:
    """Whether an index is known to be so much at most, whatever the names in it stand for."""
    number = constant(sub(b, a))
    return number is not None and number >= 0


def sets(stmts: Sequence[Stmt], cell: str) -> bool:
    """Whether statements store to an array."""
    return any(isinstance(x, Assign | Reduce) and x.array == cell for stmt in stmts for x in walk(stmt))


def is_in_column(stmt: Stmt, array: str, step: For, first: Expr, rows: Expr) -> bool:
    """Whether a statement of a step touches nothing of a matrix but the column of the step's number, of its rows only
    those from `first` up to below `rows`."""
    for at, loops in accesses((stmt,), array, ()):
        low, high = extreme(at[0], loops, False), extreme(at[0], loops, True)
        if not same(at[1], index(step.var)) or low is None or high is None:
            return False
        most = extreme(sub(sub(rows, index(1)), high), (step,), False)
        if not is_at_most(first, low) or most is None or not is_at_most(index(0), most):
            return False
    return True


def accesses(
    stmts: Iterable[Stmt], array: str, loops: tuple[For, ...]
) -> Iterator[tuple[tuple[Expr, ...], tuple[For, ...]]]:
    """The subscripts of an array in some statements, with the loops around."""
    for stmt in stmts:
        if isinstance(stmt, Assign | Reduce) and stmt.array == array:
            yield stmt.index, loops
        for expr in expressions(stmt):
            yield from ((x.index, loops) for x in loads(expr) if x.array == array)
        inner = (*loops, stmt) if isinstance(stmt, For) else loops
        for block in blocks_of(stmt):
            yield from accesses(block.body, array, inner)


def leaves_of(stmts: Sequence[Stmt], loops: tuple[For, ...] = ()) -> Iterator[Leaf | None]:
    """The stores in statements, in the order of the text; None for what is neither a loop nor a store."""
    for stmt in flatten(stmts):
        match stmt:
            case For():
                yield from leaves_of(stmt.body.body, (*loops, stmt))
            case Assign() | Reduce():
                yield stmt, loops
            case Alloc():
                pass
            case _:
                yield None
