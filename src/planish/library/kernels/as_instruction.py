"""A kernel made by steps as an instruction of larger programs: loops that equal its definition become calls of it.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.steps.loops import Split
>>> definition = parse_kernel("kernel clear(n; A: f32[n]) assume n >= 1 { for i in 0 .. n { A[i] = 0.0:f32 } }")
>>> clear = make_callable(definition, Program.of(definition).apply(Split("i", 4, ("io", "ii"))))
>>> clear.name, clear.implementation.sizes
('clear', ('n',))
"""

from __future__ import annotations

from dataclasses import replace

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import Compare, Expr, index
from planish.ir.nest import PLAIN_MEMORIES, Kernel
from planish.isa.instruction import Instruction, make_instruction
from planish.schedule.program import Program
from planish.schedule.steps.kernels import PartialEval


def make_callable(definition: Kernel, program: Program) -> Instruction:
    """A program made from a definition, to be called by the definition's name. What the definition assumes, and what
    steps have assumed besides, is proven where it is called; so is that floats may be treated as the program did.

    PlanishError E0630 where the definition is not one loop, or has operands in registers."""
    if any(x.memory not in PLAIN_MEMORIES for x in definition.arrays):
        message = f"kernel `{definition.name}` takes an operand in registers"
        raise PlanishError(Diagnostic("E0630", message, definition.span, "kernels are called with arrays in memory"))
    fixed = [Compare("eq", index(x.size), index(x.value)) for x in program.steps if isinstance(x, PartialEval)]
    assumed: tuple[Expr, ...] = (*definition.assumptions, *program.kernel.assumptions, *fixed)
    made = make_instruction(
        definition.name, replace(definition, assumptions=tuple(dict.fromkeys(assumed))), "",
        fused=program.contract, reassociates=program.reassociate, implementation=program.kernel,
    )  # fmt: skip
    return replace(made, needs=program.found)
