"""Steps on conditions inside of tiles: a guard goes into what it is around, or is dropped where that makes no
difference.

>>> from planish.schedule.example import show_step
>>> show_step("for i in 0 .. n { if i < m { for j in 0 .. 4 { N[i, j] = 0.0:f32 } } }", SinkGuard("if _: _"))
for i in 0 .. n {
  for j in 0 .. 4 {
    if i < m {
      N[i, j] = 0.0:f32
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import Binary, Compare, Expr, index
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Let, Reduce, Stmt
from planish.ir.traverse import loads, map_block, may_fail, walk
from planish.poly.isl.affine import NotAffineError
from planish.poly.scop.extraction import Statement
from planish.schedule.context import always, region
from planish.schedule.nodes import Node, exchange, path_to, siblings_of
from planish.schedule.program import Change, Program, Target

_OWN = ("register", "stack", "shared")


@dataclass(frozen=True, slots=True)
class SinkGuard:
    """Give a condition to each statement that it is around, and to what is in each loop: the loops run in any case.

    >>> from planish.schedule.example import show_step
    >>> show_step("if n > m { A[0] = 0.0:f32 for i in 0 .. n { B[i] = 0.0:f32 } }", SinkGuard("if _: _"))
    if n > m {
      A[0] = 0.0:f32
    }
    for i in 0 .. n {
      if n > m {
        B[i] = 0.0:f32
      }
    }
    """

    guard: Target

    def rewrite(self, program: Program) -> Change:
        """E0604 where the place is no condition, it has another branch, it is over values of arrays, or a bound of a
        loop in it cannot be computed elsewhere."""
        test = _guard(program, self.guard)
        if loads(test.condition):
            message = "the condition is over values of arrays, which may change"
            raise PlanishError(Diagnostic("E0604", message, help="only conditions over sizes and loops are moved"))
        bounds = [x for y in walk(test.then) if isinstance(y, For) for x in (y.lower, y.upper)]
        if any(loads(x) or may_fail(x) for x in bounds):
            message = "a loop in it has bounds that cannot be computed where the condition does not hold"
            raise PlanishError(Diagnostic("E0604", message, help="move it into the statements before that loop"))
        made = tuple(_sunk(test.then, test))
        return Change(replace(program.kernel, body=exchange(program.kernel.body, test.label, lambda _: made)))


def _sunk(block: Block, test: If) -> Iterator[Stmt]:
    for stmt in block.body:
        match stmt:
            case For():
                yield replace(stmt, body=Block(tuple(_sunk(stmt.body, test))))
            case Alloc() | Let():
                yield stmt
            case If(otherwise=Block(body=())) if not loads(stmt.condition):
                yield replace(stmt, condition=Binary("and", test.condition, stmt.condition))
            case _:
                yield replace(test, then=Block((stmt,)), label=0)


@dataclass(frozen=True, slots=True)
class DropGuard:
    """Run a statement under a condition in any case: what it then stores, in a buffer, is used by nothing else.

    >>> from planish.schedule.example import show_step
    >>> text = "alloc t: f32[8] stack for i in 0 .. 8 { if i < n { t[i] = 1.0:f32 } } if n > 3 { B[0] = t[3] }"
    >>> show_step(text, DropGuard("if _: _"))
    alloc t: f32[8] stack
    for i in 0 .. 8 {
      t[i] = 1.0:f32
    }
    if n > 3 {
      B[0] = t[3]
    }
    """

    guard: Target

    def rewrite(self, program: Program) -> Change:
        """E0604 where the place is no condition, it has another branch, or something else than one assignment under
        it; E0617 where that may read or write outside of an array, fail, or change what is used."""
        test = _guard(program, self.guard)
        stmt = test.then.body[0] if len(test.then.body) == 1 else None
        if not isinstance(stmt, Assign | Reduce) or loads(test.condition):
            message = "there is not exactly one assignment under a condition over sizes and loops"
            raise PlanishError(Diagnostic("E0604", message, help="give each statement the condition with SinkGuard"))
        path = program.path(test.label)
        self._check_bounds(program, path, stmt)
        self._check_unused(program, path, test, stmt)
        body = exchange(program.kernel.body, test.label, lambda _: (stmt,))
        return Change(replace(program.kernel, body=body))

    def _check_bounds(self, program: Program, path: Sequence[Node], stmt: Assign | Reduce) -> None:
        """That the statement may run: its cells are inside of buffers, and nothing in it fails."""
        local = {x.array.name: x.array for x in walk(program.kernel.body) if isinstance(x, Alloc)}
        for name, at in ((stmt.array, stmt.index), *((x.array, x.index) for x in loads(stmt.value))):
            array = local.get(name)
            if array is None or array.memory not in _OWN:
                raise _used(f"`{name}` is no buffer: it may have no such element where the condition does not hold")
            if not _is_within(program, path, array, at):
                raise _used(f"it may use `{name}` outside of its extents")
        if may_fail(stmt.value):
            raise _used("what it computes may fail")

    def _check_unused(self, program: Program, path: Sequence[Node], test: If, stmt: Assign | Reduce) -> None:
        """That no cell that is stored where the condition does not hold is used where it does, or elsewhere."""
        kernel = program.kernel
        made = next(x for x in walk(kernel.body) if isinstance(x, Alloc) and x.array.name == stmt.array)
        found = siblings_of(kernel.body, made.label)
        assert found is not None
        marked = map_block(lambda x: _with_mark(x, test.label, stmt), Block(found[0]))
        try:
            scop = region(kernel, path_to(kernel.body, made.label), marked)
        except NotAffineError as error:
            raise _used(f"what it uses is not known: {error.reason}") from error
        number = [x.label for x in walk(marked) if isinstance(x, Assign | Reduce)].index(_MARK)
        cells = _cells(scop.statements[number], stmt.array).intersect_params(scop.context)
        for other in (*scop.statements[:number], *scop.statements[number + 1 :]):
            for access in other.accesses:
                if access.array != stmt.array:
                    continue
                met = access.relation.intersect_domain(other.domain).range()
                if not cells.intersect(met).is_empty():
                    raise _used(f"`{stmt.array}` is used elsewhere in a cell that it stores to then")


_MARK = -1
"""The label of what runs where the condition does not hold."""


def _guard(program: Program, target: Target) -> If:
    node = program.path(target)[-1]
    if not isinstance(node, If) or node.otherwise.body:
        message = "the place is no condition without `else`"
        raise PlanishError(Diagnostic("E0604", message, help="point at one as in `if _: _`"))
    return node


def _used(reason: str) -> PlanishError:
    message = f"the statement may not run where its condition does not hold: {reason}"
    return PlanishError(Diagnostic("E0617", message, help="let it use buffers only, with cells for all iterations"))


def _is_within(program: Program, path: Sequence[Node], array: Array, at: Sequence[Expr]) -> bool:
    """Whether subscripts are inside of a buffer wherever a statement is reached."""
    wanted: list[Expr] = []
    for x, extent in zip(at, array.shape, strict=True):
        if extent is None or loads(x):
            return False
        wanted += [Compare("ge", x, index(0)), Compare("lt", x, extent)]
    return always(program.kernel, path, *wanted)


def _with_mark(stmt: Stmt, guard: int, inner: Assign | Reduce) -> Stmt:
    """The guard with a copy of its statement, which has a mark, for where the condition does not hold."""
    marked = Block((replace(inner, label=_MARK),))
    return replace(stmt, otherwise=marked) if isinstance(stmt, If) and stmt.label == guard else stmt


def _cells(statement: Statement, array: str) -> isl.Set:
    assert statement.write.array == array
    return statement.write.relation.intersect_domain(statement.domain).range()
