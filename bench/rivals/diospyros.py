"""A vectoriser that does what Diospyros does (VanHattum et al., ASPLOS 2021), on a VLIW machine.

Its rules, its cost and its code are those of its repository, github.com/cucapra/diospyros:

- All elements that are stored are vectors of a fixed width, 4, in the order of memory, padded with zeros
  (`partition-*` in src/dios-egraphs/src/rules.rs, vector_width in src/dios-egraphs/src/config.rs).
- Vectors of sums and products become VecAdd, VecMul and VecMAC of vectors of operands, with zeros where a lane has
  no term (`vec-add-*`, `vec-mul-*`, `vec-mac-*`; binopsearcher.rs, macsearcher.rs). There is no broadcast, no sum of
  lanes, nothing that moves what was computed, and no loop.
- The cost of a term is the sum over its tree, shared or not: 1 for an operation, 0.001 for numbers, elements
  and vectors of elements of an array, 0.1 for other vectors of elements and numbers, 100 for vectors of anything else
  (src/dios-egraphs/src/cost.rs). How elements get into lanes costs nothing.
- Inputs are loaded in whole registers, from the beginning of each array. A vector of elements is a shuffle of a
  register, a select of two, or nested selects of more, by a vector of lane numbers; a register as it is needs none
  (src/shuffle-truncation-pass.rkt, `gen-shuffle` in src/backend/tensilica-g3.rkt).
- A vector of anything else is filled scalar by scalar (`vec-lit`).
- Equal terms are computed once (src/compile-passes.rkt), and the vendor's compiler schedules what comes out: here a
  list schedule by critical paths. Where that has too few registers, loads are repeated, and the same limited
  look-ahead as ours stands for spills.

In its favour: sums are brought into columns with common factors before, for which it needs associativity and
commutativity; numbers of a vector are in its constants and not selected; loads may be of any register-sized place.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.description import load_machine
>>> kernel = parse_kernel("kernel f(a: f32[4], b: f32[4]) { for i in 0 .. 4 { b[i] = a[3 - i] * a[i] } }")
>>> [x.operation for x in diospyros_like(kernel, load_machine("ftmatrix")).lowered.program.body]
['VLDW', 'VLDWI', 'VSHUF', 'VFMULS32', 'VSTW']
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from planish.core.diagnostic import PlanishError
from planish.ir.nest import Kernel
from planish.vliw.machine import VliwMachine
from planish.vliw.pack.packing import pack
from planish.vliw.pack.register_orders import register_orders
from planish.vliw.pack.reports import Packed, PackOptions
from planish.vliw.program import Instr
from planish.vliw.saturation.egraph import ENode
from planish.vliw.saturation.extraction import Extractor, Work
from planish.vliw.saturation.plan import Saturation
from planish.vliw.saturation.regions import stores_of
from planish.vliw.saturation.rules import RuleSet, Vectoriser, phase
from planish.vliw.saturation.straight import write_out
from planish.vliw.saturation.terms import (
    ApplyTerm,
    ConcatTerm,
    ConstantsTerm,
    ElementTerm,
    InsertTerm,
    LanesTerm,
    NumberTerm,
    PermuteTerm,
    ScalarTerm,
    SumTerm,
    TakeTerm,
    WindowTerm,
)
from planish.vliw.saturation.writing import TermWriter
from planish.vliw.streams.lower import LoweredStream
from planish.vliw.streams.stream import RefusedError

WIDTH = 4
"""The lanes of its vectors (config.rs)."""

LITERAL, STRUCTURE, OPERATION, FILLED = 0.001, 0.1, 1.0, 100.0
"""What it takes terms to cost (cost.rs)."""

PASSES = 20


@dataclass(frozen=True, slots=True)
class DiospyrosPackets:
    """A kernel's stream and packets."""

    lowered: LoweredStream
    packed: Packed


def diospyros_like(
    kernel: Kernel, machine: VliwMachine, width: int = WIDTH, scheduled: bool = True
) -> DiospyrosPackets:  # fmt: skip
    """The packets of a kernel; RefusedError where there are none. `width`: lanes of a vector; without `scheduled`,
    operations are issued in the order in which they are written, several at once where that allows it."""
    options = PackOptions(pipeline=False, unroll=0, ordered=not scheduled)
    search = Saturation(kernel, machine, RuleSet(width=width, flat=True), True, options)
    memories = search.memories(False)
    if memories is None:
        raise RefusedError("the machine has no vectors of these elements", kernel.span)
    moves = replace(search.moves, fixed=())
    made = LiteralVectors(write_out(kernel), moves, width, rules=search.rules)
    roots = stores_of(made, True, False, True)
    made.saturate(roots)
    roots = [made.graph.find(x) for x in roots]
    writer = TermWriter(machine, moves, made.straight.arrays, memories)
    extractor = Extractor(made.graph, roots, partial(search.work, made, writer))
    extraction = extractor.gathered(roots, cheapest_trees(extractor))
    if extraction is None:
        raise RefusedError("the machine has no operations for some of it", kernel.span)
    lowered = search.lowered(extraction, made, memories)
    packed = _scheduled(lowered, machine, search.options)
    if packed is None:
        raise RefusedError("it wants more registers than there are", kernel.span)
    return DiospyrosPackets(lowered, packed)


