"""Iterative modulo scheduling (Rau): a schedule of one iteration that can be begun anew every II cycles.

The operation with the longest chain behind it is placed first, or the one with the least slack; one that finds no room
takes it from others, which are placed again. Then operations move within their slack so that values live less long.

>>> from planish.vliw.machine import VliwMachine, Unit
>>> from planish.vliw.pack.effects import Effects
>>> from planish.vliw.program import Instr
>>> tiny = VliwMachine("tiny", {"v": 2}, (Unit("A", "v"), Unit("B", "v")), (), (), ())
>>> load = Effects(Instr("L", ()), "load", ("A",), 3, 1, (), (), ())
>>> add = Effects(Instr("X", ()), "compute", ("A", "B"), 2, 1, (), (), ())
>>> body = LoopBody(tiny, (load, load, add, add), (Edge(0, 2, 3), Edge(1, 2, 3), Edge(2, 3, 2)), ())
>>> found = schedule_loop(body)
>>> found.interval, found.cycles, found.stages
(2, (0, 1, 4, 7), 4)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from random import Random

from planish.vliw.machine import VliwMachine
from planish.vliw.pack.bounds import recurrence_bound, resource_bound
from planish.vliw.pack.dependence import Edge
from planish.vliw.pack.effects import Effects
from planish.vliw.pack.modulo.lifetimes import LiveValue
from planish.vliw.pack.modulo.slack import place_by_slack
from planish.vliw.pack.reservation import ReservationTable

_TRIES, _LARGE, _FEW_TRIES = 8, 300, 3
"""How often an operation is placed on average before an order is given up; less often for bodies of so many."""

_CHOICES = 60
"""How many orders of choosing units for given cycles are tried."""

_SHUFFLES = 3
"""How many orders with chance in them are tried at each interval."""


@dataclass(frozen=True, slots=True)
class LoopBody:
    """The body of an innermost loop: its operations, their dependences, and the values they make."""

    machine: VliwMachine
    nodes: tuple[Effects, ...]
    edges: tuple[Edge, ...]
    values: tuple[LiveValue, ...]


@dataclass(frozen=True, slots=True)
class PipelinedKernel:
    """A modulo schedule: the cycles of the first iteration's operations, and their units."""

    interval: int
    cycles: tuple[int, ...]
    units: tuple[str, ...]

    @property
    def stages(self) -> int:
        """How many iterations are under way at once."""
        return max(self.cycles, default=0) // self.interval + 1


def least_interval(body: LoopBody) -> int:
    """MII: the greater one of both lower bounds."""
    resources = resource_bound(body.machine, body.nodes)
    return max(resources.interval, recurrence_bound(len(body.nodes), body.edges).interval)


def schedule_loop(body: LoopBody, least: int = 0, most: int | None = None) -> PipelinedKernel | None:
    """The kernel with the shortest interval found from `least` (and MII) on, up to `most`; None where there is none."""
    first = max(least, least_interval(body))
    last = first + sum(x.span for x in body.nodes) if most is None else most
    for interval in range(first, last + 1):
        kernel = schedule_at(body, interval)
        if kernel is not None:
            return kernel
    return None


def schedule_at(body: LoopBody, interval: int) -> PipelinedKernel | None:
    """A kernel of that interval; None where none is found."""
    heights = _heights(body, interval)
    if heights is None:
        return None
    for number, ranks in enumerate(_orders(body, heights)):
        if number == 1 and (kernel := schedule_by_slack(body, interval)) is not None:
            return kernel
        table = ReservationTable(body.machine, interval)
        cycles = _place(body, table, ranks)
        if cycles is not None:
            return shorten(body, table, cycles)
    return None


def schedule_by_slack(body: LoopBody, interval: int) -> PipelinedKernel | None:
    """A kernel of that interval whose operations are near to what they wait for and what waits for them, so that values
    live less long; None where none is found."""
    table = ReservationTable(body.machine, interval)
    tries = _TRIES if len(body.nodes) < _LARGE else _FEW_TRIES
    cycles = place_by_slack(body.nodes, body.edges, table, tries * len(body.nodes) + 100)
    return shorten(body, table, cycles) if cycles is not None else None


