"""Steps on what a buffer holds: its type, and factors that all uses of it, or all updates, have in common.

>>> from planish.schedule.example import show_step
>>> text = "alloc s: f32[] stack s[] = 0.0:f32 for i in 0 .. n { s[] += A[i] } B[0] = s[]"
>>> show_step(text, SetPrecision("s: _", "f64"))
alloc s: f64[] stack
s[] = f64(0.0:f32)
for i in 0 .. n {
  s[] += f64(A[i])
}
B[0] = f32(s[])
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import Binary, Cast, Const, Expr, Load, Var
from planish.ir.nest import Array, Assign, Block, Kernel, Reduce, Stmt
from planish.ir.traverse import children, map_block, map_expr, map_exprs, with_children
from planish.ir.types import BY_NAME, Type
from planish.schedule.nodes import exchange
from planish.schedule.program import Change, Program, Target
from planish.schedule.steps.storage import find_buffer


@dataclass(frozen=True, slots=True)
class SetPrecision:
    """Hold a buffer of floats in a wider type: what is stored is converted, and converted back where it is used.

    >>> from planish.schedule.example import show_step
    >>> show_step("alloc t: f32[4] stack t[0] = A[0] B[0] = t[0]", SetPrecision("t: _", "f64"))
    alloc t: f64[4] stack
    t[0] = f64(A[0])
    B[0] = f32(t[0])
    """

    buffer: Target
    type: str

    def rewrite(self, program: Program) -> Change:
        """E0615 where the type is none of floats, is not wider, or sums may not change."""
        node = find_buffer(program, self.buffer, None)
        old, new = node.array.type, BY_NAME.get(self.type)
        if new is None or not new.is_float or not old.is_float:
            message = f"`{node.array.name}` is of {old}, which does not become `{self.type}`"
            raise PlanishError(Diagnostic("E0615", message, help="floats become wider floats: f16, bf16, f32, f64"))
        if new.bits <= old.bits:
            message = f"{new} holds less than {old}, of which `{node.array.name}` is"
            raise PlanishError(Diagnostic("E0615", message, help="choose a wider type"))
        if not program.reassociate:
            message = f"the sums in `{node.array.name}` would be rounded otherwise, which is not allowed"
            raise PlanishError(Diagnostic("E0615", message, help="allow it with --fp reassociate"))
        body = _converted(program.kernel.body, node.array.name, old, new)
        typed = replace(node, array=replace(node.array, type=new))
        return Change(replace(program.kernel, body=exchange(body, node.label, lambda x: (typed,))))


def _converted(block: Block, array: str, old: Type, new: Type) -> Block:
    """The nest with conversions around all uses of an array."""

    def read(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.array == array:
            return Cast(replace(expr, type=new), old)
        return expr

    def visit(stmt: Stmt) -> Stmt:
        stmt = map_exprs(lambda x: map_expr(read, x), stmt)
        if isinstance(stmt, Assign | Reduce) and stmt.array == array:
            return replace(stmt, value=Cast(stmt.value, new))
        return stmt

    return map_block(visit, block)


@dataclass(frozen=True, slots=True)
class FoldFactor:
    """Hold in a buffer the product with a scalar by which every use of it is multiplied.

    >>> from planish.schedule.example import show_step
    >>> text = "alloc t: f32[4] stack t[0] = A[0] for i in 0 .. n { B[i] += x * t[0] }"
    >>> show_step(text, FoldFactor("t: _", "x"), head="kernel f(n; x: f32; A: f32[n], B: f32[n])")
    alloc t: f32[4] stack
    t[0] = x * A[0]
    for i in 0 .. n {
      B[i] += t[0]
    }
    """

    buffer: Target
    factor: str

    def rewrite(self, program: Program) -> Change:
        """E0606 where the factor is no scalar of the kernel, or something else is done with the buffer."""
        array, kernel = find_buffer(program, self.buffer, None).array, program.kernel
        factor = _factor(kernel, self.factor, array)
        def visit(expr: Expr) -> Expr:
            if isinstance(expr, Binary) and expr.op == "mul" and factor in (expr.left, expr.right):
                other = expr.right if expr.left == factor else expr.left
                if isinstance(other, Load) and other.array == array.name:
                    return replace(other, index=tuple(map(visit, other.index)))
            if isinstance(expr, Load) and expr.array == array.name:
                message = f"`{array.name}` is used without the factor `{self.factor}`"
                raise PlanishError(Diagnostic("E0606", message, help="only a product with it in every use is folded"))
            return with_children(expr, tuple(map(visit, children(expr))))

        def fold(stmt: Stmt) -> Stmt:
            if isinstance(stmt, Reduce) and stmt.array == array.name:
                message = f"`{array.name}` is updated, so that its factor is not the same in all of it"
                raise PlanishError(Diagnostic("E0606", message, help="only a product with it in every use is folded"))
            stmt = map_exprs(visit, stmt)
            if isinstance(stmt, Assign) and stmt.array == array.name:
                return replace(stmt, value=Binary("mul", factor, stmt.value))
            return stmt

        body = map_block(fold, kernel.body)
        return Change(replace(kernel, body=body))


@dataclass(frozen=True, slots=True)
class FactorOut:
    """Sum without a scalar by which every term is multiplied, and multiply where the sums are used.

    >>> from planish.schedule.example import show_step
    >>> text = "alloc s: f32[] stack s[] = 0.0:f32 for i in 0 .. n { s[] += x * A[i] * B[i] } B[0] = s[]"
    >>> show_step(text, FactorOut("s: _", "x"), head="kernel f(n; x: f32; A: f32[n], B: f32[n])")
    alloc s: f32[] stack
    s[] = 0.0:f32
    for i in 0 .. n {
      s[] += A[i] * B[i]
    }
    B[0] = x * s[]
    """

    buffer: Target
    factor: str

    def rewrite(self, program: Program) -> Change:
        """E0606 where the factor is no scalar of the kernel, or a term has it not; E0615 where sums may not be rounded
        otherwise."""
        array, kernel = find_buffer(program, self.buffer, None).array, program.kernel
        factor = _factor(kernel, self.factor, array)
        if array.type.is_float and not program.reassociate:
            message = f"the sums in `{array.name}` would be rounded otherwise, which is not allowed"
            raise PlanishError(Diagnostic("E0615", message, help="allow it with --fp reassociate"))

        def used(expr: Expr) -> Expr:
            return Binary("mul", factor, expr) if isinstance(expr, Load) and expr.array == array.name else expr

        def visit(stmt: Stmt) -> Stmt:
            stmt = map_exprs(lambda x: map_expr(used, x), stmt)
            if not isinstance(stmt, Assign | Reduce) or stmt.array != array.name:
                return stmt
            rest = _without(stmt.value, factor) if isinstance(stmt, Reduce) and stmt.op == "add" else None
            if rest is not None:
                return replace(stmt, value=rest)
            if isinstance(stmt, Assign) and isinstance(stmt.value, Const) and stmt.value.value == 0:
                return stmt
            message = f"not all that is stored in `{array.name}` is a product with `{self.factor}`"
            raise PlanishError(Diagnostic("E0606", message, help="only what every term has in common is taken out"))

        return Change(replace(kernel, body=map_block(visit, kernel.body)))


def _factor(kernel: Kernel, name: str, array: Array) -> Var:
    """A scalar parameter of the type of an array; PlanishError E0606 where there is none."""
    found = next((x for x in kernel.scalars if x.name == name), None)
    if found is None or found.type != array.type:
        message = f"`{name}` is no scalar of the type of `{array.name}`"
        raise PlanishError(Diagnostic("E0606", message, help="name a parameter that is one value"))
    return Var(found.name, found.type)


def _without(value: Expr, factor: Var) -> Expr | None:
    """What remains of a product without one factor; None where it has it not."""
    if not isinstance(value, Binary) or value.op != "mul":
        return None
    for one, other in ((value.left, value.right), (value.right, value.left)):
        if one == factor:
            return other
    left = _without(value.left, factor)
    if left is not None:
        return Binary("mul", left, value.right)
    right = _without(value.right, factor)
    return None if right is None else Binary("mul", value.left, right)
