"""A small kernel as scalars and vectors that equality saturation finds, in packets.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.description import load_machine
>>> body = "for i in 0 .. 2 { for j in 0 .. 2 { c[i, j] = 0.0 for k in 0 .. 2 { c[i, j] += a[i, k] * b[k, j] } } }"
>>> kernel = parse_kernel(f"kernel mm(a: f32[2, 2], b: f32[2, 2], c: f32[2, 2]) {{ {body} }}")
>>> made = saturated(kernel, load_machine("ftmatrix"))
>>> made.cycles < 60, made.described.partition(":")[0]
(True, 'written out')
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

from planish.core.diagnostic import PlanishError
from planish.ir.nest import Array, Kernel
from planish.ir.traverse import stored_arrays
from planish.ir.types import Type
from planish.vliw.machine import VliwMachine
from planish.vliw.pack.packing import pack
from planish.vliw.pack.register_orders import register_orders
from planish.vliw.pack.reports import Packed, PackOptions
from planish.vliw.program import Instr, Item, MemoryAddress, StreamParameter, StreamProgram, StreamRegister
from planish.vliw.saturation.egraph import ENode
from planish.vliw.saturation.extraction import Extraction, Extractor, Work
from planish.vliw.saturation.lanes import LaneMoves, lane_moves
from planish.vliw.saturation.regions import MOST_SINGLE, stores_of
from planish.vliw.saturation.rules import RuleSet, Vectoriser
from planish.vliw.saturation.straight import write_out
from planish.vliw.saturation.terms import (
    AnyTerm,
    ApplyTerm,
    BroadcastTerm,
    ConcatTerm,
    ConstantsTerm,
    ElementStore,
    ElementTerm,
    ExtractTerm,
    InsertTerm,
    LanesTerm,
    PermuteTerm,
    ScalarTerm,
    SpreadTerm,
    SumTerm,
    TakeTerm,
    TotalTerm,
    VectorStore,
    WindowTerm,
)
from planish.vliw.saturation.writing import TermValue, TermWriter, given_types, made_by, vector_memory
from planish.vliw.streams.addresses import Pointers
from planish.vliw.streams.cost import depth_of
from planish.vliw.streams.lower import Given, LoweredStream
from planish.vliw.streams.stream import RefusedError, StreamCell

MOST_HEIGHTS = 200
"""Operations up to which they are also packed in the order of their critical paths, whatever registers that takes."""

PACKED = 3
"""So many extractions become packets: those with the least estimates."""

MOST_NODES = 400
"""Terms of an extraction; of larger ones only the first becomes packets."""


@dataclass(frozen=True, slots=True)
class Saturated:
    """A kernel's stream and packets, and what was extracted. `nodes`: how many the e-graph has; `described`: in
    words."""

    kernel: Kernel
    lowered: LoweredStream
    packed: Packed
    extraction: Extraction
    nodes: int
    described: str = ""

    @property
    def cycles(self) -> int:
        """Packets of straight code take one cycle each."""
        return len(self.packed.code.packets)


def saturated(
    kernel: Kernel, machine: VliwMachine, rules: RuleSet | None = None, reassociate: bool = True,
    options: PackOptions | None = None,
) -> Saturated:  # fmt: skip
    """The quickest packets of a kernel that is written out; RefusedError where that is not possible."""
    search = Saturation(kernel, machine, rules or RuleSet(), reassociate, options or PackOptions())
    return search.best()


@dataclass(slots=True)
class Saturation:
    """The steps from a kernel to packets, for some rules."""

    kernel: Kernel
    machine: VliwMachine
    rules: RuleSet
    reassociate: bool
    options: PackOptions
    works: dict[object, Work | None] = field(default_factory=dict)

    def best(self) -> Saturated:
        """The quickest packets; RefusedError where there are none."""
        found: list[tuple[float, Extraction, Vectoriser, dict[str, tuple[str, ...]]]] = []
        for scattered in (False, True):
            memories = self.memories(scattered)
            if memories is None or scattered and found and found[0][2].outputs > MOST_SINGLE:
                continue
            made, roots = self.graph(scattered, memories)
            self.works.clear()
            writer = TermWriter(self.machine, made.moves, made.straight.arrays, memories, self.rules.contract)
            avoided = (_is_scalar,) if made.outputs > made.moves.lanes else ()
            extractor = Extractor(made.graph, roots, partial(self.work, made, writer), avoided)
            try:
                several = extractor.several(roots)
            except ValueError:
                continue
            found += [(x.scheduled(), x, made, memories) for x in several[:PACKED]]
            if len(self.machine.memories) == 1:
                break
        if not found:
            raise RefusedError("the machine has no operations for some of it", self.kernel.span)
        found.sort(key=lambda x: x[0])
        packed: list[Saturated] = []
        few = PACKED if len(found[0][1].nodes) <= MOST_NODES else 1
        for length, extraction, made, memories in found[:few]:
            # A list schedule without registers is hardly ever longer than the packets.
            if all(x.cycles >= length for x in packed):
                packed += [x for x in (self.packed(extraction, made, memories),) if x is not None]
        if not packed:
            raise RefusedError("it wants more registers than there are", self.kernel.span)
        return min(packed, key=lambda x: x.cycles)

    @property
    def moves(self) -> LaneMoves:
        """How the machine moves lanes of the kernel's elements."""
        return lane_moves(self.machine, self.kind())

    def kind(self) -> Type:
        """The type of the elements."""
        kinds = {x.type for x in self.kernel.arrays}
        if len({x.bits for x in kinds}) != 1 or len(kinds) != 1:
            raise RefusedError("elements of several types are not written out together", self.kernel.span)
        kind = next(iter(kinds))
        if kind.bits < 32:
            raise RefusedError(f"elements of {kind} are not written out", self.kernel.span)
        return kind

    def memories(self, scattered: bool) -> dict[str, tuple[str, ...]] | None:
        """The memories of arrays: of vectors and, where they are only read, of single elements; or of these alone where
        elements are stored one by one (`scattered`)."""
        moves = self.moves
        lanes = 0 if scattered else moves.lanes
        if not scattered and not moves.lanes:
            return None
        stored = vector_memory(self.machine, moves.type, lanes, True)
        if not stored:
            return None
        wide = vector_memory(self.machine, moves.type, moves.lanes, False) if moves.lanes else ""
        single = vector_memory(self.machine, moves.type, 0, False)
        written = write_targets(self.kernel)
        read = tuple(dict.fromkeys(x for x in (wide, single) if x))
        return {x.name: (stored,) if x.name in written else read for x in self.kernel.arrays}

    def graph(self, scattered: bool, memories: Mapping[str, tuple[str, ...]]) -> tuple[Vectoriser, list[int]]:
        """The saturated e-graph, and the classes of the stores to each array."""
        straight = write_out(self.kernel, self.reassociate)
        moves = self.moves
        aligned = max((self.machine.memory(x).alignment for y in memories.values() for x in y), default=1)
        alignment = max(1, min(aligned // moves.type.size, moves.lanes))
        made = Vectoriser(straight, moves, alignment, rules=self.rules)
        unified = len(self.machine.memories) == 1
        roots = stores_of(made, not scattered or unified, scattered or unified, self.rules.flat)
        made.saturate(roots)
        return made, [made.graph.find(x) for x in roots]

    # What nodes cost

    def work(self, made: Vectoriser, writer: TermWriter, number: int, node: ENode) -> Work | None:
        """What a node takes, found by writing it once for each kind of node."""
        if isinstance(node.op, LanesTerm | SumTerm | AnyTerm):
            return None
        if isinstance(node.op, ConcatTerm | TakeTerm):
            return Work((), 0)
        if isinstance(node.op, VectorStore) and node.op.place % made.alignment:
            return None
        key = _cost_key(node.op, writer)
        if key not in self.works:
            self.works[key] = self._work(node, made, writer)
        return self.works[key]

    def _work(self, node: ENode, made: Vectoriser, writer: TermWriter) -> Work | None:
        if isinstance(node.op, ScalarTerm):
            return Work((), 0)
        operands = [TermValue(f"x{n}", *x) for n, x in enumerate(given_types(node.op, made.moves, len(node.children)))]
        try:
            instrs = writer.trial(node.op, operands)
        except RefusedError:
            return None
        busy = tuple((frozenset(x.units), x.busy) for x in (self.machine.operation(y.operation) for y in instrs))
        latency = depth_of(instrs, self.machine)
        return Work(busy, -1 if isinstance(node.op, VectorStore | ElementStore) else latency)

    # Packets

    def packed(
        self, extraction: Extraction, made: Vectoriser, memories: Mapping[str, tuple[str, ...]]
    ) -> Saturated | None:
        """The packets of an extraction; None where there are too few registers."""
        lowered = self.lowered(extraction, made, memories)
        items = [x for x in lowered.program.body if isinstance(x, Instr)]
        tried = [(lowered.program, self.options)] if len(items) <= MOST_HEIGHTS else []
        orders = (replace(lowered.program, body=x) for x in register_orders(items, self.machine))
        packed: Packed | None = None
        for program, options in chain(tried, ((x, replace(self.options, ordered=True)) for x in orders)):
            try:
                packed = pack(program, self.machine, options)
            except PlanishError:
                continue
            lowered = replace(lowered, program=program)
            break
        if packed is None:
            return None
        return Saturated(self.kernel, lowered, packed, extraction, len(made.graph), described(extraction))

    def lowered(
        self, extraction: Extraction, made: Vectoriser, memories: Mapping[str, tuple[str, ...]]
    ) -> LoweredStream:
        """The stream of an extraction: loads of what is stored to come first."""
        writer = TermWriter(self.machine, made.moves, made.straight.arrays, memories, self.rules.contract)
        stream = writer.stream
        for scalar in self.kernel.scalars:
            slot = stream.slot_for(scalar.type, 0)
            stream.cells[scalar.name] = StreamCell(StreamRegister(slot[0], scalar.name), slot, scalar.type)
        uses: dict[int, int] = {}
        graph = made.graph
        for node in extraction.nodes.values():
            for x in node.children:
                uses[graph.find(x)] = uses.get(graph.find(x), 0) + 1
        kinds, moves = made.straight.types, made.moves
        values = {n: made_by(x.op, kinds, n, moves) for n, x in extraction.nodes.items()}
        stream.uses = {writer.load(x): uses.get(number, 0) for number, x in values.items()}
        written = write_targets(self.kernel)
        for number in _in_order(extraction, written):
            node = extraction.nodes[number]
            if not isinstance(node.op, ConcatTerm):
                writer.write(node.op, [values[graph.find(x)] for x in node.children], values[number])
        return self.finished(writer, memories)

    def finished(self, writer: TermWriter, memories: Mapping[str, tuple[str, ...]]) -> LoweredStream:
        """The stream with the registers that it is given."""
        items = tuple(writer.stream.root.items)
        used = set(_registers(items))
        slot = Pointers().address_slot(writer.stream)
        given: list[Given] = []
        for scalar in self.kernel.scalars:
            given.append(Given(StreamParameter(scalar.name, writer.stream.cells[scalar.name].register)))
        arrays: list[Array] = [*self.kernel.arrays, *writer.constant_arrays()]
        for array in arrays:
            for memory in writer.stream.memories.get(array.name, ()):
                register = StreamRegister(slot[0], f"{array.name}@{memory}")
                given.append(Given(StreamParameter(register.name, register, memory), array))
        kept = tuple(x for x in given if x.parameter.register in used)
        program = StreamProgram(self.kernel.name, tuple(x.parameter for x in kept), items)
        return LoweredStream(self.kernel, program, kept)


def write_targets(kernel: Kernel) -> frozenset[str]:
    """The arrays that a kernel stores to."""
    return stored_arrays(kernel.body) & {x.name for x in kernel.arrays}


def described(extraction: Extraction) -> str:
    """What was extracted, in words."""
    kinds = {"vector operations": 0, "scalar operations": 0, "moves between lanes": 0, "broadcasts": 0}
    for node in extraction.nodes.values():
        match node.op:
            case ApplyTerm(lanes=True):
                kinds["vector operations"] += 1
            case ApplyTerm():
                kinds["scalar operations"] += 1
            case PermuteTerm() | InsertTerm() | ExtractTerm() | TotalTerm():
                kinds["moves between lanes"] += 1
            case BroadcastTerm() | SpreadTerm():
                kinds["broadcasts"] += 1
            case _:
                pass
    return "written out: " + ", ".join(f"{count} {name}" for name, count in kinds.items() if count)


def _is_scalar(node: ENode) -> bool:
    """Whether a node computes one scalar."""
    return isinstance(node.op, ApplyTerm) and not node.op.lanes


def _cost_key(op: object, writer: TermWriter) -> object:
    match op:
        case ElementTerm() | WindowTerm() | SpreadTerm():
            array, kind = op.array, op.type
            return type(op), writer.memories.get(array), kind
        case VectorStore(array=array) | ElementStore(array=array):
            return type(op), writer.memories.get(array), writer.arrays[array].type
        case ConstantsTerm(values=values, type=kind):
            return type(op), len(set(values)) == 1, kind
        case PermuteTerm(operation=name) | InsertTerm(operation=name) | ExtractTerm(operation=name):
            return type(op), name
        case _:
            return op


def _in_order(extraction: Extraction, written: frozenset[str]) -> Iterator[int]:
    """The classes in an order in which operands come first, and loads of what is stored to before everything else."""
    early = [
        n for n, x in extraction.nodes.items()
        if isinstance(x.op, ElementTerm | WindowTerm | SpreadTerm) and x.op.array in written
    ]  # fmt: skip
    yield from early
    seen = set(early)
    yield from (n for n in extraction.nodes if n not in seen)


def _registers(items: Sequence[Item]) -> Iterator[StreamRegister]:
    for item in items:
        assert isinstance(item, Instr)
        for x in item.operands:
            if isinstance(x, StreamRegister):
                yield x
            elif isinstance(x, MemoryAddress):
                yield from (y for y in (x.base, x.offset) if isinstance(y, StreamRegister))
