"""Straight operations in an order in which a machine's registers are enough: a list schedule that waits where too many
values would be alive.

>>> from planish.vliw.description import load_machine
>>> from planish.vliw.program import MemoryAddress
>>> machine, base = load_machine("ftmatrix"), StreamRegister("AR", "p")
>>> def load(n): return Instr("VLDW", (StreamRegister("V", f"a{n}"), MemoryAddress(base, 128 * n)))
>>> def store(n): return Instr("VSTW", (MemoryAddress(base, 128 * n + 65536), StreamRegister("V", f"a{n}")))
>>> items = [x for n in range(99) for x in (load(n), store(n))]
>>> len(in_register_order(items, machine)) == len(items)
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from planish.vliw.machine import VliwMachine
from planish.vliw.pack.dependence import Edge, graph, longest_to_end
from planish.vliw.pack.effects import Described, Effects
from planish.vliw.pack.reservation import ReservationTable
from planish.vliw.program import Instr, StreamRegister

WINDOWS = (10_000, 160, 80, 40, 20, 10, 1)
"""So many operations behind the first one that is left may be issued; less where registers are too few."""

RESERVED = 8
"""Registers of a file that only the first operation that is left, and what ends lives, may take; a quarter of small
files."""


def in_register_order(items: Sequence[Instr], machine: VliwMachine) -> tuple[Instr, ...]:
    """The operations as they are issued by a schedule with a limited number of registers. The order in which they
    stand is one that takes few."""
    described = Described(machine)
    nodes = [described.effects(x) for x in items]
    edges = [x for x in graph(nodes, False) if x.distance == 0]
    heights = longest_to_end(len(nodes), edges, [1] * len(nodes))
    limits = {x.name: x.count for x in machine.files}
    for window in WINDOWS:
        cycles = _Scheduler(machine, nodes, edges, heights, limits, window).run()
        order = sorted(range(len(items)), key=lambda n: (cycles[n], n))
        most = most_alive([nodes[n] for n in order])
        if all(most.get(x, 0) <= count for x, count in limits.items()):
            return tuple(items[n] for n in order)
    return tuple(items)


def most_alive(nodes: Sequence[Effects]) -> dict[str, int]:
    """How many registers of each file hold values at once, from the operations that set them to the last that uses
    them."""
    last = {x: n for n, node in enumerate(nodes) for x in _named(node)}
    alive: dict[str, set[StreamRegister]] = {}
    most: dict[str, int] = {}
    for n, node in enumerate(nodes):
        for x in _named(node):
            alive.setdefault(x.file, set()).add(x)
            most[x.file] = max(most.get(x.file, 0), len(alive[x.file]))
        for x in _named(node):
            if last[x] == n:
                alive[x.file].discard(x)
    return most


def _named(node: Effects) -> set[StreamRegister]:
    return {*node.reads, *(x.register for x in node.writes)}


@dataclass(slots=True)
class _Scheduler:
    machine: VliwMachine
    nodes: Sequence[Effects]
    edges: Sequence[Edge]
    heights: Sequence[int]
    limits: Mapping[str, int]
    window: int
    left: dict[StreamRegister, int] = field(default_factory=dict)
    alive: dict[str, set[StreamRegister]] = field(default_factory=dict)

    def run(self) -> list[int]:
        """The cycle of each operation."""
        after: list[list[Edge]] = [[] for _ in self.nodes]
        waiting = [0] * len(self.nodes)
        for edge in self.edges:
            after[edge.first].append(edge)
            waiting[edge.second] += 1
        for x in self.nodes:
            for register in _named(x):
                self.left[register] = self.left.get(register, 0) + 1
        start = [0] * len(self.nodes)
        cycles = [-1] * len(self.nodes)
        ready = {n for n, count in enumerate(waiting) if not count}
        table = ReservationTable(self.machine)
        cycle = first = 0
        while ready:
            near = [x for x in ready if start[x] <= cycle and x < first + self.window]
            for n in sorted(near, key=lambda x: (-self.heights[x], x)):
                if not self._has_room(self.nodes[n], n == first) or not table.place(n, self.nodes[n], cycle):
                    continue
                cycles[n] = cycle
                ready.discard(n)
                self._issue(self.nodes[n])
                while first < len(cycles) and cycles[first] >= 0:
                    first += 1
                for edge in after[n]:
                    start[edge.second] = max(start[edge.second], cycle + edge.delay)
                    waiting[edge.second] -= 1
                    if not waiting[edge.second]:
                        ready.add(edge.second)
            cycle += 1
        return cycles

    def _has_room(self, node: Effects, is_first: bool) -> bool:
        """Whether the values that an operation makes have registers, besides those that it ends."""
        if is_first:
            return True
        for file, count in self.limits.items():
            own = self.alive.get(file, set())
            made = {x.register for x in node.writes if x.register.file == file} - own
            ended = {x for x in node.reads if x.file == file and self.left[x] == 1 and x in own}
            if made and len(own) + len(made) - len(ended) > count - min(RESERVED, count // 4):
                return False
        return True

    def _issue(self, node: Effects) -> None:
        for x in node.writes:
            self.alive.setdefault(x.register.file, set()).add(x.register)
        for register in _named(node):
            self.left[register] -= 1
            if not self.left[register]:
                self.alive.get(register.file, set()).discard(register)
