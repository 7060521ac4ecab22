"""The simulator in C: what `planish.vliw.simulator.cycles.simulate` says, some hundred times as fast.

simulate_fast(code, machine, state) == simulate(code, machine, state)   # up to the words of faults
"""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from planish.core.cache import Cache, key
from planish.run.toolchains.toolchain import Compiler, choose_compiler, compile_library, host_features, supports
from planish.run.vliw.core_text import CORE
from planish.run.vliw.operations_text import write_operations
from planish.run.vliw.tables import Layout, OperationTables, make_tables
from planish.vliw.machine import VliwMachine
from planish.vliw.program import PacketCode, StreamRegister
from planish.vliw.simulator.cycles import SimulatedRun, check_code, simulate
from planish.vliw.simulator.execution import Fault
from planish.vliw.simulator.state import MachineState

_FLAGS = ("-O2", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
_KINDS = ("", "outside", "unaligned", "busy", "writes", "ports", "ports", "jumps", "end", "endless", "channel", "moved")
_ALIGNMENT = 128


@dataclass(frozen=True, slots=True)
class Simulator:
    """A machine that has been compiled."""

    machine: VliwMachine
    layout: Layout
    functions: Mapping[str, int]
    library: ctypes.CDLL

    def run(self, code: PacketCode, state: MachineState, most: int = 100_000_000) -> SimulatedRun:
        """As `simulate`, which does it where this one cannot: for immediates that lead out of an operand. Of the
        faults of the cycle in which it stops, there is the first one."""
        faults = check_code(code, self.machine)
        tables = None if faults else make_tables(code, self.layout, self.functions)
        if tables is None:
            return simulate(code, self.machine, state, most)
        return _call(self, code, tables, state.copy(), most)


def simulate_fast(code: PacketCode, machine: VliwMachine, state: MachineState, most: int = 100_000_000) -> SimulatedRun:
    """What comes of packets, by the machine's simulator in C; one is made where there is none yet (seconds, once).

    PlanishError E0801 where there is no C compiler.
    """
    return simulator_for(machine).run(code, state, most)


_made: dict[str, Simulator] = {}


def simulator_for(machine: VliwMachine, compiler: Compiler | None = None, cache: Cache | None = None) -> Simulator:
    """The compiled simulator of a machine, from the cache where one was made before for operations that do the same."""
    compiler = compiler or choose_compiler(None)
    layout = Layout.of(machine)
    text, functions = _text(machine, layout)
    flags = (*_FLAGS, *(("-march=native",) if supports(compiler, "native") else ()))
    address = key("vliw simulator", compiler.stamp, host_features(), flags, text)
    return Simulator(machine, layout, functions, _library(address, compiler, flags, text, cache or Cache()))


@lru_cache(maxsize=64)
def _text_of(machine: _Same, wide: int) -> tuple[str, dict[str, int]]:
    operations, functions = write_operations(machine.machine)
    most = max([1, *(len(x.definition.arrays) for x in machine.machine.operations if not x.transfer)])
    return f"#define WIDE {wide}\n#define OPERANDS {most}\n{operations}{CORE}", functions


class _Same:
    """A machine that is told from others by what it is, not by its contents, which takes long."""

    def __init__(self, machine: VliwMachine) -> None:
        self.machine = machine

    def __hash__(self) -> int:
        return id(self.machine.operations)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.machine.operations is other.machine.operations


def _text(machine: VliwMachine, layout: Layout) -> tuple[str, dict[str, int]]:
    return _text_of(_Same(machine), layout.wide)


_loaded: dict[str, ctypes.CDLL] = {}


def _library(address: str, compiler: Compiler, flags: tuple[str, ...], text: str, cache: Cache) -> ctypes.CDLL:
    """The library of an address in the cache, loaded once in a process."""
    if address not in _loaded:
        with tempfile.TemporaryDirectory(prefix="planish-") as name:
            path = Path(name) / "simulator.so"
            content = cache.get(address)
            if content is None:
                content = compile_library(compiler, text, flags, Path(name), whole=True).read_bytes()
                cache.put(address, content)
            path.write_bytes(content)
            _loaded[address] = ctypes.CDLL(str(path))
    return _loaded[address]


class _Machine(ctypes.Structure):
    _fields_ = (
        ("registers", ctypes.c_void_p), ("file_of", ctypes.c_void_p), ("writers", ctypes.c_void_p),
        ("memories", ctypes.c_void_p), ("sizes", ctypes.c_void_p),
        *((x, ctypes.c_int64) for x in (
            "register_count", "file_count", "unit_count", "ring", "room", "wide", "update_latency", "has_writers",
            "channels", "startup",
        )),
        ("bytes_per_cycle", ctypes.c_double),
    )  # fmt: skip


def _call(
    simulator: Simulator, code: PacketCode, tables: OperationTables, state: MachineState, most: int
) -> SimulatedRun:
    machine, layout = simulator.machine, simulator.layout
    registers = _aligned(layout.bytes)
    registers[:] = state.fill
    for register, raw in state.registers.items():
        if register.name.isdigit():
            place = layout.place(register)
            registers[place : place + len(raw)] = np.frombuffer(raw, "uint8")
    memories = [np.frombuffer(state.memories[x.name], "uint8") for x in machine.memories]  # which change in place
    file_of = np.repeat(np.arange(len(machine.files), dtype="int32"), [x.count for x in machine.files])
    writers = np.array([x.writers for x in machine.files], "int32")
    places = np.array([x.ctypes.data for x in memories] or [0], "uint64")
    sizes = np.array(
        [min(x.bytes, len(y)) for x, y in zip(machine.memories, memories, strict=True)] or [0], "int64"
    )  # fmt: skip
    longest = max([machine.update_latency, *(x.latency for x in machine.operations)])
    call = _Machine(
        registers.ctypes.data, file_of.ctypes.data, writers.ctypes.data, places.ctypes.data, sizes.ctypes.data,
        sum(x.count for x in machine.files), len(machine.files), len(machine.units), 1 << longest.bit_length(),
        _room(machine), layout.wide, machine.update_latency,
        int(bool(writers.any())), machine.transfers.channels, machine.transfers.startup,
        machine.transfers.bytes_per_cycle,
    )  # fmt: skip
    counts = np.zeros(max(1, len(code.packets)), "int64")
    report = np.zeros(8, "int64")
    ended = simulator.library.planish_simulate(
        *(ctypes.c_void_p(x.ctypes.data) for x in (tables.packets, tables.issues, tables.operands)),
        ctypes.c_int64(len(code.packets)), ctypes.byref(call), ctypes.c_int64(most),
        ctypes.c_void_p(counts.ctypes.data), ctypes.c_void_p(report.ctypes.data),
    )  # fmt: skip
    if ended != 0:
        raise MemoryError("the simulator has no memory for what is under way")
    _take_registers(registers, layout, state)
    faults = (_fault(report.tolist(), code, simulator, sizes),) if report[1] else ()
    return SimulatedRun(int(report[0]), state, faults, tuple(counts.tolist()[: len(code.packets)]), int(report[7]))


def _room(machine: VliwMachine) -> int:
    """The most values that can be due in one cycle: a unit has one operation of each latency on its way to it."""
    outputs = max([1, *(len(machine.written(x.name)) for x in machine.operations if not x.branch)])
    due = {(unit, x.latency) for x in machine.operations for unit in x.units}
    return len(due) * outputs + len(machine.units)


def _aligned(size: int) -> np.ndarray[Any, Any]:
    """Bytes that lie where vectors want them."""
    block = np.empty(size + _ALIGNMENT, "uint8")
    start = -block.ctypes.data % _ALIGNMENT
    return block[start : start + size]


def _take_registers(registers: np.ndarray[Any, Any], layout: Layout, state: MachineState) -> None:
    """Registers that hold something else than what fills them all, or did before."""
    for file in layout.machine.files:
        start, stride, width = layout.starts[file.name], layout.strides[file.name], file.bits // 8
        rows = registers[start : start + stride * file.count].reshape(file.count, stride)[:, :width]
        changed = (rows != state.fill).any(axis=1)
        for number in range(file.count):
            register = StreamRegister(file.name, str(number))
            if changed[number] or register in state.registers:
                state.registers[register] = rows[number].tobytes()


def _fault(report: list[int], code: PacketCode, simulator: Simulator, sizes: np.ndarray[Any, Any]) -> Fault:
    """The fault that the C tells of, in words."""
    kind, by, place, cycle, first, second = report[1:7]
    machine = simulator.machine
    every = [(i, x) for i, packet in enumerate(code.packets) for x in packet]
    packet, told = every[by] if by >= 0 else (min(place, len(code.packets) - 1), None)
    match _KINDS[kind]:
        case "outside":
            message = f"bytes at {first} are not in the {sizes[second]} bytes of {machine.memories[second].name}"
        case "unaligned":
            message = f"bytes at {first} of {machine.memories[second].name} do not lie at a multiple of its alignment"
        case "busy":
            message = f"{told.unit if told else 'the unit'} is kept by an earlier operation until cycle {first}"
        case "writes" if first < 0:
            message = f"bytes of {machine.memories[-1 - first].name} are written twice in one cycle"
        case "writes":
            message = f"{simulator.layout.register(first)} is written twice in one cycle"
        case "ports" if kind == _KINDS.index("ports"):
            message = f"more than {second} values are written to {machine.files[first].name}"
        case "ports":
            message = f"{first} values are read from a register file that has fewer ports"
        case "channel":
            message = f"channel {first} is still at work" if second else f"there is no channel {first}"
        case "moved":
            message = f"bytes at {first} of {machine.memories[second].name} are being moved by a transfer"
        case "jumps":
            message = "two jumps arrive in one cycle"
        case "end":
            message = "the code ends while a jump is under way"
        case _:
            message = f"the code does not end in {first} cycles"
    return Fault(_KINDS[kind], message, told.instr if told else None, packet, cycle)
