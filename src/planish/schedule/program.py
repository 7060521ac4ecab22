"""A kernel on its way: what it is now, the steps that made it so, and cursors that point into it.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.steps.loops import Split
>>> program = Program.of(parse_kernel("kernel z(n; A: f32[n]) { for i in 0 .. n { A[i] = 0.0:f32 } }"))
>>> store = program.find("A[_] = _")
>>> program = program.apply(Split("i", 8, ("io", "ii"), tail="guard"))
>>> print(program.show(program.cursor(store)))
kernel z(n; A: f32[n])
{
  for io in 0 .. (n + 7) // 8 {
    for ii in 0 .. 8 {
      if 8 * io + ii < n {
        A[8 * io + ii] = 0.0:f32      # <-
      }
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from html import escape
from typing import Any, ClassVar, Protocol

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.checker import check_kernel
from planish.ir.expr import Const, Expr
from planish.ir.nest import Alloc, Array, Block, For, If, Kernel, Stmt
from planish.ir.text.printer import print_kernel, print_stmt
from planish.ir.traverse import blocks_of
from planish.ir.types import BOOL, Floats
from planish.isa.instruction import Catalogue, Instruction
from planish.isa.shipped import shipped
from planish.schedule.accesses import arrays_of
from planish.schedule.context import always
from planish.schedule.legality import Rewrite, check_order, check_parallel
from planish.schedule.match_instruction import conditions_of
from planish.schedule.names import name_buffers
from planish.schedule.nodes import Node, exchange, label_kernel, path_to, paths, siblings_of
from planish.schedule.pattern import HELP, find_all, pattern_of

TRUE = Const(True, BOOL)
MARK = "      # <-"


@dataclass(frozen=True, slots=True, eq=False)
class Cursor:
    """Points at a statement of a program; in a later program, `program.cursor(it)` points at the same one."""

    program: Program
    label: int

    @property
    def node(self) -> Node:
        """The statement."""
        return self.program.path(self.label)[-1]

    def parent(self) -> Cursor:
        """The statement around; PlanishError E0602 where there is none."""
        path = self.program.path(self.label)
        if len(path) < 2:
            raise _nowhere("nothing is around it")
        return Cursor(self.program, path[-2].label)

    def body(self) -> tuple[Cursor, ...]:
        """The statements in it, those of an `else` after the others."""
        inside = [stmt for part in blocks_of(self.node) for stmt in part.body]
        return tuple(Cursor(self.program, stmt.label) for stmt in inside if isinstance(stmt, Node))

    def next(self, distance: int = 1) -> Cursor:
        """The statement after it in its block, or so far after it; PlanishError E0602 where there is none."""
        found = siblings_of(self.program.kernel.body, self.label)
        assert found is not None
        siblings, place = found
        if not 0 <= place + distance < len(siblings):
            raise _nowhere("there is no statement beside it")
        beside = siblings[place + distance]
        if not isinstance(beside, Node):
            raise _nowhere("what stands beside it is a block with names of its own")
        return Cursor(self.program, beside.label)

    def previous(self) -> Cursor:
        """The statement before it in its block; PlanishError E0602 where there is none."""
        return self.next(-1)

    def find(self, pattern: str) -> Cursor:
        """The first statement inside that a pattern fits; PlanishError E0602 where there is none."""
        found = next((label for part in blocks_of(self.node) for label in find_all(part, pattern)), None)
        if found is None:
            raise _nowhere(f"`{pattern}` fits nothing in it")
        return Cursor(self.program, found)


Target = str | Cursor
"""A place that a step speaks of: a pattern, which stands for the first statement that it fits, or a cursor."""


class Step(Protocol):
    """One rewriting step: a dataclass whose fields are its arguments, texts and numbers besides targets."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def rewrite(self, program: Program) -> Change:
        """The program after the step, and why it computes the same; PlanishError where it does not apply."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """What a step does: `kernel` is what it makes of what surrounds the nest; `order`, if it puts the nest in another
    order, rewrites a nest (the kernel's own, or its trace); `instructions` are those that it has found."""

    kernel: Kernel
    order: Rewrite | None = None
    instructions: tuple[Instruction, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A kernel whose statements have labels, and the `steps` that made it from another one.

    `reassociate`: sums of floats may be summed in another order; `contract`: a product and a sum may be rounded once.
    `catalogue`: the instructions that there are; `found`: those of them that were found for loops."""

    kernel: Kernel
    steps: tuple[Step, ...] = ()
    reassociate: bool = True
    contract: bool = True
    catalogue: Catalogue = field(default_factory=shipped)
    found: tuple[Instruction, ...] = ()

    @staticmethod
    def of(kernel: Kernel, fp: Floats = "reassociate", catalogue: Catalogue | None = None) -> Program:
        """The program of a kernel to which nothing has been done; `catalogue` has instructions of the user's own."""
        known = shipped().joined(catalogue) if catalogue is not None else shipped()
        program = Program(label_kernel(name_buffers(kernel)), (), fp == "reassociate", fp != "strict", known)
        return replace(program, kernel=_with_true_facts(program))

    def apply(self, *steps: Step) -> Program:
        """The program after some steps, each of which is checked; PlanishError where one is not legal."""
        program = self
        for step in steps:
            program = program._after(_plain(step, program))
        return program

    def _after(self, step: Step) -> Program:
        change = step.rewrite(self)
        kernel = change.kernel
        if change.order is not None:
            check_order(self.kernel, change.order, self.reassociate)
            kernel = replace(kernel, body=change.order(kernel.body))
        kernel = label_kernel(name_buffers(kernel))
        check_kernel(kernel, f"schedule step {type(step).__name__}")
        known = self.catalogue.with_instructions(change.instructions) if change.instructions else self.catalogue
        found = (*self.found, *change.instructions)
        made = replace(self, kernel=kernel, steps=(*self.steps, step), catalogue=known, found=found)
        return replace(made, kernel=_with_true_facts(made))

    def allows(self, instruction: Instruction) -> bool:
        """Whether floats may be rounded as an instruction does."""
        return (self.contract or not instruction.fused) and (self.reassociate or not instruction.reassociates)

    def path(self, target: Target | int) -> tuple[Node, ...]:
        """The statements around a target, outermost first, and itself; PlanishError E0601, E0602."""
        label = target if isinstance(target, int) else self.cursor(target).label
        found = path_to(self.kernel.body, label)
        if not found:
            raise _nowhere("a step has taken away what the cursor pointed at")
        return found

    def cursor(self, target: Target) -> Cursor:
        """A cursor to where a pattern or a cursor of an earlier program points; PlanishError E0601, E0602."""
        return self.find(target) if isinstance(target, str) else Cursor(self, self.path(target.label)[-1].label)

    def find(self, pattern: str) -> Cursor:
        """The first statement that a pattern fits; PlanishError E0601 for what is no pattern, E0602 where none does."""
        labels = find_all(self.kernel.body, pattern)
        if not labels:
            raise PlanishError(Diagnostic("E0602", f"`{pattern}` fits nothing in `{self.kernel.name}`", help=HELP))
        return Cursor(self, labels[0])

    def has(self, pattern: str) -> bool:
        """Whether a pattern fits something; PlanishError E0601 for what is no pattern."""
        return bool(find_all(self.kernel.body, pattern))

    def loop(self, target: Target) -> For:
        """The loop at a target; PlanishError E0602 where it is none."""
        node = self.path(target)[-1]
        if not isinstance(node, For):
            raise PlanishError(Diagnostic("E0602", "the place is no loop", help="write the loop's name"))
        return node

    def buffer(self, target: Target) -> Array:
        """The buffer at a target; PlanishError E0602 where it is none."""
        node = self.path(target)[-1]
        if not isinstance(node, Alloc):
            raise PlanishError(Diagnostic("E0602", "the place is no buffer", help="point at one as in `b: _`"))
        return node.array

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.show())}</pre>"

    def show(self, cursor: Cursor | None = None) -> str:
        """The kernel as text, with a mark beside the statement at a cursor."""
        text = print_kernel(self.kernel).rstrip()
        if cursor is None:
            return text
        lines, number = text.splitlines(), _line_of(self.kernel, cursor.label)
        return "\n".join(line + (MARK if i == number else "") for i, line in enumerate(lines))


