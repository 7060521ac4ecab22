"""Which term of each class is computed: the cheapest by the units that their operations take, which have prices.

All units work at once, so that what counts is the one with the most to do. Prices follow from what units had to do the
last time; what several stores need is paid for by all of them; a long chain of operations costs for its latency.

>>> from planish.vliw.saturation.egraph import EGraph
>>> graph = EGraph()
>>> x = graph.add("x")
>>> both = graph.add("slow", (x,))
>>> _, _ = graph.merge(both, graph.add("fast", (x,))), graph.rebuild()
>>> one, two = frozenset({"A"}), frozenset({"B"})
>>> work = {"x": Work((), 0), "slow": Work(((one, 4),), 9), "fast": Work(((one, 1), (two, 1)), 2)}
>>> found = Extractor(graph, [both], lambda number, node: work[node.op]).best([both])
>>> [x.op for x in found.nodes.values()], found.bound
(['x', 'fast'], 2)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from planish.vliw.saturation.egraph import EGraph, ENode

Units = frozenset[str]

INFINITE = float("inf")

WEIGHTS = (0.0, 0.005, 0.05, 0.5)
"""What a cycle of latency costs, beside a cycle of all units of a kind."""

LARGE = 3000
"""Classes of a graph whose prices are found anew but once."""

IMPROVED = 2
"""So many extractions are improved by single changes."""

MOST_WORK = 15_000
"""Nodes that are scheduled for changes that are tried."""

MOST_PASSES = 12
"""Times that choices are made anew after those of their operands have changed."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a node's operations take: cycles of one of some units each, and the latency from the first to the last."""

    busy: tuple[tuple[Units, int], ...]
    latency: int


_Choice = tuple[ENode, Work, tuple[int, ...]]
"""A node, what it takes, and its operands."""

_Chosen = Mapping[int, _Choice]


@dataclass(frozen=True, slots=True, eq=False)
class Extraction:
    """A node for each class that is computed, operands first, with what it takes and its operands. `loads`: the cycles
    that units are busy; `depth`: the longest chain of latencies; `bound`: no schedule is shorter."""

    nodes: Mapping[int, ENode]
    picked: Mapping[int, _Choice]
    loads: Mapping[Units, int]
    depth: int
    bound: int
    _scheduled: list[int] = field(default_factory=list, repr=False)

    @property
    def estimate(self) -> float:
        """About how many cycles it takes: a chain does not start at once where units are full."""
        least = resource_cycles(self.loads)
        return max(self.depth, least) + 0.5 * min(self.depth, least)

    def users(self) -> dict[int, int]:
        """How many nodes use each class."""
        out: dict[int, int] = {}
        for _, _, children in self.picked.values():
            for x in dict.fromkeys(children):
                out[x] = out.get(x, 0) + 1
        return out

    def scheduled(self) -> int:
        """How many cycles a list schedule of it has, longest chains first."""
        if not self._scheduled:
            self._scheduled.append(self._list_schedule())
        return self._scheduled[0]

    def _list_schedule(self) -> int:
        heights: dict[int, int] = {}
        for number in reversed(list(self.picked)):
            _, work, children = self.picked[number]
            own = heights.setdefault(number, 0) + max(work.latency, 1)
            for x in children:
                heights[x] = max(heights.get(x, 0), own)
        free: dict[str, dict[int, int]] = {}
        done: dict[int, int] = {}
        end = 0
        waiting = {n: len(set(x[2])) for n, x in self.picked.items()}
        users: dict[int, list[int]] = {}
        for n, (_, _, children) in self.picked.items():
            for x in set(children):
                users.setdefault(x, []).append(n)
        ready = [(-heights[n], n) for n, count in waiting.items() if not count]
        heapify(ready)
        while ready:
            _, number = heappop(ready)
            _, work, children = self.picked[number]
            cycle = max((done[x] for x in children), default=0)
            for units, busy in work.busy:
                cycle = _place(free, units, busy, cycle)
                end = max(end, cycle + 1)
            done[number] = cycle + max(work.latency, 0)
            for x in users.get(number, ()):
                waiting[x] -= 1
                if not waiting[x]:
                    heappush(ready, (-heights[x], x))
        return end


def _place(free: dict[str, dict[int, int]], units: Units, busy: int, cycle: int) -> int:
    """Take the first cycle from some on in which one of some units is free for so long. `free`: for each unit a later
    cycle to be looked at in place of one that is taken."""
    at, unit = min((_first_free(free.setdefault(x, {}), busy, cycle), x) for x in units)
    free[unit].update((at + n, at + busy) for n in range(busy))
    return at


