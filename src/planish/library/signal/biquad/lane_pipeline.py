"""The biquad strategy: a kernel's cascades of second-order sections, one section in each lane.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.auto.plan import prepare
>>> from planish.target.load import load_target
>>> loops = "for t in 0 .. n { s[] = x[t] for k in 0 .. m { s[] = c[k] * s[] } y[t] = s[] }"
>>> arrays = "x: f32[n], y: f32[n], c: f32[m]"
>>> kernel = parse_kernel("kernel k(n, m; %s) { alloc s: f32[] %s }" % (arrays, loops))
>>> [x.remarks[0].message for x in cascade_versions(prepare(kernel), load_target("x86-avx2"), False)]
['`s`: biquad sections pipelined across 8 lanes, section k 2 samples behind k - 1']
"""

from __future__ import annotations

from dataclasses import replace

from planish.core.diagnostic import PlanishError, Remark
from planish.ir.index.simplify import simplify_block
from planish.ir.nest import Alloc, Block, For, Kernel, Stmt
from planish.ir.traverse import arrays_in, map_block, used_names, variables, walk
from planish.isa.instruction import Catalogue
from planish.library.kernels.vectors import choose_vectors
from planish.library.signal.biquad.kept_samples import keep_samples
from planish.library.signal.biquad.lane_kernel import DELAY, BiquadLanes
from planish.library.signal.biquad.section_loops import find_cascade
from planish.schedule.auto.plan import Prepared, Version, as_written
from planish.schedule.nodes import label_kernel
from planish.schedule.program import Program
from planish.schedule.steps.instructions import Replace
from planish.target.machine import Target

NAME = "biquad-simd"
"""What the version is called."""


def cascade_versions(prepared: Prepared, target: Target, reassociate: bool) -> tuple[Version, ...]:
    """The version of a kernel whose cascades have a section in each lane; none where there are none, or no instructions
    for them. `reassociate`: sums may be made in another order, and a product and a sum rounded once."""
    if not find_cascades(prepared.kernel):
        return ()
    kernel, asked = keep_samples(as_written(prepared))
    if not {y for x in asked for y in variables(x)} <= {*kernel.sizes}:
        kernel, asked = as_written(prepared), ()
    kernel = label_kernel(replace(kernel, assumptions=tuple(dict.fromkeys((*kernel.assumptions, *asked)))))
    taken = {*used_names(kernel)}
    remarks: list[Remark] = []
    given: list[tuple[str, str]] = []
    lines: list[Stmt] = []

    def visit(stmt: Stmt) -> Stmt:
        found = find_cascade(kernel, stmt) if isinstance(stmt, For) else None
        if found is None or not variables(found.samples) | variables(found.stages) <= {*kernel.sizes}:
            return stmt  # What one group has for the next is declared before all loops.
        try:
            lanes = BiquadLanes(found, choose_vectors(target, found.type), taken, reassociate)
        except PlanishError:
            return stmt
        made = lanes.stmt()
        given.extend(lanes.given)
        lines.extend(map(Alloc, lanes.lines))
        links = ", ".join(f"`{x}`" for x in found.links)
        lag = f"section k {DELAY} samples behind k - 1"
        message = f"{links}: biquad sections pipelined across {lanes.lanes} lanes, {lag}"
        remarks.append(Remark(NAME, "done", message, found.loop.span or kernel.span))
        return made

    body = map_block(visit, kernel.body)
    body = simplify_block(Block((*lines, *body.body)), assumptions=kernel.assumptions)
    if not remarks:
        return ()
    # Of a number of stages that is a constant, only one of the ways is left.
    used, left = {*arrays_in(body)}, {x.var for x in walk(body) if isinstance(x, For)}
    body = Block(tuple(x for x in body.body if x not in lines or (isinstance(x, Alloc) and x.array.name in used)))
    given = [x for x in given if x[0] in left]
    try:
        program = _with_instructions(replace(kernel, body=body), given, reassociate)
    except PlanishError:
        return ()
    catalogue = Catalogue().with_instructions(program.found)
    return (Version(NAME, prepared.scop.schedule, program.kernel, tuple(remarks), 0.0, catalogue),)


def find_cascades(kernel: Kernel) -> tuple[For, ...]:
    """The loops that have loops in them, of which some may be cascades."""
    return tuple(x for x in walk(kernel.body) if isinstance(x, For) and _has_loop(x))


def _has_loop(stmt: Stmt) -> bool:
    """Whether it is a loop with one in it."""
    return isinstance(stmt, For) and any(isinstance(x, For) for x in walk(stmt) if x is not stmt)


def _with_instructions(kernel: Kernel, given: list[tuple[str, str]], contract: bool) -> Program:
    """The kernel with loops over lanes given to instructions; PlanishError where there is none for one of them."""
    program = Program.of(kernel, "contract" if contract else "strict")
    for loop, instruction in given:
        program = program.apply(Replace(loop, instruction))
    return program
