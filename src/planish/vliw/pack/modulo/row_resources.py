"""What operations take of a row of a modulo schedule: units by the sets that can do the same, slots, ports.

>>> from planish.vliw.machine import Unit
>>> from planish.vliw.program import Instr
>>> tiny = VliwMachine("tiny", {"v": 2}, (Unit("A", "v"), Unit("B", "v")), (), (), ())
>>> either = Effects(Instr("X", ()), "compute", ("A", "B"), 2, 1, (), (), ())
>>> only = Effects(Instr("Y", ()), "compute", ("A",), 2, 1, (), (), ())
>>> made = RowResources.of(tiny, (either, only), False)
>>> sorted(made.room), sorted(made.room[x] for x, _ in made.taken[0][0]), len(made.taken[1][0])
([1, 2, 2], [2, 2], 3)
"""

from __future__ import annotations

from dataclasses import dataclass

from planish.vliw.machine import VliwMachine
from planish.vliw.pack.effects import Effects

RowTaking = tuple[tuple[int, int], ...]
"""What an operation takes: the number of a resource, and how many rows after the one in which it is issued."""


@dataclass(frozen=True, slots=True)
class RowResources:
    """How much of each resource a row has, and what each operation takes, in one way or another; `units`: the ways, by
    the unit that is chosen ("": that is left open).

    Units are counted by the sets that can do the same: that is all there is to them where an operation keeps its unit
    for one cycle, and no more than there is where it keeps it for longer and none is chosen.
    """

    room: tuple[int, ...]
    taken: tuple[tuple[RowTaking, ...], ...]
    units: tuple[tuple[str, ...], ...]

    @staticmethod
    def of(machine: VliwMachine, nodes: tuple[Effects, ...], chosen: bool) -> RowResources:
        """Those of a machine that some operations take; `chosen`: units that are kept for longer are chosen."""
        side = {x.name: x.side for x in machine.units}
        units = [x.units if chosen and x.busy > 1 else ("",) for x in nodes]
        room: list[int] = []
        taken: list[list[list[tuple[int, int]]]] = [[[] for _ in own] for own in units]
        sets = _joined({frozenset(x.units) for x in nodes})
        for group in sets | {frozenset((y,)) for own in units for y in own if y}:
            for i, x in enumerate(nodes):
                for way, unit in enumerate(units[i]):
                    if unit in group or (not unit and group >= set(x.units)):
                        taken[i][way] += [(len(room), back) for back in range(x.busy)]
            room.append(len(group))
        for sides in _joined({frozenset(side[y] for y in x.units) for x in nodes}):
            for i, x in enumerate(nodes):
                if all(side[y] in sides for y in x.units):
                    for own in taken[i]:
                        own.append((len(room), 0))
            room.append(sum(machine.sides[x] for x in sides))
        for file in machine.files:
            for i, x in enumerate(nodes):
                reads = sum(y.file == file.name for y in x.reads) if file.readers else 0
                late = [y.latency for y in x.writes if y.register.file == file.name] if file.writers else []
                for own in taken[i]:
                    own += [(len(room), 0)] * reads
                    own += [(len(room) + bool(file.readers), x) for x in late]
            room += [x for x in (file.readers, file.writers) if x]
        return RowResources(tuple(room), tuple(tuple(map(tuple, x)) for x in taken), tuple(units))


def _joined(sets: set[frozenset[str]]) -> set[frozenset[str]]:
    """All unions of sets that overlap one with the next: those of others say nothing new."""
    found = set(sets)
    rest = list(sets)
    while rest and len(found) < 256:
        x = rest.pop()
        fresh = {x | y for y in sets if x & y} - found
        found |= fresh
        rest += fresh
    return found
