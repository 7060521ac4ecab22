"""The dependence graph of a block, or of a loop's body with the distances in iterations.

An edge says that its second operation is issued at least `delay` cycles after the first one of `distance` iterations
before. The pipeline is exposed: a register holds its old value until the new one lands, so that the delay from a
reader to the next writer may be negative.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.machine import VliwMachine, MachineOperation, VliwRegisterFile, Unit
>>> from planish.vliw.pack.effects import Described
>>> from planish.vliw.program import Instr, StreamRegister
>>> mac = parse_kernel("kernel MAC(d: f32[4] @V, a: f32[4] @V) { for l in 0 .. 4 { d[l] += a[l] } }")
>>> tiny = VliwMachine("tiny", {"v": 1}, (Unit("U", "v"),), (VliwRegisterFile("V", 8, 128),), (),
...     (MachineOperation("MAC", "MAC {d}, {a}", mac, ("U",), latency=3),))
>>> d, a = StreamRegister("V", "d"), StreamRegister("V", "a")
>>> body = [Described(tiny).effects(x) for x in (Instr("MAC", (d, a)), Instr("MAC", (a, d)))]
>>> for edge in graph(body, carried=True): print(edge)
0 -> 1 delay 3
0 -> 0 delay 3 distance 1
1 -> 0 delay 3 distance 1
1 -> 1 delay 3 distance 1
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from planish.vliw.pack.effects import AddressedAccess, BasePointer, Effects
from planish.vliw.program import AccessPlace, StreamRegister

_Note = Callable[[int, int, int, int], None]
_Between = Callable[[int, int], bool]


@dataclass(frozen=True, slots=True)
class Edge:
    """`second` of iteration n + `distance` is issued `delay` cycles or more after `first` of iteration n."""

    first: int
    second: int
    delay: int
    distance: int = 0

    def __str__(self) -> str:
        distance = f" distance {self.distance}" if self.distance else ""
        return f"{self.first} -> {self.second} delay {self.delay}{distance}"


def graph(
    nodes: Sequence[Effects],
    carried: bool,
    renamed: Collection[StreamRegister] = (),
    pointers: Mapping[StreamRegister, BasePointer] | None = None,
    free: bool = False,
) -> list[Edge]:
    """The dependences between the operations of a block; `carried`: also those from one iteration to later ones,
    but for registers that are `renamed` from one iteration to the next. `pointers` tell which addresses differ by a
    constant; where they are `free`, an access may be on either side of an update."""
    delays: dict[tuple[int, int, int], int] = {}

    def note(first: int, second: int, distance: int, delay: int) -> None:
        key = (first, second, distance)
        delays[key] = max(delay, delays.get(key, delay))

    _register_edges(nodes, carried, frozenset(renamed), frozenset(pointers or ()) if free else frozenset(), note)
    _memory_edges(nodes, carried, _Meetings(_own_places(nodes, pointers or {})), note)
    edges = (Edge(a, b, delay, distance) for (a, b, distance), delay in delays.items())
    return sorted(edges, key=lambda x: (x.distance, x.first, x.second))


def needed_delay(first: Effects, second: Effects) -> int | None:
    """How long after `first` an operation that comes after it, in whatever block, can be issued; None: at any time."""
    if disjoint(first, second):
        return None
    delays: list[int] = []
    for write in first.writes:
        delays += (write.latency for x in second.reads if x == write.register)
        delays += (write.latency - x.latency + 1 for x in second.writes if x.register == write.register)
    for write in second.writes:
        delays += (1 - write.latency for x in first.reads if x == write.register)
    for a in first.accesses:
        delays += (_access_delay(a, b) for b in second.accesses if _may_meet_anywhere(a, b))
    return max(delays, default=None)


def disjoint(first: Effects, second: Effects) -> bool:
    """Whether two operations are guarded by a register and by its negation; it is not written between them."""
    a, b = first.guard, second.guard
    return a is not None and b is not None and a.register == b.register and a.negated != b.negated


@dataclass(slots=True)
class _History:
    """Who has written a register since it was last written for certain, and who has read it since."""

    writers: list[tuple[int, int, int]] = field(default_factory=list)
    readers: list[tuple[int, int]] = field(default_factory=list)


def _register_edges(
    nodes: Sequence[Effects],
    carried: bool,
    renamed: frozenset[StreamRegister],
    free: frozenset[StreamRegister],
    note: _Note,
) -> None:
    histories: dict[StreamRegister, _History] = {}
    versions: dict[StreamRegister, int] = {}
    guards: dict[tuple[int, int], int] = {}
    for copy in range(2 if carried else 1):
        for j, node in enumerate(nodes):
            if node.guard is not None:
                guards[copy, j] = versions.get(node.guard.register, 0)
            for register in node.reads:
                if register in free or (copy and register in renamed):
                    continue
                history = histories.setdefault(register, _History())
                for i, at, latency in history.writers:
                    if not _told_apart(nodes, (at, i), (copy, j), guards) and (copy == 0 or at == 0):
                        note(i, j, copy - at, latency)
                history.readers.append((copy, j))
            for write in node.writes:
                versions[write.register] = versions.get(write.register, 0) + 1
                if write.register in free or (copy and write.register in renamed):
                    continue
                history = histories.setdefault(write.register, _History())
                for at, i in history.readers:
                    if i == j and at == copy or _told_apart(nodes, (at, i), (copy, j), guards):
                        continue
                    if copy == 0 or at == 0:
                        note(i, j, copy - at, 1 - write.latency)
                for i, at, latency in history.writers:
                    if copy == 0 or at == 0:
                        note(i, j, copy - at, latency - write.latency + 1)
                if write.certain:
                    history.writers, history.readers = [], []
                history.writers.append((j, copy, write.latency))


def _told_apart(
    nodes: Sequence[Effects], first: tuple[int, int], second: tuple[int, int], guards: dict[tuple[int, int], int]
) -> bool:
    return disjoint(nodes[first[1]], nodes[second[1]]) and guards[first] == guards[second]


def _own_places(nodes: Sequence[Effects], pointers: Mapping[StreamRegister, BasePointer]) -> list[AccessPlace | None]:
    """What the base registers tell of accesses: those with the same base are so many bytes apart."""
    written = {x.register for node in nodes for x in node.writes}
    versions: dict[StreamRegister, int] = {}
    found: list[AccessPlace | None] = []
    for i, node in enumerate(nodes):
        place: AccessPlace | None = None
        for access in node.accesses:
            base, offset = access.address.base, access.address.offset
            if isinstance(offset, int) and access.bytes:
                group = f"{base} {versions.get(base, 0)}"
                stride: int | None = None if base in written else 0
                if base in pointers:
                    stride, group = pointers[base].step, str(base)
                    offset += pointers[base].step if i > pointers[base].update else 0
                place = AccessPlace("", group, offset, stride, access.bytes)
        found.append(place)
        for write in node.writes:
            versions[write.register] = versions.get(write.register, 0) + 1
    return found


@dataclass(frozen=True, slots=True)
class _Meetings:
    """At which distances accesses may meet, by what their bases tell and what is known of their places."""

    own: Sequence[AccessPlace | None]

    def first(self, i: int, a: AddressedAccess, j: int, b: AddressedAccess, least: int, most: int | None) -> int | None:
        """The least distance, from `least` on, at which access `b` of operation j may touch what `a` of i has."""
        p, q = self.own[i], self.own[j]
        if p is not None and q is not None and p.group == q.group:
            return _first_meeting(p, q, least, most)
        return _first_meeting(a.place, b.place, least, most)


def _memory_edges(nodes: Sequence[Effects], carried: bool, meetings: _Meetings, note: _Note) -> None:
    written_guards = _guards_written_between(nodes)
    touching = [(i, x) for i, node in enumerate(nodes) for x in node.accesses]
    stored = {x.memory for _, x in touching if x.store}
    touching = [(i, x) for i, x in touching if x.memory in stored]
    for i, a in touching:
        for j, b in touching:
            if not (a.store or b.store) or a.memory != b.memory:
                continue
            if i < j and meetings.first(i, a, j, b, 0, 0) == 0:
                if not (disjoint(nodes[i], nodes[j]) and not written_guards(i, j)):
                    note(i, j, 0, _access_delay(a, b))
            if carried:
                distance = meetings.first(i, a, j, b, 1, None)
                if distance is not None and (i != j or a.store):
                    note(i, j, distance, _access_delay(a, b))


def _guards_written_between(nodes: Sequence[Effects]) -> _Between:
    def written(i: int, j: int) -> bool:
        guard = nodes[i].guard
        return guard is not None and any(x.register == guard.register for k in range(i, j) for x in nodes[k].writes)

    return written


def _access_delay(first: AddressedAccess, second: AddressedAccess) -> int:
    """Cycles from one access of some bytes to the next one of them, where one of the two stores."""
    if first.store and second.store:
        return first.latency - second.latency + 1
    return first.latency if first.store else 1 - second.latency


def _first_meeting(p: AccessPlace | None, q: AccessPlace | None, least: int, most: int | None) -> int | None:
    """The least distance, from `least` on, at which bytes of `q` may be some of `p`; None where there is none."""
    if p is None or q is None:
        return least
    if p.array != q.array:
        return None
    if p.group != q.group or (p.stride != q.stride and p.stride is not None and q.stride is not None):
        return least
    apart = q.offset - p.offset
    if p.stride is None or q.stride is None:
        return least if least > 0 or -q.bytes < apart < p.bytes else None
    if most == 0 or p.stride == 0:
        return least if -q.bytes < apart < p.bytes else None
    # -q.bytes < apart + d * stride < p.bytes
    low, high = -q.bytes - apart + 1, p.bytes - apart - 1
    if p.stride < 0:
        low, high = -high, -low
    stride = abs(p.stride)
    first = max(least, -(-low // stride))
    return first if first * stride <= high else None


def _may_meet_anywhere(a: AddressedAccess, b: AddressedAccess) -> bool:
    """Whether two accesses in different blocks may touch the same bytes: all iterations of either count."""
    if a.memory != b.memory or not (a.store or b.store):
        return False
    return a.place is None or b.place is None or a.place.array == b.place.array


def longest_to_end(count: int, edges: Iterable[Edge], lengths: Sequence[int]) -> list[int]:
    """For each operation the cycles from its issue to the end of the longest chain of the block that starts with it."""
    after: list[list[Edge]] = [[] for _ in range(count)]
    for edge in edges:
        if edge.distance == 0:
            after[edge.first].append(edge)
    heights = list(lengths)
    for i in reversed(range(count)):
        heights[i] = max([heights[i], *(x.delay + heights[x.second] for x in after[i])])
    return heights
