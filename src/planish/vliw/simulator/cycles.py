"""What a machine does with packets, cycle by cycle, and what it does not do: the faults.

A value is read where its register holds it in the cycle of the packet, be it the old one; nothing waits.

>>> from planish.ir.types import I64
>>> from planish.vliw.description import load_machine
>>> from planish.vliw.program import Immediate, Instr, Issue, StreamRegister
>>> from planish.vliw.simulator.state import make_state
>>> machine, x, y = load_machine("ftmatrix"), StreamRegister("S", "1"), StreamRegister("S", "2")
>>> slow = Issue(Instr("SMULID", (Immediate(3), x, x)), "SMAC1")
>>> copy = Issue(Instr("SMOV", (y, x)), "SIEU")
>>> state = make_state(machine)
>>> state.set_register(x, 5, I64)
>>> run = simulate(PacketCode("c", ((slow,), (copy,), (), ()), {}, ()), machine, state)
>>> run.cycles, run.state.register(x, I64), run.state.register(y, I64), run.faults
(4, 15, 5, ())
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from planish.vliw.machine import VliwMachine
from planish.vliw.operands import check_operands
from planish.vliw.program import Instr, Label, MemoryAddress, Packet, PacketCode, StreamRegister
from planish.vliw.simulator.execution import Fault, MachineFault, OperationEffect, execute, passes
from planish.vliw.simulator.state import MachineState
from planish.vliw.simulator.transfers import TransferredBlock, block_of, channel_of, done_at, perform


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """What came of packets: the cycles until all is written, what the machine holds then, how often each packet was
    issued, the faults at which it stopped (none: it ran to its end), and how many of the cycles everything was held up
    until a transfer was done."""

    cycles: int
    state: MachineState
    faults: tuple[Fault, ...]
    counts: tuple[int, ...]
    stalled: int = 0


def simulate(code: PacketCode, machine: VliwMachine, state: MachineState, most: int = 10_000_000) -> SimulatedRun:
    """Run packets from a state, which stays as it is; it ends behind the last one, at a fault, or after `most` cycles,
    which is a fault too. Registers are the machine's own: names that are no numbers below the file's count are faults.
    """
    faults = check_code(code, machine)
    if faults:
        return SimulatedRun(0, state.copy(), tuple(faults), (0,) * len(code.packets))
    core = _Core(code, machine, state.copy())
    last = -1
    while core.faults == [] and (core.place < len(code.packets) or core.is_busy()):
        if core.cycle >= most:
            core.fault("endless", f"the code does not end in {most} cycles", None)
            break
        core.land()
        if core.place < len(code.packets) and not core.faults:
            core.issue(code.packets[core.place])
        if core.place < len(code.packets):
            last = core.cycle
        core.advance()
    cycles = max(last + 1 + core.stalled, core.landed, *(done for _, done in core.blocks))
    return SimulatedRun(cycles, core.state, tuple(core.faults), tuple(core.counts), core.stalled)


def check_code(code: PacketCode, machine: VliwMachine) -> list[Fault]:
    """The faults that packets have whatever the values are: units, issue slots, operands, registers, labels."""
    return [y for number, packet in enumerate(code.packets) for y in _check_packet(number, packet, code, machine)]


def _check_packet(number: int, packet: Packet, code: PacketCode, machine: VliwMachine) -> Iterator[Fault]:
    parts = machine.parts()
    taken: Counter[str] = Counter()
    sides: Counter[str] = Counter()
    for issue in packet:
        problem = check_operands(issue.instr, machine) or _registers(issue.instr, machine)
        if problem:
            yield Fault("operands", problem, issue.instr, number)
            continue
        operation = machine.operation(issue.instr.operation)
        if issue.unit not in operation.units:
            yield Fault("unit", f"{issue.unit} does not take {operation.name}", issue.instr, number)
            continue
        for part in parts[issue.unit]:
            taken[part.name] += 1
            sides[part.side] += 1
            if taken[part.name] == 2 and not part.shared:
                yield Fault("unit", f"{part.name} is to take two operations", issue.instr, number)
            if sides[part.side] == machine.sides[part.side] + 1:
                told = f"more than {machine.sides[part.side]} operations of side {part.side}"
                yield Fault("slots", told, issue.instr, number)
        if operation.branch:
            label = target_of(issue.instr)
            if label is None or label not in code.labels:
                yield Fault("label", f"{operation.name} has no label of this code", issue.instr, number)


def target_of(instr: Instr) -> str | None:
    """The label that a jump goes to."""
    return next((x.name for x in instr.operands if isinstance(x, Label)), None)


def _registers(instr: Instr, machine: VliwMachine) -> str:
    for register in registers_of(instr):
        count = machine.file(register.file).count
        if not (register.name.isdigit() and int(register.name) < count):
            return f"{register} is none of the {count} registers of {register.file}"
    return ""


def registers_of(instr: Instr) -> Iterator[StreamRegister]:
    """All registers that stand in an operation, its guard first."""
    if instr.guard is not None:
        yield instr.guard.register
    for operand in instr.operands:
        match operand:
            case StreamRegister():
                yield operand
            case MemoryAddress(base=base, offset=offset, step=step):
                yield from (x for x in (base, offset, step) if isinstance(x, StreamRegister))
            case _:
                pass


def read_registers(instr: Instr, machine: VliwMachine) -> set[StreamRegister]:
    """The registers that an operation reads in the cycle in which it is issued."""
    operation = machine.operation(instr.operation)
    definition = operation.definition
    count = len(definition.sizes) + len(definition.scalars)
    read = {x.name for x in machine.read(instr.operation)}
    found = {instr.guard.register} if instr.guard is not None else set()
    for array, operand in zip(definition.arrays, instr.operands[count:], strict=False):
        if isinstance(operand, StreamRegister):
            found |= {operand} if array.name in read else set()
        elif isinstance(operand, MemoryAddress):
            found |= {x for x in (operand.base, operand.offset, operand.step) if isinstance(x, StreamRegister)}
    return found


@dataclass(slots=True)
class _Core:
    """A machine under way: what is still to be written, in which cycle, and which units are kept until when; `free`:
    when all transfers are done that were started."""

    code: PacketCode
    machine: VliwMachine
    state: MachineState
    cycle: int = 0
    place: int = 0
    landed: int = 0
    writes: dict[int, list[tuple[StreamRegister, bytes, Instr, int]]] = field(default_factory=dict)
    stores: dict[int, list[tuple[str, int, bytes, Instr, int]]] = field(default_factory=dict)
    jumps: dict[int, int] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    blocks: list[tuple[TransferredBlock, int]] = field(default_factory=list)
    free: int = 0
    stalled: int = 0
    faults: list[Fault] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.counts = [0] * len(self.code.packets)

    def is_busy(self) -> bool:
        """Whether something is still to be written, or a jump under way."""
        return bool(self.writes or self.stores or self.jumps)

    def fault(self, kind: str, message: str, instr: Instr | None, packet: int | None = None) -> None:
        """Note what is wrong in this cycle."""
        place = self.place if packet is None else packet
        self.faults.append(Fault(kind, message, instr, place, self.cycle))

    def land(self) -> None:
        """Write what is due in this cycle, before packets read."""
        if self.blocks:
            self.blocks = [(x, done) for x, done in self.blocks if done > self.cycle + self.stalled]
        due = self.writes.pop(self.cycle, [])
        ports: Counter[str] = Counter()
        seen: set[StreamRegister] = set()
        for register, raw, instr, packet in due:
            if register in seen:
                self.fault("writes", f"{register} is written twice in one cycle", instr, packet)
            seen.add(register)
            ports[register.file] += 1
            writers = self.machine.file(register.file).writers
            if writers and ports[register.file] == writers + 1:
                self.fault("ports", f"more than {writers} values are written to {register.file}", instr, packet)
            self.state.registers[register] = raw
        stores = self.stores.pop(self.cycle, [])
        for i, (memory, address, raw, instr, packet) in enumerate(stores):
            if any(x == memory and y < address + len(raw) and address < y + len(z) for x, y, z, *_ in stores[:i]):
                self.fault("writes", f"bytes of {memory} are written twice in one cycle", instr, packet)
            self.check_moved(memory, address, len(raw), True, instr, packet)
            self.state.memories[memory][address : address + len(raw)] = raw
        if due or stores:
            self.landed = self.cycle + self.stalled
        if self.place >= len(self.code.packets) and self.jumps:
            self.fault("end", "the code ends while a jump is under way", None, len(self.code.packets) - 1)

    def issue(self, packet: Packet) -> None:
        """Issue a packet: all its operations read before any of them writes."""
        self.counts[self.place] += 1
        started: list[TransferredBlock] = []
        for issue in packet:
            if self.machine.operation(issue.instr.operation).transfer == "wait" and passes(issue.instr, self.state):
                self.wait(issue.instr)
        read: set[StreamRegister] = set()
        for issue in packet:
            instr = issue.instr
            if self.kept.get(issue.unit, 0) > self.cycle:
                told = f"{issue.unit} is kept by an earlier operation until cycle {self.kept[issue.unit]}"
                self.fault("busy", told, instr)
            self.kept[issue.unit] = self.cycle + self.machine.operation(instr.operation).busy
            read |= read_registers(instr, self.machine)
            if passes(instr, self.state):
                self.start(instr, started)
        for block in started:
            perform(block, self.state)
            self.free = done_at(block, self.machine, self.cycle + self.stalled, self.free)
            self.blocks.append((block, self.free))
        files = Counter(x.file for x in read)
        for name, count in files.items():
            readers = self.machine.file(name).readers
            if readers and count > readers:
                self.fault("ports", f"{count} values are read from {name}, which has {readers} ports", packet[0].instr)

    def wait(self, instr: Instr) -> None:
        """Hold everything up, what is under way too, until a channel has done its transfer."""
        try:
            channel = channel_of(instr, self.machine)
        except MachineFault as error:
            self.fault(error.fault.kind, error.fault.message, instr)
            return
        for block, done in self.blocks:
            if block.channel == channel:
                self.stalled += max(0, done - self.cycle - self.stalled)
        self.blocks = [(x, done) for x, done in self.blocks if done > self.cycle + self.stalled]

    def begin(self, instr: Instr, started: list[TransferredBlock]) -> None:
        """A transfer begins behind the packet, which may still read what it moves."""
        block = block_of(instr, self.machine, self.state)
        if any(x.channel == block.channel for x in (*(y for y, _ in self.blocks), *started)):
            self.fault("channel", f"channel {block.channel} is still at work", instr)
            return
        for i in range(block.rows if block.total else 0):
            self.check_moved(block.to, block.d + i * block.d_step, block.bytes, True, instr, self.place)
            self.check_moved(block.source, block.s + i * block.s_step, block.bytes, False, instr, self.place)
        started.append(block)

    def check_moved(self, memory: str, start: int, count: int, is_store: bool, instr: Instr, packet: int) -> None:
        """A fault where an access meets a transfer that is under way."""
        if any(x.meets(memory, start, count, is_store) for x, _ in self.blocks):
            self.fault("moved", f"bytes at {start} of {memory} are being moved by a transfer", instr, packet)

    def start(self, instr: Instr, started: list[TransferredBlock]) -> None:
        """Start one operation: what it writes is under way."""
        operation = self.machine.operation(instr.operation)
        due = self.cycle + operation.latency
        if operation.branch:
            if due in self.jumps:
                self.fault("jumps", "two jumps arrive in one cycle", instr)
            self.jumps[due] = self.code.labels[str(target_of(instr))]
            return
        if operation.transfer == "wait":
            return
        try:
            if operation.transfer == "start":
                self.begin(instr, started)
                return
            effect = execute(instr, self.machine, self.state)
            if effect.loaded is not None:
                self.check_moved(*effect.loaded, False, instr, self.place)
            self.enter(effect, instr, due)
        except MachineFault as error:
            self.fault(error.fault.kind, error.fault.message, instr)

    def enter(self, effect: OperationEffect, instr: Instr, due: int) -> None:
        """Note what is to be written, and when."""
        for register, raw in effect.registers:
            self.writes.setdefault(due, []).append((register, raw, instr, self.place))
        if effect.stored is not None:
            self.stores.setdefault(due, []).append((*effect.stored, instr, self.place))
        if effect.update is not None:
            moved = self.cycle + self.machine.update_latency
            self.writes.setdefault(moved, []).append((*effect.update, instr, self.place))

    def advance(self) -> None:
        """Go to the next packet, or where a jump goes that arrives."""
        self.cycle += 1
        self.place = self.jumps.pop(self.cycle, min(self.place + 1, len(self.code.packets)))
