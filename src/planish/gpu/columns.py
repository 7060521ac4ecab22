"""Sums down columns: neighbouring threads have neighbouring columns, and each column is summed up in parts.

>>> from planish.gpu.mapping import map_kernel
>>> from planish.ir.text.parser import parse_kernel
>>> loops = "for i in 0 .. n { for j in 0 .. m { s[j] += A[i, j] * x[i] } }"
>>> kernel = parse_kernel(f"kernel c(n, m; A: f32[n, m], x: f32[n], s: f32[m]) {{ {loops} }}")
>>> map_kernel(kernel, techniques=(split_columns,)).nests[0].told
'`j` by threads, in 32 parts of `i` where these are more than 512, which a second kernel sums up'
"""

from __future__ import annotations

from planish.core.names import take_name
from planish.gpu.mapping import Chain, cursor, keep_in_registers, numbered, to_blocks
from planish.ir.expr import Binary
from planish.ir.index.simplify import simplify
from planish.ir.nest import For
from planish.ir.text.printer import print_expr
from planish.ir.traverse import used_names, variables, walk
from planish.schedule.program import Program
from planish.schedule.steps.control import Specialise
from planish.schedule.steps.kernels import RenameLoop
from planish.schedule.steps.split_reduction import SplitReduction
from planish.schedule.strides import coalescing

PARTS = 32
"""The parts of each column."""
LONG = 512
"""A column with more elements is long: what its parts take besides is little."""
COLUMNS = 128
"""The columns of a block, with two parts of each."""


def split_columns(program: Program, chain: Chain) -> tuple[Program, str] | None:
    """A single independent loop around a sum, in parts; None where neighbouring iterations are no neighbours in memory.
    PlanishError where a step is not legal."""
    sums = [x for x in chain.body.body if isinstance(x, For)]
    if len(chain.loops) != 1 or len(sums) != 1 or coalescing(sums[0].body, chain.loops[0].var) <= 0:
        return None
    (loop,), total = chain.loops, sums[0]
    if variables(total.lower) & {loop.var} or variables(total.upper) & {loop.var}:
        return None
    taken = set(used_names(program.kernel))
    name, short = take_name("parts", taken), take_name(f"{loop.var}_short", taken)
    length = print_expr(simplify(Binary("sub", total.upper, total.lower)))
    program = program.apply(Specialise(cursor(program, loop), f"{length} > {LONG}"))
    if len(_all(program, loop.var)) > 1:
        program = program.apply(RenameLoop(numbered(program, loop.var, 1), short))
    at, of = numbered(program, loop.var, 0), numbered(program, total.var, 0)
    program = program.apply(SplitReduction(at, of, name, PARTS))
    program = to_blocks(program, (f"{name}_part", f"{name}_{loop.var}"), (256 // COLUMNS, COLUMNS))
    for each in (loop.var, short):
        if _all(program, each):
            program = keep_in_registers(to_blocks(program, (each,), (256,)), f"{each}_t")
    told = f"`{loop.var}` by threads, in {PARTS} parts of `{total.var}` where these are more than {LONG}"
    return program, f"{told}, which a second kernel sums up"


def _all(program: Program, name: str) -> list[int]:
    """The loops of a name."""
    return [x.label for x in walk(program.kernel.body) if isinstance(x, For) and x.var == name]
