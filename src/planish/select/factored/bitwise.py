"""Bitwise functions: each bit of a value is made of the bits beside it, so that they hold at every width.

>>> a, b = (build.bits(x, ZERO, 8) for x in "01")
>>> is_divisible(build.conjoin(a, build.exclude(b, const(255))), 8), is_divisible(build.add(a, b), 8)
(True, False)
>>> bitwise(build.conjoin(a, build.exclude(b, const(255))), 8)
and(bits('0', 8, False, const(0)), invert(bits('1', 8, False, const(0))))
>>> index = build.add(build.multiply(build.bits("a", ZERO, 1), const(2)), build.bits("b", ZERO, 1))
>>> look_up(0b1000, index)
and(bits('b', 1, False, const(0)), bits('a', 1, False, const(0)))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import product

from planish.isa.semantics import build
from planish.isa.semantics.build import ZERO
from planish.isa.semantics.node import Node, const, node, rebuild, walk
from planish.select.factored.lane_terms import Folding

_MOST_VARIABLES = 3


def is_divisible(function: Node, width: int) -> bool:
    """Whether each bit of a value of a width is made of the same bit of what it reads, and of truths, in a way that is
    the same for all bits."""
    if not _is_bitwise(function, (1 << width) - 1):
        return False
    data = bitwise_slots(function)
    conditions = list(_conditions(function))
    asked = {str(x.attr[0]) for x in walk(conditions) if x.op == "bits"}
    reads = [x for x in walk([function]) if x.op == "bits" and x.attr[0] in data]
    return not data & asked and all(int(x.attr[1]) == width for x in reads)


def _is_bitwise(x: Node, ones: int) -> bool:
    match x.op:
        case "bits":
            return True
        case "const":
            return x.low in (0, ones)
        case "wrap":
            return (1 << int(x.attr[0])) - 1 == ones and not x.attr[1] and _is_bitwise(x.args[0], ones)
        case "select":
            return all(_is_bitwise(y, ones) for y in x.args[1:])
        case "not":
            return ones == 1 and _is_bitwise(x.args[0], ones)
        case "and" | "or" | "xor" | "invert":
            return all(_is_bitwise(y, ones) for y in x.args)
        case _:
            return False


def _conditions(x: Node) -> Iterator[Node]:
    if x.op == "select":
        yield x.args[0]
    for y in x.args[1:] if x.op == "select" else () if x.op == "bits" else x.args:
        yield from _conditions(y)


def bitwise_slots(x: Node) -> set[str]:
    """The slots of a bitwise function of which each bit goes to its own place."""
    if x.op == "bits":
        return {str(x.attr[0])}
    return {name for y in (x.args[1:] if x.op == "select" else x.args) for name in bitwise_slots(y)}


def bitwise(function: Node, width: int) -> Node:
    """A divisible function in one form: complements are inversions, and what is cut is cut at the end."""
    if width == 1 or any(x.op == "select" for x in walk([function])):
        return function
    return _cut(_stripped(function, (1 << width) - 1), width)


def as_whole(function: Node, width: int) -> Node:
    """The function of a width of one that is divisible and of single bits."""

    def change(old: Node, args: tuple[Node, ...]) -> Node:
        match old.op:
            case "bits":
                return node("bits", args, (old.attr[0], width, False))
            case "const" if old.low == 1:
                return const((1 << width) - 1)
            case "not":
                return node("invert", args)
            case _:
                return old if args == old.args else node(old.op, args, old.attr)

    return _cut(rebuild(function, change), width)


def _cut(x: Node, width: int) -> Node:
    inside = x.low >= 0 and x.high < 1 << width
    return x if inside else node("wrap", (x,), (width, False))


def _stripped(x: Node, ones: int) -> Node:
    if x.op == "wrap":
        return _stripped(x.args[0], ones)
    if x.op == "xor" and any(y.constant == ones for y in x.args):
        return node("invert", tuple(_stripped(y, ones) for y in x.args if y.constant != ones))
    return node(x.op, tuple(_stripped(y, ones) for y in x.args), x.attr) if x.op != "bits" else x


def look_up(table: int, index: Node) -> Node | None:
    """A bit of a constant at a place that single bits say, as an expression of these bits; None where other things say
    it, or too many."""
    reads = list({id(x): x for x in walk([index]) if x.op == "bits"}.values())
    if not 0 < len(reads) <= _MOST_VARIABLES or any(x.attr[1] != 1 for x in reads):
        return None
    found = 0
    for row, values in enumerate(product((0, 1), repeat=_MOST_VARIABLES)):
        known = {_key(x): const(value) for x, value in zip(reads, values, strict=False)}
        place = Folding({}, _known_reads(known)).of(index)
        if place.op != "const":
            return None
        found |= (table >> place.low & 1) << row
    return _expressions()[found](*reads, *[ZERO] * (_MOST_VARIABLES - len(reads)))


def _key(x: Node) -> tuple[str, int]:
    return str(x.attr[0]), id(x.args[0])


def _known_reads(known: Mapping[tuple[str, int], Node]) -> Callable[[str, Node, int, bool], Node]:
    return lambda name, offset, width, signed: known.get((name, id(offset)), build.bits(name, offset, width, signed))


_Expression = Callable[[Node, Node, Node], Node]


@cache
def _expressions() -> Mapping[int, _Expression]:
    """The shortest expression of three bits for each table of them: bit 4a + 2b + c of it is the value."""
    rows = list(product((0, 1), repeat=_MOST_VARIABLES))
    known: dict[int, _Expression] = {0: lambda a, b, c: ZERO, 255: lambda a, b, c: const(1)}
    levels: list[list[int]] = [[]]
    for at in range(_MOST_VARIABLES):
        table = sum(row[at] << place for place, row in enumerate(rows))
        known[table] = _variable(at)
        levels[0].append(table)
    while len(known) < 256:
        level: list[int] = []
        size = len(levels)
        for table in levels[-1]:
            _learn(known, level, 255 - table, _applied(build.negation, known[table]))
        for one in range(size):
            for p, q in product(levels[one], levels[size - 1 - one]):
                if p < q:
                    for op, made in (("and", p & q), ("or", p | q), ("xor", p ^ q)):
                        _learn(known, level, made, _applied(_JOINED[op], known[p], known[q]))
        levels.append(level)
    return known


_JOINED = {"and": build.conjoin, "or": build.disjoin, "xor": build.exclude}


def _learn(known: dict[int, _Expression], level: list[int], table: int, expression: _Expression) -> None:
    if table not in known:
        known[table] = expression
        level.append(table)


def _variable(at: int) -> _Expression:
    return lambda *given: given[at]


def _applied(join: Callable[..., Node], *parts: _Expression) -> _Expression:
    return lambda a, b, c: join(*(x(a, b, c) for x in parts))
