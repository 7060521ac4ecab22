"""Schedules made of steps: ordinary functions from programs to programs, as users write their own.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.script import print_script
>>> text = "kernel copy(n; A: f32[n, n], B: f32[n, n]) { for i in 0 .. n { for j in 0 .. n { A[i, j] = B[j, i] } } }"
>>> print(print_script(tile(Program.of(parse_kernel(text)), ("i", "j"), (8, 32)).steps), end="")
split("i", 8, ("it", "i_"), tail="short")
split("j", 32, ("jt", "j_"), tail="short")
reorder("it", ("it", "jt", "i_", "j_"))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from planish.core.diagnostic import PlanishError
from planish.ir.expr import Compare, index
from planish.ir.index.polynomial import sub
from planish.ir.nest import For
from planish.ir.text.printer import print_expr
from planish.schedule.program import Program
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.buffers import LiftAlloc, StageMem
from planish.schedule.steps.control import Specialise
from planish.schedule.steps.facts import Vectorise
from planish.schedule.steps.kernels import RenameLoop
from planish.schedule.steps.loops import Fission, Split, Tail, Unroll
from planish.schedule.steps.storage import ReorderDims, SplitDim

Schedule = Callable[[Program], Program]


def tile(program: Program, loops: Sequence[str], sizes: Sequence[int], tail: Tail = "short") -> Program:
    """Tiles of the loops of a band, one size each: loops over tiles (`it`) outside of those in a tile (`i_`)."""
    for name, size in zip(loops, sizes, strict=True):
        program = program.apply(Split(name, size, (f"{name}t", f"{name}_"), tail))
    outer, inner = tuple(f"{x}t" for x in loops), tuple(f"{x}_" for x in loops)
    return program.apply(Reorder(outer[0], (*outer, *inner)))


def unroll_and_jam(program: Program, loop: str, factor: int) -> Program:
    """Several iterations of a loop at a time, written out inside of the loops in it, which are directly inside of each
    other; what is left over has a loop of its own."""
    outer, inner = f"{loop}o", f"{loop}u"
    program = program.apply(Split(loop, factor, (outer, inner), "cut"))
    below = []
    node = program.loop(inner)
    while len(node.body.body) == 1 and isinstance(node.body.body[0], For):
        node = node.body.body[0]
        below.append(node.var)
    if below:
        program = program.apply(Reorder(inner, (*below, inner)))
    return program.apply(Unroll(inner))


def vectorise_reduction(program: Program, loop: str, array: str, name: str, lanes: int) -> Program:
    """A loop that adds to one element of an array, with so many sums in a buffer that run in lanes and are added up
    behind it; what does not fill all lanes is added one by one, as all is where that would be none."""
    inner, found = f"{loop}l", program.loop(loop)
    # Where the loop does not run at all, there need be no such element.
    enough = Compare("ge", sub(found.upper, found.lower), index(lanes))
    program = program.apply(Specialise(loop, print_expr(enough)))
    program = program.apply(Split(loop, lanes, (loop, inner), "cut"), Reorder(loop, (inner, loop)))
    program = program.apply(StageMem(loop, array, name, accumulate=True), LiftAlloc(f"{name}: _", 1))
    program = program.apply(Fission(f"{name} = _"), RenameLoop(inner, f"{loop}z"))
    program = program.apply(Fission(loop), RenameLoop(f"{inner} #2", f"{loop}o"), Reorder(inner, (loop, inner)))
    return program.apply(Vectorise(f"{loop}z"), Vectorise(inner))


def autofission(program: Program, after: str) -> Program:
    """Loops cut in two behind a statement: as many of those around it, from the innermost on, as is legal."""
    around = sum(isinstance(x, For) for x in program.path(after)[:-1])
    ways = (partial(_cut_behind, after=after, loops=count) for count in range(around, 0, -1))
    return attempt(program, *ways)


def _cut_behind(program: Program, after: str, loops: int) -> Program:
    return program.apply(Fission(after, loops))


def pack(
    program: Program, around: str, array: str, name: str, width: int, dimension: int = 1, memory: str = "scratch"
) -> Program:
    """The part of an array that a statement uses, copied into panels: `width` elements of a dimension lie beside each
    other for each place of the others, panel after panel."""
    program = program.apply(StageMem(around, array, name, memory, clip=True))
    rank = len(program.buffer(f"{name}: _").shape)
    order = (dimension, *(d for d in range(rank + 1) if d not in (dimension, dimension + 1)), dimension + 1)
    return program.apply(SplitDim(f"{name}: _", dimension, width), ReorderDims(f"{name}: _", order))


def attempt(program: Program, *schedules: Schedule) -> Program:
    """What the first of some schedules makes that is legal; the program itself where none is."""
    for schedule in schedules:
        try:
            return schedule(program)
        except PlanishError:
            continue
    return program
