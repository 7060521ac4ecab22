"""The reservation table: which units, issue slots and ports are taken in which cycle; modulo II for a loop's kernel.

An operation that finds its units taken may send another one to a unit that this one can do without, so that the table
is full only where no choice of units is left.

>>> from planish.vliw.machine import VliwMachine, VliwRegisterFile, Unit
>>> from planish.vliw.pack.effects import Effects
>>> from planish.vliw.program import Instr
>>> tiny = VliwMachine("tiny", {"v": 2}, (Unit("A", "v"), Unit("B", "v")), (), (), ())
>>> either = Effects(Instr("X", ()), "compute", ("A", "B"), 1, 1, (), (), ())
>>> only_a = Effects(Instr("Y", ()), "compute", ("A",), 1, 1, (), (), ())
>>> table = ReservationTable(tiny, period=4)
>>> table.place(0, either, 0), table.place(1, only_a, 4), table.unit_of(0), table.unit_of(1)
(True, True, 'B', 'A')
>>> table.place(2, either, 8)
False
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy as shallow_copy
from dataclasses import dataclass, field

from planish.vliw.machine import VliwMachine
from planish.vliw.pack.effects import Effects

_NONE_TRIED: frozenset[str] = frozenset()


@dataclass(slots=True)
class ReservationTable:
    """Operations by number, at their cycles, on their units. `period`: cycles are counted modulo it (0: not)."""

    machine: VliwMachine
    period: int = 0
    _holder: dict[tuple[str, int], int] = field(default_factory=dict)
    _unit: dict[int, str] = field(default_factory=dict)
    _placed: dict[int, tuple[Effects, int]] = field(default_factory=dict)
    _issued: dict[tuple[str, int], int] = field(default_factory=dict)
    _ports: dict[tuple[str, str, int], int] = field(default_factory=dict)
    _parts: Mapping[str, tuple[str, ...]] = field(init=False)
    _sides: Mapping[str, tuple[tuple[str, int], ...]] = field(init=False)
    _limits: Mapping[tuple[str, str], int] = field(init=False)
    _least: dict[tuple[str, ...], tuple[tuple[str, int], ...]] = field(default_factory=dict)
    _kept: set[tuple[str, int]] = field(default_factory=set)
    _refused: dict[int, set[tuple[str, ...]]] = field(default_factory=dict)
    """For each row the units none of which is free, as long as nothing in it changes; nothing is kept of them once an
    operation in the table is `_slow`, and has more than a row."""
    _slow: bool = False

    def __post_init__(self) -> None:
        slots = self.machine.issue_slots()
        self._parts, self._sides, self._limits = slots.parts, slots.sides, slots.ports

    def unit_of(self, number: int) -> str:
        """The unit that an operation in the table has."""
        return self._unit[number]

    def copy(self) -> ReservationTable:
        """Another table with the same in it."""
        fresh = shallow_copy(self)
        fresh._holder, fresh._unit, fresh._placed = dict(self._holder), dict(self._unit), dict(self._placed)
        fresh._issued, fresh._ports, fresh._kept = dict(self._issued), dict(self._ports), set(self._kept)
        fresh._refused = {}
        return fresh

    def place(self, number: int, effects: Effects, cycle: int) -> bool:
        """Enter an operation at a cycle; False, and nothing has changed, where there is no room for it."""
        row = cycle % self.period if self.period else cycle
        if row in self._refused and effects.units in self._refused[row] and not self._slow:
            return False
        ports = self._ports_of(effects, cycle)
        for key, count in ports.items():
            if self._ports.get(key, 0) + count > self._limits[key[0], key[1]]:
                return False
        if not self._find_unit(number, effects, cycle, _NONE_TRIED):
            if effects.busy == 1:
                self._refused.setdefault(row, set()).add(effects.units)
            return False
        self._refused.pop(row, None)
        self._slow |= effects.busy > 1
        for key, count in ports.items():
            self._ports[key] = self._ports.get(key, 0) + count
        self._placed[number] = (effects, cycle)
        return True

    def keep(self, effects: Effects, cycle: int, unit: str) -> None:
        """Enter what was issued before, and stays; more than one may have the same unit, as on paths that meet."""
        self._kept |= set(self._cells(unit, effects, cycle))
        self._refused.clear()
        row = self._row(cycle)
        for side, count in self._sides[unit]:
            self._issued[side, row] = self._issued.get((side, row), 0) + count
        for key, count in self._ports_of(effects, cycle).items():
            self._ports[key] = self._ports.get(key, 0) + count

    def loosen(self, number: int, effects: Effects) -> None:
        """What an operation in the table may be moved to as well: all units of these effects."""
        cycle = self._placed[number][1]
        self._placed[number] = (effects, cycle)
        self._refused.pop(self._row(cycle), None)

    def remove(self, number: int) -> None:
        """Take an operation out again."""
        effects, cycle = self._placed.pop(number)
        self._refused.pop(self._row(cycle), None)
        self._vacate(number, effects, cycle)
        for key, count in self._ports_of(effects, cycle).items():
            self._ports[key] -= count

    def in_the_way(self, effects: Effects, cycle: int) -> set[int]:
        """The operations that must go for one to be placed at a cycle: those of the unit with the fewest, and those
        that take the ports or slots it needs."""
        best: set[int] | None = None
        for unit in effects.units:
            found = {self._holder[x] for x in self._cells(unit, effects, cycle) if x in self._holder}
            row = self._row(cycle)
            for side, count in self._sides[unit]:
                over = self._issued.get((side, row), 0) + count - self.machine.sides[side]
                over -= sum(self._issues(x, side, row) for x in found)
                for x in self._placed:
                    if over <= 0:
                        break
                    if x not in found and self._issues(x, side, row):
                        found.add(x)
                        over -= self._issues(x, side, row)
            if best is None or len(found) < len(best):
                best = found
        blocking = best or set()
        for key, count in self._ports_of(effects, cycle).items():
            taken = self._ports.get(key, 0)
            for number, (other, at) in self._placed.items():
                if taken + count <= self._limits[key[0], key[1]]:
                    break
                if key in self._ports_of(other, at):
                    blocking.add(number)
                    taken -= self._ports_of(other, at)[key]
        return blocking

    def _issues(self, number: int, side: str, row: int) -> int:
        """How many slots of a side an operation takes in a row."""
        if self._row(self._placed[number][1]) != row:
            return 0
        return dict(self._sides[self._unit[number]]).get(side, 0)

    def _row(self, cycle: int) -> int:
        return cycle % self.period if self.period else cycle

    def _cells(self, unit: str, effects: Effects, cycle: int) -> Iterator[tuple[str, int]]:
        parts = self._parts[unit]
        return ((part, self._row(cycle + i)) for part in parts for i in range(effects.busy))

    def _ports_of(self, effects: Effects, cycle: int) -> dict[tuple[str, str, int], int]:
        found: dict[tuple[str, str, int], int] = {}
        if not self._limits:
            return found
        for register in effects.reads:
            if ("read", register.file) in self._limits:
                key = ("read", register.file, self._row(cycle))
                found[key] = found.get(key, 0) + 1
        for write in effects.writes:
            if ("write", write.register.file) in self._limits:
                key = ("write", write.register.file, self._row(cycle + write.latency))
                found[key] = found.get(key, 0) + 1
        return found

    def _find_unit(self, number: int, effects: Effects, cycle: int, tried: frozenset[str]) -> bool:
        """Give an operation a unit, by moving others to other units of theirs where that is what it takes."""
        if self.period and effects.busy > self.period:
            return False
        row = cycle % self.period if self.period else cycle
        issued, sides = self._issued, self.machine.sides
        for side, needed in self._needs(effects.units):
            if issued.get((side, row), 0) + needed > sides[side]:
                return False  # wherever the others go
        for unit in effects.units:
            if effects.busy == 1 and len(self._parts[unit]) == 1:
                cell = (self._parts[unit][0], row)
                if cell not in self._holder and cell not in self._kept and self._has_slot(unit, row):
                    self._occupy(number, unit, effects, cycle)
                    return True
                continue
            cells = list(self._cells(unit, effects, cycle))
            if not any(x in self._holder or x in self._kept for x in cells) and self._has_slot(unit, row):
                self._occupy(number, unit, effects, cycle)
                return True
        free = (x for x in effects.units if tried.isdisjoint(self._parts[x]))
        return any(self._move_from(x, number, effects, cycle, tried) for x in free)

    def _needs(self, units: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
        """The slots of each side that an operation takes on whatever unit."""
        known = self._least.get(units)
        if known is None:
            counts = [dict(self._sides[x]) for x in units]
            common = [x for x in counts[0] if all(x in y for y in counts)] if counts else []
            known = self._least[units] = tuple((x, min(y[x] for y in counts)) for x in common)
        return known

    def _move_from(self, unit: str, number: int, effects: Effects, cycle: int, tried: frozenset[str]) -> bool:
        """Give an operation a unit that another one has, if that one can go to another unit."""
        cells = list(self._cells(unit, effects, cycle))
        holders = {self._holder[x] for x in cells if x in self._holder}
        if len(holders) != 1 or any(x in self._kept for x in cells):
            return False
        (other,) = holders
        if other not in self._placed:
            return False  # it is being placed itself
        theirs, at = self._placed[other]
        if len(theirs.units) < 2:
            return False
        before = self._unit[other]
        self._vacate(other, theirs, at)
        if self._has_slot(unit, self._row(cycle)):
            self._occupy(number, unit, effects, cycle)
            if self._find_unit(other, theirs, at, tried.union(self._parts[unit])):
                return True
            self._vacate(number, effects, cycle)
        self._occupy(other, before, theirs, at)
        return False

    def _has_slot(self, unit: str, row: int) -> bool:
        issued, sides = self._issued, self.machine.sides
        return all(issued.get((side, row), 0) + count <= sides[side] for side, count in self._sides[unit])

    def _occupy(self, number: int, unit: str, effects: Effects, cycle: int) -> None:
        for cell in self._cells(unit, effects, cycle):
            self._holder[cell] = number
        self._unit[number] = unit
        row = self._row(cycle)
        for side, count in self._sides[unit]:
            self._issued[side, row] = self._issued.get((side, row), 0) + count

    def _vacate(self, number: int, effects: Effects, cycle: int) -> None:
        unit = self._unit.pop(number)
        for cell in self._cells(unit, effects, cycle):
            del self._holder[cell]
        row = self._row(cycle)
        for side, count in self._sides[unit]:
            self._issued[side, row] -= count
