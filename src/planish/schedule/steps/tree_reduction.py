"""A sum over all iterations of a loop on a device: by each thread, by each block in a tree, and over all blocks.

>>> TreeReduction("i", "s", 2, 2).loop
'i'
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import Binary, Const, Expr, Load, index, type_of
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, Block, For, LoopFacts, Reduce, Stmt
from planish.ir.traverse import arrays_in, map_block, variables, walk
from planish.ir.types import Type
from planish.schedule.legality import check_parallel
from planish.schedule.names import check_fresh
from planish.schedule.nodes import exchange
from planish.schedule.program import Change, Program, Target
from planish.schedule.steps.devices import MOST_THREADS

THREAD, BLOCK = LoopFacts(axis="thread_x"), LoopFacts(axis="block_x")


@dataclass(frozen=True, slots=True)
class TreeReduction:
    """Make the sum that a loop adds to one element in so many blocks of so many threads: each thread sums up its own
    iterations, each block its threads in a tree, and one block all of them. The order is the same in every run.

    >>> from planish.schedule.example import show_step
    >>> head = "kernel f(n; A: i64[n], B: i64[1])"
    >>> show_step("for i in 0 .. n { B[0] += A[i] }", TreeReduction("i", "s", 2, 2), head=head)
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
        update = find_sum(loop)
        if update is None:
            message = f"`{loop.var}` does more than add to one element"
            raise PlanishError(Diagnostic("E0604", message, help="distribute the loop over its statements first"))
        kind = type_of(update.value)
        if kind.is_float and not program.reassociate:
            message = f"the sums in `{update.array}` would be made in another order, which is not allowed"
            raise PlanishError(Diagnostic("E0606", message, help="allow it, or leave the loop as it is"))
        check_parallel(program.kernel, program.path(loop.label), {update.array})
        own, shared, whole = f"{name}_own", f"{name}_shared", f"{name}_all"
        block, thread = f"{name}_block", f"{name}_thread"
        check_fresh(program.kernel, name, own, shared, whole, block, thread)
        total = self.blocks * self.threads
        first = Binary("add", Binary("mul", index(self.threads), index(block)), index(thread))
        inner = map_block(
            lambda x: Reduce(own, (), "add", update.value, x.span) if x == update and isinstance(x, Reduce) else x,
            loop.body,
        )
        part = replace(
            loop, lower=simplify(Binary("add", loop.lower, first)), step=total, body=inner, label=0, facts=LoopFacts()
        )  # fmt: skip
        summed: tuple[Stmt, ...] = (
            Alloc(Array(own, kind, (), memory="register")),
            Assign(own, (), _zero(kind)),
            part,
            Assign(shared, (index(thread),), Load(own, (), kind)),
        )
        each = Block((
            Alloc(Array(shared, kind, (index(self.threads),), memory="shared")),
            _on_threads(thread, self.threads, *summed),
            *_tree(shared, thread, self.threads, kind),
            _on_threads(thread, 1, Assign(name, (index(block),), Load(shared, (index(0),), kind))),
        ))  # fmt: skip
        last = Block((
            Alloc(Array(whole, kind, (index(self.blocks),), memory="shared")),
            _on_threads(thread, self.blocks, Assign(whole, (index(thread),), Load(name, (index(thread),), kind))),
            *_tree(whole, thread, self.blocks, kind),
            _on_threads(thread, 1, replace(update, value=Load(whole, (index(0),), kind), label=0)),
        ))  # fmt: skip
        made = (
            Alloc(Array(name, kind, (index(self.blocks),))),
            For(block, index(0), index(self.blocks), 1, each, BLOCK, loop.span),
            For(block, index(0), index(1), 1, last, BLOCK, loop.span),
        )
        return Change(replace(program.kernel, body=exchange(program.kernel.body, loop.label, lambda x: made)))


def find_sum(loop: For) -> Reduce | None:
    """The only statement of a loop that stores to what is not its own, if it adds to the same element each time."""
    local = {x.array.name for x in walk(loop.body) if isinstance(x, Alloc)}
    stores = [x for x in walk(loop.body) if isinstance(x, Assign | Reduce) and x.array not in local]
    iterators = {loop.var} | {x.var for x in walk(loop.body) if isinstance(x, For)}
    if len(stores) != 1 or loop.step != 1 or any(isinstance(x, For) and x.facts.axis for x in walk(loop)):
        return None
    (update,) = stores
    varies = any(variables(x) & iterators for x in update.index)
    fixed = isinstance(update, Reduce) and update.op == "add" and not varies
    alone = list(arrays_in(loop.body)).count(update.array) == 1
    return update if fixed and alone and isinstance(update, Reduce) else None


def _zero(kind: Type) -> Const:
    return Const(0.0 if kind.is_float else 0, kind)


def _on_threads(name: str, count: int, *body: Stmt) -> For:
    return For(name, index(0), index(count), 1, Block(body), THREAD)


def _tree(array: str, thread: str, count: int, kind: Type) -> tuple[Stmt, ...]:
    """Adds the second half of an array to the first one, until one element is left."""
    out: list[Stmt] = []
    while count > 1:
        count //= 2
        other: Expr = Binary("add", index(thread), index(count))
        out.append(_on_threads(thread, count, Reduce(array, (index(thread),), "add", Load(array, (other,), kind))))
    return tuple(out)
