"""A modulo schedule becomes packets: prologue, kernel and epilogue (modulo variable expansion, no rotating files).

The kernel is unrolled so that values that live longer than the interval take turns with several registers. An address
is read when some updates of its pointer have landed and others have not: how many is known, and goes into its offset.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.machine import VliwMachine, MachineOperation, VliwRegisterFile, Unit
>>> from planish.vliw.program import Instr, StreamRegister
>>> neg = parse_kernel("kernel NEG(d: f32[4] @V, a: f32[4] @V) { for l in 0 .. 4 { d[l] = -a[l] } }")
>>> tiny = VliwMachine("tiny", {"v": 2}, (Unit("U", "v"), Unit("W", "v")), (VliwRegisterFile("V", 2, 128),), (),
...     (MachineOperation("NEG", "NEG {d}, {a}", neg, ("U", "W"), latency=3),))
>>> a, b, c = (StreamRegister("V", x) for x in "abc")
>>> loop = Rolled((Instr("NEG", (b, a)), Instr("NEG", (c, b))), PipelinedKernel(1, (0, 4), ("U", "W")), {b: 2}, {})
>>> parts = expand(loop, before=4, unroll=2)
>>> for packet in parts.kernel: print("; ".join(str(x.instr) for x in packet))
NEG V.c, V.b~0; NEG V.b~0, V.a
NEG V.c, V.b~1; NEG V.b~1, V.a
>>> len(parts.prologue), len(parts.epilogue)
(4, 4)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from planish.vliw.machine import VliwMachine
from planish.vliw.pack.allocate import rename
from planish.vliw.pack.effects import BasePointer
from planish.vliw.pack.induction import far_bases, shifted
from planish.vliw.pack.modulo.iterative import PipelinedKernel
from planish.vliw.pack.modulo.rotation import Rotation
from planish.vliw.program import Instr, Issue, MemoryAddress, StreamRegister


@dataclass(frozen=True, slots=True)
class Rolled:
    """A loop with its modulo schedule: `copies` are the registers that more than one iteration needs at once, with how
    many they take turns with, and `pointers` those that are moved by constants."""

    body: tuple[Instr, ...]
    kernel: PipelinedKernel
    copies: Mapping[StreamRegister, int]
    pointers: Mapping[StreamRegister, BasePointer]
    rotation: Rotation = Rotation(())

    @property
    def before(self) -> int:
        """The iterations that must have begun before the kernel is what runs in every pass."""
        ends = [self.kernel.stages]
        for x in self.pointers.values():
            ends.append(-(-(self.kernel.cycles[x.update] + x.latency) // self.kernel.interval))
        return max(ends) - 1


@dataclass(frozen=True, slots=True)
class Parts:
    """The packets of a pipelined loop; the kernel is repeated."""

    prologue: list[list[Issue]]
    kernel: list[list[Issue]]
    epilogue: list[list[Issue]]


def expand(loop: Rolled, before: int, unroll: int) -> Parts:
    """The packets of a loop whose prologue begins `before` iterations and whose kernel begins `unroll` in each pass;
    the epilogue is that of `before` and a multiple of `unroll` iterations. With `unroll` 0 there is no kernel."""
    interval = loop.kernel.interval
    begun = before + unroll
    last = max(x + (begun - 1) * interval for x in loop.kernel.cycles)
    rows: list[list[Issue]] = [[] for _ in range(max(last + 1, begun * interval))]
    for iteration in range(begun):
        names = _names(loop, iteration, begun)
        for i, cycle in enumerate(loop.kernel.cycles):
            at = cycle + iteration * interval
            instr = rename(_addressed(loop, i, iteration, begun), names)
            rows[at].append(Issue(instr, loop.kernel.units[i]))
    start, end = before * interval, begun * interval
    while unroll == 0 and rows and not rows[-1]:
        rows.pop()
    return Parts(rows[:start], rows[start:end], rows[end:])


def is_addressable(machine: VliwMachine, parts: Parts) -> bool:
    """Whether the machine has all addresses with the offsets that they have got."""
    rows = (*parts.prologue, *parts.kernel, *parts.epilogue)
    return not any(True for row in rows for x in row for _ in far_bases(x.instr, machine))


def _names(loop: Rolled, iteration: int, begun: int) -> dict[StreamRegister, StreamRegister]:
    """The registers of an iteration, out of `begun`."""
    turns = loop.rotation
    names = {x: turns.slot(x, count, iteration, begun) for x, count in loop.copies.items()}
    names |= {x: turns.slot(x, loop.copies.get(x, 1), iteration, begun) for x in turns.homes}
    for alias, (root, distance) in turns.reads.items():
        names[alias] = turns.slot(root, loop.copies.get(root, 1), iteration - distance, begun)
    return names


def _addressed(loop: Rolled, i: int, iteration: int, begun: int) -> Instr:
    """An operation of an iteration, out of `begun`, with what its pointers lack or are ahead."""
    instr = loop.body[i]
    bases = {x.base for x in instr.operands if isinstance(x, MemoryAddress)} & loop.pointers.keys()
    if not bases:
        return instr
    cycles, interval = loop.kernel.cycles, loop.kernel.interval
    lacking: dict[StreamRegister, int] = {}
    for register in bases:
        pointer = loop.pointers[register]
        now = cycles[i] + iteration * interval
        landed = (now - pointer.latency - cycles[pointer.update]) // interval + 1
        wanted = iteration + (i > pointer.update)
        lacking[register] = (wanted - min(max(landed, 0), begun)) * pointer.step
    return replace(instr, operands=tuple(shifted(x, lacking) for x in instr.operands))