@dataclass(slots=True)
class LiteralVectors(Vectoriser):
    """The e-graph of a kernel with the rules of Diospyros."""

    @property
    def is_short(self) -> bool:
        """Sums are made in one chain."""
        return False

    def saturate(self, roots: Sequence[int]) -> None:
        """Apply all rules to what `roots` use."""
        self.graph.saturate(roots, phase({LanesTerm: (self.operation, self.sums, self.taken(self.literal))}))
        self.graph.saturate(roots, phase({LanesTerm: (self.filled,), SumTerm: (self.scalar_sum,)}))
        self.graph.saturate(roots, phase({ApplyTerm: (self.fused,)}))

    def literal(self, number: int, node: ENode) -> Iterator[int]:
        """Vec (Get a i) (Get b j) 0 ... = shuffles of registers"""
        real, width = self.real(node), self.width
        leaves = {n: x for n, y in real if (x := self.leaf(y)) is not None}
        if not real or len(leaves) != len(real):
            return
        homes: dict[object, dict[int, int]] = {}
        for lane, x in leaves.items():
            if isinstance(x, ElementTerm):
                start = x.place // width * width
                homes.setdefault(WindowTerm(x.array, start, x.type), {})[lane] = x.place - start
        numbers = {n: x.value for n, x in leaves.items() if isinstance(x, NumberTerm)}
        if numbers:
            values = tuple(numbers.get(n, 0.0) for n in range(self.moves.lanes))
            homes[ConstantsTerm(values, self.moves.type)] = {n: n for n in numbers}
        yield from self.selected([(self.graph.add(x), own) for x, own in homes.items()], len(node.children))

    def selected(self, registers: Sequence[tuple[int, dict[int, int]]], count: int) -> Iterator[int]:
        """Lanes of registers in one: the first two, and then one more after the other."""
        (made, taken), *rest = registers
        if not rest:
            yield from self.permuted([taken.get(n, -1) for n in range(count)], (made,))
            return
        for other, own in rest:
            there = {lane: self.moves.lanes + x for lane, x in own.items()}
            both = next(self.permuted([(taken | there).get(n, -1) for n in range(count)], (made, other)), None)
            if both is None:
                return
            made, taken = both, {lane: lane for lane in (*taken, *own)}
        yield made

    def filled(self, number: int, node: ENode) -> Iterator[int]:
        """Vec of anything, where nothing else makes it: scalars one by one"""
        real = self.real(node)
        if not real or len(self.graph.nodes(number)) > 1 or not self.moves.insert:
            return
        made = self.graph.add(ConstantsTerm((0.0,) * self.moves.lanes, self.moves.type))
        for lane, scalar in real:
            made = self.graph.add(InsertTerm(lane, self.moves.insert), (made, scalar))
        yield self.graph.add(TakeTerm(tuple(n for n, _ in real)), (made,))


def cheapest_trees(extractor: Extractor) -> dict[int, tuple[ENode, Work, tuple[int, ...]]]:
    """The node of each class whose tree has the least cost."""
    cost: dict[int, float] = {}
    chosen: dict[int, tuple[ENode, Work, tuple[int, ...]]] = {}
    for _ in range(PASSES):
        changed = False
        for number in extractor.order:
            for choice in extractor.choices[number]:
                if any(x not in cost for x in choice[2]):
                    continue
                own = cost_of(choice[0]) + sum(cost[x] for x in choice[2])
                if own < cost.get(number, float("inf")) - 1e-9:
                    cost[number], chosen[number], changed = own, choice, True
        if not changed:
            break
    return chosen


def cost_of(node: ENode) -> float:
    """What a node costs by itself: how elements get into lanes costs next to nothing."""
    match node.op:
        case ApplyTerm():
            return OPERATION
        case InsertTerm(lane=lane):
            return FILLED if lane == 0 else LITERAL
        case ConcatTerm():
            return STRUCTURE
        case ElementTerm() | NumberTerm() | ScalarTerm() | WindowTerm() | ConstantsTerm() | PermuteTerm():
            return LITERAL
        case _:
            return 0.0


def _scheduled(lowered: LoweredStream, machine: VliwMachine, options: PackOptions) -> Packed | None:
    """The list schedule by critical paths, or one for which there are registers, where that is shorter."""
    found: list[Packed] = []
    items = [x for x in lowered.program.body if isinstance(x, Instr)]
    plain, in_turn = [(lowered.program, options)], replace(options, ordered=True)
    calmer = ((replace(lowered.program, body=x), in_turn) for x in register_orders(items, machine))
    for program, chosen in chain(plain, calmer):
        try:
            found.append(pack(program, machine, chosen))
        except PlanishError:
            continue
        if options.ordered or program is not lowered.program or len(found[0].code.packets) <= found[0].blocks[0].least:
            break
    return min(found, key=lambda x: len(x.code.packets), default=None)
