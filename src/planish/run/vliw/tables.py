"""Code as the tables that the simulator's C reads: packets, operations, operands, with registers as places in bytes.

>>> from planish.vliw.description import load_machine
>>> layout = Layout.of(load_machine("ftmatrix"))
>>> layout.place(StreamRegister("V", "1")) - layout.place(StreamRegister("V", "0")), layout.wide
(128, 128)
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from planish.ir.nest import Array
from planish.ir.types import F32, F64, INDEX, Type
from planish.run.vliw.operations_text import stays_inside
from planish.vliw.machine import VliwMachine
from planish.vliw.program import Immediate, Instr, Issue, MemoryAddress, Packet, PacketCode, StreamRegister
from planish.vliw.simulator.cycles import read_registers, target_of
from planish.vliw.simulator.meaning import meaning_of, size_of

IMMEDIATES = 4
"""How many immediates an operation may have."""

_OPERAND = np.dtype(
    [
        *((x, "i4") for x in ("number", "at", "width", "bytes", "sign", "read", "base", "base_number", "base_bytes")),
        *((x, "i4") for x in ("offset_at", "offset_bytes", "step_at", "step_bytes", "alignment", "copied", "padding")),
        ("offset", "i8"), ("step", "i8"),
    ]
)  # fmt: skip
_ISSUE = np.dtype(
    [
        *((x, "i4") for x in ("function", "unit", "latency", "busy", "guard", "guard_bytes", "negated", "target")),
        *((x, "i4") for x in ("first", "operands", "outputs", "address", "extends", "moves")),
        *((x, "i4") for x in ("transfer", "channel")),
        ("immediates", "i8", (IMMEDIATES,)),
    ]
)  # fmt: skip
_PACKET = np.dtype([(x, "i4") for x in ("first", "issues", "ports", "waits")])


@dataclass(frozen=True, slots=True)
class Layout:
    """Where registers lie, one file after the other, each register at a multiple of what vectors want."""

    machine: VliwMachine
    starts: Mapping[str, int]
    strides: Mapping[str, int]
    numbers: Mapping[str, int]
    bytes: int
    wide: int

    @staticmethod
    def of(machine: VliwMachine) -> Layout:
        """The layout for a machine. `wide`: the bytes of the widest register or operand."""
        starts: dict[str, int] = {}
        strides: dict[str, int] = {}
        numbers: dict[str, int] = {}
        place = number = 0
        for file in machine.files:
            strides[file.name] = 1 << (max(file.bits // 8, 8) - 1).bit_length()
            place = -(-place // 128) * 128
            starts[file.name], numbers[file.name] = place, number
            place += strides[file.name] * file.count
            number += file.count
        operands = [size_of(x) for y in machine.operations if not y.transfer for x in y.definition.arrays]
        wide = max([*strides.values(), *operands])
        return Layout(machine, starts, strides, numbers, place, 1 << (wide - 1).bit_length())

    def place(self, register: StreamRegister) -> int:
        """The first byte of a register."""
        return self.starts[register.file] + int(register.name) * self.strides[register.file]

    def number(self, register: StreamRegister) -> int:
        """The number of a register among those of all files."""
        return self.numbers[register.file] + int(register.name)

    def register(self, number: int) -> StreamRegister:
        """The register of a number."""
        file = [x for x in self.machine.files if self.numbers[x.name] <= number][-1].name
        return StreamRegister(file, str(number - self.numbers[file]))


@dataclass(frozen=True, slots=True)
class OperationTables:
    """The packets, operations and operands of code."""

    packets: np.ndarray[Any, Any]
    issues: np.ndarray[Any, Any]
    operands: np.ndarray[Any, Any]


def make_tables(code: PacketCode, layout: Layout, functions: Mapping[str, int]) -> OperationTables | None:
    """The tables of code that has been checked; None where an immediate leads out of an operand, or may do so."""
    machine = layout.machine
    units = {x.name: i for i, x in enumerate(machine.units)}
    packets: list[tuple[int, ...]] = []
    issues: list[tuple[Any, ...]] = []
    operands: list[tuple[int, ...]] = []
    inside: dict[tuple[str, tuple[int | float, ...]], bool] = {}
    for packet in code.packets:
        waits = any(machine.operation(x.instr.operation).transfer == "wait" for x in packet)
        packets.append((len(issues), len(packet), _read_ports(packet, machine), int(waits)))
        for issue in packet:
            if not _is_inside(issue.instr, machine, inside):
                return None
            found = [] if machine.operation(issue.instr.operation).branch else _operands(issue.instr, layout)
            issues.append(_issue(issue, code, layout, units, functions, len(operands)))
            operands += found
    return OperationTables(
        np.array(packets, _PACKET), np.array(issues, _ISSUE) if issues else np.zeros(1, _ISSUE),
        np.array(operands, _OPERAND) if operands else np.zeros(1, _OPERAND),
    )  # fmt: skip


def _is_inside(instr: Instr, machine: VliwMachine, known: dict[tuple[str, tuple[int | float, ...]], bool]) -> bool:
    operation = machine.operation(instr.operation)
    numbers = tuple(x.value for x in instr.operands if isinstance(x, Immediate))
    key = (instr.operation, numbers if operation.definition.sizes else ())
    if key not in known:
        sizes = dict(zip(operation.definition.sizes, map(int, key[1]), strict=False))
        plain = not operation.branch and not operation.transfer
        known[key] = not plain or stays_inside(operation.definition, sizes)
    return known[key]


def _read_ports(packet: Packet, machine: VliwMachine) -> int:
    """How many values a packet reads from a file that has fewer ports; 0 where it may."""
    read = Counter(x.file for x in {y for issue in packet for y in read_registers(issue.instr, machine)})
    over = [n for name, n in read.items() if 0 < machine.file(name).readers < n]
    return over[0] if over else 0


def _issue(
    issue: Issue, code: PacketCode, layout: Layout, units: Mapping[str, int], functions: Mapping[str, int], first: int
) -> tuple[Any, ...]:  # fmt: skip
    instr = issue.instr
    operation = layout.machine.operation(instr.operation)
    guard = instr.guard
    target = code.labels[str(target_of(instr))] if operation.branch else -1
    types = (INDEX,) if operation.transfer else () if operation.branch else meaning_of(operation).immediates
    raw = [_bits(x.value, type) for x, type in zip(instr.operands, types, strict=False) if isinstance(x, Immediate)]
    return (
        functions.get(operation.name, -1), units[issue.unit], operation.latency, operation.busy,
        layout.place(guard.register) if guard else -1,
        layout.machine.file(guard.register.file).bits // 8 if guard else 0, int(guard.negated) if guard else 0,
        target, first, *_kinds_of_operands(instr, layout.machine), *_transfer(instr, layout.machine),
        raw + [0] * (IMMEDIATES - len(raw)),
    )  # fmt: skip


def _kinds_of_operands(instr: Instr, machine: VliwMachine) -> tuple[int, ...]:
    """How many operands are not immediates, how many are written, which one is an address (-1: none), whether a value
    is narrower than its register, and whether a base moves on."""
    operation = machine.operation(instr.operation)
    if operation.branch or operation.transfer:
        return (0, 0, -1, 0, 0)
    arrays = operation.definition.arrays
    operands = instr.operands[len(instr.operands) - len(arrays) :]
    outputs = machine.written(instr.operation)
    address = next((i for i, x in enumerate(operands) if isinstance(x, MemoryAddress)), -1)
    narrow = any(
        isinstance(x, StreamRegister) and size_of(y) < machine.file(x.file).bits // 8
        for x, y in zip(operands, outputs, strict=False)
    )
    moves = any(isinstance(x, MemoryAddress) and x.step != 0 for x in operands)
    return (len(arrays), len(outputs), address, int(narrow), int(moves))


def _transfer(instr: Instr, machine: VliwMachine) -> tuple[int, int]:
    """Whether an operation starts a transfer (1) or waits for one (2), and on which channel (-1: there is none)."""
    kind = machine.operation(instr.operation).transfer
    if not kind:
        return 0, -1
    channel = instr.operands[0]
    assert isinstance(channel, Immediate)
    known = 0 <= channel.value < machine.transfers.channels
    return 1 if kind == "start" else 2, int(channel.value) if known else -1


def _bits(value: float, type: Type) -> int:
    """An immediate as the 64 bits that C takes it from."""
    if type == F32:
        return int(struct.unpack("<i", struct.pack("<f", np.float32(value)))[0])
    if type == F64:
        return int(struct.unpack("<q", struct.pack("<d", value))[0])
    assert type == INDEX or type.is_int
    return (int(value) & (1 << 64) - 1 ^ 1 << 63) - (1 << 63)


def _operands(instr: Instr, layout: Layout) -> list[tuple[int, ...]]:
    machine = layout.machine
    definition = machine.operation(instr.operation).definition
    count = len(definition.sizes) + len(definition.scalars)
    read = {x.name for x in machine.read(instr.operation)}
    found: list[tuple[int, ...]] = []
    for array, operand in zip(definition.arrays, instr.operands[count:], strict=True):
        is_read = int(array.name in read)
        if isinstance(operand, StreamRegister):
            width = machine.file(operand.file).bits // 8
            sign = int(not array.shape and array.type.kind == "int")
            place = (layout.number(operand), layout.place(operand), width, size_of(array), sign, is_read)
            found.append((*place, *(0,) * 12))
        else:
            assert isinstance(operand, MemoryAddress)
            found.append(_addressed(operand, array, is_read, layout))
    return found


def _addressed(operand: MemoryAddress, array: Array, is_read: int, layout: Layout) -> tuple[int, ...]:
    machine = layout.machine
    number = [x.name for x in machine.memories].index(array.memory)
    size = 1 if None in array.shape else size_of(array)
    alignment = min(machine.memories[number].alignment, size)

    def amount(x: int | StreamRegister) -> tuple[int, int, int]:
        """Where an amount lies (-1: nowhere), its bytes, and the part of it that is known."""
        if isinstance(x, StreamRegister):
            return layout.place(x), machine.file(x.file).bits // 8, 0
        return -1, 0, x

    offset, step = amount(operand.offset), amount(operand.step)
    return (
        number, 0, 0, size, 0, is_read,
        layout.place(operand.base), layout.number(operand.base), machine.file(operand.base.file).bits // 8,
        *offset[:2], *step[:2], alignment, int(alignment % array.type.size != 0), 0,
        offset[2], step[2],
    )  # fmt: skip