def _with_true_facts(program: Program) -> Kernel:
    """The kernel whose loops run on threads, in lanes or by an instruction only where that is still right: a step may
    let iterations share cells, as a box that is copied out does, or two buffers in the same cells."""
    kernel, catalogue = program.kernel, program.catalogue
    body, arrays = kernel.body, arrays_of(kernel)
    for path in paths(kernel.body):
        loop = path[-1]
        if not isinstance(loop, For):
            continue
        if loop.facts.instruction:
            instruction = catalogue.instruction(loop.facts.instruction)
            wanted = conditions_of(instruction, loop, arrays, catalogue.bits)
            if wanted is None or not program.allows(instruction) or not _holds(kernel, path, wanted):
                body = exchange(body, loop.label, _inlined)
        if loop.facts.parallel or loop.facts.simd or loop.facts.axis:
            try:
                check_parallel(kernel, path, {name for _, name in loop.facts.reductions})
            except PlanishError:
                body = exchange(body, loop.label, _in_turn)
    return kernel if body is kernel.body else replace(kernel, body=body)


def holds(kernel: Kernel, loop: For, *conditions: Expr) -> bool:
    """Whether conditions hold wherever a loop is reached."""
    return _holds(kernel, path_to(kernel.body, loop.label), conditions)


def _holds(kernel: Kernel, path: Sequence[Node], conditions: Sequence[Expr]) -> bool:
    wanted = [x for x in conditions if x != TRUE]
    return not wanted or always(kernel, path, *wanted)


