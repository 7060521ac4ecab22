"""A step that lets a loop run further than it has to, so that its iterations fill whole vectors.

>>> from planish.schedule.example import show_step
>>> head = "kernel f(n, m; A: f32[m, 8], B: f32[n]) assume n <= 8 assume m >= 1"
>>> text = "alloc t: f32[8] stack for i in 0 .. n { t[i] = A[0, i] } for i in 0 .. n { B[i] = t[i] }"
>>> show_step(text, Widen("i", 8), head=head)
alloc t: f32[8] stack
for i in 0 .. 8 {
  t[i] = A[0, i]
}
for i in 0 .. n {
  B[i] = t[i]
}
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import Compare, Const, Expr, Select, index, type_of
from planish.ir.nest import Assign, Block, For, If, Kernel, Let, Reduce, Stmt
from planish.ir.text.printer import print_stmt
from planish.ir.traverse import expressions, loads, map_block, may_fail, walk
from planish.poly.isl.affine import NotAffineError, affine_function
from planish.poly.scop.dependence import find_flow
from planish.poly.scop.extraction import Scop, Statement, extract_scop
from planish.schedule.context import always
from planish.schedule.nodes import exchange
from planish.schedule.program import Change, Program, Target

SET = isl.dim_type.set


@dataclass(frozen=True, slots=True)
class Widen:
    """Let a loop run up to `upper`, where what it does more is of no account: it only writes cells of buffers that are
    not needed any more, or not yet, and reads inside of arrays. `zero`: more iterations read nothing, they store zeros.

    >>> from planish.schedule.example import show_step
    >>> head = "kernel f(n; A: f32[n], B: f32[n]) assume n <= 8"
    >>> text = "alloc t: f32[8] stack for i in 0 .. n { t[i] = A[i] } for i in 0 .. n { B[i] = t[i] }"
    >>> show_step(text, Widen("i", 8, zero=True), head=head)
    alloc t: f32[8] stack
    for i in 0 .. 8 {
      t[i] = select(i < n, A[i], 0.0:f32)
    }
    for i in 0 .. n {
      B[i] = t[i]
    }
    """

    loop: Target
    upper: int
    zero: bool = False

    def rewrite(self, program: Program) -> Change:
        """E0604 where the loop runs further already; E0617 where more iterations would write what is needed, or touch
        what is outside of an array; E0612 where that cannot be decided."""
        loop, kernel = program.loop(self.loop), program.kernel
        if not always(kernel, program.path(loop.label), Compare("le", loop.upper, index(self.upper))):
            message = f"the loop over `{loop.var}` may run further than {self.upper} already"
            raise PlanishError(Diagnostic("E0604", message, help="choose more, or assume that it does not"))
        # What stores zeros reads nothing more; what the other iterations read, it must not write.
        bare = replace(loop, body=_zeroed(loop, None)) if self.zero else loop
        try:
            problem = _problem(_with(kernel, bare), _with(kernel, replace(bare, upper=index(self.upper))), bare)
        except NotAffineError as error:
            message = f"what more iterations would touch cannot be decided: {error.reason}"
            raise PlanishError(Diagnostic("E0612", message, help="keep the loop as it is")) from error
        if problem:
            advice = "stage what it writes in a buffer, and what it reads in one that is as wide"
            raise PlanishError(Diagnostic("E0617", problem, help=advice))
        body = _zeroed(loop, Compare("lt", index(loop.var), loop.upper)) if self.zero else loop.body
        return Change(_with(kernel, replace(loop, upper=index(self.upper), body=body)))


def _with(kernel: Kernel, loop: For) -> Kernel:
    return replace(kernel, body=exchange(kernel.body, loop.label, lambda x: (loop,)))


def _zeroed(loop: For, condition: Expr | None) -> Block:
    """The body of a loop that stores zeros, but where a condition holds; PlanishError E0604 where it does not only
    store what it reads elsewhere."""
    stored = {x.array for x in walk(loop) if isinstance(x, Assign | Reduce)}
    read = {load.array for stmt in walk(loop) for x in expressions(stmt) for load in loads(x)}
    if stored & read or any(isinstance(x, Reduce | Let | If) for x in walk(loop)):
        message = f"the loop over `{loop.var}` does not only store what it reads elsewhere"
        raise PlanishError(Diagnostic("E0604", message, help="widen it without zero=True"))

    def visit(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Assign):
            return stmt
        kind = type_of(stmt.value)
        none = Const(0.0 if kind.is_float else 0, kind)
        return replace(stmt, value=none if condition is None else Select(condition, stmt.value, none))

    return map_block(visit, loop.body)


def _problem(kernel: Kernel, wider: Kernel, loop: For) -> str:
    """Why more iterations of a loop would be of account; nothing where they would not."""
    own = {array.name for array in kernel.arrays}
    for stmt in walk(loop):
        if isinstance(stmt, Let) or any(map(may_fail, expressions(stmt))):
            return f"`{print_stmt(stmt)}` may have no value in more iterations"
        if isinstance(stmt, Assign | Reduce) and stmt.array in own:
            return f"`{print_stmt(stmt)}` would write more of `{stmt.array}`"
    old, new = extract_scop(kernel), extract_scop(wider)
    stored = {x.array for x in walk(loop) if isinstance(x, Assign | Reduce)}
    added = new.domain.subtract(old.domain)
    # What no added write is the last one before reads what it read.
    if not find_flow(new, stored)[0].intersect_domain(added).intersect_range(old.domain).is_empty():
        return f"more iterations of `{loop.var}` would write what is read later"
    for statement in new.statements:
        more = added.extract_set(statement.domain.get_space())
        array = _outside(new, statement, more)
        if array:
            return f"`{print_stmt(statement.stmt)}` would touch what is outside of `{array}`"
    return ""


def _outside(scop: Scop, statement: Statement, instances: isl.Set) -> str:
    """An array outside of which some instances of a statement touch something."""
    shapes = {x.name: x.shape for x in (*scop.kernel.arrays, *scop.locals)}
    for access in statement.accesses:
        cells = access.relation.intersect_domain(instances).range()
        space = cells.get_space().params()
        for dimension, extent in enumerate(shapes[access.array]):
            if extent is None or not cells.is_subset(cells.lower_bound_val(SET, dimension, isl.Val(0))):
                return access.array
            local = isl.LocalSpace.from_space(cells.get_space())
            place = isl.PwAff.from_aff(isl.Aff.var_on_domain(local, SET, dimension))
            limit = affine_function(extent, space).insert_domain(cells.get_space())
            if not cells.is_subset(place.lt_set(limit)):
                return access.array
    return ""