def _orders(body: LoopBody, heights: list[int]) -> Iterator[list[tuple[float, ...]]]:
    """Ranks of operations, the highest of which is placed first: by the chain behind it, then with those first that
    have the fewest units, then with chance between like ones."""
    count = len(heights)
    yield [(heights[i], -i) for i in range(count)]
    scarce = [max((x.busy for x in body.nodes), default=1) * (x.busy > 1) - len(x.units) for x in body.nodes]
    yield [(scarce[i], heights[i], -i) for i in range(count)]
    for seed in range(_SHUFFLES):
        random = Random(seed)
        spread = 1 + max(heights, default=0) / 4
        yield [(heights[i] + random.random() * spread, -i) for i in range(count)]


def kernel_at(body: LoopBody, interval: int, cycles: Sequence[int]) -> PipelinedKernel | None:
    """The kernel with operations in given cycles, which the units allow; None where no choice of units is found."""
    table = _entered(body, interval, cycles, {})
    if table is None:
        return None
    first = min(cycles, default=0)
    return PipelinedKernel(
        interval, tuple(x - first for x in cycles), tuple(table.unit_of(i) for i in range(len(cycles)))
    )


def shortened(body: LoopBody, interval: int, cycles: Sequence[int], units: Mapping[int, str]) -> PipelinedKernel | None:
    """As `kernel_at`, some operations on units that are chosen, and moved as long as lifetimes get shorter by it."""
    table = _entered(body, interval, cycles, units)
    return shorten(body, table, list(cycles)) if table is not None else None


def _entered(body: LoopBody, interval: int, cycles: Sequence[int], units: Mapping[int, str]) -> ReservationTable | None:
    """A table with all operations in their cycles; None where no choice of units is found."""
    nodes = [x.on(units[i]) if i in units else x for i, x in enumerate(body.nodes)]
    order = sorted(range(len(cycles)), key=lambda x: (-body.nodes[x].busy, len(body.nodes[x].units), x))
    for _ in range(_CHOICES):
        table = ReservationTable(body.machine, interval)
        late = next((x for x in order if not table.place(x, nodes[x], cycles[x])), None)
        if late is None:
            for i in units:
                table.loosen(i, body.nodes[i])
            return table
        # What found no unit chooses first the next time.
        order.remove(late)
        order.insert(0, late)
    return None


def _heights(body: LoopBody, interval: int) -> list[int] | None:
    """The longest chain from each operation on; None where a recurrence is longer than the interval allows."""
    heights = [0] * len(body.nodes)
    weighted = [(x.first, x.second, x.delay - interval * x.distance) for x in reversed(body.edges)]
    for _ in range(len(body.nodes) + 1):
        changed = False
        for first, second, weight in weighted:
            reached = heights[second] + weight
            if reached > heights[first]:
                heights[first], changed = reached, True
        if not changed:
            return heights
    return None


def _place(body: LoopBody, table: ReservationTable, ranks: Sequence[tuple[float, ...]]) -> list[int] | None:
    count, interval = len(body.nodes), table.period
    before: list[list[Edge]] = [[] for _ in range(count)]
    after: list[list[Edge]] = [[] for _ in range(count)]
    for edge in body.edges:
        before[edge.second].append(edge)
        after[edge.first].append(edge)
    cycles: dict[int, int] = {}
    last: dict[int, int] = {}
    # The one with the highest rank comes first.
    places = {i: n for n, i in enumerate(sorted(range(count), key=lambda x: ranks[x], reverse=True))}
    order = list(places)
    rest = list(range(count))
    for _ in range(_TRIES * count + 100):
        if not rest:
            return [cycles[i] for i in range(count)]
        i = order[heappop(rest)]
        bounds = (cycles[x.first] + x.delay - interval * x.distance for x in before[i] if x.first in cycles)
        start = max([0, *bounds])
        at = next((x for x in range(start, start + interval) if table.place(i, body.nodes[i], x)), None)
        if at is None:
            at = start if i not in last or start > last[i] else last[i] + 1
            while not table.place(i, body.nodes[i], at):
                blocking = table.in_the_way(body.nodes[i], at) - {i}
                if not blocking:
                    return None
                for j in blocking:
                    table.remove(j)
                    del cycles[j]
                    heappush(rest, places[j])
        cycles[i] = last[i] = at
        for edge in after[i]:
            j = edge.second
            if j != i and j in cycles and cycles[j] < at + edge.delay - interval * edge.distance:
                table.remove(j)
                del cycles[j]
                heappush(rest, places[j])
    return None


