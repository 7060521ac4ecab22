"""Lines that loops move into a level of the caches: what is used again finds its line there, as far as the footprint of
what was done meanwhile fits in the cache.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.poly.scop.extraction import extract_scop
>>> from planish.schedule.auto.cost.loop_tree import read_loops
>>> text = "kernel k(n; A: f64[n, n], x: f64[n]) { for i in 0 .. n { for j in 0 .. n { x[i] += A[j, i] } } }"
>>> scop = extract_scop(parse_kernel(text))
>>> loops = read_loops(scop.schedule, scop, {"n": 1024})
>>> [round(sum(missed_lines(loops, Room(x, 64)).values())) for x in (32 << 10, 1 << 20, 1 << 25)]
[1050624, 132224, 0]
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import exp, inf, prod

from planish.schedule.auto.cost.loop_tree import ArrayReference, Leaf, LoopNode, Node, Step, leaves

FULL = 0.75
"""The part of a cache that holds what is used again: sets fill unevenly."""
_ROUNDS = 40
"""In which the part that is lost is found, which does not change much any more then."""


@dataclass(frozen=True, slots=True)
class Room:
    """The bytes of a cache, and of a line of it; the `extents` of arrays, as far as they are known. `random`: what
    comes takes the place of any line, and not of that which was used the longest time ago."""

    bytes: int
    line: int
    extents: Mapping[str, tuple[int | None, ...]] = field(default_factory=dict)
    random: bool = False


def missed_lines(nodes: Sequence[Node], room: Room, stored: int = 2) -> dict[int, float]:
    """The lines that come from behind a cache, by the statements (their `id`) that miss them; those that are stored to
    count `stored` times, as they go back. None are missed where all fits, as in one of many calls."""
    out: dict[int, float] = {}
    lost = _lost_part(nodes, 0, room)
    if lost:
        _miss(nodes, 0, lost, room, stored, out)
    return out


def _miss(nodes: Sequence[Node], depth: int, times: float, room: Room, stored: int, out: dict[int, float]) -> None:
    """Adds what nodes in `depth` loops miss that run so many times."""
    inner: tuple[tuple[Node, ...], ...] = ()
    lost, deeper, repeated = 0.0, depth, 1
    if len(nodes) > 1:
        lost, inner = _lost_part(nodes, depth, room), tuple((x,) for x in nodes)
    elif nodes and isinstance(nodes[0], LoopNode):
        loop, deeper = nodes[0], depth + 1
        lost, inner, repeated = _lost_part(loop.body, deeper, room), (loop.body,), loop.trips
    if lost < 1.0:
        # What one iteration, or one of the nodes, uses is still there in the next one.
        count, own = _lines(nodes, depth, room, stored), [(x, _lines((x,), depth, room, stored)) for x in leaves(nodes)]
        whole = sum(x for _, x in own)
        for leaf, part in own:
            out[id(leaf)] = out.get(id(leaf), 0.0) + (1.0 - lost) * times * count * part / max(whole, 1e-9)
    for x in inner if lost else ():
        _miss(x, deeper, lost * times * repeated, room, stored, out)


def _lost_part(nodes: Sequence[Node], depth: int, room: Room) -> float:
    """The part of the lines that are used again behind nodes in `depth` loops and not found then."""
    filled = _lines(nodes, depth, room, 1) * room.line / (FULL * room.bytes)
    return lost_part(round(filled, 3)) if room.random else float(filled > 1.0)


@lru_cache(maxsize=1024)
def lost_part(filled: float) -> float:
    """The part of its lines that a sweep misses which goes through so many times what a cache holds, again and again.

    Each miss takes the place of any line: one that is used every `F` lines in a cache of `C` is still there with a
    probability of (1 - 1 / C)^(m F), where m is the part of the lines that miss: m = 1 - exp(-m F / C).

    >>> [round(lost_part(x), 2) for x in (1.0, 1.2, 1.5, 2.0, 4.0)]
    [0.0, 0.31, 0.58, 0.8, 0.98]
    """
    if filled <= 1.0:
        return 0.0
    part = 1.0
    for _ in range(_ROUNDS):
        part = 1.0 - exp(-part * filled)
    return part if part < 0.999 else 1.0


def _lines(nodes: Sequence[Node], depth: int, room: Room, stored: int) -> float:
    """The distinct lines that nodes in `depth` loops touch; those that are stored to count `stored` times."""
    groups: dict[tuple[str, tuple[Step, ...]], list[tuple[Leaf, ArrayReference]]] = {}
    out = 0.0
    for leaf in leaves(nodes):
        for x in leaf.references if leaf.instances else ():
            if x.regular:
                groups.setdefault((x.array, x.steps[:depth]), []).append((leaf, x))
            else:
                out += prod(leaf.trips[depth:])
    arrays: dict[str, float] = {}
    for (array, _), uses in groups.items():
        count = _group_lines(uses, depth, room) * (stored if any(x.write for _, x in uses) else 1)
        arrays[array] = arrays.get(array, 0.0) + count
    sizes = {array: uses[0][1].bytes for (array, _), uses in groups.items()}
    return out + sum(min(x, _most(name, sizes[name], room, stored)) for name, x in arrays.items())


def _most(name: str, bytes: int, room: Room, stored: int) -> float:
    """The lines of a whole array, whose elements have so many bytes."""
    known = [x for x in room.extents.get(name, (None,)) if x is not None]
    whole = len(known) == len(room.extents.get(name, (None,)))
    return stored * (1 + prod(known) * bytes / room.line) if whole else inf


def _group_lines(uses: Sequence[tuple[Leaf, ArrayReference]], depth: int, room: Room) -> float:
    """The lines of references that the loops around move in the same way, so that they stay near each other."""
    spans = [_spans(leaf, x, depth) for leaf, x in uses]
    widest = tuple(map(max, zip(*spans, strict=True)))
    subscripts = range(len(widest))
    if not subscripts:
        return 1.0
    boxes = [(x.origin, own) for (_, x), own in zip(uses, spans, strict=True)]
    wide = tuple(_covered((middle[d] - own[d] // 2, own[d]) for middle, own in boxes) for d in subscripts)
    most = max(_touched(leaf, x, depth, room) for leaf, x in uses)
    first, places = uses[0][1], len({x.origin for _, x in uses})
    apart = min(float(places), _in_box(wide, first, room) / _in_box(widest, first, room))
    return max(1.0, most * max(1.0, apart) * _share(uses, depth))


def _touched(leaf: Leaf, x: ArrayReference, depth: int, room: Room) -> float:
    """The lines of one reference in the loops inside: no more than in each iteration of the outermost one, times
    these."""
    out = 1.0
    for d in reversed(range(depth, len(leaf.trips))):
        if x.moves(d):
            out = min(leaf.trips[d] * out, _in_box(_spans(leaf, x, d), x, room))
    return out


def _in_box(spans: Step, x: ArrayReference, room: Room) -> float:
    """The lines of a box of elements: no more than from its first element to its last one, where rows are known."""
    apart = prod(spans[:-1]) * (1 + (spans[-1] - 1) * x.bytes / room.line)
    inner = room.extents.get(x.array, ())[1:]
    if not spans or None in inner or len(inner) < len(spans) - 1:
        return max(1.0, apart)
    reach, row = 0, 1
    for span, extent in zip(reversed(spans), (*reversed(inner), 1), strict=True):
        reach, row = reach + (span - 1) * row, row * (extent or 1)
    return max(1.0, min(apart, (reach + 1) * x.bytes / room.line))


def _spans(leaf: Leaf, x: ArrayReference, depth: int) -> Step:
    """The elements of each subscript that the loops inside go through."""
    inside = range(depth, len(leaf.trips))
    return tuple(1 + sum(abs(x.steps[k][d]) * (leaf.trips[k] - 1) for k in inside) for d in range(len(x.origin)))


def _share(uses: Sequence[tuple[Leaf, ArrayReference]], depth: int) -> float:
    """The part of the iterations of all loops in which statements run of which each has some."""
    parts: dict[str, float] = {}
    for leaf in {id(x): x for x, _ in uses}.values():
        parts[leaf.statement.name] = parts.get(leaf.statement.name, 0.0) + leaf.share(depth)
    return min(1.0, max(parts.values()))


def _covered(ranges: Iterable[tuple[int, int]]) -> int:
    """The elements that ranges, each with its begin and its length, cover together."""
    covered, end = 0, -sys.maxsize
    for begin, length in sorted(ranges):
        covered += max(0, begin + length - max(begin, end))
        end = max(end, begin + length)
    return covered
