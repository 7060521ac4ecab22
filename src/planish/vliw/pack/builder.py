"""Packets of blocks and loops, one after the other, by one plan: each loop is pipelined or not, and gets its control.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.program import Instr
>>> from planish.vliw.machine import MachineOperation, VliwRegisterFile, Unit
>>> neg = parse_kernel("kernel NEG(d: f32[4] @V, a: f32[4] @V) { for l in 0 .. 4 { d[l] = -a[l] } }")
>>> tiny = VliwMachine("tiny", {"v": 1}, (Unit("U", "v"),), (VliwRegisterFile("V", 2, 128),), (),
...     (MachineOperation("NEG", "NEG {d}, {a}", neg, ("U",), latency=2),))
>>> a, b = StreamRegister("V", "a"), StreamRegister("V", "b")
>>> builder = PacketBuilder.of(KnownLoops(Control(tiny), Described(tiny)), PackOptions(), PackPlan(0))
>>> builder.items((Instr("NEG", (b, a)), Instr("NEG", (a, b))), frozenset())
>>> [len(x) for x in builder.out.packets]
[1, 0, 1]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from planish.vliw.machine import VliwMachine
from planish.vliw.pack.bounds import recurrence_bound, resource_bound
from planish.vliw.pack.control import Control, PassEnds
from planish.vliw.pack.dependence import graph
from planish.vliw.pack.effects import Described
from planish.vliw.pack.emission import EmittedPackets
from planish.vliw.pack.induction import fold_within_reach
from planish.vliw.pack.listing import Schedule, gap_before, schedule_block
from planish.vliw.pack.loops.hardware_loops import HardwareLoops
from planish.vliw.pack.loops.invariants import hoist
from planish.vliw.pack.loops.unrolling import MOST_FLAT
from planish.vliw.pack.modulo.exact import IntervalProof, refine
from planish.vliw.pack.modulo.expand import Parts, Rolled, expand, is_addressable
from planish.vliw.pack.modulo.known_loops import KnownLoops
from planish.vliw.pack.modulo.lifetimes import pressure
from planish.vliw.pack.modulo.pipelining import (
    Problem,
    add_control,
    has_registers,
    interval_for,
    most_copies,
    roll,
    unrolled,
    unrollings,
    with_copies,
)
from planish.vliw.pack.passes import PacketPasses
from planish.vliw.pack.plans import SPARE, PackPlan
from planish.vliw.pack.register_orders import limited_order
from planish.vliw.pack.reports import BlockReport, LoopReport, PackMethod, PackOptions, spans_of
from planish.vliw.pack.webs import Registers, live_at_head, live_before
from planish.vliw.program import Guard, Instr, Issue, Item, Loop, StreamRegister


@dataclass(frozen=True, slots=True)
class _Rounds:
    """What tells a hardware loop how often it runs, and the register with the iterations that are left over."""

    before: tuple[Instr, ...]
    left: StreamRegister


@dataclass(slots=True)
class PacketBuilder:
    """Makes packets of items; what was made is in `out`, `labels`, `reports`, `blocks` and `passes`; `rolled`: those
    of pipelined loops."""

    machine: VliwMachine
    described: Described
    control: Control
    options: PackOptions
    plan: PackPlan
    out: EmittedPackets
    known: KnownLoops
    labels: dict[str, int] = field(default_factory=dict)
    reports: list[LoopReport] = field(default_factory=list)
    blocks: list[BlockReport] = field(default_factory=list)
    passes: list[PacketPasses] = field(default_factory=list)
    rolled: list[range] = field(default_factory=list)
    made: int = 0

    @staticmethod
    def of(known: KnownLoops, options: PackOptions, plan: PackPlan) -> PacketBuilder:
        """What begins with no packets; `known`: loops that plans before had."""
        described = known.described
        out = EmittedPackets(described, plan.overlaps)
        return PacketBuilder(described.machine, described, known.control, options, plan, out, known)

    @property
    def hardware(self) -> HardwareLoops:
        """What there is for loops that count by themselves."""
        return HardwareLoops(self.control)

    def fresh(self, file: str) -> StreamRegister:
        self.made += 1
        return StreamRegister(file, f"%{self.made}")

    def items(
        self, items: Sequence[Item], after: Registers, tail: Sequence[Instr] = (), lands: bool = False
    ) -> None:  # fmt: skip
        """Packets for items one after the other; `tail` ends an iteration of the loop around them, and `after` are the
        registers that are wanted behind them. `lands`: all that is under way is done at the end."""
        live = [after]
        for item in reversed(items):
            live.insert(0, live_before([item], live[0], self.described))
        block: list[Instr] = []
        for item, wanted in zip(items, live[1:], strict=True):
            if isinstance(item, Instr):
                block.append(item)
            else:
                self.loop(item, block, wanted)
                block = []
        self.block([*block, *tail], lands=bool(tail) or lands)

    def loop(self, loop: Loop, block: list[Instr], after: Registers) -> None:
        """A loop, with the operations directly before it."""
        wanted = after | live_at_head(loop, after, self.described)
        if self.plan.hoists:
            invariant, loop = hoist(loop, wanted, self.described)
            block = [*block, *invariant]
        if not loop.body:
            self.block(block)
            return
        if isinstance(loop.count, int) and loop.count < 2:
            if loop.count == 1:
                self.items([*block, *loop.body], after)
            else:
                self.block(block)
        elif not (loop.is_innermost and self.options.pipeline and self.pipelined(loop, block, wanted)):
            self.counted(loop, block, wanted)

    def counted(self, loop: Loop, block: list[Instr], wanted: Registers) -> None:
        """A loop whose iterations follow one another."""
        hardware = self.hardware.counter(loop)
        counter = hardware or self.counter(loop)
        behind = self.label(loop, "end")
        skipped = isinstance(loop.count, StreamRegister) and loop.at_least < 1
        if hardware is not None:
            block = [*block, *self.hardware.begin(counter, loop.count, self.fresh)]
        elif isinstance(loop.count, int):
            block = [*block, *self.control.constant(counter, loop.count)]
        else:
            block = [*block, *self.control.move(counter, loop.count)]
        if skipped and isinstance(loop.count, StreamRegister):
            block += self.control.jump_if_less(loop.count if hardware else counter, 1, behind, self.fresh)
        self.block(block)
        before = list(self.out.flying)
        if loop.is_innermost:
            self.listed(loop, counter, PacketPasses(0, 0, loop.name, count=_known(loop)), wanted=wanted)
        else:
            self.out.close()
            head = self.label(loop, "loop")
            self.labels[head] = len(self.out.packets)
            self.items(
                loop.body, wanted, () if hardware else self.control.count_down(counter, head, self.fresh), lands=True
            )
            if hardware is not None:
                self.end_pass(self.hardware.issues(hardware, head, self.described))
            self.passes.append(PacketPasses(self.labels[head], len(self.out.packets), loop.name, count=_known(loop)))
        self.out.close()
        self.labels[behind] = len(self.out.packets)
        if skipped:
            self.out.join(before)

    def pipelined(self, loop: Loop, block: list[Instr], wanted: Registers) -> bool:
        """A loop whose iterations overlap; False, and nothing is done, where that gains nothing."""
        instrs = _instrs(loop)
        known = self.known.loop(instrs, wanted)
        problem = known.problem
        # The list-scheduled loop waits for its jump as well.
        hardware = self.hardware.counter(loop)
        control = () if hardware else self.control.count_down(self.counter(loop), "", self.fresh)
        slowest = self.once([*instrs, *control]).length
        slowest += 1 + slowest // 4 if self.plan.rolls else 0
        least = self.plan.longer.get(loop.name, 0)
        while True:
            found = roll(problem, least, slowest - 1, loop.name in self.plan.lean, known.attempts)
            if found is None:
                return False
            rolled, proof = found.rolled, IntervalProof(found.least)
            if self.options.exact:
                better, proof = refine(problem.body, rolled.kernel, found.least, self.options.exact)
                if has_registers(problem, better):
                    rolled = with_copies(problem, better)
            # A kernel that is full has no room for what counts its passes.
            longer: int | None = rolled.kernel.interval + 1
            if not isinstance(loop.count, int):
                longer = self.pipelined_as_counted(loop, problem, rolled, loop.count, block, proof)
            elif self.pipelined_so_often(loop, problem, rolled, loop.count, block, proof):
                longer = None
            if longer is None:
                self.reports[-1] = replace(self.reports[-1], longest=slowest - 1)
                return True
            least = longer

    def pipelined_as_counted(
        self, loop: Loop, problem: Problem, rolled: Rolled, count: StreamRegister, block: list[Instr],
        proof: IntervalProof,
    ) -> int | None:  # fmt: skip
        """A loop whose number of iterations is in a register; the interval that might do where this one does not."""
        hardware = self.hardware.counter(loop)
        counter = self.counter(loop)
        for unroll in unrollings(rolled, 1):
            before = rolled.before
            exact = loop.multiple % unroll == 0
            if exact or rolled.rotation.homes:
                # As many iterations as the count is a multiple of: none are left over. And what is carried is where it
                # was.
                before = -(-before // unroll) * unroll
            passes = left = self.fresh(counter.file)
            head = self.label(loop, "kernel")
            parts = expand(unrolled(rolled, unroll), before, unroll)
            rounds = self.rounds(hardware, passes, unroll) if hardware is not None else None
            kernel: list[list[Issue]] | None
            if hardware is not None and rounds is not None:
                ends, left = PassEnds(rounds.before, ()), rounds.left
                kernel = self.with_ends(parts.kernel, hardware, head)
            else:
                ends = self.control.passes_end(passes, unroll, 1 if exact else unroll, head, self.fresh)
                kernel = add_control(self.described, parts.kernel, [self.described.effects(x) for x in ends.chain])
            if kernel is None:
                del self.labels[head]
                continue
            if not is_addressable(self.machine, parts):
                del self.labels[head]
                # With more copies, still more is out of reach.
                return rolled.kernel.interval + 1 if unroll > most_copies(rolled) else interval_for(problem, rolled)
            self.report(loop, problem, rolled, unroll, proof)
            rest, behind = self.label(loop, "rest"), self.label(loop, "end")
            short = loop.at_least < before + unroll
            block = [*block, *self.control.add(passes, count, -before), *ends.before]
            if short or not exact:
                block += self.control.move(counter, count)
            leave: Sequence[Instr] = ()
            if not exact:
                # The operations that a jump over what is left takes are in the epilogue.
                predicate = self.fresh(self.control.predicate_file())
                test = self.control.less(predicate, counter, 1, self.fresh)
                block += test.before
                jump = self.control.jump(behind, Guard(predicate, test.negated))
                leave = [*self.control.move(counter, left), test.instr, jump]
            elif short:
                leave = [self.control.jump(behind)]
            if short:
                block += self.control.jump_if_less(counter, before + unroll, rest, self.fresh)
            self.block(block)
            skipping, start = list(self.out.flying), len(self.out.packets)
            self.rows(self.left(parts, leave), kernel, head)
            leaving = list(self.out.flying)
            if short or not exact:
                self.out.close()
            self.labels[rest] = len(self.out.packets)
            inner = (self.labels[head], self.labels[head] + len(kernel))
            self.passes.append(PacketPasses(*inner, loop.name, "kernel", before, unroll))
            self.passes += [PacketPasses(start, len(self.out.packets), loop.name, "around", before, unroll)] * short
            if short or not exact:
                if short:
                    self.out.flying = skipping if exact else [*skipping, *self.out.flying]
                    if loop.at_least < 1:
                        self.block(self.control.jump_if_less(counter, 1, behind, self.fresh))
                        leaving = [*leaving, *self.out.flying]
                    few = PacketPasses(self.labels[rest], len(self.out.packets), loop.name, "short", before, unroll)
                    self.passes.append(few)
                self.listed(loop, counter, PacketPasses(0, 0, loop.name, "rest", before, unroll), report=False)
                self.out.join(leaving)
            self.labels[behind] = len(self.out.packets)
            return None
        return rolled.kernel.interval + 1

    def left(self, parts: Parts, chain: Sequence[Instr]) -> Parts:
        """A pipelined loop with operations in its epilogue that wait for each other; the last one jumps at its end."""
        nodes = [self.described.effects(x) for x in chain]
        while chain:
            epilogue = add_control(self.described, parts.epilogue, nodes, [*parts.prologue, *parts.kernel])
            if epilogue is not None:
                return replace(parts, epilogue=epilogue)
            parts = replace(parts, epilogue=[*parts.epilogue, []])
        return parts

    def pipelined_so_often(
        self, loop: Loop, problem: Problem, rolled: Rolled, count: int, block: list[Instr], proof: IntervalProof
    ) -> bool:
        """A loop with a known number of iterations."""
        for unroll in unrollings(rolled, 1):
            before = rolled.before + (count - rolled.before) % unroll
            if count < before + 2 * unroll:
                break
            passes = self.fresh(self.control.counter_file(None))
            head = self.label(loop, "kernel")
            parts = expand(unrolled(rolled, unroll), before, unroll)
            hardware, rounds = self.hardware.counter(loop), (count - before) // unroll
            if hardware is not None:
                start = self.hardware.begin(hardware, rounds, self.fresh)
                kernel: list[list[Issue]] | None
                kernel = self.with_ends(parts.kernel, hardware, head)
            else:
                ends = self.control.passes_end(passes, 1, 1, head, self.fresh)
                start = (*ends.before, *self.control.constant(passes, rounds))
                kernel = add_control(self.described, parts.kernel, [self.described.effects(x) for x in ends.chain])
            if kernel is None or not is_addressable(self.machine, parts):
                del self.labels[head]
                continue
            self.report(loop, problem, rolled, unroll, proof)
            self.block([*block, *self.turns(unrolled(rolled, unroll), count), *start])
            self.rows(parts, kernel, head)
            first = self.labels[head]
            self.passes.append(PacketPasses(first, first + len(kernel), loop.name, count=rounds))
            return True
        if count * len(loop.body) > MOST_FLAT:
            return False
        most = most_copies(rolled)
        parts = expand(unrolled(rolled, most), count, 0)
        if not is_addressable(self.machine, parts):
            return False
        self.report(loop, problem, rolled, 0, proof)
        self.block([*block, *self.turns(unrolled(rolled, most), count)])
        self.rows(Parts([], [], [*parts.prologue, *parts.epilogue]), [], None)
        return True

    def turns(self, rolled: Rolled, count: int) -> list[Instr]:
        """Carried values go to the registers in which so many iterations find them, all at once."""
        moves = rolled.rotation.moves(rolled.copies, count)
        between = {source: self.fresh(source.file) for _, source in moves}
        pairs = [*((between[x], x) for x in between), *((to, between[source]) for to, source in moves)]
        return [self.described.move(to, source) for to, source in pairs]

    def report(self, loop: Loop, problem: Problem, rolled: Rolled, unroll: int, proof: IntervalProof) -> None:
        kernel = rolled.kernel
        registers = pressure(problem.body.values, problem.invariants, kernel.cycles, kernel.interval)
        bounds = (problem.resources, problem.recurrences)
        method: PackMethod = "modulo" if unroll else "flat"
        spans = spans_of(problem.body.nodes, problem.recurrences)
        self.reports.append(
            LoopReport(
                loop.name, method, len(loop.body), kernel.interval, *bounds, kernel.stages, unroll, registers, proof,
                spans,
            )
        )  # fmt: skip

    def rows(self, parts: Parts, kernel: list[list[Issue]], head: str | None) -> None:
        """The packets of a pipelined loop."""
        rows = [*parts.prologue, *kernel, *parts.epilogue]
        issued = [(self.described.effects(x.instr), i, x.unit) for i, row in enumerate(rows) for x in row]
        nodes, cycles, units = zip(*issued, strict=True)
        # What stands before the loop is not in its kernel.
        ahead = min(self.out.room, len(rows) if head is None else len(parts.prologue))
        schedule = Schedule(cycles, units, len(rows))
        first = len(self.out.packets) + gap_before(self.machine, nodes, schedule, self.out.flying, -ahead)
        self.out.merge(rows, first)
        self.rolled.append(range(first, first + len(rows)))
        if head is not None:
            self.labels[head] = first + len(parts.prologue)
            self.out.close(self.labels[head] + len(kernel))

    def counter(self, loop: Loop) -> StreamRegister:
        return self.fresh(
            self.control.counter_file(loop.count.file if isinstance(loop.count, StreamRegister) else None)
        )

    def once(self, instrs: Sequence[Instr]) -> Schedule:
        """A loop's body without its control, each iteration after the other."""
        folded, pointers = fold_within_reach(instrs, self.control, self.described)
        nodes = [self.described.effects(x) for x in folded]
        return schedule_block(self.machine, nodes, pointers=pointers, loops=True)

    def label(self, loop: Loop, part: str) -> str:
        """A label's name that no other has."""
        name, number = f"{loop.name}_{part}", 2
        while name in self.labels:
            name, number = f"{loop.name}_{part}{number}", number + 1
        self.labels[name] = -1
        return name

    def rounds(self, counter: StreamRegister, count: StreamRegister, unroll: int) -> _Rounds | None:
        """How often a kernel of `unroll` iterations runs; None where that cannot be told before it."""
        if unroll == 1:
            return _Rounds(self.hardware.begin(counter, count, self.fresh), count)
        rounds, left = self.fresh(count.file), self.fresh(count.file)
        told = self.hardware.passes(rounds, left, count, unroll)
        return None if told is None else _Rounds((*told, *self.hardware.begin(counter, rounds, self.fresh)), left)

    def with_ends(
        self, kernel: Sequence[Sequence[Issue]], counter: StreamRegister, head: str
    ) -> list[list[Issue]]:  # fmt: skip
        """A kernel whose last packet ends a pass of a hardware loop."""
        ends = self.hardware.issues(counter, head, self.described)
        return [*(list(x) for x in kernel[:-1]), [*kernel[-1], *ends]]

    def end_pass(self, ends: Sequence[Issue]) -> None:
        """Ends a pass of a hardware loop in the last packet; in one behind it where that one is not always run last."""
        branches = any(self.machine.operation(x.instr.operation).branch for x in self.out.packets[-1])
        if branches or len(self.out.packets) in self.labels.values():
            self.out.idle(1)
        self.out.packets[-1] = (*self.out.packets[-1], *ends)

    def block(self, instrs: Sequence[Instr], lands: bool = False) -> None:
        if not instrs and not lands:
            return
        folded, pointers = fold_within_reach(instrs, self.control, self.described)
        nodes = [self.described.effects(x) for x in folded]
        room = self.out.room
        schedule = schedule_block(
            self.machine,
            nodes,
            [replace(x, cycle=x.cycle + room) for x in self.out.flying],
            pointers=pointers,
            filled=room,
            lands=lands,
            ordered=self.plan.ordered or self.plan.steady > 0,
            width=self.options.beam,
        )
        self.blocks.append(BlockReport(len(self.out.packets) - room, len(nodes), schedule.length, schedule.least))
        self.out.emit(schedule, folded, room)
        if nodes and nodes[-1].kind == "branch":
            self.out.close()

    def listed(
        self, loop: Loop, counter: StreamRegister, passes: PacketPasses, report: bool = True,
        wanted: Registers | None = None,
    ) -> None:  # fmt: skip
        """An innermost loop whose iterations follow one another, with no more overlap than what is under way; `passes`:
        how often; `wanted`: the registers that are taken all through it, where that is known."""
        head = self.label(loop, "loop")
        hardware = self.hardware.counter(loop)
        if hardware is not None and counter != hardware:
            self.block(self.hardware.begin(hardware, counter, self.fresh))
        control = () if hardware else self.control.count_down(counter, head, self.fresh)
        body, ordered = _instrs(loop), self.plan.ordered
        if self.plan.steady and wanted is not None and not ordered:
            kept = {*wanted, *(y for x in control for y in self.described.effects(x).reads)}
            order = limited_order(body, kept, self.described, SPARE * (self.plan.steady - 1))
            body, ordered = (body, False) if order is None else (order, True)
        instrs, pointers = fold_within_reach([*body, *control], self.control, self.described)
        nodes = [self.described.effects(x) for x in instrs]
        schedule = schedule_block(
            self.machine, nodes, pointers=pointers, loops=True, ordered=ordered, width=self.options.beam
        )
        self.out.close()
        self.out.idle(gap_before(self.machine, nodes, schedule, self.out.flying))
        self.out.close()
        self.labels[head] = len(self.out.packets)
        self.out.emit(schedule, instrs, again=True)
        self.out.close()
        if hardware is not None:
            self.end_pass(self.hardware.issues(hardware, head, self.described))
        self.passes.append(replace(passes, first=self.labels[head], end=len(self.out.packets)))
        if report:
            recurrences = recurrence_bound(len(nodes), graph(nodes, True, (), pointers))
            bounds = (resource_bound(self.machine, nodes), recurrences)
            spans = spans_of(nodes, recurrences)
            self.reports.append(LoopReport(loop.name, "list", len(loop.body), schedule.length, *bounds, spans=spans))


def _instrs(loop: Loop) -> list[Instr]:
    return [x for x in loop.body if isinstance(x, Instr)]


def _known(loop: Loop) -> int:
    return loop.count if isinstance(loop.count, int) else -1
