"""One operation with its operands: what it reads of a state, and what it changes there.

>>> from planish.ir.types import I32
>>> from planish.vliw.description import load_machine
>>> from planish.vliw.program import Immediate
>>> from planish.vliw.simulator.state import make_state
>>> machine = load_machine("ftmatrix")
>>> add = Instr("SADDI", (Immediate(3), StreamRegister("S", "1"), StreamRegister("S", "2")))
>>> effect = execute(add, machine, make_state(machine))
>>> [(str(x), y.hex()) for x, y in effect.registers]
[('S.1', '0300000000000000')]
"""

from __future__ import annotations

from dataclasses import dataclass

from planish.core.span import Span
from planish.ir.nest import Array
from planish.ir.types import I64
from planish.vliw.machine import VliwMachine
from planish.vliw.program import Immediate, Instr, MemoryAddress, StreamRegister
from planish.vliw.simulator.meaning import meaning_of, size_of
from planish.vliw.simulator.state import MachineState, extended


@dataclass(frozen=True, slots=True)
class Fault:
    """What a machine does not do: `kind` is stable, `packet` and `cycle` are -1 where there are none."""

    kind: str
    message: str
    instr: Instr | None = None
    packet: int = -1
    cycle: int = -1

    @property
    def span(self) -> Span | None:
        """Where the operation stands in the source."""
        return self.instr.span if self.instr is not None else None

    def __str__(self) -> str:
        place = f"packet {self.packet}, cycle {self.cycle}: " if self.packet >= 0 else ""
        at = f" (`{self.instr}`{f', {self.span}' if self.span else ''})" if self.instr is not None else ""
        return f"{place}{self.message}{at}"


class MachineFault(Exception):
    """Raised with a fault where an operation cannot be done."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


@dataclass(frozen=True, slots=True)
class OperationEffect:
    """What an operation writes: registers, bytes of a memory, and the base of its address, which moves on; and the
    memory, the first byte and the number of bytes that it loads."""

    registers: tuple[tuple[StreamRegister, bytes], ...] = ()
    stored: tuple[str, int, bytes] | None = None
    update: tuple[StreamRegister, bytes] | None = None
    loaded: tuple[str, int, int] | None = None


def passes(instr: Instr, state: MachineState) -> bool:
    """Whether the guard of an operation lets it be done."""
    if instr.guard is None:
        return True
    return any(state.read(instr.guard.register)) != instr.guard.negated


def execute(instr: Instr, machine: VliwMachine, state: MachineState) -> OperationEffect:
    """What an operation, which is no jump, does in a state, whatever its guard says. Raises MachineFault for an access
    out of its memory or that is not aligned, and for an immediate past the lanes that it counts."""
    meaning = meaning_of(machine.operation(instr.operation))
    count = len(meaning.immediates)
    immediates = [x.value for x in instr.operands[:count] if isinstance(x, Immediate)]
    operands = instr.operands[count:]
    raws: list[bytes] = []
    address = -1
    loaded: tuple[str, int, int] | None = None
    for array, operand in zip(meaning.arrays, operands, strict=True):
        if isinstance(operand, MemoryAddress):
            address = place_of(operand, state)
            _check_access(instr, array, address, machine, state)
            raws.append(bytes(state.memories[array.memory][address : address + size_of(array)]))
            if array in machine.read(instr.operation):
                loaded = (array.memory, address, size_of(array))
        else:
            assert isinstance(operand, StreamRegister)
            raws.append(state.read(operand))
    try:
        results = meaning.run(immediates, raws)
    except IndexError as error:
        raise MachineFault(Fault("lanes", f"the definition of {instr.operation}: {error}", instr)) from error
    registers: list[tuple[StreamRegister, bytes]] = []
    stored: tuple[str, int, bytes] | None = None
    for array, operand, raw in zip(meaning.written, operands, results, strict=False):
        if isinstance(operand, StreamRegister):
            registers.append((operand, _in_register(raw, array, state.files[operand.file])))
        else:
            stored = (array.memory, address, raw)
    moved = next((x for x in operands if isinstance(x, MemoryAddress) and x.step != 0), None)
    return OperationEffect(tuple(registers), stored, _moved(moved, state) if moved is not None else None, loaded)


def place_of(operand: MemoryAddress, state: MachineState) -> int:
    """The first byte that an address stands for."""
    return number_in(operand.base, state) + _amount(operand.offset, state)


def _amount(x: int | StreamRegister, state: MachineState) -> int:
    return number_in(x, state) if isinstance(x, StreamRegister) else x


def number_in(register: StreamRegister, state: MachineState) -> int:
    """The signed number of 64 bits that a register holds (of fewer, where it has fewer)."""
    raw = state.read(register)[: I64.size]
    return int.from_bytes(raw, "little", signed=True)


def _moved(operand: MemoryAddress, state: MachineState) -> tuple[StreamRegister, bytes]:
    width = state.files[operand.base.file]
    number = number_in(operand.base, state) + _amount(operand.step, state)
    return operand.base, (number & ((1 << 8 * width) - 1)).to_bytes(width, "little")


def _check_access(instr: Instr, array: Array, address: int, machine: VliwMachine, state: MachineState) -> None:
    memory = machine.memory(array.memory)
    size = size_of(array)
    there = min(memory.bytes, len(state.memories[array.memory]))
    if not 0 <= address <= there - size:
        message = f"{size} bytes at {address} are not in the {there} bytes of {memory.name}"
        raise MachineFault(Fault("outside", message, instr))
    alignment = min(memory.alignment, size)
    if address % alignment:
        message = f"{size} bytes at {address} of {memory.name} do not lie at a multiple of {alignment}"
        raise MachineFault(Fault("unaligned", message, instr))


def _in_register(raw: bytes, array: Array, width: int) -> bytes:
    return raw.ljust(width, b"\0") if array.shape else extended(raw, array.type, width)
