"""A stream of operations becomes packets: blocks and loops are scheduled, loops get their control, values registers.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.machine import VliwMachine, MachineOperation, VliwRegisterFile, Unit
>>> from planish.vliw.program import Instr, StreamProgram, StreamRegister
>>> neg = parse_kernel("kernel NEG(d: f32[4] @V, a: f32[4] @V) { for l in 0 .. 4 { d[l] = -a[l] } }")
>>> tiny = VliwMachine("tiny", {"v": 1}, (Unit("U", "v"),), (VliwRegisterFile("V", 2, 128),), (),
...     (MachineOperation("NEG", "NEG {d}, {a}", neg, ("U",), latency=2),))
>>> a, b = StreamRegister("V", "a"), StreamRegister("V", "b")
>>> packed = pack(StreamProgram("k", (), (Instr("NEG", (b, a)), Instr("NEG", (a, b)))), tiny)
>>> [[str(x.instr) for x in packet] for packet in packed.code.packets]
[['NEG V.0, V.0'], [], ['NEG V.0, V.0']]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from planish.vliw.machine import VliwMachine
from planish.vliw.pack.allocate import TooFewRegisters, allocate, most_taken
from planish.vliw.pack.builder import PacketBuilder
from planish.vliw.pack.control import Control
from planish.vliw.pack.effects import Described
from planish.vliw.pack.loops.held import held_through
from planish.vliw.pack.loops.parking import park
from planish.vliw.pack.loops.unrolling import unroll_short
from planish.vliw.pack.modulo.exact import is_installed, missing
from planish.vliw.pack.modulo.known_loops import KnownLoops
from planish.vliw.pack.passes import PacketPasses
from planish.vliw.pack.plans import NotWorthwhile, PackAttempt, PackPlan, follow, too_few
from planish.vliw.pack.reports import Packed, PackOptions
from planish.vliw.pack.webs import Registers, name_values
from planish.vliw.program import Item, PacketCode, StreamProgram
from planish.vliw.sequences import spelt_out

Worth = Callable[[int, Sequence[PacketPasses]], bool]
"""Whether there is use for so many packets, which are run so often."""


def pack(
    program: StreamProgram, machine: VliwMachine, options: PackOptions | None = None, worth: Worth | None = None
) -> Packed:  # fmt: skip
    """The program as packets over the machine's registers. `worth`: it is asked of packets before they have registers;
    NotWorthwhile where it says no.

    PlanishError E0911 where the machine has no operations for the control of a loop, E0912 where it has too few
    registers, E0913 where exact schedules are asked for without the solver.
    """
    chosen = options or PackOptions()
    if chosen.exact and not is_installed():
        raise missing()
    packer = _Packer(program, machine, chosen, worth)
    made = follow(PackPlan(chosen.unroll, ordered=chosen.ordered), packer.attempt)
    if made.packed is None:
        assert made.few is not None
        raise too_few(program, machine, made.few) from made.few
    return made.packed


class _Packer:
    """Packets of a program by one plan after the other."""

    def __init__(
        self, program: StreamProgram, machine: VliwMachine, options: PackOptions, worth: Worth | None
    ) -> None:  # fmt: skip
        self.machine, self.options, self.worth = machine, options, worth
        self.given, self.parked = replace(program, body=spelt_out(program.body, machine)), set[str]()
        self.described = Described(machine)
        self.loops = KnownLoops(Control(machine), self.described)
        self.bodies: dict[int, tuple[Item, ...]] = {}

    def attempt(self, plan: PackPlan) -> PackAttempt:
        """What comes of a plan; registers of addresses wait in another file, once those of one were too few."""
        while True:
            builder = PacketBuilder.of(self.loops, self.options, plan)
            builder.items(self.body(plan), frozenset())
            if self.worth is not None and not self.worth(len(builder.out.packets), builder.passes):
                raise NotWorthwhile
            code = PacketCode(
                self.given.name, tuple(builder.out.packets), dict(builder.labels), self.given.parameters
            )  # fmt: skip
            try:
                packets = allocate(code, self.machine)
            except TooFewRegisters as few:
                elsewhere = None if few.file in self.parked else park(self.given, few.file, self.described)
                self.parked.add(few.file)
                if elsewhere is None:
                    held = self.held(few.file)
                    if held > self.machine.file(few.file).count:
                        return PackAttempt(None, TooFewRegisters(few.file, held, few.blocked), hopeless=True)
                    loops = (x for own in builder.rolled for x in own)
                    most = most_taken(code, self.machine, few.file, loops)
                    return PackAttempt(
                        None, few, builder.reports, outside=most <= self.machine.file(few.file).count
                    )  # fmt: skip
                self.given = elsewhere
                self.bodies.clear()
            else:
                return PackAttempt(
                    Packed(packets, tuple(builder.reports), tuple(builder.blocks), tuple(builder.passes))
                )  # fmt: skip

    def held(self, file: str) -> int:
        """How many registers of a file some loop keeps all through it by any plan."""
        # Those that unroll nothing hoist nothing.
        plans = PackPlan(self.options.unroll), PackPlan(0, hoists=False)
        return min(
            max((sum(y.file == file for y in x) for x in self.held_through(plan)), default=0) for plan in plans
        )  # fmt: skip

    def held_through(self, plan: PackPlan) -> Iterator[Registers]:
        """For each loop of a plan the registers that it keeps all through it."""
        return held_through(self.body(plan), frozenset(), self.described, hoists=plan.hoists)

    def body(self, plan: PackPlan) -> tuple[Item, ...]:
        """What becomes packets, with a name for each value; it is the same for plans that unroll as much."""
        if plan.unroll not in self.bodies:
            body = unroll_short(self.given.body, plan.unroll)
            self.bodies[plan.unroll] = name_values(body, frozenset(), self.described)
        return self.bodies[plan.unroll]
