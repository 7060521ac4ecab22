"""Starts threads only where there is enough work: elsewhere the loop runs on one thread.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> kernel = parse_kernel("kernel k(n; x: f64[n]) { for i in 0 .. n parallel { x[i] = 0.0 } }")
>>> print(print_stmt(with_starts(kernel, index("n")).body.body[0]), end="")
if n >= 1048576 {
  for i in 0 .. n parallel {
    x[i] = 0.0:f64
  }
} else {
  for i in 0 .. n {
    x[i] = 0.0:f64
  }
}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

from planish.ir.expr import Compare, Expr, index
from planish.ir.index.polynomial import add, constant, floordiv, mul, place, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Block, For, If, Kernel, Let, Stmt
from planish.ir.traverse import blocks_of, has_work, loads, map_block, variables, walk
from planish.library.parallel.work_estimate import add_up, estimate
from planish.schedule.auto.plan import Prepared, Version

WORTH = 1 << 20
"""The operations from which on a start of threads is worth it: that takes about a microsecond where they wait for it,
and what little there is lies in the nearest caches of one of them."""


def start_where_worth(prepared: Prepared, candidates: Sequence[Version]) -> tuple[Version, ...]:
    """Versions of a kernel whose threads start only where there is enough to do; each as it is where it asks that
    already, or where that has no short expression."""
    if not any(_starts_always(x.kernel) for x in candidates):
        return tuple(candidates)
    whole = estimate(prepared.kernel.body)
    works = (_own_work(x.kernel) or whole for x in candidates)
    made = (x.kernel if y is None else with_starts(x.kernel, y) for x, y in zip(candidates, works, strict=True))
    return tuple(replace(x, kernel=y) for x, y in zip(candidates, made, strict=True))


def _own_work(kernel: Kernel) -> Expr | None:
    """The operations of a version itself, which may be far fewer than those of what it was made from; None where that
    has no simple expression, as where loops are cut into tiles."""
    found = estimate(kernel.body)
    return None if found is None or has_work(Block((Let("work", found),))) else found


def with_starts(kernel: Kernel, work: Expr, worth: int = WORTH) -> Kernel:
    """A kernel whose threads start only where it has to do so much, `work`, that it is `worth` each start."""
    starts = add_up(kernel.body, {}, _count)
    if starts is None or not variables(starts) <= {*kernel.sizes} or not _starts_always(kernel):
        return kernel
    allocs = tuple(x for x in kernel.body.body if isinstance(x, Alloc))
    body = Block(tuple(x for x in kernel.body.body if not isinstance(x, Alloc)))
    enough = Compare("ge", work, mul(index(worth), simplify(starts)))
    return replace(kernel, body=Block((*allocs, If(enough, body, map_block(_alone, body)))))


def _starts_always(kernel: Kernel) -> bool:
    """Whether there are threads in a kernel, and not only where a condition holds that stands around all of it."""
    stmts = [x for x in kernel.body.body if not _asks(x)]
    return any(_is_start(x) for stmt in stmts for x in walk(stmt))


def _asks(stmt: Stmt) -> bool:
    """Whether a statement does something on threads under a condition, and else without."""
    if not isinstance(stmt, If) or not stmt.otherwise.body:
        return False
    return not any(_is_start(x) for x in walk(stmt.otherwise))


def _is_start(stmt: Stmt) -> bool:
    return isinstance(stmt, For) and stmt.facts.parallel


def _alone(stmt: Stmt) -> Stmt:
    """A loop on threads as one that a single thread runs."""
    if not isinstance(stmt, For) or not stmt.facts.parallel:
        return stmt
    facts = replace(stmt.facts, parallel=False)
    return replace(stmt, facts=facts if facts.simd else replace(facts, reductions=()))


def _count(stmt: Stmt, middle: Mapping[str, Expr]) -> Expr | None:
    """How often threads are started in a statement; None where that is not known."""
    if not isinstance(stmt, For):
        parts = [add_up(x, middle, _count) for x in blocks_of(stmt)]
        known = [x for x in parts if x is not None]
        return reduce(add, known, index(0)) if len(known) == len(parts) else None
    if stmt.facts.parallel:
        return index(1)
    first, end = place(stmt.lower, middle), place(stmt.upper, middle)
    inside = add_up(stmt.body, {**middle, stmt.var: floordiv(add(first, end), index(2))}, _count)
    if inside is None or constant(inside) == 0:
        return inside
    if loads(first) or loads(end):
        return None
    return mul(floordiv(add(sub(end, first), index(stmt.step - 1)), index(stmt.step)), inside)