def shorten(body: LoopBody, table: ReservationTable, cycles: list[int], sweeps: int = 3) -> PipelinedKernel:
    """The kernel with operations moved within their slack, as long as lifetimes get shorter by it."""
    count, interval = len(body.nodes), table.period
    touched: list[list[LiveValue]] = [[] for _ in range(count)]
    for value in body.values:
        for i in {x for x, _ in (*value.writers, *value.readers)}:
            touched[i].append(value)
    before: list[list[Edge]] = [[] for _ in range(count)]
    after: list[list[Edge]] = [[] for _ in range(count)]
    for edge in body.edges:
        if edge.first != edge.second:
            before[edge.second].append(edge)
            after[edge.first].append(edge)
    for _ in range(sweeps):
        moved = False
        for i in (*range(count), *reversed(range(count))):
            moved |= _move(body, interval, cycles, table, i, touched[i], (before[i], after[i]))
        if not moved:
            break
    first = min(cycles, default=0)
    return PipelinedKernel(interval, tuple(x - first for x in cycles), tuple(table.unit_of(i) for i in range(count)))


def _move(
    body: LoopBody,
    interval: int,
    cycles: list[int],
    table: ReservationTable,
    i: int,
    values: Sequence[LiveValue],
    edges: tuple[Sequence[Edge], Sequence[Edge]],
) -> bool:
    """Move one operation to where its values live least; whether it has moved."""
    here = cycles[i]
    before, after = edges
    low = max((cycles[x.first] + x.delay - interval * x.distance for x in before), default=here - interval)
    high = min((cycles[x.second] - x.delay + interval * x.distance for x in after), default=here + interval)
    low, high = max(low, here - interval), min(high, here + interval)
    if low >= high:
        return False
    parts = [_without(x, i, cycles, interval) for x in values]

    def cost(at: int) -> tuple[int, int]:
        length = 0
        for first, last, landing, end in parts:
            length += max(last, at + end) - min(first, at + landing)
        return length, abs(at - here)

    now = cost(here)
    choices = sorted(x for x in ((cost(x), x) for x in range(low, high + 1)) if x[0] < now)
    if not choices:
        return False
    unit = table.unit_of(i)
    table.remove(i)
    for _, at in choices:
        if table.place(i, body.nodes[i], at):
            cycles[i] = at
            return True
    # Where it was is as free as it was before, on its own unit: what failed to go elsewhere has moved nothing.
    if not table.place(i, body.nodes[i].on(unit), here):
        raise AssertionError("an operation does not fit where it was")
    table.loosen(i, body.nodes[i])
    return False


_FAR = 1 << 40


def _without(value: LiveValue, i: int, cycles: Sequence[int], interval: int) -> tuple[int, int, int, int]:
    """When a value lands and ends but for one operation, and how long after that operation it does by that one."""
    first, last, landing, end = _FAR, -_FAR, _FAR, -_FAR
    for j, latency in value.writers:
        if j == i:
            landing, end = min(landing, latency), max(end, latency)
        else:
            first, last = min(first, cycles[j] + latency), max(last, cycles[j] + latency)
    for j, distance in value.readers:
        if j == i:
            end = max(end, interval * distance)
        else:
            last = max(last, cycles[j] + interval * distance)
    return first, last, landing, end