def _first_free(later: dict[int, int], busy: int, cycle: int) -> int:
    """The first cycle from some on that a unit has free, and as many behind it as it is busy."""
    while True:
        passed = []
        while cycle in later:
            passed.append(cycle)
            cycle = later[cycle]
        for x in passed:
            later[x] = cycle
        taken = next((cycle + n for n in range(1, busy) if cycle + n in later), None)
        if taken is None:
            return cycle
        cycle = taken


def resource_cycles(loads: Mapping[Units, int]) -> int:
    """The least cycles for what units have to do: of each group those that only it, or part of it, can do."""
    return max((-(-sum(n for x, n in loads.items() if x <= units) // len(units)) for units in loads), default=0)


@dataclass(slots=True)
class Extractor:
    """Extracts terms from what is reached from some roots. `work` tells what a node takes; None where the machine
    cannot do it. `avoided`: nodes that are done without in some extractions, as prices alone may lead astray."""

    graph: EGraph
    roots: Sequence[int]
    work: Callable[[int, ENode], Work | None]
    avoided: Sequence[Callable[[ENode], bool]] = ()
    order: list[int] = field(init=False)
    choices: dict[int, list[_Choice]] = field(init=False)
    operands: dict[int, tuple[int, ...]] = field(init=False)
    shares: dict[int, int] = field(init=False)
    kinds: dict[tuple[tuple[Units, int], ...], int] = field(init=False)
    """What nodes keep units busy with, numbered: of the choices of each class, with their latencies, in `priced`."""
    priced: dict[int, list[tuple[int, int, _Choice]]] = field(init=False)

    def __post_init__(self) -> None:
        graph = self.graph
        self.order = graph.reached(self.roots)
        self.choices = {}
        for number in self.order:
            found = [(node, self.work(number, node)) for node in graph.nodes(number)]
            self.choices[number] = [
                (node, work, tuple(graph.find(x) for x in node.children)) for node, work in found if work is not None
            ]
        self.operands = {x: tuple({z: None for y in self.choices[x] for z in y[2]}) for x in self.order}
        self.shares = self._shares()
        self.kinds = {}
        self.priced = {n: [self._priced(x) for x in own] for n, own in self.choices.items()}

    def _priced(self, choice: _Choice) -> tuple[int, int, _Choice]:
        work = choice[1]
        return self.kinds.setdefault(work.busy, len(self.kinds)), max(work.latency, 0), choice

    def _shares(self) -> dict[int, int]:
        """By how many terms that nothing else uses (stores) a class may be used."""
        own: dict[int, int] = {}
        count = 0
        for number in reversed(self.order):
            for _node, work, children in self.choices[number]:
                is_store = work.latency < 0
                mask = own.get(number, 0)
                if is_store:
                    mask, count = 1 << count, count + 1
                for x in children:
                    own[x] = own.get(x, 0) | mask
        return {x: max(1, own.get(x, 0).bit_count()) for x in self.order}

    def best(self, roots: Sequence[int], rounds: int = 0, weights: Sequence[float] = WEIGHTS) -> Extraction:
        """The extraction with the least estimate, of some for different prices of units and of latency.

        ValueError where there is none."""
        return self.several(roots, rounds, weights)[0]

    def several(self, roots: Sequence[int], rounds: int = 0, weights: Sequence[float] = WEIGHTS) -> list[Extraction]:
        """All extractions that differ, the shortest first; `rounds`: how often prices are found (0: by the size)."""
        rounds = rounds or (3 if len(self.order) < LARGE else 2)
        found: dict[Extraction, _Chosen] = {}
        for weight in weights:
            self._add(found, roots, rounds, weight)
        every = self.priced
        for avoided in self.avoided:
            self.priced = {n: [x for x in own if not avoided(x[2][0])] for n, own in every.items()}
            for weight in weights[1:3]:
                self._add(found, roots, rounds, weight)
        self.priced = every
        if not found:
            raise ValueError("the machine has no operations for some term")
        best = sorted(found, key=lambda x: x.scheduled())[:IMPROVED]
        made = [self.improved(roots, x, found[x]) for x in best]
        distinct = [x for n, x in enumerate(made) if all(x.nodes != y.nodes for y in made[:n])]
        return sorted(distinct, key=lambda x: x.scheduled())

    def _add(self, found: dict[Extraction, _Chosen], roots: Sequence[int], rounds: int, weight: float) -> None:
        """The extractions for a price of latency, and for prices of units that follow from each other's."""
        groups = {units for busy in self.kinds for units, _ in busy}
        prices = {x: 1 / len(x) for x in groups}
        shares = self.shares
        for _ in range(rounds):
            chosen = self.chosen(prices, weight)
            made = self.gathered(roots, chosen)
            if made is None:
                break
            # What is there already costs each of its users a part.
            self.shares = {**shares, **made.users()}
            if all(x.nodes != made.nodes for x in found):
                found[made] = chosen
            prices = self._repriced(prices, made)
        self.shares = shares

    def improved(self, roots: Sequence[int], made: Extraction, chosen: _Chosen) -> Extraction:
        """The same with other nodes for some classes, as long as that takes fewer cycles: equal parts that were made in
        one way are made in several, so that all units have something to do."""
        own, tries, length = dict(chosen), 0, made.scheduled()
        most = MOST_WORK // max(1, len(made.nodes))
        better = True
        while better and tries < most:
            better = False
            for number in reversed(list(made.nodes)):
                for choice in self.choices[number]:
                    if choice is own[number] or any(x not in own for x in choice[2]) or number not in made.nodes:
                        continue
                    before, own[number] = own[number], choice
                    other, tries = self.gathered(roots, own), tries + 1
                    if other is None or other.bound > length:
                        own[number] = before
                    elif (now := other.scheduled()) < length:
                        made, better, length = other, True, now
                    else:
                        own[number] = before
                if tries >= most:
                    break
        return made

    def _repriced(self, prices: Mapping[Units, float], made: Extraction) -> dict[Units, float]:
        """Units with more to do cost more, those with nothing to do nearly nothing."""
        use = {x: made.loads.get(x, 0) / len(x) for x in prices}
        most = max(use.values(), default=0) or 1
        return {x: 0.5 * old + 0.5 * (0.05 + use[x] / most) ** 2 / len(x) for x, old in prices.items()}

    def chosen(self, prices: Mapping[Units, float], weight: float) -> _Chosen:
        """The cheapest node of each class for some prices."""
        paid = [sum([prices[units] * n for units, n in busy]) for busy in self.kinds]
        cost = dict.fromkeys(self.order, INFINITE)
        depth = dict.fromkeys(self.order, 0)
        chosen: dict[int, _Choice] = {}
        changed = dict.fromkeys(self.order, 0)
        for turn in range(1, MOST_PASSES):
            for number in self.order:
                if turn > 1 and all(changed[x] < turn - 1 for x in self.operands[number]):
                    continue
                best, share = INFINITE, self.shares[number]
                for kind, deep, choice in self.priced[number]:
                    own = paid[kind] / share + 1e-6
                    children = choice[2]
                    if children:
                        own += sum([cost[x] for x in children])
                        if own >= best:
                            continue
                        deep += max([depth[x] for x in children])
                    if own + weight * deep < best - 1e-9:
                        best, found = own + weight * deep, (own, deep, choice)
                if best < INFINITE and (cost[number], depth[number], chosen.get(number)) != found:
                    cost[number], depth[number], chosen[number] = found
                    changed[number] = turn
            if turn not in changed.values():
                break
        return chosen

    def gathered(self, roots: Sequence[int], chosen: _Chosen) -> Extraction | None:
        """What is chosen, operands first; None where a root cannot be made, or there is a circle."""
        if any(self.graph.find(x) not in chosen for x in roots):
            return None
        picked: dict[int, _Choice] = {}
        depth: dict[int, int] = {}
        loads: dict[Units, int] = {}
        opened: set[int] = set()
        waiting = [(self.graph.find(x), False) for x in reversed(roots)]
        while waiting:
            number, closes = waiting.pop()
            _, work, children = chosen[number]
            if closes and number not in picked:
                if any(x not in depth for x in children):
                    return None
                picked[number] = chosen[number]
                depth[number] = max((depth[x] for x in children), default=0) + max(work.latency, 0)
                for units, n in work.busy:
                    loads[units] = loads.get(units, 0) + n
            elif number not in picked and number not in opened:
                opened.add(number)
                waiting.append((number, True))
                waiting += [(x, False) for x in reversed(children)]
        longest = max(depth.values(), default=0)
        nodes = {n: x[0] for n, x in picked.items()}
        return Extraction(nodes, picked, loads, longest, max(longest, resource_cycles(loads)))
