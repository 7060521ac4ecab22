"""Terms become operations: what a node of the e-graph is on a machine, found as for streams by definitions.

>>> from planish.ir.types import F32
>>> from planish.vliw.description import load_machine
>>> from planish.vliw.saturation.lanes import lane_moves
>>> machine = load_machine("ftmatrix")
>>> writer = TermWriter(machine, lane_moves(machine, F32), {}, {})
>>> from planish.vliw.saturation.terms import head_of
>>> mac = ApplyTerm(head_of("x + y * z", F32), True)
>>> [x.operation for x in writer.trial(mac, [TermValue(x, F32, True) for x in "abc"])]
['VFMULAS32']
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from planish.ir.expr import Const, Expr, Load, index
from planish.ir.index.polynomial import add
from planish.ir.nest import Array
from planish.ir.traverse import loads
from planish.ir.types import INDEX, Type
from planish.vliw.machine import VliwMachine, operand_names, written_arrays
from planish.vliw.program import Immediate, Instr, Operand, StreamRegister
from planish.vliw.saturation.lanes import LaneMoves
from planish.vliw.saturation.terms import (
    ApplyTerm,
    BroadcastTerm,
    ConstantsTerm,
    ElementStore,
    ElementTerm,
    ExtractTerm,
    InsertTerm,
    NumberTerm,
    PermuteTerm,
    ScalarTerm,
    SpreadTerm,
    TakeTerm,
    TotalTerm,
    VectorStore,
    WindowTerm,
    cell,
    operand_types,
    result_type,
    with_operands,
)
from planish.vliw.streams.addresses import Pointers, base_name
from planish.vliw.streams.lower import patterns_of
from planish.vliw.streams.patterns import LANE
from planish.vliw.streams.placement import serves
from planish.vliw.streams.selection import Slot, operand_slot
from planish.vliw.streams.stream import RefusedError, Stream, StreamCell


@dataclass(frozen=True, slots=True)
class TermValue:
    """A scalar or a vector by its name."""

    name: str
    type: Type
    lanes: bool


@dataclass(slots=True)
class TermWriter:
    """Writes terms into a stream. `memories`: where arrays lie; `tables`: vectors of
    constants of each type, and their numbers."""

    machine: VliwMachine
    moves: LaneMoves
    arrays: Mapping[str, Array]
    memories: Mapping[str, tuple[str, ...]]
    contract: bool = True
    stream: Stream = field(init=False)
    tables: dict[Type, dict[tuple[float, ...], int]] = field(default_factory=dict)
    _slots: dict[tuple[Type, bool], Slot] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Begin with an empty stream."""
        patterns = patterns_of(self.machine)
        self.stream = Stream(patterns, Pointers(), self.contract)
        slot = Pointers().address_slot(self.stream)
        for array in self.arrays.values():
            self.declare(array, self.memories.get(array.name, ()), slot)

    def declare(self, array: Array, memories: Sequence[str], slot: Slot) -> None:
        """An array in some memories, as elements one after the other."""
        self.stream.arrays[array.name] = Array(array.name, array.type, (None,))
        self.stream.memories[array.name] = tuple(memories)
        for memory in memories:
            name = base_name(array.name, memory)
            self.stream.cells[name] = StreamCell(StreamRegister(slot[0], name[1:]), slot, INDEX)

    def slot(self, value: TermValue) -> Slot:
        """Where a value lives."""
        key = (value.type, value.lanes)
        if key not in self._slots:
            self._slots[key] = self.stream.slot_for(value.type, self.moves.lanes if value.lanes else 0)
        return self._slots[key]

    def hold(self, value: TermValue, register: StreamRegister) -> None:
        """A register has a value from now on."""
        self.stream.root.held[self.load(value), self.slot(value)] = register

    def load(self, value: TermValue) -> Load:
        """What stands for a value in expressions."""
        return cell(value.name, value.type, LANE if value.lanes else None)

    def register(self, value: TermValue) -> StreamRegister:
        """The register that holds a value."""
        return self.stream.value(self.load(value), self.slot(value))

    def trial(self, op: Hashable, operands: Sequence[TermValue]) -> list[Instr]:
        """The operations that a term takes, its operands being there. RefusedError where the machine has none."""
        before = self.stream
        self.start()
        try:
            for x in operands:
                self.hold(x, self.stream.fresh(self.slot(x)[0]))
            self.write(op, operands, made_by(op, {}, 0, self.moves))
            return [x for x in self.stream.root.items if isinstance(x, Instr)]
        finally:
            self.stream = before

    def write(self, op: Hashable, operands: Sequence[TermValue], made: TermValue) -> None:
        """A term's operations; what they make is held as `made`."""
        stream = self.stream
        match op:
            case VectorStore(array=array, place=place):
                self.store(array, place, operands[0])
            case ElementStore(array=array, place=place):
                self.store(array, place, operands[0])
            case ScalarTerm(name=name):
                known = stream.cells.get(name)
                self.hold(made, known.register if known is not None else stream.fresh(self.slot(made)[0]))
            case PermuteTerm() | InsertTerm() | ExtractTerm() | TotalTerm():
                self.hold(made, self.moved(op, operands, made))
            case TakeTerm():
                self.hold(made, self.register(operands[0]))
            case ConstantsTerm(values=values, type=kind):
                self.hold(made, self.constants(values, kind, made))
            case _:
                self.hold(made, stream.value(self.expression(op, operands), self.slot(made)))

    def expression(self, op: Hashable, operands: Sequence[TermValue]) -> Expr:
        """What a term computes, as streams have it."""
        match op:
            case ElementTerm(array=array, place=place, type=kind) | SpreadTerm(array=array, place=place, type=kind):
                return Load(array, (index(place),), kind)
            case WindowTerm(array=array, place=place, type=kind):
                return Load(array, (add(index(place), LANE),), kind)
            case NumberTerm(value=value, type=kind):
                return Const(value, kind)
            case BroadcastTerm():
                return self.load(operands[0])
            case ApplyTerm(head=head):
                given = zip(head.operands, operands, strict=True)
                return with_operands(head, {name: self.load(x) for name, x in given})
            case _:
                raise AssertionError(f"{op} is no operation")

    def constants(self, values: tuple[float, ...], kind: Type, made: TermValue) -> StreamRegister:
        """A vector of constants: of a number in an operation's text, or from memory."""
        if len(set(values)) == 1:
            try:
                return self.stream.value(Const(values[0] if kind.is_float else int(values[0]), kind), self.slot(made))
            except RefusedError:
                pass
        own = self.tables.setdefault(kind, {})
        place = own.setdefault(values, len(own)) * len(values)
        name = table_name(kind)
        if name not in self.stream.arrays:
            memory = vector_memory(self.machine, kind, self.moves.lanes, False)
            self.declare(Array(name, kind, (None,)), (memory,), Pointers().address_slot(self.stream))
        return self.stream.value(Load(name, (add(index(place), LANE),), kind), self.slot(made))

    def constant_arrays(self) -> list[Array]:
        """The arrays of the vectors of constants in memory: one of each type, so that they have one address."""
        return [
            Array(table_name(kind), kind, (index(sum(map(len, own))),), values=tuple(y for x in own for y in x))
            for kind, own in self.tables.items()
        ]

    def moved(
        self, op: PermuteTerm | InsertTerm | ExtractTerm | TotalTerm, operands: Sequence[TermValue], made: TermValue
    ) -> StreamRegister:
        """An operation that moves values between lanes."""
        definition = self.machine.operation(op.operation).definition
        (result,) = written_arrays(definition)
        lane = op.lane if isinstance(op, InsertTerm | ExtractTerm) else None
        immediate = op.immediate if isinstance(op, PermuteTerm) else lane
        vectors = [x for x in operands if x.lanes and x.type == self.moves.type]
        others = [x for x in operands if x not in vectors]
        made_in = self.stream.fresh(result.memory)
        named: list[Operand] = []
        for name in operand_names(definition):
            array = next((x for x in definition.arrays if x.name == name), None)
            if name == result.name:
                named.append(made_in)
            elif array is None:
                assert immediate is not None
                named.append(Immediate(immediate))
            else:
                own = vectors if array.shape and array.type == self.moves.type else others
                named.append(self.register(own.pop(0)))
        self.stream.root.items.append(Instr(op.operation, tuple(named)))
        return made_in

    def store(self, array: str, place: int, value: TermValue) -> None:
        """A value goes to memory."""
        stream, lanes = self.stream, self.moves.lanes if value.lanes else 0
        kind, near = stream.arrays[array].type, stream.memories[array]
        for pattern in stream.patterns.patterns:
            own = pattern.result
            alike = own.type.bits == kind.bits and own.type.is_float == kind.is_float
            if own.memory not in near or pattern.lanes != lanes or not alike or not isinstance(pattern.value, Load):
                continue
            (operand,) = [x.array for x in loads(pattern.value)]
            slot = operand_slot(pattern, operand)
            assert slot is not None
            made = stream.value(self.load(value), slot)
            target = Load(array, (add(index(place), LANE) if lanes else index(place),), kind)
            address, known = stream.access.address(stream, target, own.memory, lanes)
            stream.write(pattern, {operand: made}, address, known)
            return
        raise RefusedError(f"no operation stores {'vectors' if lanes else 'elements'} of `{array}`")


