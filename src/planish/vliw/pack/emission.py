"""Packets one after the other, with what is under way behind them: straight code that is put into packets that there
are, as blocks behind a loop into its epilogue, and prologues into the block before.

>>> from planish.vliw.machine import VliwMachine
>>> out = EmittedPackets(Described(VliwMachine("tiny", {}, (), (), (), ())))
>>> out.idle(3)
>>> out.room
3
>>> out.close()
>>> out.room, len(out.packets)
(0, 3)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from planish.vliw.pack.effects import Described
from planish.vliw.pack.listing import Flying, Schedule
from planish.vliw.program import Instr, Issue, Packet


@dataclass(slots=True)
class EmittedPackets:
    """The packets so far. `flying`: operations that are under way where they end, and those in the packets from number
    `open` on, which run once each time, one after the other, and in which there is room for more; where nothing
    `overlaps`, none has."""

    described: Described
    overlaps: bool = True
    packets: list[Packet] = field(default_factory=list)
    flying: list[Flying] = field(default_factory=list)
    open: int = 0

    @property
    def room(self) -> int:
        """How many packets there are in which more may be done."""
        return len(self.packets) - self.open if self.overlaps else 0

    def close(self, until: int | None = None) -> None:
        """Nothing is put into the packets before number `until` any more; into none that there is, without it."""
        self.open = len(self.packets) if until is None else until
        since = self.open - len(self.packets)
        self.flying = [x for x in self.flying if x.cycle + x.effects.span > since]

    def merge(self, rows: Sequence[Sequence[Issue]], first: int) -> None:
        """Put rows into the packets from number `first` on, of which there may be none yet."""
        before = len(self.packets)
        self.packets += [()] * (first + len(rows) - before)
        end = len(self.packets)
        self.flying = [replace(x, cycle=x.cycle + before - end) for x in self.flying]
        for number, row in enumerate(rows, first):
            self.packets[number] = (*self.packets[number], *row)
            self.flying += (Flying(self.described.effects(x.instr), number - end, x.unit) for x in row)
        self.close(self.open)

    def idle(self, cycles: int) -> None:
        """Empty packets."""
        self.merge([()] * cycles, len(self.packets))

    def emit(self, schedule: Schedule, instrs: Sequence[Instr], room: int = 0, again: bool = False) -> None:
        """A schedule's packets, the first `room` of which there are; `again`: the same have run before, and what they
        do may be under way as well."""
        rows: list[list[Issue]] = [[] for _ in range(schedule.length)]
        for instr, cycle, unit in zip(instrs, schedule.cycles, schedule.units, strict=True):
            rows[cycle].append(Issue(instr, unit))
        self.merge(rows, len(self.packets) - room)
        if not again:
            return
        for instr, cycle, unit in zip(instrs, schedule.cycles, schedule.units, strict=True):
            effects, back = self.described.effects(instr), cycle - 2 * schedule.length
            while back + effects.span > 0:
                self.flying.append(Flying(effects, back, unit))
                back -= schedule.length

    def join(self, other: Sequence[Flying]) -> None:
        """What was under way at another place may be so here too."""
        self.flying += (x for x in other if x.cycle + x.effects.span > 0)
