"""Loops without a count in C: one that counts with a cell has its start and its step in the head.

>>> from planish.ir.text.parser import parse_kernel
>>> body = "i[] = 0 while i[] < n { x[i[]] = 0.0 i[] = i[] + 2 * h }"
>>> kernel = parse_kernel("kernel k(n, h; x: f64[?]) { alloc i: i64[] register %s }" % body)
>>> (alloc, loop) = join_heads(kernel.body.body)
>>> spell_head(loop, EmitContext()), len(loop.body.body)
('for (i = 0; i < n; i = i + 2 * h)', 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planish.emit.c.context import EmitContext
from planish.emit.c.expression import emit_expr, emit_place
from planish.ir.expr import Expr
from planish.ir.nest import Assign, Block, Stmt, While
from planish.ir.traverse import bindings, loads, variables


@dataclass(frozen=True, slots=True)
class UncountedLoop:
    """A loop that runs as long as its condition holds, whose cell is set by `start` before it, and by `step` at the end
    of each iteration; neither where it counts with none."""

    loop: While
    start: Assign | None = None
    step: Assign | None = None

    @property
    def body(self) -> Block:
        """What stands between the braces."""
        body = self.loop.body
        return body if self.step is None else Block(body.body[:-1])


def join_heads(body: Sequence[Stmt]) -> list[Stmt | UncountedLoop]:
    """Statements with loops without a count, and what is right before them, as such."""
    out: list[Stmt | UncountedLoop] = []
    for stmt in body:
        if not isinstance(stmt, While):
            out.append(stmt)
            continue
        tested = {x.array for x in loads(stmt.condition) if not x.index}
        last = stmt.body.body[-1] if stmt.body.body else None
        start = out[-1] if out else None
        match start, last:
            # What is declared in the body is not known in the head.
            case Assign(array=first), Assign(array=name, value=value) if (
                first == name in tested and not _names_in(value) & {*bindings(stmt.body)}
            ):
                out[-1] = UncountedLoop(stmt, start, last)
            case _:
                out.append(UncountedLoop(stmt))
    return out


def _names_in(value: Expr) -> frozenset[str]:
    return variables(value) | {x.array for x in loads(value)}


def spell_head(loop: UncountedLoop, context: EmitContext) -> str:
    """The head in C, without a brace."""
    condition = emit_expr(loop.loop.condition, context)
    if loop.start is None or loop.step is None:
        return f"while ({condition})"
    ends = (loop.start, loop.step)
    first, step = (f"{emit_place(x.array, (), context)} = {emit_expr(x.value, context)}" for x in ends)
    return f"for ({first}; {condition}; {step})"
