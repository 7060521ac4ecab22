"""Runs a user's script in place of the automatic schedule: its kernel is the only version.

>>> from planish.core.span import Source
>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.auto.plan import prepare
>>> prepared = prepare(parse_kernel("kernel z(n; A: f32[n]) { for i in 0 .. n { A[i] = 0.0:f32 } }"))
>>> narrower, made = follow(prepared, Source("z.sched", 'partial_eval("n", 8)'), fp="reassociate")
>>> made.kernel.sizes, narrower.scop.context
(('n',), Set("[n] -> {  : n = 8 }"))
"""

from __future__ import annotations

from dataclasses import replace

from planish.core.diagnostic import Remark
from planish.core.span import Source
from planish.ir.expr import Compare, index
from planish.ir.nest import Block
from planish.ir.types import Floats
from planish.isa.instruction import Catalogue
from planish.poly.scop.extraction import extract_scop
from planish.schedule.auto.plan import Prepared, Version
from planish.schedule.program import Program
from planish.schedule.script import print_step, run_script
from planish.schedule.steps.kernels import PartialEval


def follow(
    prepared: Prepared, script: Source, fp: Floats, catalogue: Catalogue | None = None
) -> tuple[Prepared, Version]:
    """The version that a script makes of a prepared kernel, and that kernel with what the script assumes of the sizes:
    the drop-in checks it at run time. A size that is fixed is assumed to have its value.

    Raises PlanishError for a wrong script, or a step that is not legal."""
    program = run_script(Program.of(prepared.kernel, fp, catalogue), script)
    fixed = [step for step in program.steps if isinstance(step, PartialEval)]
    values = tuple(Compare("eq", index(step.size), index(step.value)) for step in fixed)
    assumptions = (*program.kernel.assumptions, *values)
    whole = replace(prepared.kernel, assumptions=assumptions)
    scop = replace(
        prepared.scop,
        kernel=replace(prepared.scop.kernel, assumptions=assumptions),
        context=extract_scop(replace(whole, body=Block(()))).context,
    )
    kernel = replace(
        program.kernel, name=whole.name, sizes=whole.sizes, arrays=whole.arrays, assumptions=assumptions
    )
    remarks = tuple(Remark("schedule-step", "done", print_step(step), kernel.span, brief="") for step in program.steps)
    narrower = replace(prepared, kernel=whole, scop=scop)
    return narrower, Version("script", scop.schedule, kernel, remarks, 0.0, program.catalogue)