def _inlined(loop: Node) -> tuple[Node, ...]:
    assert isinstance(loop, For)
    return (replace(loop, facts=replace(loop.facts, instruction="")),)


def _in_turn(loop: Node) -> tuple[Node, ...]:
    assert isinstance(loop, For)
    return (replace(loop, facts=replace(loop.facts, parallel=False, simd=False, reductions=(), axis="")),)


def _plain(step: Step, program: Program) -> Step:
    """The step with patterns in place of cursors, so that it can be written down."""
    values: dict[str, Any] = {}
    for argument in fields(step):
        value = getattr(step, argument.name)
        if isinstance(value, Cursor):
            values[argument.name] = pattern_of(program.kernel.body, program.path(value)[-1])
    return replace(step, **values) if values else step


def _nowhere(message: str) -> PlanishError:
    return PlanishError(Diagnostic("E0602", message, help="show the program to see what is there"))


def _line_of(kernel: Kernel, label: int) -> int:
    """The line of the text, from 0, on which a statement begins."""
    head = print_kernel(replace(kernel, body=Block(()))).rstrip().splitlines()
    found = _line_in(kernel.body, label)
    assert found is not None
    return len(head) - 1 + found


def _line_in(block: Block, label: int) -> int | None:
    line = 0
    for stmt in block.body:
        if not isinstance(stmt, Block) and stmt.label == label:
            return line
        inside = line + 1
        for part in blocks_of(stmt):
            # `} else if …` is one line, where the inner one begins.
            chained = isinstance(stmt, If) and part is stmt.otherwise and [type(x) for x in part.body] == [If]
            found = _line_in(part, label)
            if found is not None:
                return inside + found - chained
            inside += sum(_lines(x) for x in part.body) + 1
        line += _lines(stmt)
    return None


def _lines(stmt: Stmt) -> int:
    return len(print_stmt(stmt).splitlines())
