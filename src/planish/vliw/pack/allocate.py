"""Register allocation of packets: virtual registers become the machine's own, latencies counted exactly.

A register is taken from the cycle in which a write lands to the last one in which it is read; while a write is under
way the register may hold something else. Two values conflict where one lands while the other is still wanted, on any
path through the packets.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.machine import VliwMachine, MachineOperation, VliwRegisterFile, Unit
>>> from planish.vliw.program import PacketCode, Instr, Issue, StreamParameter
>>> neg = parse_kernel("kernel NEG(d: f32[4] @V, a: f32[4] @V) { for l in 0 .. 4 { d[l] = -a[l] } }")
>>> tiny = VliwMachine("tiny", {"v": 1}, (Unit("U", "v"),), (VliwRegisterFile("V", 2, 128),), (),
...     (MachineOperation("NEG", "NEG {d}, {a}", neg, ("U",), latency=2),))
>>> a, b, c = (StreamRegister("V", x) for x in "abc")
>>> packets = tuple((Issue(Instr("NEG", x), "U"),) for x in ((b, a), (c, a)))
>>> code = PacketCode("k", packets, {}, (StreamParameter("a", a),))
>>> for packet in allocate(code, tiny).packets: print(packet[0].instr)
NEG V.0, V.0
NEG V.0, V.0
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from planish.vliw.machine import VliwMachine
from planish.vliw.pack.confinement import Confined, confinement
from planish.vliw.pack.effects import Described, Effects
from planish.vliw.program import Guard, Instr, Issue, Label, MemoryAddress, Operand, PacketCode, StreamRegister


class TooFewRegisters(Exception):
    """A file has not enough registers; `wanted` of it are needed at once, and `blocked` got none."""

    def __init__(self, file: str, wanted: int, blocked: tuple[StreamRegister, ...]) -> None:
        super().__init__(f"{wanted} registers of {file} are wanted at once")
        self.file, self.wanted, self.blocked = file, wanted, blocked


def allocate(code: PacketCode, machine: VliwMachine) -> PacketCode:
    """The same packets over the machine's registers. TooFewRegisters where that needs more than there are."""
    conflicts = find_conflicts(code, machine)
    confined = confinement((x.instr for packet in code.packets for x in packet), machine)
    if confined.contradiction is not None:
        few = confined.contradiction
        raise TooFewRegisters(few.file, machine.file(few.file).count + 1, (few,))
    names: dict[StreamRegister, StreamRegister] = {}
    places = machine.calling.arguments if machine.calling is not None else ()
    fixed = {x.register: number for x, (file_, number) in zip(code.parameters, places, strict=False)
             if x.register.file == file_}  # fmt: skip
    for file in machine.files:
        own = {k: v for k, v in conflicts.items() if k.file == file.name}
        names |= _colour(own, file.name, file.count, fixed, confined)
    packets = tuple(tuple(Issue(rename(x.instr, names), x.unit) for x in packet) for packet in code.packets)
    parameters = tuple(replace(x, register=names.get(x.register, x.register)) for x in code.parameters)
    return PacketCode(code.name, packets, code.labels, parameters)


def rename(instr: Instr, names: Mapping[StreamRegister, StreamRegister]) -> Instr:
    """An operation over other registers."""

    def renamed(operand: Operand) -> Operand:
        match operand:
            case StreamRegister():
                return names.get(operand, operand)
            case MemoryAddress(base=base, offset=offset, step=step):
                fresh = (names.get(x, x) if isinstance(x, StreamRegister) else x for x in (offset, step))
                return MemoryAddress(names.get(base, base), *fresh)
            case _:
                return operand

    guard = instr.guard and Guard(names.get(instr.guard.register, instr.guard.register), instr.guard.negated)
    return replace(instr, operands=tuple(renamed(x) for x in instr.operands), guard=guard)


def successors(code: PacketCode, machine: VliwMachine) -> list[list[int]]:
    """The packets that may run in the cycle after each; the number of packets stands for the end."""
    after: list[list[int]] = [[i + 1] for i in range(len(code.packets))]
    for i, packet in enumerate(code.packets):
        for issue in packet:
            operation = machine.operation(issue.instr.operation)
            if operation.branch:
                target = next(code.labels[x.name] for x in issue.instr.operands if isinstance(x, Label))
                at = i + operation.latency - 1
                after[at] = [target, *after[at]] if issue.instr.guard else [target]
    return after


