"""List scheduling of a block: the operation with the longest chain of dependences behind it goes first.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.machine import VliwMachine, MachineOperation, VliwRegisterFile, Unit
>>> from planish.vliw.pack.effects import Described
>>> from planish.vliw.program import Instr, StreamRegister
>>> mac = parse_kernel("kernel MAC(d: f32[4] @V, a: f32[4] @V) { for l in 0 .. 4 { d[l] += a[l] } }")
>>> tiny = VliwMachine("tiny", {"v": 1}, (Unit("U", "v"),), (VliwRegisterFile("V", 8, 128),), (),
...     (MachineOperation("MAC", "MAC {d}, {a}", mac, ("U",), latency=3),))
>>> d, e, a = (StreamRegister("V", x) for x in "dea")
>>> block = [Described(tiny).effects(Instr("MAC", x)) for x in ((d, a), (e, a), (d, e))]
>>> schedule_block(tiny, block).cycles
(0, 1, 4)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush

from planish.vliw.machine import VliwMachine
from planish.vliw.pack.beam import search
from planish.vliw.pack.bounds import resource_bound
from planish.vliw.pack.dependence import Edge, graph, longest_to_end, needed_delay
from planish.vliw.pack.effects import BasePointer, Effects
from planish.vliw.pack.reservation import ReservationTable
from planish.vliw.program import StreamRegister

_MOST_BEAM = 64
"""Operations of the largest block that a beam is tried on."""


@dataclass(frozen=True, slots=True)
class Flying:
    """An operation of before, `cycle` cycles (a negative number) from the start of what is to be scheduled."""

    effects: Effects
    cycle: int
    unit: str


@dataclass(frozen=True, slots=True)
class Schedule:
    """The cycles and units of a block's operations, and the packets it has in all.

    `least`: no schedule of the block is shorter, as the longest chain of dependences and the units tell.
    """

    cycles: tuple[int, ...]
    units: tuple[str, ...]
    length: int
    least: int = 0


def schedule_block(
    machine: VliwMachine,
    nodes: Sequence[Effects],
    flying: Sequence[Flying] = (),
    *,
    pointers: Mapping[StreamRegister, BasePointer] | None = None,
    loops: bool = False,
    filled: int = 0,
    lands: bool = False,
    ordered: bool = False,
    width: int = 0,
) -> Schedule:
    """A schedule of a block in order of its critical paths. Its last operation may be a jump, which takes effect
    where the block ends. `pointers` are those of `fold_steps`. `loops`: it jumps to the start of the block, so that the
    next iteration follows at once; `filled`: so many packets are there already, with what is under way at 0 and later
    in them; `lands`: all that is under way is done where the block ends; `ordered`: operations
    are issued in the order in which they stand, which takes the fewest registers. `width`: where the schedule is longer
    than its bound, a beam of so many is tried."""
    jumps = bool(nodes) and nodes[-1].kind == "branch"
    edges = graph(nodes, loops, (), pointers)
    straight = [x for x in edges if x.distance == 0]
    lengths = [x.latency if x.kind == "branch" else 1 for x in nodes]
    heights = longest_to_end(len(nodes), straight, lengths)
    earliest = [_earliest(x, flying) for x in nodes]
    placed = nodes[: len(nodes) - jumps]
    least = max((x + y for x, y in zip(heights, earliest, strict=True)), default=filled)
    if nodes:
        # All are issued in the block; units may be kept, and results land, behind its end.
        issued = [replace(x, busy=1, writes=()) for x in nodes]
        least = max(least, filled, resource_bound(machine, issued).interval)
    ends = _Ends(edges, earliest, flying, jumps=jumps, loops=loops, lands=lands, least=least, filled=filled)
    table = _table_of(machine, flying)
    if ordered:
        return ends.schedule(table, nodes, _place_in_order(table, placed, straight, earliest))
    found = ends.schedule(table, nodes, _place_all(table, placed, straight, heights, earliest))
    if width and found.length > least and len(nodes) <= _MOST_BEAM:
        better = search(_table_of(machine, flying), placed, straight, heights, earliest, width)
        found = min(found, ends.schedule(better.table, nodes, better.cycles), key=lambda x: x.length)
    return found


@dataclass(frozen=True, slots=True)
class _Ends:
    """What the length of a block depends on, once its operations have their cycles."""

    edges: Sequence[Edge]
    earliest: Sequence[int]
    flying: Sequence[Flying]
    jumps: bool
    loops: bool
    lands: bool
    least: int
    filled: int

    def schedule(self, table: ReservationTable, nodes: Sequence[Effects], cycles: list[int]) -> Schedule:
        """The schedule of a block, all of whose operations but a jump at its end are in the table."""
        last = len(cycles)
        length = max([self.filled, *(x + 1 for x in cycles)])
        if self.lands:
            ends = [x + node.span for x, node in zip(cycles, nodes, strict=False)]
            length = max([length, *ends, *(x.cycle + x.effects.span for x in self.flying)])
        if self.loops:
            inside = [x for x in self.edges if x.distance and x.second < last and x.first < last]
            gaps = ((cycles[x.first] + x.delay - cycles[x.second], x.distance) for x in inside)
            length = max([length, *(-(-gap // distance) for gap, distance in gaps)])
        if self.jumps:
            waits = (cycles[x.first] + x.delay for x in self.edges if x.second == last and not x.distance)
            length = max(length, max([0, self.earliest[last], *waits]) + nodes[last].latency)
            cycles.append(length - nodes[last].latency)
        units: list[str] | None = None
        while units is None:
            units = _finish(table, nodes, cycles, length, jumps=self.jumps, loops=self.loops)
            length += units is None
        return Schedule(tuple(cycles), tuple(units), length, self.least)


def _earliest(node: Effects, flying: Sequence[Flying], least: int = 0) -> int:
    needed = ((x.cycle, needed_delay(x.effects, node)) for x in flying)
    return max([least, *(cycle + delay for cycle, delay in needed if delay is not None)])


def _table_of(machine: VliwMachine, flying: Sequence[Flying]) -> ReservationTable:
    table = ReservationTable(machine)
    for x in flying:
        table.keep(x.effects, x.cycle, x.unit)
    return table


def _place_all(
    table: ReservationTable,
    nodes: Sequence[Effects],
    edges: Sequence[Edge],
    heights: Sequence[int],
    earliest: Sequence[int],
) -> list[int]:
    """Each operation, once all before it are placed, at the first cycle with room for it."""
    after: list[list[Edge]] = [[] for _ in nodes]
    waiting = [0] * len(nodes)
    for edge in edges:
        if edge.second < len(nodes):
            after[edge.first].append(edge)
            waiting[edge.second] += 1
    start = list(earliest[: len(nodes)])
    cycles = [0] * len(nodes)
    ready: list[tuple[int, int]] = []
    for i in range(len(nodes)):
        if not waiting[i]:
            heappush(ready, (-heights[i], i))
    while ready:
        _, i = heappop(ready)
        cycle = start[i]
        while not table.place(i, nodes[i], cycle):
            cycle += 1
        cycles[i] = cycle
        for edge in after[i]:
            j = edge.second
            start[j] = max(start[j], cycle + edge.delay)
            waiting[j] -= 1
            if not waiting[j]:
                heappush(ready, (-heights[j], j))
    return cycles


def _place_in_order(
    table: ReservationTable, nodes: Sequence[Effects], edges: Sequence[Edge], earliest: Sequence[int]
) -> list[int]:
    """Each operation no earlier than the one that stands before it."""
    before: list[list[Edge]] = [[] for _ in nodes]
    for edge in edges:
        if edge.second < len(nodes):
            before[edge.second].append(edge)
    cycles: list[int] = []
    for i, node in enumerate(nodes):
        cycle = max([earliest[i], *cycles[-1:], *(cycles[x.first] + x.delay for x in before[i])])
        while not table.place(i, node, cycle):
            cycle += 1
        cycles.append(cycle)
    return cycles


def _finish(
    table: ReservationTable, nodes: Sequence[Effects], cycles: list[int], length: int, *, jumps: bool, loops: bool
) -> list[str] | None:
    """The units of a block of that length, with its jump placed where it takes effect at its end; None where there is
    no room for it, or the next iteration would be in the way."""
    last = len(nodes) - 1
    if jumps:
        cycles[last] = length - nodes[last].latency
        if not table.place(last, nodes[last], cycles[last]):
            return None
    units = [table.unit_of(i) for i in range(len(nodes))]
    if loops:
        around = ReservationTable(table.machine, length)
        placed = zip(nodes, units, cycles, strict=True)
        if not all(around.place(i, x.on(unit), cycle) for i, (x, unit, cycle) in enumerate(placed)):
            if jumps:
                table.remove(last)
            return None
    return units


def gap_before(
    machine: VliwMachine, nodes: Sequence[Effects], schedule: Schedule, flying: Sequence[Flying], least: int = 0
) -> int:
    """How many empty packets must stand before a schedule that was made without regard to what is under way; a negative
    number, from `least` on, where it may begin in the packets before."""
    placed = zip(nodes, schedule.cycles, strict=True)
    gap = max([least, *(_earliest(x, flying, least + cycle) - cycle for x, cycle in placed)])
    while not _fits_behind(machine, nodes, schedule, flying, gap):
        gap += 1
    return gap


def _fits_behind(
    machine: VliwMachine, nodes: Sequence[Effects], schedule: Schedule, flying: Sequence[Flying], gap: int
) -> bool:
    table = _table_of(machine, [replace(x, cycle=x.cycle - gap) for x in flying])
    placed = zip(nodes, schedule.cycles, schedule.units, strict=True)
    return all(table.place(i, x.on(unit), cycle) for i, (x, cycle, unit) in enumerate(placed))
