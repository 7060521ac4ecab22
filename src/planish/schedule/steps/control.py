"""Steps on conditions: versions for some sizes, and what does not change in a loop taken out of it.

>>> from planish.schedule.example import show_step
>>> show_step("for i in 0 .. n { A[i] = 0.0:f32 }", Specialise("i", "n % 8 == 0"))
if n % 8 == 0 {
  for i in 0 .. n {
    A[i] = 0.0:f32
  }
} else {
  for i in 0 .. n {
    A[i] = 0.0:f32
  }
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import Compare, Const, Expr, Var, index
from planish.ir.index.simplify import simplify, simplify_block
from planish.ir.nest import Alloc, Assign, Block, For, If, Kernel, Let, Reduce, Scalar, Stmt
from planish.ir.text.parser import parse_expr
from planish.ir.traverse import expressions, loads, substitute_block, variables, walk
from planish.schedule.accesses import uses
from planish.schedule.context import always
from planish.schedule.nodes import Node, Siblings, edit, exchange
from planish.schedule.program import TRUE, Change, Program, Target
from planish.schedule.steps.kernels import read_condition


@dataclass(frozen=True, slots=True)
class Specialise:
    """Make a version of a statement for where a condition holds, besides the one for where it does not. Steps after
    that speak of the first version, unless they say `#2`, and may rely on the condition.

    Where the condition says what a scalar is, the first version has the value in its place.

    >>> from planish.schedule.example import show_step
    >>> from planish.schedule.steps.loops import Split
    >>> text = "for i in 0 .. n { A[i] = 0.0:f32 }"
    >>> show_step(text, Specialise("i", "n == 8"), Split("i", 4, ("io", "ii"), "perfect"))
    if n == 8 {
      for io in 0 .. n // 4 {
        for ii in 0 .. 4 {
          A[4 * io + ii] = 0.0:f32
        }
      }
    } else {
      for i in 0 .. n {
        A[i] = 0.0:f32
      }
    }
    """

    at: Target
    condition: str

    def rewrite(self, program: Program) -> Change:
        """E0605 where the condition is over anything but sizes and the loops around, and does not compare a scalar with
        a constant either; E0604 for a buffer; E0401 for what is no expression."""
        path, kernel = program.path(self.at), program.kernel
        around = [node.var for node in path[:-1] if isinstance(node, For)]
        known = _scalar_value(kernel, self.condition)
        condition = read_condition(self.condition, (*kernel.sizes, *around, *known))
        if isinstance(path[-1], Alloc | Let):
            message = "what is made there would not reach the statements after it"
            raise PlanishError(Diagnostic("E0604", message, help="point at a loop or another statement"))

        def versions(stmt: Stmt) -> tuple[Stmt, ...]:
            own = Block((stmt,))
            return (If(condition, simplify_block(substitute_block(own, known)) if known else own, own),)

        return Change(replace(kernel, body=exchange(kernel.body, path[-1].label, versions)))


def _scalar_value(kernel: Kernel, text: str) -> dict[str, Expr]:
    """The scalar whose value a condition tells, with that value; nothing for another condition."""
    match parse_expr(text):
        case Compare(op="eq", left=Var(name=name, type=type), right=Const(value=value) as constant):
            # Two floats equal zero.
            if Scalar(name, type) in kernel.scalars and (type.is_int or value != 0):
                return {name: constant}
        case _:
            pass
    return {}


@dataclass(frozen=True, slots=True)
class Hoist:
    """Take a statement, the first in its loop, out of it: it does the same in every iteration, of which there is one at
    least.

    >>> from planish.schedule.example import show_step
    >>> from planish.schedule.steps.buffers import BindExpr, LiftAlloc
    >>> steps = BindExpr("M[_] = _", "A", "a"), LiftAlloc("a: _", 1, expand=False), Hoist("a = _")
    >>> show_step("for i in 0 .. n { for j in 0 .. 4 { M[i, j] = A[i] } }", *steps)
    for i in 0 .. n {
      alloc a: f32[] register
      a[] = A[i]
      for j in 0 .. 4 {
        M[i, j] = a[]
      }
    }
    """

    statement: Target

    def rewrite(self, program: Program) -> Change:
        """E0604 where it is not the first in a loop, or that may have no iteration; E0614 where iterations differ."""
        path = program.path(self.statement)
        node, loop = path[-1], path[-2] if len(path) > 1 else None
        if not isinstance(node, Assign) or not isinstance(loop, For) or loop.body.body[0] is not node:
            message = "the statement is no assignment that comes first in a loop"
            raise PlanishError(Diagnostic("E0604", message, help="cut the loop behind it with Fission"))
        if not _runs(program.kernel, path[:-1], loop):
            message = f"the loop over `{loop.var}` may have no iteration"
            raise PlanishError(Diagnostic("E0604", message, help="assume that it has one, or specialise for that"))
        reason = _differs(node, loop)
        if reason is not None:
            message = f"the statement does not do the same in every iteration of `{loop.var}`: {reason}"
            raise PlanishError(Diagnostic("E0614", message, help="only what does not change is taken out"))

        def without(siblings: Siblings, place: int) -> Siblings:
            return (*siblings[:place], *siblings[place + 1 :])

        body = edit(program.kernel.body, node.label, without)
        body = exchange(body, loop.label, lambda x: (node, x))
        return Change(replace(program.kernel, body=body))


@dataclass(frozen=True, slots=True)
class Sink:
    """Move a statement into the first iteration of the loop that comes after it.

    >>> from planish.schedule.example import show_step
    >>> text = "for i in 0 .. n { A[i] = 0.0:f32 for j in 0 .. 4 { A[i] += N[j, i] } }"
    >>> show_step(text, Sink("A[_] = _"), head="kernel f(n; A: f32[n], N: f32[4, n])")
    for i in 0 .. n {
      for j in 0 .. 4 {
        if j == 0 {
          A[i] = 0.0:f32
        }
        A[i] += N[j, i]
      }
    }
    """

    statement: Target

    def rewrite(self, program: Program) -> Change:
        """E0604 where no loop comes after it; E0603 where both have a loop of one name; E0611 where the loop may have
        no iteration."""
        node = program.cursor(self.statement)
        after = node.next().node
        if not isinstance(after, For) or isinstance(node.node, Alloc | Let):
            message = "no loop comes after the statement, or it makes what is used there"
            raise PlanishError(Diagnostic("E0604", message, help="point at a statement right before a loop"))
        if any(isinstance(x, For) and x.var == after.var for x in walk(node.node)):
            message = f"the statement has a loop over `{after.var}` itself"
            raise PlanishError(Diagnostic("E0603", message, help="rename one of them with RenameLoop"))
        first = Compare("eq", index(after.var), after.lower)

        def sink(siblings: Siblings, place: int) -> Siblings:
            stmt, loop = siblings[place], siblings[place + 1]
            assert isinstance(loop, For)
            inner = replace(loop, body=Block((If(first, Block((stmt,))), *loop.body.body)))
            return (*siblings[:place], inner, *siblings[place + 2 :])

        return Change(program.kernel, lambda body: edit(body, node.label, sink))


@dataclass(frozen=True, slots=True)
class GuardLoop:
    """Run a loop only where it has an iteration (a loop guard): then all in the test uses what the loop does.

    >>> from planish.schedule.example import show_step
    >>> show_step("for i in 0 .. n { A[i] = 0.0:f32 }", GuardLoop("i"))
    if n > 0 {
      for i in 0 .. n {
        A[i] = 0.0:f32
      }
    }
    """

    loop: Target

    def rewrite(self, program: Program) -> Change:
        """E0602 where the place is no loop."""
        loop = program.loop(self.loop)
        some = simplify(Compare("gt", loop.upper, loop.lower))
        if some == TRUE:
            return Change(program.kernel)
        return Change(
            program.kernel, lambda body: exchange(body, loop.label, lambda x: (If(some, Block((x,))),))
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Swap:
    """Let a statement run before the one in front of it.

    >>> from planish.schedule.example import show_step
    >>> show_step("A[0] = 0.0:f32 for i in 0 .. n { B[i] = A[1] }", Swap("i"))
    for i in 0 .. n {
      B[i] = A[1]
    }
    A[0] = 0.0:f32
    """

    statement: Target

    def rewrite(self, program: Program) -> Change:
        """E0604 where there is none in front of it, or that makes what is used there."""
        node = program.path(self.statement)[-1]

        def swap(siblings: Siblings, place: int) -> Siblings:
            if place == 0 or any(isinstance(x, Let) for x in siblings[place - 1 : place + 1]):
                message = "no statement is in front of it with which it could change places"
                raise PlanishError(Diagnostic("E0604", message, help="point at the second of two statements"))
            before, stmt = siblings[place - 1], siblings[place]
            if isinstance(stmt, Alloc) or (isinstance(before, Alloc) and uses(Block((stmt,)), before.array.name)):
                message = "a buffer is made before it is used"
                raise PlanishError(Diagnostic("E0604", message, help="lift the allocation, or swap other statements"))
            return (*siblings[: place - 1], stmt, before, *siblings[place + 1 :])

        return Change(program.kernel, lambda body: edit(body, node.label, swap))


def _runs(kernel: Kernel, path: Sequence[Node], loop: For) -> bool:
    """Whether a loop has an iteration wherever it is reached."""
    some: Expr = Compare("lt", loop.lower, loop.upper)
    return always(kernel, path, some)


def _differs(node: Assign, loop: For) -> str | None:
    """Why a loop's first statement is not the same in each iteration; None where it is."""
    if any(loop.var in variables(x) for x in expressions(node)):
        return f"it depends on `{loop.var}`"
    sources = {load.array for x in expressions(node) for load in loads(x)}
    for stmt in walk(loop):
        if stmt is node or not isinstance(stmt, Assign | Reduce):
            continue
        if stmt.array == node.array:
            return f"`{node.array}` changes later in the loop"
        if stmt.array in sources:
            return f"`{stmt.array}`, which it reads, changes in the loop"
    return None if node.array not in sources else f"it reads `{node.array}`, which it writes"