@dataclass(frozen=True, slots=True)
class _Landing:
    """A write that lands: where it was issued, how long ago, and whether it is done for certain."""

    register: StreamRegister
    issued: int
    latency: int
    certain: bool


@dataclass(frozen=True, slots=True)
class _Liveness:
    """For each packet what lands, and the registers that are wanted behind that, as bits by their `numbers`."""

    effects: Sequence[Sequence[Effects]]
    landed: Sequence[Sequence[_Landing]]
    live: Sequence[int]
    numbers: Mapping[StreamRegister, int]


def most_taken(code: PacketCode, machine: VliwMachine, file: str, packets: Iterable[int]) -> int:
    """How many registers of a file the fullest of some packets has taken."""
    found = _liveness(code, machine)
    own = sum(1 << number for register, number in found.numbers.items() if register.file == file)
    return max((_taken_in(found, i, own) for i in packets), default=0)


def _taken_in(found: _Liveness, packet: int, own: int) -> int:
    here = found.live[packet]
    for x in found.landed[packet]:
        here |= 1 << found.numbers[x.register]
    return (here & own).bit_count()


def _liveness(code: PacketCode, machine: VliwMachine) -> _Liveness:
    described = Described(machine)
    effects = [[described.effects(x.instr) for x in packet] for packet in code.packets]
    after = successors(code, machine)
    # What is under way when the packets end still lands, a register at a time.
    late = max((y.latency for packet in effects for x in packet for y in x.writes), default=0)
    after += [[i + 1] for i in range(len(effects), len(effects) + late)]
    effects += [[] for _ in range(late)]
    numbers: dict[StreamRegister, int] = {}
    for register in _mentioned(effects, code):
        numbers.setdefault(register, len(numbers))
    landed = _landings(effects, after, code)
    before = _before(after)
    killed = [_killed(landed, i, before, numbers) for i in range(len(after) + 1)]
    return _Liveness(effects, landed, _live(effects, after, killed, numbers), numbers)


def find_conflicts(code: PacketCode, machine: VliwMachine) -> dict[StreamRegister, set[StreamRegister]]:
    """For each register of the packets those that cannot be the same one of the machine's."""
    found = _liveness(code, machine)
    effects, numbers = found.effects, found.numbers
    registers = list(numbers)
    conflicts: dict[StreamRegister, set[StreamRegister]] = {x: set() for x in registers}
    masks = dict.fromkeys(registers, 0)
    of_file: dict[str, int] = {}
    for register, number in numbers.items():
        of_file[register.file] = of_file.get(register.file, 0) | 1 << number
    for i, landings in enumerate(found.landed):
        here = found.live[i]
        for x in landings:
            here |= 1 << numbers[x.register]
        for x in landings:
            masks[x.register] |= here & of_file[x.register.file]
    # An operation writes a register once, even where its writes land in different cycles.
    for written in ({y.register for y in node.writes} for packet in effects for node in packet):
        both = sum(1 << numbers[register] for register in written)
        for register in written:
            masks[register] |= both & of_file[register.file]
    for register, mask in masks.items():
        for other in _bits(mask & ~(1 << numbers[register])):
            conflicts[register].add(registers[other])
            conflicts[registers[other]].add(register)
    return conflicts


def _mentioned(effects: Sequence[Sequence[Effects]], code: PacketCode) -> Iterator[StreamRegister]:
    yield from (x.register for x in code.parameters)
    for packet in effects:
        for x in packet:
            yield from x.reads
            yield from (y.register for y in x.writes)


def _landings(
    effects: Sequence[Sequence[Effects]], after: Sequence[Sequence[int]], code: PacketCode
) -> list[list[_Landing]]:
    """For each packet the writes that packets from it on can read."""
    landed: list[list[_Landing]] = [[] for _ in range(len(effects) + 1)]
    landed[0] += (_Landing(x.register, -1, 0, True) for x in code.parameters)
    for i, packet in enumerate(effects):
        for write in (x for node in packet for x in node.writes):
            reached = {i}
            for _ in range(write.latency):
                reached = {y for x in reached if x < len(effects) for y in after[x]}
            for x in reached:
                landed[x].append(_Landing(write.register, i, write.latency, write.certain))
    return landed


