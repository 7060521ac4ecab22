"""How the accesses of neighbouring threads lie in memory: at neighbouring elements, at the same one, or apart.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "launch (b: n) of (t: 32) { A[b, t] = A[b, t] + B[t, b] + C[b] }"
>>> kernel = parse_kernel(f"kernel k(n; A: f32[n, 32], B: f32[32, n], C: f32[n]) {{ {text} }}")
>>> print(count_accesses(kernel, kernel.body.body[0]))
2 unit, 1 same, 1 apart

A loop that each thread begins at a place of its own goes on beside its neighbours:

>>> text = "launch (b: n) of (t: 32) { for j in t .. n step 32 { A[b, j] = B[j, b] } }"
>>> kernel = parse_kernel(f"kernel k(n; A: f32[n, n], B: f32[n, n]) {{ {text} }}")
>>> print(count_accesses(kernel, kernel.body.body[0]))
1 unit, 1 apart
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from planish.ir.expr import Binary, Expr, Var, index
from planish.ir.index.polynomial import normal, polynomial
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Assign, Block, For, Kernel, Launch, Let, Reduce, Stmt
from planish.ir.traverse import blocks_of, expressions, loads, map_expr, substitute, variables, walk
from planish.ir.types import INDEX


@dataclass(frozen=True, slots=True)
class Coalescing:
    """So many accesses of memory in the text of a kernel whose elements the next thread along x finds beside its
    neighbour's (`unit`), at the same place (`same`), or elsewhere (`apart`); an update counts once."""

    unit: int = 0
    same: int = 0
    apart: int = 0

    def __str__(self) -> str:
        told = ((self.unit, "unit"), (self.same, "same"), (self.apart, "apart"))
        return ", ".join(f"{n} {what}" for n, what in told if n) or "none"


def count_accesses(kernel: Kernel, launch: Launch) -> Coalescing:
    """The accesses of arrays of the device in a launch."""
    local = {x.array.name for x in walk(launch.body) if isinstance(x, Alloc)}
    thread = launch.block[0][0] if launch.block else ""
    counts = {"unit": 0, "same": 0, "apart": 0}
    for stmt, values in _in_terms_of_ids(launch.body, thread, {}):
        own = [(stmt.array, stmt.index)] if isinstance(stmt, Assign | Reduce) else []
        for name, at in (*own, *((y.array, y.index) for x in expressions(stmt) for y in loads(x))):
            if name not in local:
                counts[_kind(tuple(substitute(x, values) for x in at), thread)] += 1
    return Coalescing(**counts)


def _in_terms_of_ids(
    block: Block, thread: str, around: Mapping[str, Expr]
) -> Iterator[tuple[Stmt, Mapping[str, Expr]]]:
    """Each statement, and what names stand for in it: a counter that begins at another place in each thread is so far
    behind that place."""
    values = dict(around)
    for stmt in block.body:
        yield stmt, values
        inside: Mapping[str, Expr] = values
        match stmt:
            case Let(var=name, value=value) if not loads(value):
                values[name] = substitute(value, values)
            case For(var=name, lower=lower):
                begin = substitute(lower, values)
                moves = thread in variables(begin) and not loads(begin)
                inside = {**values, name: Binary("add", begin, Var(name, INDEX)) if moves else Var(name, INDEX)}
        for part in blocks_of(stmt):
            yield from _in_terms_of_ids(part, thread, inside)


def _kind(at: tuple[Expr, ...], thread: str) -> str:
    if not any(thread in variables(x) for x in at):
        return "same"
    steps = [_step(x, thread) for x in at]
    if any(steps[:-1]):
        return "apart"
    return {0: "same", 1: "unit"}.get(steps[-1] if steps[-1] is not None else 2, "apart")


def _step(at: Expr, thread: str) -> int | None:
    """By how much a subscript is greater in the second thread than in the first; None where that is no constant. What
    holds places inside of an array at its edge does not count."""

    def within(expr: Expr) -> Expr:
        match expr:
            case Binary(op="min" | "max", left=left, right=right) if thread not in variables(right):
                return left
            case Binary(op="min" | "max", left=left, right=right) if thread not in variables(left):
                return right
        return expr

    inside = map_expr(within, at)
    first, second = (substitute(inside, {thread: index(number)}) for number in (0, 1))
    apart = polynomial(normal(simplify(Binary("sub", simplify(second), simplify(first)))))
    return int(apart.get((), 0)) if set(apart) <= {()} else None
