"""Lower bounds of the initiation interval (II): what the units, slots and ports allow, and what the recurrences do.

>>> from planish.vliw.machine import VliwMachine, Unit
>>> from planish.vliw.pack.dependence import Edge
>>> from planish.vliw.pack.effects import Effects
>>> from planish.vliw.program import Instr
>>> tiny = VliwMachine("tiny", {"v": 2}, (Unit("A", "v"), Unit("B", "v")), (), (), ())
>>> either = Effects(Instr("X", ()), "compute", ("A", "B"), 1, 1, (), (), ())
>>> slow = Effects(Instr("Y", ()), "compute", ("A",), 4, 4, (), (), ())
>>> print(resource_bound(tiny, [either, either, slow]))
4: Y keeps its unit for 4 of them
>>> print(resource_bound(tiny, [either] * 5 + [slow]))
5: 6 operations keep A, B for 9 of 2 a cycle
>>> print(recurrence_bound(2, [Edge(0, 1, 6), Edge(1, 0, 1, 2)]))
4: 7 cycles in 2 iterations: 0 -> 1 -> 0
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from planish.vliw.machine import VliwMachine
from planish.vliw.pack.dependence import Edge
from planish.vliw.pack.effects import Effects


@dataclass(frozen=True, slots=True)
class IntervalBound:
    """No interval is shorter than `interval`, and why. `operations`: those of a recurrence."""

    interval: int
    reason: str
    operations: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.interval}: {self.reason}"


def resource_bound(machine: VliwMachine, nodes: Sequence[Effects]) -> IntervalBound:
    """ResMII: some operations can only be done on some units, whichever are chosen; a packet takes so many of a side,
    a file so many reads and writes a cycle."""
    parts = machine.parts()
    found = [IntervalBound(1, "a packet a cycle")]
    found += (
        IntervalBound(x.busy, f"{x.instr.operation} keeps its unit for {x.busy} of them") for x in nodes if x.busy > 1
    )
    for side in machine.sides:
        own = {x.name: tuple(y.name for y in parts[x.name] if y.side == side and not y.shared) for x in machine.units}
        found += _side_bounds(nodes, [[own[y] for y in x.units] for x in nodes])
    for sides in unions(frozenset(z.side for y in x.units for z in parts[y]) for x in nodes):
        issued = sum(min(sum(z.side in sides for z in parts[y]) for y in x.units) for x in nodes)
        slots = sum(machine.sides[x] for x in sides)
        found.append(
            IntervalBound(-(-issued // slots), f"{issued} operations for {slots} slots of {', '.join(sorted(sides))}")
        )
    for file in machine.files:
        read = sum(y.file == file.name for x in nodes for y in x.reads)
        written = sum(y.register.file == file.name for x in nodes for y in x.writes)
        if file.readers:
            found.append(
                IntervalBound(-(-read // file.readers), f"{read} reads of {file.name}, {file.readers} a cycle")
            )
        if file.writers:
            found.append(
                IntervalBound(-(-written // file.writers), f"{written} writes of {file.name}, {file.writers} a cycle")
            )
    return max(found, key=lambda x: x.interval)


def _side_bounds(nodes: Sequence[Effects], choices: Sequence[Sequence[tuple[str, ...]]]) -> Iterator[IntervalBound]:
    """Bounds by the units of one side; `choices` are those that each operation may take of it."""
    taking = [
        (x, frozenset(z for y in own for z in y), min(map(len, own)) * x.busy)
        for x, own in zip(nodes, choices, strict=True) if all(own)
    ]  # fmt: skip
    for units in unions(own for _, own, _ in taking):
        held = [busy for _, own, busy in taking if units >= own]
        names = ", ".join(sorted(units))
        share = f"{sum(held)} of {len(units)} a cycle" if len(units) > 1 else f"{sum(held)} of them"
        keep = "operation keeps" if len(held) == 1 else "operations keep"
        yield IntervalBound(-(-sum(held) // len(units)), f"{len(held)} {keep} {names} for {share}")


def recurrence_bound(count: int, edges: Sequence[Edge]) -> IntervalBound:
    """RecMII: the delays around each cycle of dependences fit into the iterations that it spans."""
    best = IntervalBound(1, "no recurrence")
    around = _cyclic(count, edges)
    low, high = 1, max(1, sum(max(x.delay, 0) for x in around))
    while low < high:
        middle = (low + high) // 2
        if positive_cycle(count, around, middle):
            low = middle + 1
        else:
            high = middle
    if low > 1:
        cycle = positive_cycle(count, around, low - 1)
        delays, distances = sum(x.delay for x in cycle), sum(x.distance for x in cycle)
        path = " -> ".join(str(x.first) for x in (*cycle, cycle[0]))
        iterations = f"{distances} iterations" if distances > 1 else "an iteration"
        reason = f"{delays} cycles in {iterations}: {path}"
        best = IntervalBound(low, reason, tuple(x.first for x in cycle))
    return best


def _cyclic(count: int, edges: Sequence[Edge]) -> list[Edge]:
    """The edges that cycles of dependences may have: those between operations that are reached from each other."""
    after: list[list[int]] = [[] for _ in range(count)]
    before: list[list[int]] = [[] for _ in range(count)]
    for x in edges:
        after[x.first].append(x.second)
        before[x.second].append(x.first)
    finished: list[int] = []
    for _ in _reached(range(count), after, finished):
        pass
    component = [0] * count
    for number, members in enumerate(_reached(reversed(finished), before, [])):
        for i in members:
            component[i] = number
    return [x for x in edges if component[x.first] == component[x.second]]


def _reached(starts: Iterable[int], after: Sequence[Sequence[int]], finished: list[int]) -> Iterator[list[int]]:
    """For each start what is reached from it and was not before; in `finished` they are in the order in which all that
    follows them is done (Kosaraju: what is reached backwards, last finished first, are the strong components)."""
    seen = [False] * len(after)
    for start in starts:
        if seen[start]:
            continue
        seen[start] = True
        found, waiting = [start], [(start, iter(after[start]))]
        while waiting:
            at, nexts = waiting[-1]
            other = next((x for x in nexts if not seen[x]), None)
            if other is None:
                finished.append(at)
                waiting.pop()
                continue
            seen[other] = True
            found.append(other)
            waiting.append((other, iter(after[other])))
        yield found


def positive_cycle(count: int, edges: Sequence[Edge], interval: int) -> list[Edge]:
    """A cycle of dependences whose delays are more than `interval` times its distances; empty where there is none."""
    longest = [0] * count
    came: list[Edge | None] = [None] * count
    weighted = [(x.first, x.second, x.delay - interval * x.distance, x) for x in edges]
    for turn in range(1, count + 2):
        changed = False
        for first, second, weight, edge in weighted:
            reached = longest[first] + weight
            if reached > longest[second]:
                longest[second], came[second], changed = reached, edge, True
        if not changed:
            return []
        # What the longest ways come from goes round only in such a cycle, mostly soon.
        if (turn & (turn - 1) == 0 or turn > count) and (cycle := _came_around(came)):
            return cycle
    raise AssertionError("chains grow without a cycle")


def _came_around(came: Sequence[Edge | None]) -> list[Edge]:
    """A cycle of the edges that the longest ways to operations end with; empty where there is none."""
    seen = [-1] * len(came)
    for start in range(len(came)):
        at = start
        while seen[at] < 0 and (edge := came[at]) is not None:
            seen[at] = start
            at = edge.first
        if seen[at] != start:
            continue
        cycle: list[Edge] = []
        node = at
        while (edge := came[node]) is not None:
            cycle.insert(0, edge)
            node = edge.first
            if node == at:
                return cycle
    return []


def unions(sets: Iterable[frozenset[str]]) -> set[frozenset[str]]:
    """All unions of some sets (Hall: where these have room, there is a choice for each operation), but for what comes
    after some thousands."""
    found: set[frozenset[str]] = set()
    for x in sorted(set(sets), key=sorted):
        found |= {x} | {x | y for y in found}
        if len(found) > 4096:
            break
    return found
