"""Steps that give a loop to an instruction, or take it back: the loop stays what it means, whoever reads it.

>>> from planish.schedule.example import show_step
>>> head = "kernel f(A: f32[16])"
>>> show_step("alloc a: f32[16] @zmm for i in 0 .. 16 { a[i] = A[i] }", Replace("i", "avx512_load_f32"), head=head)
alloc a: f32[16] @zmm
for i in 0 .. 16 as avx512_load_f32 {
  a[i] = A[i]
}
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.text.printer import print_expr
from planish.poly.match.matcher import MismatchError
from planish.schedule.accesses import arrays_of
from planish.schedule.match_instruction import match_instruction
from planish.schedule.nodes import exchange
from planish.schedule.program import Change, Program, Target, holds
from planish.schedule.select_instruction import find_learnt, without_names


@dataclass(frozen=True, slots=True)
class Replace:
    """Let an instruction, or a kernel that was made before, do all of a loop: the loop equals its definition.

    >>> from planish.schedule.example import show_step
    >>> text = "alloc a: f32[4] @neon for i in 0 .. 4 { a[i] = A[i + 1] } for i in 0 .. 4 { a[i] += 2.0:f32 * a[i] }"
    >>> show_step(text, Replace("i", "neon_load_f32"), head="kernel f(A: f32[8])")
    alloc a: f32[4] @neon
    for i in 0 .. 4 as neon_load_f32 {
      a[i] = A[i + 1]
    }
    for i in 0 .. 4 {
      a[i] += 2.0:f32 * a[i]
    }

    Without a name an instruction is found by what the loop says.

    >>> text = "alloc a: i16[8] @neon alloc b: i16[8] @neon for i in 0 .. 8 { a[i] = a[i] - b[i] }"
    >>> show_step(text, Replace("i"), head="kernel f(A: f32[8])")
    alloc a: i16[8] @neon
    alloc b: i16[8] @neon
    for i in 0 .. 8 as neon_6746859f {
      a[i] = a[i] - b[i]
    }
    """

    loop: Target
    instruction: str = field(default="", metadata={"positional": True})
    """Where none is named, one is found that does what the loop says, among all that have been learnt."""

    def rewrite(self, program: Program) -> Change:
        """E0631 where there is no such instruction, E0632 where the loop is not what it does, or no instruction does
        it, E0633 where an operand is in another memory, E0634 where it rounds otherwise and that is not allowed."""
        loop = without_names(program.loop(self.loop))
        known = program.catalogue
        instruction = known.instruction(self.instruction) if self.instruction else find_learnt(loop, program)
        if not program.allows(instruction):
            what = "sums in another order" if instruction.reassociates else "rounds a product and a sum once"
            message = f"`{instruction.name}` {what}, which is not allowed"
            raise PlanishError(Diagnostic("E0634", message, help="allow it with --fp contract, or reassociate"))
        try:
            found = match_instruction(instruction, loop, arrays_of(program.kernel), program.catalogue.bits)
        except MismatchError as error:
            message = f"the loop over `{loop.var}` is not what `{instruction.name}` does: {error.reason}"
            if error.memory:
                advice = "stage the operand there, or say with set_memory where it is"
                raise PlanishError(Diagnostic("E0633", message, help=advice)) from error
            raise PlanishError(Diagnostic("E0632", message, help="show the program to compare them")) from error
        for condition in found.conditions:
            if not holds(program.kernel, loop, condition):
                message = f"`{instruction.name}` wants `{print_expr(condition)}`, which does not always hold here"
                raise PlanishError(Diagnostic("E0632", message, help="split the loop so that it does, or assume it"))
        facts = replace(loop.facts, instruction=instruction.name, simd=False, parallel=False, reductions=(), unroll=0)
        body = exchange(program.kernel.body, loop.label, lambda x: (replace(loop, facts=facts),))
        return Change(replace(program.kernel, body=body), instructions=() if self.instruction else (instruction,))


@dataclass(frozen=True, slots=True)
class Inline:
    """Take a loop back from its instruction.

    >>> from planish.schedule.example import show_step
    >>> text = "alloc a: f32[16] @zmm for i in 0 .. 16 { a[i] = A[i] }"
    >>> show_step(text, Replace("i", "avx512_load_f32"), Inline("i"), head="kernel f(A: f32[16])")
    alloc a: f32[16] @zmm
    for i in 0 .. 16 {
      a[i] = A[i]
    }
    """

    loop: Target

    def rewrite(self, program: Program) -> Change:
        """E0602 where no instruction does it."""
        loop = program.loop(self.loop)
        if not loop.facts.instruction:
            message = f"no instruction does the loop over `{loop.var}`"
            raise PlanishError(Diagnostic("E0602", message, help="show the program to see which loops have one"))
        plain = replace(loop, facts=replace(loop.facts, instruction=""))
        return Change(replace(program.kernel, body=exchange(program.kernel.body, loop.label, lambda x: (plain,))))
