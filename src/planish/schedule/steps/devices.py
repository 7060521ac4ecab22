"""Steps that map a nest to a device: loops become blocks and threads, parts of arrays go to shared memory or registers.

>>> from planish.schedule.example import show_step
>>> from planish.schedule.steps.loops import Split
>>> steps = Split("i", 128, ("ib", "it"), tail="guard"), MapBlocks("ib", "x"), MapThreads("it", "x")
>>> show_step("for i in 0 .. n { A[i] = 0.0:f32 }", *steps)
for ib in 0 .. (n + 127) // 128 on block_x {
  for it in 0 .. 128 on thread_x {
    if 128 * ib + it < n {
      A[128 * ib + it] = 0.0:f32
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import Binary, Compare, Const, Expr, index
from planish.ir.index.polynomial import polynomial
from planish.ir.index.simplify import simplify, simplify_block
from planish.ir.nest import Alloc, Block, For, If, Stmt
from planish.ir.traverse import (
    blocks_of,
    map_block,
    substitute,
    substitute_block,
    variables,
    walk,
    with_blocks,
    with_body,
)
from planish.schedule.accesses import Indices, redirect
from planish.schedule.legality import check_parallel
from planish.schedule.nodes import exchange, path_to
from planish.schedule.program import Change, Program, Target
from planish.schedule.steps.buffers import StageMem

Axis = Literal["x", "y", "z"]
MOST_THREADS = 1024
"""The threads of a block that devices have at most."""


@dataclass(frozen=True, slots=True)
class MapBlocks:
    """Run each iteration of a loop in a block of its own, which are numbered along an axis of the grid. Loops over
    blocks stand directly in each other.

    >>> from planish.schedule.example import show_step
    >>> show_step("for i in 0 .. n { A[i] = 0.0:f32 }", MapBlocks("i", "x"))
    for i in 0 .. n on block_x {
      A[i] = 0.0:f32
    }
    """

    loop: Target
    axis: Axis = "x"

    def rewrite(self, program: Program) -> Change:
        """E0613 where an iteration uses what another one writes; E0604 where it stands in threads, or in blocks along
        the same axis, or not directly in those along another one."""
        loop, axis = program.loop(self.loop), f"block_{self.axis}"
        around = [x for x in program.path(loop.label)[:-1] if isinstance(x, For) and x.facts.axis]
        inside = [x for x in walk(loop.body) if isinstance(x, For) and x.facts.axis == axis]
        if inside or any(x.facts.axis == axis or x.facts.axis.startswith("thread") for x in around):
            raise _misplaced(f"`{loop.var}` is in a loop over threads, or over blocks along {self.axis}, or around one")
        if around and around[-1].body.body != (loop,):
            raise _misplaced(f"`{loop.var}` does not stand alone in the loop over blocks around it")
        return _bound(program, loop, axis)


@dataclass(frozen=True, slots=True)
class MapThreads:
    """Run each iteration of a loop in a thread of its own, which are numbered along an axis of the block. All end
    together: what comes behind the loop sees what they have stored. `threads`: so many there are, of which those that
    have no iteration do nothing.

    >>> from planish.schedule.example import show_step
    >>> show_step("for i in 0 .. 8 { A[i] = 0.0:f32 }", MapThreads("i", "x"))
    for i in 0 .. 8 on thread_x {
      A[i] = 0.0:f32
    }
    >>> show_step("for i in 0 .. min(8, n) { A[i] = 0.0:f32 }", MapThreads("i", "x", 8))
    for i in 0 .. 8 on thread_x {
      if i < min(8, n) {
        A[i] = 0.0:f32
      }
    }
    """

    loop: Target
    axis: Axis = "x"
    threads: int = 0

    def rewrite(self, program: Program) -> Change:
        """E0613 where an iteration uses what another one writes; E0611 where there are more than `threads`; E0604 where
        the loop does not go from 0 to a constant of 1024 at most, or stands in threads along the same axis, or blocks
        in it."""
        loop, axis = program.loop(self.loop), f"thread_{self.axis}"
        count = index(self.threads) if self.threads else loop.upper
        whole = loop.step == 1 and loop.lower == index(0) and isinstance(count, Const)
        if not whole or not isinstance(count, Const) or not 1 <= int(count.value) <= MOST_THREADS:
            message = f"`{loop.var}` does not go from 0 to a constant of {MOST_THREADS} at most"
            raise PlanishError(Diagnostic("E0604", message, help='split it first, with tail="short"'))
        around = [x for x in program.path(loop.label)[:-1] if isinstance(x, For)]
        inside = [x.facts.axis for x in walk(loop.body) if isinstance(x, For)]
        if any(x.facts.axis == axis for x in around) or any(x == axis or x.startswith("block") for x in inside):
            raise _misplaced(f"`{loop.var}` is in threads along {self.axis}, or around them, or around blocks")
        marked = _bound(program, loop, axis)
        if count == loop.upper:
            return marked
        test = Compare("lt", index(loop.var), loop.upper)

        def tested(body: Block) -> Block:
            inner = path_to(body, loop.label)[-1]
            assert isinstance(inner, For)
            whole = replace(inner, upper=count, body=Block((If(test, inner.body),)))
            return exchange(body, loop.label, lambda x: (whole,))

        return Change(marked.kernel, tested)


@dataclass(frozen=True, slots=True)
class BoundingBox:
    """Give a loop bounds that do not depend on the loops around it, and test in it what the old ones say: loops over a
    triangle become loops over the rectangle around it.

    >>> from planish.schedule.example import show_step
    >>> show_step("for i in 0 .. n { for j in i + 1 .. n { A[j] += B[i] } }", BoundingBox("j"))
    for i in 0 .. n {
      for j in 1 .. n {
        if j >= i + 1 {
          A[j] += B[i]
        }
      }
    }
    """

    loop: Target

    def rewrite(self, program: Program) -> Change:
        """E0604 where no such bounds are found."""
        loop = program.loop(self.loop)
        around = [x for x in program.path(loop.label)[:-1] if isinstance(x, For)]
        lower, upper = outer_bound(loop.lower, around, False), outer_bound(loop.upper, around, True)
        if lower is None or upper is None:
            message = f"the bounds of `{loop.var}` have no extremes that are known outside of the loops around it"
            raise PlanishError(Diagnostic("E0604", message, help="only sums, extrema and quotients of them have"))
        tests: list[Expr] = []
        if lower != loop.lower:
            tests.append(Compare("ge", index(loop.var), loop.lower))
        if upper != loop.upper:
            tests.append(Compare("lt", index(loop.var), loop.upper))
        if not tests:
            return Change(program.kernel)
        if loop.step != 1:
            raise PlanishError(Diagnostic("E0604", f"`{loop.var}` has steps", help="choose a loop without"))
        test = tests[0] if len(tests) == 1 else Binary("and", tests[0], tests[1])

        def boxed(body: Block) -> Block:
            inner = path_to(body, loop.label)[-1]
            assert isinstance(inner, For)
            whole = replace(inner, lower=lower, upper=upper, body=Block((If(test, inner.body),)))
            return exchange(body, loop.label, lambda x: (whole,))

        return Change(program.kernel, boxed)


def outer_bound(expr: Expr, around: Sequence[For], up: bool) -> Expr | None:
    """An expression that is never less (`up`), or never more, than another one, without the iterators of the loops
    around; None where none is found.

    >>> from planish.ir.text.parser import parse_expr, parse_kernel
    >>> from planish.ir.text.printer import print_expr
    >>> loops = parse_kernel("kernel k(n) { for i in 2 .. n { } }").body.body
    >>> print_expr(outer_bound(parse_expr("min(9, n - 2 * i)"), loops, True))
    'min(9, n - 4)'
    """
    for loop in reversed(around):
        found = _without(expr, loop, up)
        if found is None:
            return None
        expr = simplify(found)
    return expr


def _without(expr: Expr, loop: For, up: bool) -> Expr | None:
    if loop.var not in variables(expr):
        return expr
    match expr:
        case Binary(op="min" | "max" as op, left=left, right=right):
            a, b = _without(left, loop, up), _without(right, loop, up)
            return None if a is None or b is None else Binary(op, a, b)
        case Binary(op="floordiv", left=left, right=Const(value=value)) if value > 0:
            a = _without(left, loop, up)
            return None if a is None else Binary("floordiv", a, expr.right)
        case Binary(op="add" | "sub" as op, left=left, right=right) if not _is_linear(expr, loop.var):
            a, b = _without(left, loop, up), _without(right, loop, up if op == "add" else not up)
            return None if a is None or b is None else Binary(op, a, b)
        case Binary(op="mul", left=Const(value=value), right=right) if not _is_linear(expr, loop.var):
            a = _without(right, loop, up if value >= 0 else not up)
            return None if a is None else Binary("mul", expr.left, a)
        case _:
            pass
    if not _is_linear(expr, loop.var):
        return None
    times = next(c for monomial, c in polynomial(expr).items() if index(loop.var) in monomial)
    last = Binary("sub", loop.upper, index(1))
    return substitute(expr, {loop.var: last if (times > 0) == up else loop.lower})


def _is_linear(expr: Expr, var: str) -> bool:
    """Whether an expression is a number times an iterator, and something without it."""
    uses = [monomial for monomial in polynomial(expr) if any(var in variables(x) for x in monomial)]
    return len(uses) == 1 and uses[0] == (index(var),)


@dataclass(frozen=True, slots=True)
class PromoteShared:
    """Use shared memory in place of the part of an array that a statement (with all in it) touches, like `stage_mem`;
    the threads of the block, so many along x, y and z, copy it together, the last dimension along x. `pad`: so many
    places more at the end of each row, so that threads that go down a column use different banks.

    >>> from planish.schedule.example import show_step
    >>> head = "kernel f(A: f32[8], B: f32[8])"
    >>> show_step("for i in 0 .. 8 { B[i] = A[7 - i] }", PromoteShared("i", "A", "a", (8,)), head=head)
    alloc a: f32[8] shared
    for a_0 in 0 .. 8 on thread_x {
      a[a_0] = A[a_0]
    }
    for i in 0 .. 8 {
      B[i] = a[7 - i]
    }
    """

    around: Target
    array: str
    name: str
    threads: tuple[int, ...]
    pad: int = 0
    clip: bool = False

    def rewrite(self, program: Program) -> Change:
        """As StageMem; E0604 where the statement stands in threads."""
        if in_threads(program, self.around):
            raise _misplaced("what all threads of a block share is copied outside of their loops")
        kernel = StageMem(self.around, self.array, self.name, "shared", clip=self.clip).rewrite(program).kernel
        body = _with_copies(kernel.body, self.name, lambda copy: _spread(copy, self.threads))
        if self.pad:
            body = map_block(lambda x: _padded(x, self.name, self.pad), body)
        return Change(replace(kernel, body=simplify_block(body)))


@dataclass(frozen=True, slots=True)
class PromoteRegisters:
    """Use registers in place of the part of an array that a statement (with all in it) touches, like `stage_mem`.
    Around loops over threads, so many along x, y and z, each thread has the elements whose places are its own number
    modulo these; the buffer's first dimensions are the threads. `rest`: for all behind the statement in its block, too.

    >>> from planish.schedule.example import show_step
    >>> show_step("for i in 0 .. n { for j in 0 .. m { B[i] += M[i, j] } }", PromoteRegisters("j", "B", "b"))
    for i in 0 .. n {
      alloc b: f32[] register
      b[] = B[i]
      for j in 0 .. m {
        b[] += M[i, j]
      }
      B[i] = b[]
    }
    """

    around: Target
    array: str
    name: str
    threads: tuple[int, ...] = ()
    rest: bool = False

    def rewrite(self, program: Program) -> Change:
        """As StageMem; E0604 where the statement stands in threads, and `threads` are given; E0606 where these do not
        divide the part."""
        kernel = StageMem(self.around, self.array, self.name, "register", rest=self.rest).rewrite(program).kernel
        if not self.threads:
            return Change(kernel)
        if in_threads(program, self.around):
            raise _misplaced("the statement is in loops over threads: each has a buffer of its own")
        made = next(x.array for x in walk(kernel.body) if isinstance(x, Alloc) and x.array.name == self.name)
        counts = [int(x.value) for x in made.shape if isinstance(x, Const)]
        split = list(zip(reversed(range(len(counts))), self.threads, strict=False))
        if len(counts) < len(self.threads) or any(counts[d] % n for d, n in split):
            message = f"{self.threads} threads do not divide the {counts} elements of `{self.array}`"
            raise PlanishError(Diagnostic("E0606", message, help="choose divisors of the part, along x first"))
        own = [(d, n) for d, n in split if n > 1]
        shape = tuple(
            index(x) for x in (*(n for _, n in own), *(c // dict(split).get(d, 1) for d, c in enumerate(counts)))
        )

        def moved(at: Indices) -> tuple[str, Indices]:
            of = [Binary("mod", at[d], index(n)) for d, n in own]
            places = [Binary("floordiv", x, index(dict(own).get(d, 1))) for d, x in enumerate(at)]
            return self.name, (*of, *places)

        body = _with_copies(kernel.body, self.name, lambda copy: _spread(copy, self.threads))
        body = redirect(body, self.name, moved)
        body = map_block(lambda x: _reshaped(x, self.name, shape), body)
        return Change(replace(kernel, body=simplify_block(body)))


def in_threads(program: Program, target: Target) -> bool:
    return any(isinstance(x, For) and x.facts.axis.startswith("thread") for x in program.path(target)[:-1])


def _with_copies(block: Block, name: str, change: Callable[[For], Stmt]) -> Block:
    """The nest with other loops in place of those that copy a buffer, which a step has just made."""
    out: list[Stmt] = []
    for stmt in block.body:
        if isinstance(stmt, For) and not stmt.label and stmt.var.startswith(f"{name}_"):
            out.append(change(stmt))
        else:
            out.append(with_blocks(stmt, [_with_copies(x, name, change) for x in blocks_of(stmt)]))
    return with_body(block, out)


def _spread(copy: For, threads: Sequence[int]) -> Stmt:
    """The loops of a copy, the innermost along x: loops over threads, and in these what each of them copies."""
    loops: list[For] = [copy]
    while len(loops[-1].body.body) == 1 and isinstance(loops[-1].body.body[0], For):
        loops.append(loops[-1].body.body[0])
    inner = loops[-1].body
    mapped: list[For] = []
    for axis, (loop, count) in zip("xyz", zip(reversed(loops), threads, strict=False), strict=False):
        own = f"{loop.var}t"
        facts = replace(loop.facts, axis=f"thread_{axis}")
        length = int(loop.upper.value) if isinstance(loop.upper, Const) else 0
        if 0 < length <= count:
            mapped.append(replace(loop, facts=facts))
            continue
        mapped.append(For(own, index(0), index(count), 1, Block(()), facts))
        if length and length % count == 0:
            place = Binary("add", Binary("mul", index(count), index(f"{loop.var}r")), index(own))
            inner = Block((For(f"{loop.var}r", index(0), index(length // count), 1, _at(inner, loop.var, place)),))
        else:
            inner = Block((For(loop.var, index(own), loop.upper, count, inner),))
    for loop in reversed(loops[: max(0, len(loops) - len(mapped))]):
        inner = Block((replace(loop, body=inner),))
    for loop in mapped:
        inner = Block((replace(loop, body=inner),))
    (whole,) = inner.body
    return whole


def _at(body: Block, var: str, value: Expr) -> Block:
    return substitute_block(body, {var: value})


def _padded(stmt: Stmt, name: str, pad: int) -> Stmt:
    if isinstance(stmt, Alloc) and stmt.array.name == name and stmt.array.shape:
        *outer, last = stmt.array.shape
        assert isinstance(last, Const)
        return replace(stmt, array=replace(stmt.array, shape=(*outer, index(int(last.value) + pad))))
    return stmt


def _reshaped(stmt: Stmt, name: str, shape: tuple[Expr, ...]) -> Stmt:
    if isinstance(stmt, Alloc) and stmt.array.name == name:
        return replace(stmt, array=replace(stmt.array, shape=shape))
    return stmt


def _bound(program: Program, loop: For, axis: str) -> Change:
    kernel = program.kernel
    if loop.facts.axis:
        raise _misplaced(f"`{loop.var}` is mapped to {loop.facts.axis} already")
    check_parallel(kernel, program.path(loop.label))
    bound = replace(loop, facts=replace(loop.facts, axis=axis, parallel=False, simd=False, reductions=()))
    return Change(replace(kernel, body=exchange(kernel.body, loop.label, lambda x: (bound,))))


def _misplaced(message: str) -> PlanishError:
    return PlanishError(Diagnostic("E0604", message, help="blocks are outside, threads inside, each axis once"))
