"""Straight operations in an order in which a machine's registers are enough: a list schedule that looks ahead as far
as the rest still has registers.

An operation may be issued before its turn where all that is left, issued one after the other, needs no more registers
than there are. So a schedule never gets stuck, and looks ahead as far as registers allow.

>>> from planish.vliw.description import load_machine
>>> from planish.vliw.program import MemoryAddress
>>> machine, base = load_machine("ftmatrix"), StreamRegister("AR", "p")
>>> def load(n): return Instr("VLDW", (StreamRegister("V", f"a{n}"), MemoryAddress(base, 128 * n)))
>>> def store(n): return Instr("VSTW", (MemoryAddress(base, 128 * n + 65536), StreamRegister("V", f"a{n}")))
>>> items = [x for n in range(99) for x in (load(n), store(n))]
>>> len(register_orders(items, machine)[0]) == len(items)
True
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from planish.vliw.machine import VliwMachine
from planish.vliw.pack.allocate import rename
from planish.vliw.pack.dependence import Edge, graph, longest_to_end
from planish.vliw.pack.effects import Described, Effects
from planish.vliw.pack.reservation import ReservationTable
from planish.vliw.program import Instr, StreamRegister

FLYING = (1.0, 0.5, 0.25, 0.1, 0.0)
"""Values under way have no registers yet: so much of what may be under way at once is added to what there are."""

NEAR = (0, 40)
"""How operations are ranked: by the longest chains behind them alone (0), or nearest first by groups of so many."""

PARTS = (1, 2, 3, 4, 6, 8)
"""Stores are made in so many parts, one part after the other; all of a part side by side."""

RELOADED = (60, 15)
"""Where there are too few registers, what is used again so many operations later is loaded again."""

REPEATED_FROM = 1.5
"""A schedule that is so many times as long as one without a limit of registers is one with too few of them."""

MOST_WORK = 12_000
"""Operations of all tries."""

MOST_WAITING = 48
"""So many operations are found to have no registers in a cycle; then only the next one in its turn is looked at."""

CLOSE = 1.04
"""A schedule that is so many times as long as one without a limit of registers needs no other try."""


def register_orders(items: Sequence[Instr], machine: VliwMachine) -> list[tuple[Instr, ...]]:
    """The operations as they are issued by schedules with a limited number of registers, the shortest first. The order
    in which they stand is one that takes few. Where that is not enough, loads are repeated."""
    described = Described(machine)
    nodes, edges, heights = _dependences(items, described)
    ranks = [(0, -height, n) for n, height in enumerate(heights)]
    whole = _Scheduler(machine, nodes, edges, ranks, {x.name: len(items) + x.count for x in machine.files})
    shortest = max(whole.run(), default=0)
    turns = iter(range(max(2, MOST_WORK // max(1, len(items)))))
    found: dict[tuple[Instr, ...], int] = {}
    for gap, enough in ((0, REPEATED_FROM), *((x, CLOSE) for x in RELOADED)):
        own = reloaded(items, described, gap) if gap else items
        for length, order in _issued(own, machine, described, CLOSE * shortest, turns):
            found.setdefault(order, length)
        if min(found.values(), default=1 << 30) <= enough * shortest:
            break
    return sorted(found, key=lambda x: found[x])


def reloaded(items: Sequence[Instr], described: Described, gap: int) -> list[Instr]:
    """The same operations with loads of what nothing stores to repeated before a use that is more than `gap`
    operations behind the one before."""
    stored = {y.address.base for x in items for y in described.effects(x).accesses if y.store}
    loads: dict[StreamRegister, Instr] = {}
    now: dict[StreamRegister, tuple[StreamRegister, int]] = {}
    made: list[Instr] = []
    for n, instr in enumerate(items):
        effects = described.effects(instr)
        fresh: dict[StreamRegister, StreamRegister] = {}
        for x in dict.fromkeys(effects.reads):
            name, used = now.get(x, (x, n))
            if x in loads and n - used > gap:
                name = StreamRegister(x.file, f"{x.name}'{n}")
                made.append(rename(loads[x], {x: name}))
            now[x] = (name, n)
            fresh[x] = name
        made.append(rename(instr, fresh))
        bases = {y.address.base for y in effects.accesses}
        if bases and not bases & stored and len(effects.writes) == 1:
            loads[effects.writes[0].register] = instr
            now[effects.writes[0].register] = (effects.writes[0].register, n)
    return made


def _dependences(items: Sequence[Instr], described: Described) -> tuple[list[Effects], list[Edge], list[int]]:
    """The effects of operations, what waits for what, and the longest chains."""
    nodes = [described.effects(x) for x in items]
    edges = [x for x in graph(nodes, False) if x.distance == 0]
    return nodes, edges, longest_to_end(len(items), edges, [1] * len(items))


def limited_order(
    items: Sequence[Instr], kept: Collection[StreamRegister], described: Described, spare: int = 0
) -> list[Instr] | None:  # fmt: skip
    """The operations of a loop's body as the shortest schedule issues them in which all but `kept`, which are taken all
    through it, have registers, and so many of each file are left over; None where none is found."""
    nodes, edges, _ = _dependences(items, described)
    # One after the other, what is overwritten has been read before, in orders by heights, too.
    edges = [replace(x, delay=max(x.delay, 0)) for x in edges]
    heights = longest_to_end(len(items), edges, [1] * len(items))
    own = [_without(x, frozenset(kept)) for x in nodes]
    taken = Counter(x.file for x in kept)
    machine = described.machine
    files = tuple(replace(x, count=max(0, x.count - taken[x.name] - spare)) for x in machine.files)
    turns = iter(range(len(NEAR) * (1 + len(PARTS))))
    found = min(_orders(own, edges, heights, replace(machine, files=files), 0, turns), default=None)
    return None if found is None else [items[n] for n in found[1]]


def _without(node: Effects, registers: frozenset[StreamRegister]) -> Effects:
    reads = tuple(x for x in node.reads if x not in registers)
    return replace(node, reads=reads, writes=tuple(x for x in node.writes if x.register not in registers))


def _issued(
    items: Sequence[Instr], machine: VliwMachine, described: Described, enough: float, turns: Iterator[int]
) -> Iterator[tuple[int, tuple[Instr, ...]]]:
    """The operations as schedules issue them for which there are registers, with the cycle of the last one; no more
    of them where one takes no more than `enough`."""
    for length, order in _orders(*_dependences(items, described), machine, enough, turns):
        yield length, tuple(items[n] for n in order)


def _orders(
    nodes: Sequence[Effects], edges: Sequence[Edge], heights: Sequence[int], machine: VliwMachine, enough: float,
    turns: Iterator[int],
) -> Iterator[tuple[int, list[int]]]:  # fmt: skip
    """The same as numbers of operations."""
    for order in _base_orders(nodes, edges, heights):
        places = {x: n for n, x in enumerate(order)}
        moved = [replace(x, first=places[x.first], second=places[x.second]) for x in edges]
        least = 1 << 30
        if not _may_fit(machine, [nodes[x] for x in order]):
            continue
        for near in NEAR:
            if next(turns, None) is None:
                return
            ranks = [(n // near if near else 0, -heights[x], n) for n, x in enumerate(order)]
            cycles = _within(machine, [nodes[x] for x in order], moved, ranks)
            if cycles is not None:
                issued = sorted(zip(cycles, range(len(nodes)), strict=True))
                least = min(least, max(cycles, default=0))
                yield max(cycles, default=0), [order[n] for _, n in issued]
        if least <= enough:
            return


def _may_fit(machine: VliwMachine, nodes: Sequence[Effects]) -> bool:
    """Whether operations one after the other take no more registers than there are and may be under way."""
    flying = _flying(nodes)
    lives = _lives(nodes, {x.name: x.count + flying.get(x.name, 0) for x in machine.files})
    return all(int(x.taken.max()) <= x.limit for x in lives.values())


def _base_orders(nodes: Sequence[Effects], edges: Sequence[Edge], heights: Sequence[int]) -> Iterator[list[int]]:
    """Orders that take few registers: as operations stand, one result after the other; and stores in parts."""
    yield list(range(len(nodes)))
    stores = [n for n, x in enumerate(nodes) if any(y.store for y in x.accesses)]
    for count in PARTS:
        if count > max(1, len(stores)):
            break
        part = [count] * len(nodes)
        for n, x in enumerate(stores):
            part[x] = n * count // len(stores)
        for edge in sorted(edges, key=lambda x: -x.second):
            part[edge.first] = min(part[edge.first], part[edge.second])
        yield sorted(range(len(nodes)), key=lambda n: (part[n], -heights[n], n))


def _within(
    machine: VliwMachine, nodes: Sequence[Effects], edges: Sequence[Edge], ranks: Sequence[tuple[int, int, int]]
) -> list[int] | None:
    """The cycles of the boldest schedule for which there are registers; None where there is none."""
    flying = _flying(nodes)
    for share in FLYING:
        limits = {x.name: x.count + int(share * flying.get(x.name, 0)) for x in machine.files}
        cycles = _Scheduler(machine, nodes, edges, ranks, limits).run()
        landed = most_landed(nodes, cycles)
        if all(landed.get(x.name, 0) <= x.count for x in machine.files):
            return cycles
    return None


def _flying(nodes: Sequence[Effects]) -> dict[str, int]:
    """How many values of each file may be under way at once, about: the latencies of what its units issue a cycle."""
    longest: dict[tuple[str, str], int] = {}
    for x in nodes:
        for write in x.writes:
            for unit in x.units:
                key = (write.register.file, unit)
                longest[key] = max(longest.get(key, 0), write.latency - 1)
    found: dict[str, int] = {}
    for (file, _), latency in longest.items():
        found[file] = found.get(file, 0) + latency
    return found


def most_landed(nodes: Sequence[Effects], cycles: Sequence[int]) -> dict[str, int]:
    """How many registers of each file are taken in one cycle: from that in which a value lands to that of its last
    use."""
    first: dict[StreamRegister, int] = {}
    last: dict[StreamRegister, int] = {}
    for node, cycle in zip(nodes, cycles, strict=True):
        for x in node.writes:
            first[x.register] = min(first.get(x.register, cycle + x.latency), cycle + x.latency)
        for register in node.reads:
            last[register] = max(last.get(register, 0), cycle)
    changes: dict[str, dict[int, int]] = {}
    for register in dict.fromkeys((*first, *last)):
        own = changes.setdefault(register.file, {})
        start = first.get(register, 0)
        end = max(last.get(register, start), start) + 1
        own[start], own[end] = own.get(start, 0) + 1, own.get(end, 0) - 1
    return {file: max(accumulate(own[x] for x in sorted(own))) for file, own in changes.items()}


def _named(node: Effects) -> list[StreamRegister]:
    return list(dict.fromkeys((*node.reads, *(x.register for x in node.writes))))


@dataclass(slots=True)
class _Lives:
    """How many registers of a file are taken before each operation, were those that are left issued one after the
    other. `mentions`: the operations that are left and name a register, in their order."""

    limit: int
    taken: npt.NDArray[np.int64]
    mentions: dict[StreamRegister, list[int]]
    started: set[StreamRegister] = field(default_factory=set)

    def after(self, registers: Sequence[StreamRegister], n: int, first: int) -> npt.NDArray[np.int64] | None:
        """What is taken before the operations from `first` to `n`, were operation n issued now; None where that is too
        much."""
        own = self.taken[first : n + 1].copy()
        for x in registers:
            left = self.mentions[x]
            if x not in self.started:
                own += len(left) > 1
            elif left[-1] == n:
                own[left[-2] + 1 - first if len(left) > 1 else 0 :] -= 1
        return own if (own <= np.maximum(self.taken[first : n + 1], self.limit)).all() else None

    def issue(self, registers: Sequence[StreamRegister], n: int) -> None:
        """Operation n is issued."""
        for x in registers:
            self.mentions[x].remove(n)
            self.started.add(x)


def _lives(nodes: Sequence[Effects], limits: Mapping[str, int]) -> dict[str, _Lives]:
    """The lives of the registers of each file that operations write."""
    mentions: dict[StreamRegister, list[int]] = {}
    for n, node in enumerate(nodes):
        for x in _named(node):
            mentions.setdefault(x, []).append(n)
    made: dict[str, _Lives] = {}
    for file in dict.fromkeys(x.register.file for node in nodes for x in node.writes):
        own = {x: list(places) for x, places in mentions.items() if x.file == file}
        taken = np.zeros(len(nodes) + 1, np.int64)
        given = {x for x, places in own.items() if x in nodes[places[0]].reads}
        for x, places in own.items():
            taken[0 if x in given else places[0] + 1 : places[-1] + 1] += 1
        made[file] = _Lives(limits[file], taken, own, given)
    return made


@dataclass(slots=True)
class _Scheduler:
    machine: VliwMachine
    nodes: Sequence[Effects]
    edges: Sequence[Edge]
    ranks: Sequence[tuple[int, int, int]]
    limits: Mapping[str, int]
    lives: dict[str, _Lives] = field(default_factory=dict)
    named: list[dict[str, list[StreamRegister]]] = field(default_factory=list)

    def run(self) -> list[int]:
        """The cycle of each operation."""
        self.lives = _lives(self.nodes, self.limits)
        self.named = [{file: [x for x in _named(node) if x.file == file] for file in self.lives} for node in self.nodes]
        after: list[list[Edge]] = [[] for _ in self.nodes]
        waiting = [0] * len(self.nodes)
        for edge in self.edges:
            after[edge.first].append(edge)
            waiting[edge.second] += 1
        start = [0] * len(self.nodes)
        cycles = [-1] * len(self.nodes)
        table = ReservationTable(self.machine)
        ready = [(0, n) for n, count in enumerate(waiting) if not count]
        heapify(ready)
        cycle = first = left = 0
        left = len(self.nodes)
        near: list[tuple[int, int, int]] = []
        while left:
            while ready and ready[0][0] <= cycle:
                insort(near, self.ranks[heappop(ready)[1]])
            full: set[tuple[str, ...]] = set()
            waits = 0
            for key in list(near):
                n = key[2]
                if self.nodes[n].units in full or waits > MOST_WAITING and n != first:
                    continue
                found = self._room(n, first)
                if found is None:
                    waits += 1
                    continue
                if not table.place(n, self.nodes[n], cycle):
                    full.add(self.nodes[n].units)
                    continue
                cycles[n] = cycle
                near.remove(key)
                left -= 1
                self._issue(n, first, found)
                while first < len(cycles) and cycles[first] >= 0:
                    first += 1
                for edge in after[n]:
                    start[edge.second] = max(start[edge.second], cycle + edge.delay)
                    waiting[edge.second] -= 1
                    if not waiting[edge.second]:
                        heappush(ready, (start[edge.second], edge.second))
            cycle += 1
        return cycles

    def _room(self, n: int, first: int) -> dict[str, npt.NDArray[np.int64]] | None:
        """What is taken of each file were an operation issued now; None where the rest would have too little."""
        if n == first:
            return {}
        found: dict[str, npt.NDArray[np.int64]] = {}
        for file, registers in self.named[n].items():
            if registers:
                own = self.lives[file].after(registers, n, first)
                if own is None:
                    return None
                found[file] = own
        return found

    def _issue(self, n: int, first: int, found: Mapping[str, npt.NDArray[np.int64]]) -> None:
        for file, own in found.items():
            self.lives[file].taken[first : n + 1] = own
        for file, registers in self.named[n].items():
            self.lives[file].issue(registers, n)
