"""A reduction over all iterations of a loop on a device: by each thread, by each block in a tree, over all blocks.

>>> TreeReduction("i", "s", 2, 2).loop
'i'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import islpy as isl

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import Binary, Const, Expr, Load, index, type_of
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, LoopFacts, Reduce, ReduceOp, Stmt
from planish.ir.traverse import arrays_in, map_block, variables, walk
from planish.ir.types import Type
from planish.poly.isl.expression import TRUE, set_condition
from planish.poly.scop.extraction import extract_scop
from planish.schedule.context import alone
from planish.schedule.legality import check_parallel
from planish.schedule.names import check_fresh
from planish.schedule.nodes import Node, exchange
from planish.schedule.program import Change, Cursor, Program, Target
from planish.schedule.steps.devices import MOST_THREADS
from planish.schedule.steps.teams import NEUTRAL, with_extrema, without_extrema

THREAD, BLOCK = LoopFacts(axis="thread_x"), LoopFacts(axis="block_x")
IDEMPOTENT: tuple[ReduceOp, ...] = ("min", "max", "and", "or")
"""Operations in which each thread begins with what is there: it may count more than once."""


@dataclass(frozen=True, slots=True)
class TreeReduction:
    """Make the sum that a loop adds to one element, or a product or an extremum, in so many blocks of so many threads:
    each thread sums up its own iterations, each block its threads in a tree, and one block all of them. The order is
    the same in every run. The element is used only where the loop uses it.

    >>> from planish.schedule.example import show_step
    >>> head = "kernel f(n; A: i64[n], B: i64[1])"
    >>> show_step("for i in 0 .. n { B[0] += A[i] }", TreeReduction("i", "s", 2, 2), head=head)
    if n > 0 {
      alloc s: i64[2]
      for s_block in 0 .. 2 on block_x {
        alloc s_shared: i64[2] shared
        for s_thread in 0 .. 2 on thread_x {
          alloc s_own: i64[] register
          s_own[] = 0
          for i in 2 * s_block + s_thread .. n step 4 {
            s_own[] += A[i]
          }
          s_shared[s_thread] = s_own[]
        }
        for s_thread in 0 .. 1 on thread_x {
          s_shared[s_thread] += s_shared[s_thread + 1]
        }
        for s_thread in 0 .. 1 on thread_x {
          s[s_block] = s_shared[0]
        }
      }
      for s_block in 0 .. 1 on block_x {
        alloc s_all: i64[2] shared
        for s_thread in 0 .. 2 on thread_x {
          s_all[s_thread] = s[s_thread]
        }
        for s_thread in 0 .. 1 on thread_x {
          s_all[s_thread] += s_all[s_thread + 1]
        }
        for s_thread in 0 .. 1 on thread_x {
          B[0] += s_all[0]
        }
      }
    }
    """

    loop: Target
    name: str
    blocks: int = 128
    threads: int = 256

    def rewrite(self, program: Program) -> Change:
        """E0604 where the numbers are no powers of two, of 1024 at most, or the loop is mapped, has steps, or does more
        than add to one element; E0613 where iterations depend on each other otherwise; E0606 where sums of floats may
        not be made in another order."""
        loop, name = program.loop(self.loop), self.name
        if any(n < 2 or n > MOST_THREADS or n & (n - 1) for n in (self.blocks, self.threads)):
            message = f"{self.blocks} blocks of {self.threads} threads: both are to be powers of two from 2 to 1024"
            raise PlanishError(Diagnostic("E0604", message, help="choose 128 and 256"))
        program, extrema = with_extrema(program, loop)
        loop = program.loop(Cursor(program, loop.label))
        update = find_reduction(loop)
        if update is None:
            message = f"`{loop.var}` does more than add to one element"
            raise PlanishError(Diagnostic("E0604", message, help="distribute the loop over its statements first"))
        kind = type_of(update.value)
        if kind.is_float and not program.reassociate:
            message = f"the sums in `{update.array}` would be made in another order, which is not allowed"
            raise PlanishError(Diagnostic("E0606", message, help="allow it, or leave the loop as it is"))
        path = program.path(loop.label)
        check_parallel(program.kernel, path, {update.array})
        own, shared, whole = f"{name}_own", f"{name}_shared", f"{name}_all"
        block, thread = f"{name}_block", f"{name}_thread"
        check_fresh(program.kernel, name, own, shared, whole, block, thread)
        total = self.blocks * self.threads
        first = Binary("add", Binary("mul", index(self.threads), index(block)), index(thread))
        inner = map_block(
            lambda x: Reduce(own, (), update.op, update.value, x.span) if x == update and isinstance(x, Reduce) else x,
            loop.body,
        )
        part = replace(
            loop, lower=simplify(Binary("add", loop.lower, first)), step=total, body=inner, label=0, facts=LoopFacts()
        )  # fmt: skip
        summed: tuple[Stmt, ...] = (
            Alloc(Array(own, kind, (), memory="register")),
            Assign(own, (), _start(update, kind)),
            part,
            Assign(shared, (index(thread),), Load(own, (), kind)),
        )
        each = Block((
            Alloc(Array(shared, kind, (index(self.threads),), memory="shared")),
            _on_threads(thread, self.threads, *summed),
            *_tree(shared, thread, self.threads, kind, update.op),
            _on_threads(thread, 1, Assign(name, (index(block),), Load(shared, (index(0),), kind))),
        ))  # fmt: skip
        last = Block((
            Alloc(Array(whole, kind, (index(self.blocks),), memory="shared")),
            _on_threads(thread, self.blocks, Assign(whole, (index(thread),), Load(name, (index(thread),), kind))),
            *_tree(whole, thread, self.blocks, kind, update.op),
            _on_threads(thread, 1, replace(update, value=Load(whole, (index(0),), kind), label=0)),
        ))  # fmt: skip
        made: tuple[Stmt, ...] = (
            Alloc(Array(name, kind, (index(self.blocks),))),
            For(block, index(0), index(self.blocks), 1, each, BLOCK, loop.span),
            For(block, index(0), index(1), 1, last, BLOCK, loop.span),
        )
        extrema = {own, shared, name, whole, update.array} if update.array in extrema else set()
        made = tuple(without_extrema(x, extrema) for x in made)
        some = _used(program, path, update) if update.index else TRUE
        if some != TRUE:
            made = (If(some, Block(made)),)
        return Change(replace(program.kernel, body=exchange(program.kernel.body, loop.label, lambda x: made)))


def find_reduction(loop: For) -> Reduce | None:
    """The only statement of a loop that stores to what is not its own, if it updates the same element each time."""
    local = {x.array.name for x in walk(loop.body) if isinstance(x, Alloc)}
    stores = [x for x in walk(loop.body) if isinstance(x, Assign | Reduce) and x.array not in local]
    iterators = {loop.var} | {x.var for x in walk(loop.body) if isinstance(x, For)}
    if len(stores) != 1 or loop.step != 1 or any(isinstance(x, For) and x.facts.axis for x in walk(loop)):
        return None
    (update,) = stores
    varies = any(variables(x) & iterators for x in update.index)
    once = list(arrays_in(loop.body)).count(update.array) == 1
    if not isinstance(update, Reduce) or varies or not once or update.op not in (*NEUTRAL, *IDEMPOTENT):
        return None
    return update


def _start(update: Reduce, kind: Type) -> Expr:
    """What each thread begins with."""
    if update.op in IDEMPOTENT:
        return Load(update.array, update.index, kind)
    return Const(float(NEUTRAL[update.op]) if kind.is_float else int(NEUTRAL[update.op]), kind)


def _used(program: Program, path: Sequence[Node], update: Reduce) -> Expr:
    """Whether the loop at the end of a path has an iteration that updates the element: else it may not be there."""
    scop = extract_scop(alone(program.kernel, path, Block((path[-1],))))
    runs = isl.Set.empty(scop.context.get_space())
    for statement in scop.statements:
        if statement.write.array == update.array:
            runs = runs.union(statement.domain.params())
    return set_condition(isl.Set.from_params(runs.gist(scop.context)), ())


def _on_threads(name: str, count: int, *body: Stmt) -> For:
    return For(name, index(0), index(count), 1, Block(body), THREAD)


def _tree(array: str, thread: str, count: int, kind: Type, op: ReduceOp) -> tuple[Stmt, ...]:
    """Adds the second half of an array to the first one, until one element is left."""
    out: list[Stmt] = []
    while count > 1:
        count //= 2
        other: Expr = Binary("add", index(thread), index(count))
        out.append(_on_threads(thread, count, Reduce(array, (index(thread),), op, Load(array, (other,), kind))))
    return tuple(out)
