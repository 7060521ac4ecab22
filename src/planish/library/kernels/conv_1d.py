"""1-D convolution: each element of C sums a window of B times all of A. FIR filters and correlations are such sums.

Lanes are elements of C. Steps of the window that are as far apart as a register is long read the same registers of B,
so that these, which mostly lie across two lines of the cache, are loaded once for several steps.

>>> from planish.ir.types import F32
>>> from planish.library.kernels.vectors import find_vectors
>>> shape = choose_shape(find_vectors("avx512", F32))
>>> shape.count, shape.depth, shape.name
(8, 4, 'planish_sliding_f32')
>>> find_vectors("avx2", F32).registers >= choose_shape(find_vectors("avx2", F32)).registers
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_kernel
from planish.isa.instruction import Catalogue, Instruction
from planish.library.kernels.as_instruction import make_callable
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.kernels.vectors import Vectors
from planish.schedule.arguments import DEFAULTS, Point, TuningArgument, TuningArguments, TuningConstraint, Value
from planish.schedule.program import Program
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.buffers import StageMem
from planish.schedule.steps.control import Specialise
from planish.schedule.steps.facts import Parallelise
from planish.schedule.steps.instructions import Replace
from planish.schedule.steps.kernels import RenameLoop, Simplify
from planish.schedule.steps.loops import Fission, Reverse, Split, Unroll
from planish.schedule.steps.padding import Widen
from planish.schedule.steps.storage import SetMemory, SplitDim

_WAITING = 8
"""So many sums have to be on their way at once: two begin in a cycle, and each takes four."""
_DEPTHS = (1, 2, 4, 8)
COUNT = TuningArgument("registers", (4, 6, 8, 10, 12, 16, 20), 8, "registers of sums at a time")
DEPTH = TuningArgument("depth", _DEPTHS, 4, "steps of the window that share what they read")
ALONE = 1 << 16
"""So many products at most are summed by one thread: to wake the others would take longer than it saves."""
BLOCKS = 8
"""The blocks of sums that a thread makes at a time."""
_FEW = 2
"""The registers of a block for what is left of C."""


@dataclass(frozen=True, slots=True)
class Conv1dShape:
    """How sums are cut: `count` registers of sums at a time, `depth` steps of the window that share what they read.
    `turned`: A goes backwards along the window."""

    vectors: Vectors
    count: int
    depth: int
    turned: bool = False

    @property
    def name(self) -> str:
        """What the kernel is called."""
        return f"planish_sliding_{'turned_' * self.turned}{self.vectors.type}"

    @property
    def registers(self) -> int:
        """The registers that are in use at once: sums, what the window sees, an element of A."""
        return self.count + self.reach + 1

    @property
    def reach(self) -> int:
        """The registers of B that all steps see."""
        return self.count + self.depth - 1

    @property
    def at_a_time(self) -> int:
        """The sums that a thread makes at a time, where there are several threads."""
        return BLOCKS * self.count * self.vectors.lanes

    @property
    def slowness(self) -> float:
        """The time for a product, where products or loads keep the processor busy all the time: 1. What lies across
        two lines is loaded twice."""
        products = self.count * self.depth
        return max(products, 2 * self.reach + self.depth, _WAITING * self.depth) / products


def choose_shape(vectors: Vectors, turned: bool = False, point: Point = DEFAULTS) -> Conv1dShape:
    """The shape that keeps the processor busy; of several the one with the fewest products at a time. What a point says
    of it comes first, where the registers have room for that."""
    shapes = [Conv1dShape(vectors, count, depth, turned) for count in range(1, vectors.registers) for depth in _DEPTHS]
    fitting = [x for x in shapes if x.registers <= vectors.registers]
    best = min(fitting, key=lambda x: (x.slowness, x.count * x.depth))
    asked = replace(best, count=COUNT.around(best.count).number(point), depth=DEPTH.around(best.depth).number(point))
    return asked if asked.registers <= vectors.registers else best


def list_shape_arguments(vectors: Vectors) -> TuningArguments:
    """What may be tuned of the shape: as many registers as the machine has hold a block and what it sees."""
    best = choose_shape(vectors)
    count, depth = COUNT.around(best.count), DEPTH.around(best.depth)

    def fits(values: Mapping[str, Value]) -> bool:
        count_, depth_ = (int(values.get(x.name, x.default)) for x in (count, depth))
        return replace(best, count=count_, depth=depth_).registers <= vectors.registers

    note = f"a block and what it sees fit in {vectors.registers} registers"
    return TuningArguments((count, depth), (TuningConstraint((count.name, depth.name), fits, note),))


def define_sliding(name: str, shape: Conv1dShape) -> Kernel:
    """The plain nest: n sums of m products each."""
    t, place = shape.vectors.type, "i + m - 1 - p" if shape.turned else "i + p"
    return parse_kernel(
        f"kernel {name}(m, n; A: {t}[m], B: {t}[m + n - 1], C: {t}[n] distinct) assume m >= 1 assume n >= 1"
        f" {{ for i in 0 .. n {{ for p in 0 .. m {{ C[i] += A[p] * B[{place}] }} }} }}"
    )


def make_sliding(shape: Conv1dShape, maker: KernelCache, threads: int = 1) -> list[Instruction]:
    """The 1-D convolution for any m and n, last in the list, and its callees; several `threads` share the outputs."""
    made = [maker.make(shape.name, _make_whole, shape)]
    for word, make in (("shares", _make_shares), ("threads", _make_choice)) if threads > 1 else ():
        name = f"{shape.name}_{word}"
        made.append(maker.make(name, make, name, shape, Catalogue().with_instructions(made)))
    return made


def _make_whole(shape: Conv1dShape) -> Instruction:
    definition = define_sliding(shape.name, shape)
    return make_callable(definition, cut_sliding(Program.of(definition), shape))


def _make_shares(name: str, shape: Conv1dShape, known: Catalogue) -> Instruction:
    """The kernel that gives out sums to threads."""
    definition = define_sliding(name, shape)
    program = Program.of(definition, catalogue=known).apply(
        Split("i", shape.at_a_time, ("it", "is"), "short"), Replace("is", shape.name), Parallelise("it")
    )
    return make_callable(definition, program)


def _make_choice(name: str, shape: Conv1dShape, known: Catalogue) -> Instruction:
    """The kernel that does so where there is enough to do for more than one."""
    definition, shared = define_sliding(name, shape), next(x for x in known.instructions if x.endswith("_shares"))
    program = Program.of(definition, catalogue=known).apply(
        Specialise("i", f"m * n > {ALONE} && n > {shape.at_a_time}"), Replace("i", shared),
        Replace("i #2", shape.name),
    )  # fmt: skip
    return make_callable(definition, program)


def cut_sliding(program: Program, shape: Conv1dShape) -> Program:
    """The nest by blocks of whole registers: large ones whose steps share what they read, then small ones, then what
    does not fill a register."""
    v, large, few = shape.vectors, shape.count * shape.vectors.lanes, _FEW * shape.vectors.lanes
    program = program.apply(Reverse("p")) if shape.turned else program
    program = program.apply(Split("i", large, ("ib", "ii"), "short"), Specialise("ii", f"n - {large} * ib >= {large}"))
    program = program.apply(Simplify(), RenameLoop("ii #2", "f"), Split("f", few, ("fb", "fi"), "short"))
    program = program.apply(Specialise("fi", f"n - {large} * ib - {few} * fb >= {few}"), Simplify())
    program = program.apply(RenameLoop("fi #2", "t"), RenameLoop("p", "iip"), RenameLoop("p", "fip"))
    # The steps take the longer, the more has been written out before.
    program = _sum_part(program, v) if v.has("masked_load") else program
    return _sum_block(_sum_block(program, "fi", Conv1dShape(v, _FEW, 1)), "ii", shape)


def _sum_block(program: Program, loop: str, shape: Conv1dShape) -> Program:
    """The loop over the elements of a block, and the one over the window in it, with sums in registers: first as many
    steps as share what they read at a time, then what is left of these."""
    v, lanes, sums, steps = shape.vectors, shape.vectors.lanes, f"c_{loop}", f"{loop}p"
    program = program.apply(StageMem(loop, "C", sums, accumulate=True))
    for copied in ("z", "o"):
        program = program.apply(RenameLoop(f"{sums}_0", f"{loop}{copied}"))
    if shape.depth > 1:
        program = program.apply(
            Split(steps, shape.depth * lanes, (f"{steps}b", f"{steps}c"), "cut"), Fission(f"{steps}b", 1),
            RenameLoop(f"{loop} #2", f"{loop}r"), RenameLoop(f"{steps}c #2", f"{loop}q"),
            Split(f"{steps}c", lanes, (f"{steps}d", f"{steps}l"), "perfect"),
        )  # fmt: skip
    blocks = [x for x in (loop, f"{loop}r", f"{loop}z", f"{loop}o") if program.has(x)]
    for inner in blocks:
        program = program.apply(Split(inner, lanes, (f"{inner}v", f"{inner}l"), "perfect"))
    program = program.apply(SplitDim(f"{sums}: _", 0, lanes), SetMemory(f"{sums}: _", v.memory))
    program = program.apply(Replace(f"{loop}zl", v.name("set")), Replace(f"{loop}ol", v.name("add_to")))
    if shape.depth > 1:
        order = (f"{steps}b", f"{steps}l", f"{steps}d")
        program = _add_products(program, loop, order, order[-1:], v)
        program = _add_products(program, f"{loop}r", (f"{loop}q",), (), v)
    else:
        program = _add_products(program, loop, (steps,), (), v)
    return program.apply(Unroll(f"{loop}zv"), Unroll(f"{loop}ov"))


def _add_products(
    program: Program, loop: str, steps: tuple[str, ...], shared: tuple[str, ...], v: Vectors
) -> Program:
    """The loops over steps of the window around those over registers, which are written out, as are the steps that
    share what is loaded."""
    seen, row = f"b_{loop}", f"{loop}v"
    program = program.apply(Reorder(row, (*steps, row, f"{loop}l")), StageMem((*shared, row)[0], "B", seen))
    program = program.apply(Split(f"{seen}_0", v.lanes, (f"{loop}bv", f"{loop}bl"), "perfect"))
    program = program.apply(SplitDim(f"{seen}: _", 0, v.lanes), SetMemory(f"{seen}: _", v.memory))
    program = program.apply(Replace(f"{loop}bl", v.name("load")), Replace(f"{loop}l", v.multiply))
    return program.apply(*map(Unroll, (f"{loop}bv", row, *shared)))


def _sum_part(program: Program, v: Vectors) -> Program:
    """What is left of C: registers of which as much is used as there is."""
    program = program.apply(Split("t", v.lanes, ("tb", "t"), "short"))
    program = program.apply(StageMem("t", "C", "c_t", accumulate=True, clip=True))
    program = program.apply(RenameLoop("c_t_0", "tz"), RenameLoop("c_t_0", "to"), Reorder("t", ("p", "t")))
    program = program.apply(StageMem("t", "B", "b_t", clip=True), RenameLoop("b_t_0", "ts"))
    program = program.apply(Widen("ts", v.lanes, zero=True), Widen("tz", v.lanes), Widen("t", v.lanes))
    program = program.apply(SetMemory("c_t: _", v.memory), SetMemory("b_t: _", v.memory))
    return program.apply(
        Replace("tz", v.name("set")), Replace("ts", v.name("masked_load")), Replace("t", v.multiply),
        Replace("to", v.name("masked_add_to")),
    )  # fmt: skip
