"""What unrolling left as loops again, that people can read it; each instruction still has its operands.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.isa.shipped import shipped
>>> lines = "\\n".join(f"for l in 0 .. 16 as avx512_load_f32 {{ a[{i}, l] = A[{i}, l] }}" for i in range(4))
>>> kernel = parse_kernel(f"kernel k(A: f32[4, 16]) {{ alloc a: f32[4, 16] @zmm {lines} }}")
>>> roll_kernel(kernel, shipped()).body.body[1].facts.unroll
4
"""

from __future__ import annotations

from planish.ir.expr import Const
from planish.ir.nest import Alloc, For, Kernel, Stmt
from planish.ir.passes.forward_substitution import substitute_forward
from planish.ir.passes.merge_conditions import merge_conditions
from planish.ir.passes.reroll import reroll
from planish.ir.traverse import is_counted, walk
from planish.isa.instruction import Catalogue
from planish.poly.match.matcher import MismatchError, match_nest
from planish.poly.scop.separation import everywhere


def roll_kernel(kernel: Kernel, catalogue: Catalogue) -> Kernel:
    """The kernel with loops in place of statements that repeat, and elements in place of names that are used once;
    itself where it has loops without a count, which these passes do not know."""
    if not is_counted(kernel):
        return kernel
    local = [x.array for x in walk(kernel.body) if isinstance(x, Alloc)]
    arrays = {x.name: x for x in (*kernel.arrays, *local)}

    def holds(stmt: Stmt) -> bool:
        if not isinstance(stmt, For) or not stmt.facts.instruction:
            return True
        instruction = catalogue.instruction(stmt.facts.instruction)
        try:
            found = match_nest(instruction.definition, stmt, arrays, catalogue.bits, everywhere)
        except MismatchError:
            return False
        return all(isinstance(found.sizes[x], Const) for x in instruction.immediate)

    return merge_conditions(reroll(substitute_forward(kernel), holds))
