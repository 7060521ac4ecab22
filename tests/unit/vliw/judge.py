"""The judge of packets: runs a stream one operation after the other, and packets as the machine does; both with numbers
that stand for how a value came about, so that one operation that saw another value than it should changes the result.

It shares nothing with the schedulers but the description of the machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planish.ir.expr import Binary, Cast, Compare, Const, Expr, Load, Select, Var
from planish.ir.nest import Assign, For, Kernel, Reduce
from planish.ir.traverse import expressions, flatten, loads, walk
from planish.vliw.machine import VliwMachine, written_arrays
from planish.vliw.program import (
    Immediate,
    Instr,
    Item,
    Label,
    Loop,
    MemoryAddress,
    Operand,
    PacketCode,
    StreamProgram,
    StreamRegister,
)

MASK = (1 << 61) - 1


class Fault(Exception):
    """Packets do what the machine cannot do."""


@dataclass
class State:
    """Registers and the cells of memories, by address."""

    registers: dict[StreamRegister, int] = field(default_factory=dict)
    cells: dict[tuple[str, int], int] = field(default_factory=dict)

    def read(self, register: StreamRegister) -> int:
        return self.registers.get(register, mixed("nothing", str(register)))

    def cell(self, memory: str, address: int) -> int:
        return self.cells.get((memory, address), mixed("cell", memory, address))


@dataclass
class Effect:
    """What an operation will write: registers and cells with their latencies."""

    registers: list[tuple[StreamRegister, int, int]]
    cells: list[tuple[str, int, int, int]]


def mixed(*parts: object) -> int:
    """A number for some parts."""
    value = 7
    for x in parts:
        for y in str(x).encode():
            value = (value * 1000003 + y) & MASK
    return value


def run_program(program: StreamProgram, machine: VliwMachine, values: Mapping[str, int]) -> State:
    """The state behind a stream; `values` are those of its parameters."""
    state = State({x.register: values[x.name] for x in program.parameters})
    _run_items(program.body, machine, state)
    return state


def _run_items(items: tuple[Item, ...], machine: VliwMachine, state: State) -> None:
    for item in items:
        if isinstance(item, Loop):
            count = item.count if isinstance(item.count, int) else state.read(item.count)
            for _ in range(count):
                _run_items(item.body, machine, state)
        else:
            effect = perform(item, machine, state)
            for register, value, _ in effect.registers:
                state.registers[register] = value
            for memory, address, value, _ in effect.cells:
                state.cells[memory, address] = value


def run_code(
    code: PacketCode, machine: VliwMachine, values: Mapping[str, int], limit: int = 100000
) -> tuple[State, int]:
    """The state behind some packets, and the cycles that they took."""
    state = State({x.register: values[x.name] for x in code.parameters})
    landing: dict[int, list[tuple[StreamRegister, int]]] = {}
    storing: dict[int, list[tuple[str, int, int]]] = {}
    jumps: dict[int, int] = {}
    busy: dict[str, int] = {}
    cycle, at = 0, 0
    while at < len(code.packets):
        if cycle > limit:
            raise Fault("the packets do not end")
        _land(landing, storing, cycle, machine, state)
        _check_packet(code.packets[at], machine, cycle, busy)
        for issue in code.packets[at]:
            operation = machine.operation(issue.instr.operation)
            if not _is_on(issue.instr, state):
                continue
            if operation.branch:
                target = next(x.name for x in issue.instr.operands if isinstance(x, Label))
                if cycle + operation.latency in jumps:
                    raise Fault("two jumps at once")
                jumps[cycle + operation.latency] = code.labels[target]
                continue
            effect = perform(issue.instr, machine, state)
            for register, value, latency in effect.registers:
                landing.setdefault(cycle + latency, []).append((register, value))
            for memory, address, value, latency in effect.cells:
                storing.setdefault(cycle + latency, []).append((memory, address, value))
        cycle += 1
        at = jumps.pop(cycle, at + 1)
    end = max([cycle, *landing, *storing])
    for x in range(cycle, end + 1):
        _land(landing, storing, x, machine, state)
    return state, cycle


def _land(
    landing: dict[int, list[tuple[StreamRegister, int]]],
    storing: dict[int, list[tuple[str, int, int]]],
    cycle: int,
    machine: VliwMachine,
    state: State,
) -> None:
    landed = landing.pop(cycle, [])
    if len({x for x, _ in landed}) < len(landed):
        raise Fault(f"two writes of one register land in cycle {cycle}")
    for file in machine.files:
        if file.writers and sum(x.file == file.name for x, _ in landed) > file.writers:
            raise Fault(f"too many writes of {file.name} land in cycle {cycle}")
    state.registers |= dict(landed)
    for memory, address, value in storing.pop(cycle, []):
        state.cells[memory, address] = value


def _check_packet(packet: tuple[object, ...], machine: VliwMachine, cycle: int, busy: dict[str, int]) -> None:
    sides: dict[str, int] = {}
    read: dict[str, int] = {}
    for issue in packet:
        operation = machine.operation(issue.instr.operation)  # type: ignore[attr-defined]
        unit = issue.unit  # type: ignore[attr-defined]
        if unit not in operation.units:
            raise Fault(f"{operation.name} on {unit}")
        if busy.get(unit, -1) > cycle:
            raise Fault(f"{unit} is busy in cycle {cycle}")
        for x in (y for y in issue.instr.operands if isinstance(y, MemoryAddress)):  # type: ignore[attr-defined]
            offset, step = (y if isinstance(y, int) else 0 for y in (x.offset, x.step))
            if not machine.may_address(operation.name, offset, step, issue.instr.guard is not None):  # type: ignore[attr-defined]
                raise Fault(f"{operation.name} has no address {x}")
        busy[unit] = cycle + operation.busy
        side = machine.unit(unit).side
        sides[side] = sides.get(side, 0) + 1
        for register in _read_registers(issue.instr, machine):  # type: ignore[attr-defined]
            read[register.file] = read.get(register.file, 0) + 1
    for side, count in sides.items():
        if count > machine.sides[side]:
            raise Fault(f"{count} operations of {side} in one packet")
    for file in machine.files:
        if file.readers and read.get(file.name, 0) > file.readers:
            raise Fault(f"too many reads of {file.name}")
        for register in (x for issue in packet for x in _named_registers(issue.instr)):  # type: ignore[attr-defined]
            if register.file == file.name and not 0 <= int(register.name) < file.count:
                raise Fault(f"there is no {register}")


def _named_registers(instr: Instr) -> list[StreamRegister]:
    found = [x for x in instr.operands if isinstance(x, StreamRegister)]
    for x in instr.operands:
        if isinstance(x, MemoryAddress):
            found += [y for y in (x.base, x.offset, x.step) if isinstance(y, StreamRegister)]
    return [*found, *([instr.guard.register] if instr.guard else [])]


def _read_registers(instr: Instr, machine: VliwMachine) -> list[StreamRegister]:
    operands = _bound(machine.operation(instr.operation).definition, instr)
    definition = machine.operation(instr.operation).definition
    read = {x.array for s in walk(definition.body) for e in expressions(s) for x in loads(e)}
    read |= {x.array for x in walk(definition.body) if isinstance(x, Reduce)}
    found = [x for name, x in operands.items() if isinstance(x, StreamRegister) and name in read]
    for x in operands.values():
        if isinstance(x, MemoryAddress):
            found += [y for y in (x.base, x.offset, x.step) if isinstance(y, StreamRegister)]
    return [*found, *([instr.guard.register] if instr.guard else [])]


def _is_on(instr: Instr, state: State) -> bool:
    return instr.guard is None or (state.read(instr.guard.register) != 0) != instr.guard.negated


def _bound(definition: Kernel, instr: Instr) -> dict[str, Operand]:
    names = (*definition.sizes, *(x.name for x in definition.scalars), *(x.name for x in definition.arrays))
    return dict(zip(names, (x for x in instr.operands if not isinstance(x, Label)), strict=True))


def perform(instr: Instr, machine: VliwMachine, state: State) -> Effect:
    """What an operation writes, by what it reads now."""
    effect = Effect([], [])
    if not _is_on(instr, state):
        return effect
    operation = machine.operation(instr.operation)
    definition = operation.definition
    inputs: dict[str, int] = {}
    places: dict[str, tuple[str, int]] = {}
    operands = _bound(definition, instr)
    for name, operand in operands.items():
        match operand:
            case StreamRegister():
                inputs[name] = state.read(operand)
            case Immediate(value=value):
                inputs[name] = int(value)
            case MemoryAddress(base=base, offset=offset, step=step):
                offset, step = (state.read(x) if isinstance(x, StreamRegister) else x for x in (offset, step))
                address = state.read(base) + offset
                memory = definition.array(name).memory
                places[name] = (memory, address)
                inputs[name] = state.cell(memory, address)
                if operand.step != 0:
                    effect.registers.append((base, state.read(base) + step, machine.update_latency))
    for array in written_arrays(definition):
        value = _value_of(definition, array.name, inputs, operation.name)
        operand = operands[array.name]
        if isinstance(operand, StreamRegister):
            effect.registers.append((operand, value, operation.latency))
        else:
            effect.cells.append((*places[array.name], value, operation.latency))
    return effect


def _value_of(definition: Kernel, target: str, inputs: dict[str, int], name: str) -> int:
    body = flatten(definition.body.body)
    match body:
        case [Assign(index=(), value=value)] if not definition.array(target).type.is_float:
            return _evaluate(value, inputs)
        case [For(body=inner)] if isinstance(inner.body[0], Assign) and isinstance(inner.body[0].value, Load):
            return inputs[inner.body[0].value.array]
        case _:
            read = {x.array for s in walk(definition.body) for e in expressions(s) for x in loads(e)}
            read |= {x.array for x in walk(definition.body) if isinstance(x, Reduce)}
            immediates = {*definition.sizes, *(x.name for x in definition.scalars)}
            return mixed(name, target, *(f"{k}={v}," for k, v in sorted(inputs.items()) if k in read | immediates))


def _evaluate(value: Expr, inputs: dict[str, int]) -> int:
    match value:
        case Const(value=number):
            return int(number)
        case Var(name=name) | Load(array=name):
            return inputs[name]
        case Cast(operand=operand):
            return _evaluate(operand, inputs)
        case Select(condition=condition, then=then, otherwise=otherwise):
            return _evaluate(then if _evaluate(condition, inputs) else otherwise, inputs)
        case Compare(op=op, left=left, right=right):
            a, b = _evaluate(left, inputs), _evaluate(right, inputs)
            return int({"lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b, "eq": a == b, "ne": a != b}[op])
        case Binary(op=op, left=left, right=right):
            a, b = _evaluate(left, inputs), _evaluate(right, inputs)
            return {"add": a + b, "sub": a - b}[op]
        case _:
            raise NotImplementedError(value)
