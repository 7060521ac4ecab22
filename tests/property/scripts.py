"""Random scripts of the scheduling language for random programs: what is legal computes the same, bit by bit.

>>> make_script(3).steps == make_script(3).steps
True
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

from tests.property.checks import compare
from tests.property.programs import make_program

from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.ir.nest import Alloc, Assign, Block, For, Reduce
from planish.ir.traverse import blocks_of, loads
from planish.schedule.nodes import nodes
from planish.schedule.program import Cursor, Program, Step
from planish.schedule.script import print_script, run_script
from planish.schedule.steps.bands import Reorder, Skew
from planish.schedule.steps.buffers import BindExpr, LiftAlloc, StageMem
from planish.schedule.steps.control import Hoist, Sink, Specialise, Swap
from planish.schedule.steps.facts import Vectorise
from planish.schedule.steps.kernels import RenameLoop, Simplify
from planish.schedule.steps.loops import Fission, Fuse, Peel, Reverse, Shift, Split, Tail, Unroll
from planish.schedule.steps.padding import Widen
from planish.schedule.steps.storage import FoldDim, PadDim, ReorderDims, ReuseBuffer, SetLayout, SetMemory, SplitDim

CONDITIONS = ("n > 2", "m % 2 == 0", "n >= m", "n == 3 && m < 4", "i % 2 == 0")
MOST_STEPS = 12
MOST_NODES = 60
"""A nest with more statements is not rewritten further."""

TAILS: tuple[Tail, ...] = ("cut", "guard", "short", "perfect")
SCRIPT_CHECKS = ("result",)


def make_script(seed: int, count: Counter[str] | None = None) -> Program:
    """The program of a seed after up to twelve random steps; `count` hears of the legal ones and of the others."""
    rng = random.Random(seed)
    tally: Counter[str] = Counter() if count is None else count
    program = Program.of(make_program(seed).kernel, "contract")
    for number in range(rng.randint(1, MOST_STEPS)):
        if sum(1 for _ in nodes(program.kernel.body)) > MOST_NODES:
            break
        step = _random_step(program, rng, number)
        if step is None:
            continue
        try:
            program = program.apply(step)
        except PlanishError as error:
            if not error.diagnostic.code.startswith("E06"):
                raise
            code = error.diagnostic.code
            # Other steps lose no instance; this one may, where the loop has no iteration.
            tally[f"Sink {code}" if isinstance(step, Sink) else code] += 1
        else:
            tally[type(step).__name__] += 1
    return program


def _random_step(program: Program, rng: random.Random, number: int) -> Step | None:
    """A step at some place, which may or may not be legal; None where there is no place for it."""
    everything = list(nodes(program.kernel.body))
    loops = [Cursor(program, x.label) for x in everything if isinstance(x, For)]
    stores = [x for x in everything if isinstance(x, Assign | Reduce)]
    buffers = [x for x in everything if isinstance(x, Alloc)]
    places = [Cursor(program, x.label) for x in everything]
    if not loops or not stores:
        return None
    loop, place, store = rng.choice(loops), rng.choice(places), rng.choice(stores)
    names = (f"o{number}", f"n{number}")
    kind = rng.randrange(18)
    if kind < 3:
        return Split(loop, rng.choice((1, 2, 3, 4)), names, rng.choice(TAILS))
    if kind < 6:
        band = _band_names(loop)
        order = list(band[: rng.randint(1, len(band))])
        rng.shuffle(order)
        return Reorder(loop, tuple(order))
    if kind == 6:
        return Skew(loop, rng.choice((-1, 1, 2)))
    if kind == 7:
        return rng.choice((Shift(loop, rng.choice((-2, 1, 3))), Reverse(loop), RenameLoop(loop, names[0])))
    if kind == 8:
        return Peel(loop, rng.choice((-2, -1, 1, 2)))
    if kind == 9:
        return Unroll(loop, rng.choice((0, 0, 3)))
    if kind == 10:
        return Fuse(loop)
    if kind < 13:
        return Fission(place, rng.choice((1, 1, 2)))
    if kind == 13:
        used = [store.array, *(x.array for x in loads(store.value))]
        return StageMem(
            place, rng.choice(used), names[0], accumulate=rng.random() < 0.2, clip=rng.random() < 0.5
        )
    if kind == 14:
        found = loads(store.value)
        return BindExpr(Cursor(program, store.label), rng.choice(found).array, names[0]) if found else None
    if kind == 15:
        return rng.choice((Simplify(), Vectorise(loop), Hoist(place), Specialise(place, rng.choice(CONDITIONS))))
    if kind == 16:
        first = rng.choice(_before_loops(program) or places)
        return rng.choice((Sink(first), Widen(loop, rng.choice((4, 6, 8)), zero=rng.random() < 0.5), Swap(place)))
    return _of_a_buffer(program, buffers, rng)


def _of_a_buffer(program: Program, buffers: list[Alloc], rng: random.Random) -> Step | None:
    if not buffers:
        return None
    buffer = rng.choice(buffers)
    here, rank = Cursor(program, buffer.label), len(buffer.array.shape)
    if rank and rng.random() < 0.5:
        order = list(range(rank))
        rng.shuffle(order)
        d = rng.randrange(rank)
        folded, longer = FoldDim(here, d, rng.choice((1, 2, 3))), PadDim(here, d, rng.choice((1, 3)))
        parts = [x for e in order for x in ((f"{e} % 2", f"{e} / 2") if e == d else (f"{e}",))]
        lying = SetLayout(here, tuple(parts))
        return rng.choice((SplitDim(here, d, 2), ReorderDims(here, tuple(order)), lying, folded, longer))
    shared = ReuseBuffer(here, Cursor(program, rng.choice(buffers).label))
    return rng.choice((LiftAlloc(here, 1, expand=rng.random() < 0.7), SetMemory(here, "stack"), shared))


def _before_loops(program: Program) -> list[Cursor]:
    """The statements after which a loop comes."""
    out = []
    for block in [program.kernel.body, *(b for n in nodes(program.kernel.body) for b in blocks_of(n))]:
        for stmt, after in pairwise(block.body):
            if isinstance(after, For) and not isinstance(stmt, Block):
                out.append(Cursor(program, stmt.label))
    return out


def _band_names(loop: Cursor) -> tuple[str, ...]:
    """The names of the loops directly inside of each other, from one on."""
    out = []
    node = loop.node
    while isinstance(node, For):
        out.append(node.var)
        inside = node.body.body
        if len(inside) != 1 or not isinstance(inside[0], For):
            break
        node = inside[0]
    return tuple(out)


def check_script(seed: int, names: tuple[str, ...], count: Counter[str]) -> list[str]:
    """What is wrong with the program of a seed after its script: another result, or a script that does not replay."""
    random_program, made = make_program(seed), make_script(seed, count)
    script = print_script(made.steps)
    fault = compare(random_program, made.kernel, f"script {seed}:\n{script}")
    if fault is not None:
        return [fault]
    again = run_script(Program.of(random_program.kernel, "contract"), Source("again.sched", script))
    return [] if again.kernel == made.kernel else [f"script {seed} does not make the same again:\n{script}"]