def table_name(kind: Type) -> str:
    """The array that holds vectors of constants of a type."""
    return f"constants.{kind}"


def vector_memory(machine: VliwMachine, kind: Type, lanes: int, stored: bool) -> str:
    """The smallest memory whose elements of a type are loaded, and stored, by so many lanes (0: one by one); "" where
    there is none."""
    from_small = sorted(machine.memories, key=lambda x: x.bytes)
    patterns = patterns_of(machine)
    wanted = ((False,), (False, True))[stored]
    return next((m.name for m in from_small if all(serves(patterns, kind, m.name, lanes, x) for x in wanted)), "")


def made_by(op: Hashable, kinds: Mapping[int, Type], number: int, moves: LaneMoves) -> TermValue:
    """What a node makes: a scalar or a vector, and of which type."""
    match op:
        case ApplyTerm(head=head, lanes=lanes):
            return TermValue(f"v{number}", result_type(head), lanes)
        case ElementTerm(type=kind) | NumberTerm(type=kind) | ScalarTerm(type=kind):
            return TermValue(f"v{number}", kind, False)
        case WindowTerm(type=kind) | ConstantsTerm(type=kind) | SpreadTerm(type=kind):
            return TermValue(f"v{number}", kind, True)
        case ExtractTerm() | TotalTerm():
            return TermValue(f"v{number}", moves.type, False)
        case _:
            return TermValue(f"v{number}", kinds.get(number, moves.type), True)


def given_types(op: Hashable, moves: LaneMoves, count: int) -> list[tuple[Type, bool]]:
    """The types of a node's operands, and whether they are vectors."""
    match op:
        case ApplyTerm(head=head, lanes=lanes):
            return [(x, lanes) for x in operand_types(head)]
        case BroadcastTerm():
            return [(moves.type, False)]
        case ElementStore():
            return [(moves.type, False)]
        case InsertTerm():
            return [(moves.type, True), (moves.type, False)]
        case PermuteTerm(is_table=True):
            assert moves.table is not None
            return [*[(moves.type, True)] * (count - 1), (moves.table, True)]
        case _:
            return [(moves.type, True)] * count
