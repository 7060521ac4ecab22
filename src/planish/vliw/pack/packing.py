"""A stream of operations becomes packets: blocks and loops are scheduled, loops get their control, values registers.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.machine import Machine, Operation, RegisterFile, Unit
>>> from planish.vliw.program import Instr, Program, Register
>>> neg = parse_kernel("kernel NEG(d: f32[4] @V, a: f32[4] @V) { for l in 0 .. 4 { d[l] = -a[l] } }")
>>> tiny = Machine("tiny", {"v": 1}, (Unit("U", "v"),), (RegisterFile("V", 2, 128),), (),
...     (Operation("NEG", "NEG {d}, {a}", neg, ("U",), latency=2),))
>>> a, b = Register("V", "a"), Register("V", "b")
>>> packed = pack(Program("k", (), (Instr("NEG", (b, a)), Instr("NEG", (a, b)))), tiny)
>>> [[str(x.instr) for x in packet] for packet in packed.code.packets]
[['NEG V.0, V.0'], [], ['NEG V.0, V.0']]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.vliw.machine import Machine
from planish.vliw.pack.allocate import TooFewRegisters, allocate
from planish.vliw.pack.control import Control
from planish.vliw.pack.effects import Described
from planish.vliw.pack.listing import Flying, Schedule, gap_before, schedule_block
from planish.vliw.pack.webs import name_values
from planish.vliw.program import Code, Guard, Instr, Issue, Item, Loop, Packet, Program, Register


@dataclass(frozen=True, slots=True)
class Options:
    """How packets are made. `pipeline`: iterations of innermost loops overlap."""

    pipeline: bool = True


@dataclass(frozen=True, slots=True)
class LoopReport:
    """What became of an innermost loop: `interval` cycles from one iteration to the next."""

    name: str
    operations: int
    interval: int
    method: str


@dataclass(frozen=True, slots=True)
class Packed:
    """The packets of a program, and what became of its loops, in the order in which they stand."""

    code: Code
    loops: tuple[LoopReport, ...]


def pack(program: Program, machine: Machine, options: Options | None = None) -> Packed:
    """The program as packets over the machine's registers.

    PlanishError E0911 where the machine has no operations for the control of a loop, E0912 where it has too few
    registers.
    """
    described = Described(machine)
    builder = _Builder(machine, described, Control(machine), options or Options())
    builder.items(name_values(program.body, frozenset(), described))
    labels = dict(builder.labels)
    code = Code(program.name, tuple(builder.packets), labels, program.parameters)
    try:
        code = allocate(code, machine)
    except TooFewRegisters as few:
        count = machine.file(few.file).count
        raise PlanishError(
            Diagnostic("E0912", f"{program.name} wants {few.wanted} registers of {few.file}; there are {count}")
        ) from few
    return Packed(code, tuple(builder.reports))


@dataclass(slots=True)
class _Builder:
    machine: Machine
    described: Described
    control: Control
    options: Options
    packets: list[Packet] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    flying: list[Flying] = field(default_factory=list)
    reports: list[LoopReport] = field(default_factory=list)
    made: int = 0

    def fresh(self, file: str) -> Register:
        self.made += 1
        return Register(file, f"%{self.made}")

    def items(self, items: Sequence[Item], tail: Sequence[Instr] = ()) -> None:
        """Packets for items one after the other; `tail` ends an iteration of the loop around them."""
        block: list[Instr] = []
        for item in items:
            if isinstance(item, Instr):
                block.append(item)
            else:
                self.loop(item, block)
                block = []
        self.block([*block, *tail], lands=bool(tail))

    def loop(self, loop: Loop, block: list[Instr]) -> None:
        """A loop, with the operations directly before it."""
        if isinstance(loop.count, int) and loop.count < 2:
            if loop.count == 1:
                self.items([*block, *loop.body])
            else:
                self.block(block)
            return
        counter = self.fresh(self.control.counter_file(loop.count.file if isinstance(loop.count, Register) else None))
        behind = self.label(loop, "end")
        skipped = isinstance(loop.count, Register) and loop.at_least < 1
        if isinstance(loop.count, int):
            block += self.control.constant(counter, loop.count)
        else:
            block += self.control.move(counter, loop.count)
            if skipped:
                block += self.jump_if_less(loop.count, 1, behind)
        self.block(block)
        before = list(self.flying)
        if loop.is_innermost:
            self.listed(loop, counter)
        else:
            head = self.label(loop, "loop")
            self.labels[head] = len(self.packets)
            self.items(loop.body, self.count_down(counter, head))
        if skipped:
            self.labels[behind] = len(self.packets)
            self.join(before)

    def join(self, other: Sequence[Flying]) -> None:
        """What was under way at another place may be so here too."""
        self.flying += (replace(x, cycle=x.cycle) for x in other if x.cycle + x.effects.span > 0)

    def label(self, loop: Loop, part: str) -> str:
        """A label's name that no other has."""
        name, number = f"{loop.name}_{part}", 2
        while name in self.labels:
            name, number = f"{loop.name}_{part}{number}", number + 1
        self.labels[name] = -1
        return name

    def jump_if_less(self, register: Register, bound: int, label: str) -> list[Instr]:
        predicate = self.fresh(self.control.predicate_file())
        test = self.control.less(predicate, register, bound, self.fresh)
        return [*test.before, test.instr, self.control.jump(label, Guard(predicate, test.negated))]

    def count_down(self, counter: Register, label: str, by: int = 1) -> list[Instr]:
        """The operations that end an iteration: the counter goes down, and there is a jump unless it is zero."""
        down = list(self.control.add(counter, counter, -by))
        if self.control.guards(counter.file):
            return [*down, self.control.jump(label, Guard(counter))]
        predicate = self.fresh(self.control.predicate_file())
        test = self.control.less(predicate, counter, 1, self.fresh)
        return [*down, *test.before, test.instr, self.control.jump(label, Guard(predicate, not test.negated))]

    def block(self, instrs: Sequence[Instr], lands: bool = False) -> None:
        if not instrs and not lands:
            return
        nodes = [self.described.effects(x) for x in instrs]
        schedule = schedule_block(self.machine, nodes, self.flying, lands=lands)
        self.emit(schedule, instrs)

    def listed(self, loop: Loop, counter: Register) -> None:
        """An innermost loop whose iterations follow one another, with no more overlap than what is under way."""
        head = self.label(loop, "loop")
        instrs = [*_instrs(loop), *self.count_down(counter, head)]
        nodes = [self.described.effects(x) for x in instrs]
        schedule = schedule_block(self.machine, nodes, loops=True)
        self.idle(gap_before(self.machine, nodes, schedule, self.flying))
        self.labels[head] = len(self.packets)
        self.emit(schedule, instrs, again=True)
        self.reports.append(LoopReport(loop.name, len(loop.body), schedule.length, "list"))

    def idle(self, cycles: int) -> None:
        """Empty packets."""
        self.packets += [()] * cycles
        self.flying = _later(self.flying, cycles)

    def emit(self, schedule: Schedule, instrs: Sequence[Instr], again: bool = False) -> None:
        """A schedule's packets; `again`: the same have run before, and what they do may be under way as well."""
        rows: list[list[Issue]] = [[] for _ in range(schedule.length)]
        issued: list[Flying] = []
        for instr, cycle, unit in zip(instrs, schedule.cycles, schedule.units, strict=True):
            rows[cycle].append(Issue(instr, unit))
            effects = self.described.effects(instr)
            issued.append(Flying(effects, cycle - schedule.length, unit))
            if again:
                back = cycle - 2 * schedule.length
                while back + effects.span > 0:
                    issued.append(Flying(effects, back, unit))
                    back -= schedule.length
        self.packets += (tuple(x) for x in rows)
        self.flying = [x for x in [*_later(self.flying, schedule.length), *issued] if x.cycle + x.effects.span > 0]


def _instrs(loop: Loop) -> list[Instr]:
    return [x for x in loop.body if isinstance(x, Instr)]


def _later(flying: Sequence[Flying], cycles: int) -> list[Flying]:
    moved = (replace(x, cycle=x.cycle - cycles) for x in flying)
    return [x for x in moved if x.cycle + x.effects.span > 0]
