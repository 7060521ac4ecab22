"""Random packets for random machines: the simulator in Python beside the one in C, cycle for cycle.

    python -m bench.sweeps.vliw_packets                     # a million packets
    python -m bench.sweeps.vliw_packets --packets 10000 --seed 7

Both must say the same: cycles, what registers and memories hold, how often each packet was issued, and where a fault
ends it, of which kind. Machines differ in units, issue slots, files, ports, widths, latencies and operations.

>>> machine = random_machine(3)
>>> differences(machine, random_code(machine, 5), 5)
''
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import numpy as np

import planish.run.vliw
import planish.vliw.simulator
from bench.harness.journal import Journal
from bench.harness.places import RESULTS
from planish.core.span import Source
from planish.run.vliw.simulator import simulate_fast
from planish.vliw.description import parse_machine
from planish.vliw.machine import MachineOperation, VliwMachine
from planish.vliw.program import (
    Guard,
    Immediate,
    Instr,
    Issue,
    Label,
    MemoryAddress,
    Operand,
    Packet,
    PacketCode,
    StreamRegister,
)
from planish.vliw.simulator.cycles import read_registers, simulate
from planish.vliw.simulator.state import MachineState, make_state

_MOST = 300
"""Cycles after which code that jumps back and forth is ended: a fault, which both are to find."""
_BYTES = 1024
_PROGRAMS = 200
"""For each machine."""

STORE = RESULTS / "vliw_packets.jsonl"

_VALUES = {
    "f": ("a[] + b[]", "a[] - b[]", "a[] * b[]", "fma(a[], b[], d[])", "a[] / b[]", "fmin(a[], b[])", "fmax(a[], b[])",
          "sqrt(a[])", "fabs(a[])", "-b[]", "select(a[] < b[], a[], b[])", "d[] + a[] * b[]"),
    "i": ("a[] + b[]", "a[] - b[]", "a[] * b[]", "a[] & b[]", "a[] | b[]", "a[] ^ b[]", "~a[]", "-a[]", "a[] << b[]",
          "a[] >> b[]", "quo(a[], b[])", "rem(a[], b[])", "a[] // b[]", "a[] % b[]", "min(a[], b[])", "max(a[], b[])",
          "abs(a[])", "select(a[] == b[], 1:T, 0:T)", "a[] * b[] + d[]"),
    "u": ("a[] + b[]", "a[] - b[]", "a[] * b[]", "a[] >> b[]", "quo(a[], b[])", "min(a[], b[])", "a[] ^ b[]"),
}  # fmt: skip
_TYPES = ("f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


def random_machine(seed: int) -> VliwMachine:
    """A machine that nobody built, the same for the same seed."""
    random = Random(f"machine {seed}")
    lanes = random.choice((2, 4, 8))
    count = random.randint(2, 4)
    units = [f"U{i}" for i in range(count)]
    lines = [f'name = "random{seed}"', 'kind = "vliw"', f"update_latency = {random.randint(1, 4)}"]
    for i, unit in enumerate(units):
        lines += [f"[units.{unit}]", f'side = "{"ab"[i % 2]}"']
    if random.random() < 0.3:
        lines += ["[sides]", "a = 1"]
    for name, bits, more in (("V", 64 * lanes, ""), ("S", 64, "predicates = true"), ("A", 64, "addresses = true")):
        lines += [f"[files.{name}]", f"count = {random.randint(3, 9)}", f"bits = {bits}", more]
        lines += [f"{x} = {random.randint(1, 4)}" for x in ("readers", "writers") if random.random() < 0.2]
        lines += ["offsets = true"] if name == "A" or random.random() < 0.5 else []
    for name in ("M", "N"):
        lines += [f"[memories.{name}]", f"bytes = {_BYTES}", f"alignment = {random.choice((1, 4, 8, 64))}"]
    for number in range(random.randint(8, 16)):
        lines += _operation(number, units, lanes, random)
    for x in ("A", "S"):
        lines += [f"[operations.PUT{x}]", f"definition = '(k: i64, d: i64[] @{x}) {{ d[] = k }}'"]
        lines += _taken(units, random)
    if random.random() < 0.5:
        lines += ["[transfers]", f"channels = {random.randint(1, 2)}", f"startup = {random.randint(0, 9)}"]
        lines += [f"bytes_per_cycle = {random.choice((0.5, 1, 3, 8))}", "[files.T]", "count = 4", "bits = 64"]
        lines += ["[operations.MOVE]", 'transfer = "start"', f'from = "{random.choice("MN")}"', 'counts = "T"']
        lines += [f'to = "{random.choice("MN")}"', *_taken(units, random)[:2]]
        lines += ["[operations.WAIT]", 'transfer = "wait"', *_taken(units, random)[:2]]
    lines += ["[operations.GO]", "branch = true", *_taken(units, random, 5)]
    return parse_machine(Source(f"random{seed}.toml", "\n".join(lines)))


def _taken(units: list[str], random: Random, longest: int = 7) -> list[str]:
    chosen = random.sample(units, random.randint(1, len(units)))
    listed = ", ".join(f'"{x}"' for x in chosen)
    busy = [f"busy = {random.randint(2, 4)}"] if random.random() < 0.2 else []
    return [f"units = [{listed}]", f"latency = {random.randint(1, longest)}", *busy]


def _operation(number: int, units: list[str], lanes: int, random: Random) -> list[str]:
    """An operation over lanes or one value, on registers or from or to a memory."""
    type = random.choice(_TYPES)
    bits = int(type[1:])
    value = random.choice(_VALUES[type[0]]).replace("T", type)
    wide = random.random() < 0.5
    rows = random.choice((lanes * 64 // bits, lanes)) if wide else 0
    file, shape = ("V", str(rows)) if wide else ("S", "")
    kind = random.random()
    memory = random.choice("MN")
    if kind < 0.2:
        arrays, value = f"d: {type}[{shape}] @{file}, a: {type}[{shape}] @{memory}", "a[]"
    elif kind < 0.4:
        arrays, value = f"d: {type}[{shape}] @{memory}, a: {type}[{shape}] @{file}", "a[]"
    elif kind < 0.5 and wide:
        other = "S" if random.random() < 0.5 else memory
        arrays = f"d: {type}[{shape}] @V, a: {type}[{shape}] @V, b: {type}[] @{other}"
        value = value.replace("b[]", "b[0]")
    else:
        arrays = ", ".join(f"{x}: {type}[{shape}] @{file}" for x in "dab")
    text = f"d[] = {value}"
    if wide:
        text = text.replace("b[0]", "B").replace("[]", "[l]").replace("B", "b[]")
        text = f"for l in 0 .. {rows} {{ {text} }}"
    return [f"[operations.OP{number}]", f"definition = '({arrays}) {{ {text} }}'", *_taken(units, random)]


def random_code(machine: VliwMachine, seed: int, packets: int = 60) -> PacketCode:
    """Packets that are legal for the most part, as far as that can be told where there are jumps."""
    random = Random(f"code {seed}")
    labels = {f"l{i}": random.randrange(packets + 1) for i in range(3)}
    writer = _Writer(machine, random, labels)
    return PacketCode("random", tuple(writer.packet(i) for i in range(packets)), labels, ())


@dataclass(slots=True)
class _Writer:
    """Packets one after the other: what they keep, and what lands when."""

    machine: VliwMachine
    random: Random
    labels: dict[str, int]
    kept: dict[str, int] = field(default_factory=dict)
    landing: dict[int, list[StreamRegister]] = field(default_factory=dict)
    stores: dict[int, str] = field(default_factory=dict)
    jump: int = -1

    def packet(self, cycle: int) -> Packet:
        """What is issued in a cycle, if no jump goes astray."""
        packet: list[Issue] = []
        sides = dict.fromkeys(self.machine.sides, 0)
        read: set[StreamRegister] = set()
        for unit in self.machine.units:
            if self.random.random() < 0.25:
                continue
            able = [x for x in self.machine.operations if unit.name in x.units]
            able = [x for x in able if not x.branch or (self.jump < cycle and self.random.random() < 0.1)]
            if not able:
                continue
            issue = Issue(self.instr(self.random.choice(able)), unit.name)
            careless = self.random.random() < 0.001
            if careless or self.fits(issue, cycle, sides, read):
                self.take(issue, cycle)
                sides[unit.side] += 1
                read |= read_registers(issue.instr, self.machine)
                packet.append(issue)
        if packet and self.random.random() < 0.0005:
            packet.append(replace(packet[0], unit=self.random.choice(self.machine.units).name))
        return tuple(packet)

    def fits(self, issue: Issue, cycle: int, sides: dict[str, int], read: set[StreamRegister]) -> bool:
        """Whether an operation is legal beside those before it."""
        machine, instr = self.machine, issue.instr
        side = machine.unit(issue.unit).side
        if self.kept.get(issue.unit, 0) > cycle or sides[side] >= machine.sides[side]:
            return False
        together = read | read_registers(instr, machine)
        for file in machine.files:
            if 0 < file.readers < sum(x.file == file.name for x in together):
                return False
        latency = machine.operation(instr.operation).latency
        kind = machine.kind(instr.operation)
        if machine.operation(instr.operation).transfer == "start" and self.random.random() < 0.5:
            return False
        if kind == "store" and cycle + latency in self.stores:
            return False
        for due, register in self.results(instr, cycle):
            landing = self.landing.get(due, [])
            writers = machine.file(register.file).writers
            if register in landing or 0 < writers <= sum(x.file == register.file for x in landing):
                return False
        return True

    def take(self, issue: Issue, cycle: int) -> None:
        """Note what an operation keeps and writes."""
        operation = self.machine.operation(issue.instr.operation)
        self.kept[issue.unit] = cycle + operation.busy
        if operation.branch:
            self.jump = cycle + operation.latency
        elif self.machine.kind(operation.name) == "store":
            self.stores[cycle + operation.latency] = operation.name
        for due, register in self.results(issue.instr, cycle):
            self.landing.setdefault(due, []).append(register)

    def results(self, instr: Instr, cycle: int) -> list[tuple[int, StreamRegister]]:
        """The registers that an operation writes, and when."""
        operation = self.machine.operation(instr.operation)
        count = len(operation.definition.scalars) + len(operation.definition.sizes)
        outputs = instr.operands[count : count + len(self.machine.written(operation.name))]
        found = [(cycle + operation.latency, x) for x in outputs if isinstance(x, StreamRegister)]
        moved = [x.base for x in instr.operands if isinstance(x, MemoryAddress) and x.step != 0]
        return [*found, *((cycle + self.machine.update_latency, x) for x in moved)]

    def instr(self, operation: MachineOperation) -> Instr:
        """An operation with operands of its kinds."""
        random, machine = self.random, self.machine
        guard = Guard(self.register("S"), random.random() < 0.5) if random.random() < 0.2 else None
        if operation.branch:
            return Instr(operation.name, (Label(random.choice(list(self.labels))),), guard)
        small = operation.name == "PUTA"
        numbers = (0, 64, 128) if small else (0, 1, -1, 8, 64, 100, -(2**62))
        operands: list[Operand] = [Immediate(random.choice(numbers)) for _ in operation.definition.scalars]
        operands = [Immediate(random.randrange(2))] if operation.transfer else operands
        used: set[StreamRegister] = set()
        for array in operation.definition.arrays:
            if array.memory in ("M", "N"):
                operands.append(self.address(bool(operation.transfer)))
                continue
            file = array.memory
            free = [x for x in range(machine.file(file).count) if StreamRegister(file, str(x)) not in used]
            register = StreamRegister(file, str(random.choice(free)))
            used |= {register} if array in machine.written(operation.name) else set()
            operands.append(register)
        return Instr(operation.name, tuple(operands), guard)

    def address(self, still: bool) -> MemoryAddress:
        """An address that lies in the memories for the most part."""
        random = self.random
        offsets = ["A", *(x.name for x in self.machine.files if x.offsets)] if random.random() < 0.01 else ["A"]
        offset: int | StreamRegister = 64 * random.randrange(4, 10)
        if random.random() < 0.003:
            offset = random.randint(-8, _BYTES)
        if random.random() < 0.1:
            offset = self.register(random.choice(offsets))
        step: int | StreamRegister = 0 if still else random.choice((0, 0, 0, 0, 64, -64))
        if random.random() < 0.02 and not still:
            step = self.register("A")
        return MemoryAddress(self.register("A"), offset, step)

    def register(self, file: str) -> StreamRegister:
        """Any register of a file."""
        return StreamRegister(file, str(self.random.randrange(self.machine.file(file).count)))


def random_state(machine: VliwMachine, seed: int) -> MachineState:
    """Registers and memories full of numbers, bases of addresses near the beginning."""
    numbers = np.random.default_rng(seed)
    state = make_state(machine, fill=int(numbers.integers(0, 256)))
    for name in state.memories:
        state.memories[name][:] = _bytes(numbers, _BYTES)
    for file in machine.files:
        for number in range(file.count):
            register = StreamRegister(file.name, str(number))
            state.registers[register] = _bytes(numbers, file.bits // 8)
            if file.name == "T":
                state.registers[register] = int(numbers.integers(-3, 20)).to_bytes(8, "little", signed=True)
            elif file.addresses or (file.offsets and numbers.random() < 0.5):
                state.registers[register] = int(numbers.choice([0, 0, 64, 128])).to_bytes(file.bits // 8, "little")
    return state


def _bytes(numbers: np.random.Generator, count: int) -> bytes:
    """Bytes that are small numbers of several types, and any bits now and then."""
    match numbers.integers(0, 4):
        case 0:
            return numbers.bytes(count)
        case 1:
            return numbers.integers(-9, 10, count // 4).astype("int32").tobytes()
        case 2:
            return numbers.integers(-9, 10, count // 4).astype("float32").tobytes()
        case _:
            return (numbers.integers(-9, 10, count // 8) / 4).astype("float64").tobytes()


def differences(machine: VliwMachine, code: PacketCode, seed: int) -> str:
    """What the two simulators do not agree on; empty where they do."""
    state = random_state(machine, seed)
    slow, fast = simulate(code, machine, state, _MOST), simulate_fast(code, machine, state, _MOST)
    faults = [[(x.kind, x.packet, x.cycle) for x in y.faults[:1]] for y in (slow, fast)]
    if faults[0] != faults[1]:
        return f"faults {slow.faults[:1]} and {fast.faults[:1]}"
    if slow.faults:
        return ""
    if (slow.cycles, slow.counts, slow.stalled) != (fast.cycles, fast.counts, fast.stalled):
        return f"{slow.cycles} and {fast.cycles} cycles"
    for name, held in slow.state.memories.items():
        if held != fast.state.memories[name]:
            return f"the bytes of {name}"
    for register in slow.state.registers.keys() | fast.state.registers.keys():
        if slow.state.read(register) != fast.state.read(register):
            return f"{register}: {slow.state.read(register).hex()} and {fast.state.read(register).hex()}"
    return ""


def judge_machine(seed: int) -> dict[str, int]:
    """What becomes of random programs for the random machine of a seed."""
    machine = random_machine(seed)
    found = {"packets": 0, "programs": 0, "faulty": 0, "wrong": 0}
    for number in range(_PROGRAMS):
        code = random_code(machine, 1000 * seed + number)
        problem = differences(machine, code, number)
        if problem:
            print(f"machine {seed}, code {1000 * seed + number}, state {number}: {problem}", flush=True)
        run = simulate_fast(code, machine, random_state(machine, number), _MOST)
        found["packets"] += sum(run.counts)
        found["faulty"] += bool(run.faults)
        found["programs"] += 1
        found["wrong"] += bool(problem)
    return found


def simulator_state() -> str:
    """A digest of what makes and runs the packets."""
    said = hashlib.sha256(Path(__file__).read_bytes())
    for folder in (Path(planish.vliw.simulator.__file__).parent, Path(planish.run.vliw.__file__).parent):
        for path in sorted(folder.rglob("*.py")):
            said.update(path.read_bytes())
    return said.hexdigest()[:16]


def main(arguments: list[str] | None = None) -> int:
    """Compare until as many packets have been issued as are asked for; machines that were judged are in a store, so
    that a run that was ended goes on where it was."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packets", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", type=Path, default=STORE, help="where what was judged is kept")
    given = parser.parse_args(arguments)
    journal = Journal(given.store, simulator_state())
    known, found, seed = journal.recall(), Counter[str](), given.seed
    while found["packets"] < given.packets:
        key = str(seed)
        if key not in known:
            known[key] = judge_machine(seed)
            journal.keep(key, known[key])
        found.update(known[key])
        seed += 1
        if sys.stderr.isatty() or seed % 10 == 0:
            print(f"{summary(found)} on {seed - given.seed} machines", file=sys.stderr, flush=True)
    print(f"{summary(found)} on {seed - given.seed} machines")
    return int(found["wrong"] > 0)


def summary(found: Mapping[str, int]) -> str:
    """Counts in words.

    >>> summary({"packets": 10, "programs": 2, "faulty": 1, "wrong": 0})
    '10 packets of 2 programs, 1 ended by a fault: 0 disagreements'
    """
    packets, programs, faulty, wrong = (found[x] for x in ("packets", "programs", "faulty", "wrong"))
    return f"{packets} packets of {programs} programs, {faulty} ended by a fault: {wrong} disagreements"


if __name__ == "__main__":
    sys.exit(main())
