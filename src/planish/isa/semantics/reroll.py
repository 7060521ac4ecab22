"""Rerolls statements that differ by an arithmetic progression of numbers into loops, and terms of a sum likewise.

Lanes come unrolled from whatever reads a specification. A statement without its numbers is its shape; where a run of
shapes comes again and again, and each number grows by a step of its own, the run is the body of a loop. Runs are rolled
first where the whole does not roll, so that blocks of lanes become nests. `i` counts the innermost loop.

>>> from planish.isa.semantics import build
>>> from planish.isa.semantics.node import const
>>> def lane(l): return Put("out", const(8 * l), 8, build.bits("ab"[l % 2], const(8 * (l // 2)), 8))
>>> (loop,) = roll([lane(l) for l in range(8)])
>>> loop.count, loop.body[1].value
(4, bits('b', 8, False, mul(var('i', 4), const(8))))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from planish.isa.semantics import build
from planish.isa.semantics.definition import LaneLoop, Put, Statement
from planish.isa.semantics.node import Node, const, node, rebuild, var

_MOST_NUMBERS = 1000
_FEWEST_NESTED = 8
"""Fewer terms are rows of rows by chance."""

_LOOPS = "ijlmnop"
_SUMS = "qrstuvwxyz"

Shape = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class _Item:
    """A statement as its shape, its numbers, and what makes it again of others."""

    shape: Shape
    numbers: tuple[int, ...]
    make: Callable[[Sequence[Node]], Statement]
    depth: int = 0
    size: int = 1


def roll(puts: Sequence[Put]) -> tuple[Statement, ...]:
    """The statements as loops; the same ones in the same order where nothing can be rolled."""
    items = [_item(put) for put in puts]
    if any(item is None for item in items):
        return tuple(puts)
    rolled = _Roller().roll([item for item in items if item is not None])
    return tuple(item.make([const(x) for x in item.numbers]) for item in rolled)


def _item(put: Put) -> _Item | None:
    shapes = _Shapes()
    nodes = (put.offset, put.value, put.when)
    found = [shapes.of(x) for x in nodes]
    if any(x is None for x in found):
        return None
    parts = [x for x in found if x is not None]
    numbers = tuple(number for _, own in parts for number in own)
    if len(numbers) > _MOST_NUMBERS:
        return None

    def make(given: Sequence[Node]) -> Statement:
        numbers = iter(given)
        offset, value, when = (with_numbers(x, numbers) for x in nodes)
        return Put(put.target, offset, put.width, value, when)

    return _Item(("put", put.target, put.width, *(shape for shape, _ in parts)), numbers, make)


class _Shapes:
    """Shapes of nodes, each found once; None where there are too many numbers."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[Shape, tuple[int, ...]] | None] = {}
        self.alive: list[Node] = []  # a node that is gone may give its identity to another

    def of(self, x: Node) -> tuple[Shape, tuple[int, ...]] | None:
        if id(x) not in self.known:
            self.alive.append(x)
            self.known[id(x)] = self.find(x)
        return self.known[id(x)]

    def find(self, x: Node) -> tuple[Shape, tuple[int, ...]] | None:
        if x.op == "const":
            return ("number",), (x.low,)
        parts, constant = _parts(x)
        shapes: list[Shape] = []
        numbers: list[int] = []
        for part in parts:
            found = self.of(part)
            if found is None:
                return None
            shapes.append(found[0])
            numbers += found[1]
        if constant is not None:
            numbers.append(constant)
        if len(numbers) > _MOST_NUMBERS:
            return None
        return (x.op, x.attr, *shapes), tuple(numbers)


def _parts(x: Node) -> tuple[tuple[Node, ...], int | None]:
    """The arguments that have a shape, and the number beside them: an offset always has one, if only 0."""
    if x.op != "bits":
        return x.args, None
    (offset,) = x.args
    if offset.op == "const":
        return (), offset.low
    if offset.op == "add" and offset.args[-1].op == "const":
        return (build.add(*offset.args[:-1]),), offset.args[-1].low
    return (offset,), 0


def with_numbers(x: Node, numbers: Iterator[Node]) -> Node:
    """The node with other numbers, in the order in which its shape has them."""
    if x.op == "const":
        return next(numbers)
    parts, constant = _parts(x)
    args = tuple(with_numbers(part, numbers) for part in parts)
    if constant is not None:
        return node(x.op, (build.add(*args, next(numbers)),), x.attr)
    if x.op == "add":
        return build.add(*args)
    if x.op == "mul":
        return build.multiply(*args)
    return x if args == x.args else node(x.op, args, x.attr)


