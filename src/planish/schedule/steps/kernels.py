"""Steps on the kernel as a whole: names, fixed sizes, assumptions.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.program import Program
>>> program = Program.of(parse_kernel("kernel z(n; A: f32[n]) { for i in 0 .. n { A[i] = 0.0:f32 } }"))
>>> print(program.apply(Rename("clear"), PartialEval("n", 4)).show())
kernel clear(A: f32[4])
{
  for i in 0 .. 4 {
    A[i] = 0.0:f32
  }
}
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import Expr, index, type_of
from planish.ir.index.simplify import simplify, simplify_block
from planish.ir.nest import Alloc, Array, Block, For, Stmt
from planish.ir.text.parser import parse_expr
from planish.ir.traverse import loads, map_block, may_fail, substitute, substitute_block, variables
from planish.ir.types import BOOL
from planish.schedule.names import check_fresh
from planish.schedule.nodes import exchange
from planish.schedule.program import Change, Program, Target


@dataclass(frozen=True, slots=True)
class Rename:
    """Give the kernel another name."""

    name: str

    def rewrite(self, program: Program) -> Change:
        """E0603 where the name is no identifier."""
        if not self.name.isidentifier():
            raise PlanishError(Diagnostic("E0603", f"`{self.name}` is no name", help="use letters, digits and `_`"))
        return Change(replace(program.kernel, name=self.name))


@dataclass(frozen=True, slots=True)
class RenameLoop:
    """Give a loop's variable another name.

    >>> from planish.schedule.example import show_step
    >>> show_step("for i in 0 .. n { A[i] = 0.0:f32 }", RenameLoop("i", "row"))
    for row in 0 .. n {
      A[row] = 0.0:f32
    }
    """

    loop: Target
    name: str

    def rewrite(self, program: Program) -> Change:
        """E0603 where the name is taken."""
        loop = program.loop(self.loop)
        check_fresh(program.kernel, self.name)

        def rename(stmt: Stmt) -> tuple[Stmt, ...]:
            assert isinstance(stmt, For)
            return (replace(stmt, var=self.name, body=substitute_block(stmt.body, {stmt.var: index(self.name)})),)

        return Change(replace(program.kernel, body=exchange(program.kernel.body, loop.label, rename)))


@dataclass(frozen=True, slots=True)
class PartialEval:
    """Fix a size to a value: the kernel is for that size only, and has no parameter for it.

    >>> from planish.schedule.example import show_step
    >>> show_step("for i in 0 .. n { A[i] = 0.0:f32 }", PartialEval("n", 8))
    for i in 0 .. 8 {
      A[i] = 0.0:f32
    }
    """

    size: str
    value: int

    def rewrite(self, program: Program) -> Change:
        """E0605 where there is no such size, or the assumptions do not allow the value."""
        kernel = program.kernel
        _check_size(program, self.size)
        fixed = {self.size: index(self.value)}

        def shaped(array: Array) -> Array:
            shape = (None if x is None else simplify(substitute(x, fixed)) for x in array.shape)
            return replace(array, shape=tuple(shape))

        def local(stmt: Stmt) -> Stmt:
            return replace(stmt, array=shaped(stmt.array)) if isinstance(stmt, Alloc) else stmt

        assumptions = tuple(simplify(substitute(x, fixed)) for x in kernel.assumptions)
        if any(_is_false(x) for x in assumptions):
            message = f"`{self.size}` = {self.value} is against an assumption of `{kernel.name}`"
            raise PlanishError(Diagnostic("E0605", message, help="choose a value that it allows"))
        return Change(
            replace(
                kernel,
                sizes=tuple(x for x in kernel.sizes if x != self.size),
                arrays=tuple(map(shaped, kernel.arrays)),
                assumptions=tuple(x for x in assumptions if variables(x)),
                body=simplify_block(map_block(local, substitute_block(kernel.body, fixed))),
            )
        )


@dataclass(frozen=True, slots=True)
class Assume:
    """Rely on a condition over the sizes, which callers have to see to (a drop-in checks it at run time).

    >>> from planish.schedule.example import show_step
    >>> from planish.schedule.steps.loops import Split
    >>> show_step("for i in 0 .. n { A[i] = 0.0:f32 }", Assume("n % 4 == 0"), Split("i", 4, ("io", "ii"), "perfect"))
    for io in 0 .. n // 4 {
      for ii in 0 .. 4 {
        A[4 * io + ii] = 0.0:f32
      }
    }
    """

    condition: str

    def rewrite(self, program: Program) -> Change:
        """E0605 where it is no condition, or over anything but sizes; E0401 for what is no expression."""
        condition = read_condition(self.condition, program.kernel.sizes)
        return Change(replace(program.kernel, assumptions=(*program.kernel.assumptions, condition)))


@dataclass(frozen=True, slots=True)
class Simplify:
    """Fold constants, take decided branches, leave out loops that never run.

    >>> from planish.schedule.example import show_step
    >>> show_step("for i in 0 .. 4 { if i < 7 { A[i + 0] = 0.0:f32 } }", Simplify())
    for i in 0 .. 4 {
      A[i] = 0.0:f32
    }
    """

    def rewrite(self, program: Program) -> Change:
        """The kernel simplified with its assumptions."""
        kernel = program.kernel

        def rewrite(body: Block) -> Block:
            return simplify_block(body, assumptions=kernel.assumptions)

        return Change(kernel, rewrite)


def read_condition(text: str, names: Collection[str]) -> Expr:
    """A condition over some names; PlanishError E0605 for another one, E0401 for what is no expression."""
    condition = parse_expr(text)
    if may_fail(condition):
        message = f"`{text}` has no value for some sizes"
        raise PlanishError(Diagnostic("E0605", message, help="divide by positive constants only"))
    stray = sorted(variables(condition) - set(names))
    if type_of(condition) != BOOL or loads(condition) or stray:
        message = f"`{stray[0]}` is no size and no loop around" if stray else f"`{text}` is no condition over sizes"
        raise PlanishError(Diagnostic("E0605", message, help=f"there are {', '.join(sorted(names)) or 'none'}"))
    return condition


def _check_size(program: Program, name: str) -> None:
    if name not in program.kernel.sizes:
        known = ", ".join(program.kernel.sizes) or "none"
        message = f"`{name}` is no size of `{program.kernel.name}`"
        raise PlanishError(Diagnostic("E0605", message, help=f"its sizes: {known}"))


def _is_false(condition: Expr) -> bool:
    return getattr(condition, "value", None) is False
