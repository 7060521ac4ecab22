"""How accesses lie in memory from one value of a variable to the next: at the next element, at the same one, apart.

>>> from planish.ir.text.parser import parse_kernel
>>> body = parse_kernel("kernel k(n, i, j; A: f32[n, n], B: f32[n]) { B[i] += A[i, j] }").body
>>> coalescing(body, "j"), coalescing(body, "i")
(1.0, 0.0)
"""

from __future__ import annotations

from planish.ir.expr import Expr, index
from planish.ir.index.polynomial import polynomial
from planish.ir.nest import Assign, Block, For, Reduce, Stmt
from planish.ir.traverse import blocks_of, expressions, loads, variables


def coalescing(body: Block, var: str) -> float:
    """How many more accesses of a nest go to the next element with the next value of a variable, or stay, than go
    elsewhere; what stands in loops counts more."""
    total = 0.0

    def visit(block: Block, weight: float) -> None:
        nonlocal total
        for stmt in block.body:
            for _, at in accesses_of(stmt):
                total += weight * stride(at, var)
            for part in blocks_of(stmt):
                visit(part, weight * (8 if isinstance(stmt, For) else 1))

    visit(body, 1.0)
    return total


def accesses_of(stmt: Stmt) -> list[tuple[str, tuple[Expr, ...]]]:
    """The arrays that a statement itself stores to and loads from, each with its subscripts."""
    own = [(stmt.array, stmt.index)] if isinstance(stmt, Assign | Reduce) else []
    return [*own, *((load.array, load.index) for x in expressions(stmt) for load in loads(x))]


def stride(at: tuple[Expr, ...], var: str) -> float:
    """1 where a subscript goes to the next element with a variable, 0 where it stays, -1 elsewhere."""
    if not any(var in variables(x) for x in at):
        return 0.0
    if any(var in variables(x) for x in at[:-1]):
        return -1.0
    return 1.0 if polynomial(at[-1]).get((index(var),), 0) == 1 else -1.0