def _killed(
    landed: Sequence[Sequence[_Landing]],
    at: int,
    before: Sequence[Sequence[int]],
    numbers: Mapping[StreamRegister, int],
) -> int:
    """The registers that are new at a packet on whatever path it is reached."""
    found = 0
    by_latency: dict[tuple[StreamRegister, int], set[int]] = {}
    for x in landed[at]:
        if x.certain and x.latency:
            by_latency.setdefault((x.register, x.latency), set()).add(x.issued)
    for (register, latency), issued in by_latency.items():
        reached = {at}
        for _ in range(latency):
            reached = {y for x in reached for y in (before[x] if x >= 0 else [-1])}
        if reached <= issued:
            found |= 1 << numbers[register]
    return found


def _before(after: Sequence[Sequence[int]]) -> list[list[int]]:
    """The packets that run in the cycle before each; -1 stands for what was before the first one."""
    found: list[list[int]] = [[] for _ in range(len(after) + 1)]
    found[0].append(-1)
    for i, nexts in enumerate(after):
        for j in nexts:
            found[j].append(i)
    return found


def _live(
    effects: Sequence[Sequence[Effects]],
    after: Sequence[Sequence[int]],
    killed: Sequence[int],
    numbers: Mapping[StreamRegister, int],
) -> list[int]:
    """For each packet the registers whose values there are still wanted, once all that lands there has landed."""
    read = [0] * (len(effects) + 1)
    for i, packet in enumerate(effects):
        for register in (x for node in packet for x in node.reads):
            read[i] |= 1 << numbers[register]
    live = list(read)
    changed = True
    while changed:
        changed = False
        for i in reversed(range(len(effects))):
            fresh = read[i]
            for j in after[i]:
                fresh |= live[j] & ~killed[j]
            if fresh != live[i]:
                live[i], changed = fresh, True
    return live


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _colour(
    conflicts: Mapping[StreamRegister, set[StreamRegister]], file: str, count: int, fixed: Mapping[StreamRegister, int],
    confined: Confined,
) -> dict[StreamRegister, StreamRegister]:  # fmt: skip
    """Numbers for the registers of a file: those with the fewest conflicts last (Briggs), pairs as one, and those first
    that are confined. `fixed`: some have theirs."""
    given = {x: int(x.name) for x in conflicts if x.name.isdecimal()}
    given |= {x: number for x, number in fixed.items() if x in conflicts and x not in given}
    groups = [(x, confined.partners[x]) if x in confined.partners else (x,) for x in conflicts
              if x not in given and x not in confined.upper]  # fmt: skip
    of = {x: group for group in groups for x in group}
    near = {group: {of[y] for x in group for y in conflicts[x] if y in of} - {group} for group in groups}
    rest = {group: sum(map(len, near[group])) for group in groups}
    order: list[tuple[StreamRegister, ...]] = []
    while rest:
        first = min(rest, key=lambda x: (rest[x], x))
        del rest[first]
        order.append(first)
        for other in near[first]:
            if other in rest:
                rest[other] -= len(first)
    order.reverse()
    order.sort(key=lambda x: (min(confined.least.get(y, count) for y in x), -len(x)))
    blocked: list[StreamRegister] = []
    most = 0
    for group in order:
        taken = [{given[y] for y in conflicts[x] if y in given} for x in group]
        room = sum(map(len, taken)) + len(group) + 1
        number = next(i for i in range(0, room * 2, len(group)) if all(i + n not in x for n, x in enumerate(taken)))
        limit = min(confined.least.get(x, count) for x in group)
        most = max(most, number + len(group), count + 1 if number + len(group) > limit else 0)
        for n, x in enumerate(group):
            given[x] = number + n
        if number + len(group) > limit:
            blocked += group
    if blocked:
        raise TooFewRegisters(file, most, tuple(blocked))
    return {x: StreamRegister(file, str(i)) for x, i in given.items()}
