"""A step that brings to shared memory what the next iteration uses while threads compute this one (double buffering).

>>> from planish.schedule.example import show_step
>>> copy = "for t in 0 .. 8 on thread_x { s[t] = M[i, t] } for u in 0 .. 8 on thread_x { N[i, u] = s[7 - u] }"
>>> text = f"for i in 0 .. n {{ alloc s: f32[8] shared {copy} }}"
>>> show_step(text, DoubleBuffer("i"), head="kernel f(n; M: f32[n, 8], N: f32[n, 8])")
alloc s: f32[2, 8] shared
if n > 0 {
  for t in 0 .. 8 on thread_x {
    async s[0, t] = M[0, t]
  }
}
for i in 0 .. n {
  if i + 1 < n {
    for t in 0 .. 8 on thread_x {
      async s[(i + 1) % 2, t] = M[i + 1, t]
    }
  }
  for u in 0 .. 8 on thread_x {
    N[i, u] = s[i % 2, 7 - u]
  }
}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.accesses import reads
from planish.ir.expr import Binary, Compare, Expr, Load, index
from planish.ir.index.simplify import simplify, simplify_block
from planish.ir.nest import Alloc, Assign, Block, For, If, Reduce, Stmt
from planish.ir.traverse import map_block, stored_arrays, substitute_block, walk
from planish.schedule.accesses import Indices, redirect
from planish.schedule.nodes import exchange
from planish.schedule.program import Change, Program, Target


@dataclass(frozen=True, slots=True)
class DoubleBuffer:
    """Copy what the next iteration of a loop uses of arrays while this one computes: the shared buffers that are filled
    first in its body get two places, which are used in turn, and copies of elements are asynchronous.

    The loops over threads at the beginning, which fill buffers of the loop's own from arrays that nothing in it writes,
    run an iteration earlier, those of the first one before the loop.

    >>> from planish.schedule.example import show_step
    >>> text = "for i in 0 .. 4 { alloc s: f32[4] shared for t in 0 .. 4 on thread_x { s[t] = A[i] } B[i] = s[i] }"
    >>> show_step(text, DoubleBuffer("i"))
    alloc s: f32[2, 4] shared
    for t in 0 .. 4 on thread_x {
      async s[0, t] = A[0]
    }
    for i in 0 .. 4 {
      if i < 3 {
        for t in 0 .. 4 on thread_x {
          async s[(i + 1) % 2, t] = A[i + 1]
        }
      }
      B[i] = s[i % 2, i]
    }
    """

    loop: Target

    def rewrite(self, program: Program) -> Change:
        """E0604 where the loop has steps, does not begin with such loops, or has nothing behind them; E0606 where what
        they read, or a buffer, is written elsewhere in the loop."""
        loop = program.loop(self.loop)
        buffers, copies, rest = _parts(loop)
        own = {x.array.name for x in buffers}
        if loop.step != 1 or not copies or not rest:
            message = f"`{loop.var}` does not begin with loops over threads that fill shared buffers of its own"
            raise PlanishError(Diagnostic("E0604", message, help="promote what it uses with PromoteTile first"))
        read = {y.array for x in copies for y in reads(x)}
        if (read | own) & stored_arrays(Block(rest)) or read & own:
            message = f"what is copied for the next iteration of `{loop.var}` may change in this one"
            raise PlanishError(Diagnostic("E0606", message, help="only arrays that are not written are copied early"))
        number: Expr = index(loop.var) if loop.lower == index(0) else Binary("sub", index(loop.var), loop.lower)
        later = Binary("add", index(loop.var), index(1))

        def in_half(name: str, at: Indices) -> tuple[str, Indices]:
            return name, (Binary("mod", number, index(2)), *at)

        def placed(body: Block) -> Block:
            for name in own:
                body = redirect(body, name, partial(in_half, name))
            return body

        fetch = map_block(_started, placed(Block(copies)))
        body = (_guarded(later, loop.upper, _at(fetch, loop.var, later)), *placed(Block(rest)).body)
        made: tuple[Stmt, ...] = (
            *(replace(x, array=replace(x.array, shape=(index(2), *x.array.shape))) for x in buffers),
            _guarded(loop.lower, loop.upper, _at(fetch, loop.var, loop.lower)),
            replace(loop, body=Block(body)),
        )
        made = simplify_block(Block(made), assumptions=program.kernel.assumptions).body
        return Change(replace(program.kernel, body=exchange(program.kernel.body, loop.label, lambda _: made)))


def _parts(loop: For) -> tuple[tuple[Alloc, ...], tuple[Stmt, ...], tuple[Stmt, ...]]:
    """The shared buffers that are made first in a loop, the statements that fill them, and the others."""
    buffers: list[Alloc] = []
    copies: list[Stmt] = []
    body = loop.body.body
    for stmt in body:
        own = {x.array.name for x in buffers}
        if isinstance(stmt, Alloc) and stmt.array.memory == "shared":
            buffers.append(stmt)
        elif all(_fills(x, own) for x in _leaves(stmt)):
            copies.append(stmt)
        else:
            break
    return tuple(buffers), tuple(copies), body[len(buffers) + len(copies) :]


def _leaves(stmt: Stmt) -> Iterator[Stmt]:
    """A statement, or what stands under its conditions."""
    if isinstance(stmt, If):
        for part in (*stmt.then.body, *stmt.otherwise.body):
            yield from _leaves(part)
    else:
        yield stmt


def _fills(stmt: Stmt, own: set[str]) -> bool:
    """Whether a statement is a loop over threads that assigns to some buffers only."""
    if not isinstance(stmt, For) or not stmt.facts.axis.startswith("thread"):
        return False
    inside: Sequence[Stmt] = list(walk(stmt))
    return not any(isinstance(x, Reduce) or (isinstance(x, Assign) and x.array not in own) for x in inside)


def _started(stmt: Stmt) -> Stmt:
    """A copy of an element as an asynchronous one."""
    is_copy = isinstance(stmt, Assign) and isinstance(stmt.value, Load)
    return replace(stmt, asynchronous=True) if isinstance(stmt, Assign) and is_copy else stmt


def _guarded(value: Expr, end: Expr, body: Block) -> Stmt:
    return If(simplify(Compare("lt", value, end)), body)


def _at(body: Block, var: str, value: Expr) -> Block:
    return substitute_block(body, {var: value})
