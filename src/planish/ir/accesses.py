"""The elements that a nest reads and stores: listed, and put elsewhere.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> body = parse_kernel("kernel z(n; A: f32[n], B: f32[n]) { for i in 0 .. n { A[i] += B[i] } }").body
>>> [x.array for x in reads(body)], [x.array for x in accesses(body)]
(['B'], ['A', 'B'])
>>> print(print_stmt(map_accesses(lambda x: replace(x, array="T") if x.array == "A" else x, body)))
{
  for i in 0 .. n {
    T[i] += B[i]
  }
}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from planish.ir.expr import Binary, Expr, Load, type_of
from planish.ir.nest import Assign, Block, Kernel, Reduce, Stmt
from planish.ir.traverse import expressions, loads, map_block, map_expr, map_exprs, variables, walk, walk_expr

SHIFTED = 16
"""What sizes by which something is shifted are less than in calls that check: integers of any type have so many bits
left when they are promoted."""


def values(stmt: Stmt) -> Iterator[Expr]:
    """All expressions of a statement and of those below it, with their operands."""
    for x in walk(stmt):
        for expr in expressions(x):
            yield from walk_expr(expr)


def reads(stmt: Stmt) -> Iterator[Load]:
    """The elements that a statement reads, with all below it, but for those that it updates."""
    for x in walk(stmt):
        for expr in expressions(x):
            yield from loads(expr)


def accesses(stmt: Stmt) -> Iterator[Load]:
    """The elements that a statement stores, updates or reads, with all below it."""
    for x in walk(stmt):
        if isinstance(x, Assign | Reduce):
            yield Load(x.array, x.index, type_of(x.value))
        for expr in expressions(x):
            yield from loads(expr)


def shift_amounts(kernel: Kernel) -> frozenset[str]:
    """The sizes by which something is shifted.

    >>> from planish.ir.text.parser import parse_kernel
    >>> sorted(shift_amounts(parse_kernel("kernel z(n, k; A: i32[n]) { for i in 0 .. n { A[i] = A[i] >> i32(k) } }")))
    ['k']
    """
    shifts = (x.right for x in values(kernel.body) if isinstance(x, Binary) and x.op in ("shl", "shr"))
    return frozenset(y for x in shifts for y in variables(x)) & frozenset(kernel.sizes)


def map_values(function: Callable[[Expr], Expr], block: Block) -> Block:
    """The nest with `function` applied to each expression in it, after its operands."""
    return map_block(partial(map_exprs, partial(map_expr, function)), block)


def map_accesses(function: Callable[[Load], Load], block: Block) -> Block:
    """The nest with `function` applied to each element in it that is read, stored or updated."""

    def read(x: Expr) -> Expr:
        return function(x) if isinstance(x, Load) else x

    def placed(stmt: Stmt) -> Stmt:
        made = map_exprs(partial(map_expr, read), stmt)
        if not isinstance(made, Assign | Reduce):
            return made
        cell = function(Load(made.array, made.index, type_of(made.value)))
        return replace(made, array=cell.array, index=cell.index)

    return map_block(placed, block)