class _Roller:
    """Rolls statements; a run of them once, however many ways lead to it."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, ...], tuple[list[_Item], list[_Item]]] = {}

    def roll(self, items: list[_Item]) -> list[_Item]:
        if len(items) == 1:
            return items
        key = tuple(map(id, items))  # what is known keeps the items, so that no other one gets their identities
        if key not in self.known:
            self.known[key] = items, self.find(items)
        return self.known[key][1]

    def find(self, items: list[_Item]) -> list[_Item]:
        count = len(items)
        best = items
        for period in _divisors(count)[:-1]:
            if (loop := _as_loop(items, period)) is not None:
                best = [loop]
                break
        if best is not items and best[0].size == 2:
            return best
        for chunk in _divisors(count)[1:-1]:
            rolled = [x for at in range(0, count, chunk) for x in self.roll(items[at : at + chunk])]
            if len(rolled) < count:
                found = self.roll(rolled)
                if _size(found) < _size(best):
                    best = found
        runs = [list(run) for _, run in groupby(items, key=lambda x: x.shape)]
        if len(best) > 1 and 1 < len(runs) < count:
            found = [x for run in runs for x in self.roll(run)]
            if _size(found) < _size(best):
                best = found
        return best


def _size(items: list[_Item]) -> int:
    return sum(x.size for x in items)


def _divisors(count: int) -> list[int]:
    return [x for x in range(1, count + 1) if count % x == 0]


def _as_loop(items: list[_Item], period: int) -> _Item | None:
    body = items[:period]
    steps: list[tuple[int, ...]] = []
    for place, first in enumerate(body):
        column = items[place::period]
        step: tuple[int, ...] = ()
        for turn, item in enumerate(column):
            if item.shape != first.shape:
                return None
            if turn == 1:
                step = tuple(b - a for a, b in zip(first.numbers, item.numbers, strict=True))
            if turn > 1 and any(x != a + turn * d for x, a, d in zip(item.numbers, first.numbers, step, strict=True)):
                return None
        steps.append(step)
    count = len(items) // period
    depth = max(x.depth for x in body)

    def make(given: Sequence[Node]) -> Statement:
        counter = var(_LOOPS[depth], count)
        made = []
        at = 0
        for item, step in zip(body, steps, strict=True):
            own = given[at : at + len(step)]
            at += len(step)
            made.append(item.make([_step(x, d, counter) for x, d in zip(own, step, strict=True)]))
        return LaneLoop(str(counter.attr[0]), count, tuple(made))

    shape = ("loop", count, *(x.shape for x in body), *steps)
    numbers = tuple(x for item in body for x in item.numbers)
    return _Item(shape, numbers, make, depth + 1, _size(body) + 1)


def _step(start: Node, step: int, counter: Node) -> Node:
    return build.add(start, build.multiply(counter, const(step))) if step else start


def _again(x: Node, args: tuple[Node, ...]) -> Node:
    return x if args == x.args else node(x.op, args, x.attr)


def roll_sums(root: Node) -> Node:
    """The value with sums over a counter in place of terms that only differ by numbers which grow evenly."""
    depths: dict[int, int] = {}

    def change(old: Node, args: tuple[Node, ...]) -> Node:
        made = _again(old, args)
        depth = max((depths.get(id(x), 0) for x in args), default=0)
        if made.op == "add" and len(made.args) >= 2:
            made, depth = _summed(made, depth)
        depths[id(made)] = depth
        return made

    return rebuild(root, change)


def _summed(total: Node, depth: int) -> tuple[Node, int]:
    """A sum of which terms may be rolled, and how deep the counters in it go."""
    shapes = _Shapes()
    groups: dict[Shape, list[tuple[Node, tuple[int, ...]]]] = {}
    for term in total.args:
        found = shapes.of(term)
        if found is None or not found[1] or term.op == "const":
            continue
        groups.setdefault(found[0], []).append((term, found[1]))
    for found_terms in groups.values():
        terms = sorted(found_terms, key=lambda x: x[1])  # the order of a sum does not matter
        levels = _levels([own for _, own in terms])
        if not levels or depth + len(levels) > len(_SUMS):
            continue
        first, start = terms[0]
        names = _SUMS[depth : depth + len(levels)]
        counters = [var(name, count) for name, (count, _) in zip(names, levels, strict=True)]
        numbers: list[Node] = [const(x) for x in start]
        for counter, (_, step) in zip(counters, levels, strict=True):
            numbers = [_step(x, d, counter) for x, d in zip(numbers, step, strict=True)]
        inner = with_numbers(first, iter(numbers))
        for name, (count, _) in zip(names, levels, strict=True):
            inner = node("sum", (inner,), (name, count))
        taken = {id(x) for x, _ in terms}
        return build.add(*(x for x in total.args if id(x) not in taken), inner), depth + len(levels)
    return total, depth


def _levels(rows: Sequence[tuple[int, ...]]) -> list[tuple[int, tuple[int, ...]]]:
    """How many times rows of numbers grow by which steps, the innermost first; nothing where they do not.

    >>> _levels([(0,), (1,), (8,), (9,), (16,), (17,), (24,), (25,)])
    [(2, (1,)), (4, (8,))]
    """
    if len(rows) < 2:
        return []
    steps = [tuple(b - a for a, b in zip(one, other, strict=True)) for one, other in pairwise(rows)]
    run = next((n for n, x in enumerate(steps, 1) if x != steps[0]), len(rows))
    if run == len(rows):
        return [(run, steps[0])]
    if run < 2 or len(rows) < _FEWEST_NESTED or len(rows) % run:
        return []
    if any(steps[at : at + run - 1] != steps[: run - 1] for at in range(0, len(rows), run)):
        return []
    outer = _levels(rows[::run])
    return [(run, steps[0]), *outer] if outer else []
