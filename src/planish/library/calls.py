"""A kernel that steps have made, as an instruction of larger programs: what equals its definition becomes a call of it.

>>> from planish.ir.parser import parse_kernel
>>> from planish.schedule.steps.loops import Split
>>> definition = parse_kernel("kernel clear(n; A: f32[n]) assume n >= 1 { for i in 0 .. n { A[i] = 0.0:f32 } }")
>>> clear = make_callable(definition, Program.of(definition).apply(Split("i", 4, ("io", "ii"))))
>>> clear.name, clear.implementation.sizes
('clear', ('n',))
"""

from __future__ import annotations

from collections.abc import Iterable

from planish.ir.nest import Kernel
from planish.isa.instruction import Catalogue, Instruction, make_instruction
from planish.schedule.program import Program


def make_callable(definition: Kernel, program: Program) -> Instruction:
    """A program made from a definition, to be called by the definition's name; the definition's assumptions are proven
    where it is called. PlanishError E0630 where the definition is not one loop."""
    return make_instruction(definition.name, definition, "", implementation=program.kernel)


def catalogue_of(made: Iterable[Instruction]) -> Catalogue:
    """Some instructions as a catalogue."""
    return Catalogue({x.name: x for x in made})
