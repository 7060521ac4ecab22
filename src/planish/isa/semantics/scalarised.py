"""Scalarised definitions: each byte that one leaves, in a form in which equal values are one node.

>>> from planish.isa.semantics.text import parse_definition
>>> one = unroll(parse_definition("(a: 32) -> r: 32 { for i < 2 { r.u16[i] = a.u16[i] } }"))
>>> other = unroll(parse_definition("(a: 32) -> r: 32 { r.u32[0] = a.u32[0] }"))
>>> one == other, one.places[1].value
(True, bits('a', 8, False, const(8)))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from planish.isa.semantics import bit_parts, build
from planish.isa.semantics.definition import Definition, LaneLoop, Put, Statement
from planish.isa.semantics.node import COMMUTE, Node, by_number, const, node, rebuild

_BYTE = 8
_FIRST_TWO = ("fadd", "fmul", "fma")
"""Operators whose first two arguments may change places: which of two NaNs is kept does not matter."""


@dataclass(frozen=True, slots=True)
class ByteWrite:
    """A byte of the result (or another unit), or of memory where a target is named: its value, and when it is put
    there."""

    target: str
    byte: int
    value: Node
    when: Node = build.ONE


@dataclass(frozen=True, slots=True)
class Scalarised:
    """All bytes that are left, in their order."""

    places: tuple[ByteWrite, ...]

    def changed(self, change: Callable[[Node], Node]) -> Scalarised:
        """The same with other values."""
        return Scalarised(tuple(replace(x, value=change(x.value)) for x in self.places))

    def renamed(self, names: Mapping[str, str]) -> Scalarised:
        """The same with other operands."""
        known: dict[int, Node] = {}

        def change(x: Node) -> Node:
            if id(x) not in known:
                known[id(x)] = _renamed(x, names, change)
            return known[id(x)]

        return Scalarised(
            tuple(
                ByteWrite(names.get(x.target, x.target), x.byte, change(x.value), change(x.when)) for x in self.places
            )
        )


def _renamed(x: Node, names: Mapping[str, str], change: Callable[[Node], Node]) -> Node:
    args = tuple(change(y) for y in x.args)
    if x.op == "bits":
        return build.bits(names.get(str(x.attr[0]), str(x.attr[0])), args[0], int(x.attr[1]), bool(x.attr[2]))
    args = _ordered(x.op, args)
    return node(x.op, args, x.attr) if args != x.args else x


def _ordered(op: str, args: tuple[Node, ...]) -> tuple[Node, ...]:
    """Arguments of what commutes in the same order wherever they are; equal nodes are one, and so is its number."""
    if op == "add" or op in COMMUTE:
        return tuple(sorted(args, key=by_number))
    return (*sorted(args[:2], key=by_number), *args[2:]) if op in _FIRST_TWO else args


def unroll(
    definition: Definition, change: Callable[[Node], Node] = lambda x: x, unit: int = _BYTE
) -> Scalarised | None:
    """The bytes that a definition leaves, or other units of so many bits; None where it puts parts of them, at places
    that depend on values, or something else there under a condition. `change`: what becomes of a value first."""
    found: dict[tuple[str, int], ByteWrite] = {}
    result = definition.result.name if definition.result else ""
    for target, offset, width, value, when in _puts(definition.body, {}):
        if offset.op != "const" or offset.low % unit or width % unit:
            return None
        name = "" if target == result else target
        for place in bytes_of(name, offset.low // unit, width, change(value), when, unit):
            if when is not build.ONE and (name, place.byte) in found:
                return None
            found[name, place.byte] = place
    return Scalarised(tuple(found[x] for x in sorted(found))).renamed({})


def bytes_of(
    target: str, first: int, width: int, value: Node, when: Node = build.ONE, unit: int = _BYTE
) -> Iterator[ByteWrite]:
    """The bytes, or other units, of a value that is put somewhere."""
    cut = build.wrap(value, width)
    for at in range(width // unit):
        yield ByteWrite(target, first + at, _piece(cut, at * unit, unit), when)


def _piece(x: Node, offset: int, width: int) -> Node:
    """Some bits of a value; what is done bit by bit is done to them."""
    match x.op:
        case "and" | "or" | "xor":
            join = {"and": build.conjoin, "or": build.disjoin, "xor": build.exclude}[x.op]
            return join(*(_piece(y, offset, width) for y in x.args))
        case "invert":
            return build.exclude(_piece(x.args[0], offset, width), const((1 << width) - 1))
        case "wrap" if x.args[0].op in ("and", "or", "xor", "invert") and offset + width <= int(x.attr[0]):
            return _piece(x.args[0], offset, width)
        case _:
            return bit_parts.piece(x, offset, width)


def puts_of(definition: Definition) -> tuple[Put, ...]:
    """What a definition puts, one after another, without loops."""
    return tuple(
        Put(target, offset, width, build.wrap(value, width), when)
        for target, offset, width, value, when in _puts(definition.body, {})
    )


def ordered(x: Node) -> Node:
    """The value with the operands of what commutes in one order."""
    return rebuild(x, lambda y, args: node(y.op, _ordered(y.op, args), y.attr))


_FOLDED: Mapping[str, Callable[[Node, Node], Node]] = {
    "lt": build.less, "le": build.at_most, "eq": build.equal, "shl": build.shift_left, "shr": build.shift_right,
}  # fmt: skip
"""What may be known where loops and immediates are."""

_Put = tuple[str, Node, int, Node, Node]


def _puts(body: tuple[Statement, ...], counters: dict[tuple[str, int], int]) -> Iterator[_Put]:
    for x in body:
        if isinstance(x, LaneLoop):
            for turn in range(x.count):
                yield from _puts(x.body, {**counters, (x.var, x.count): turn})
        else:
            offset, value, when = (specialise(y, counters) for y in (x.offset, x.value, x.when))
            yield x.target, offset, x.width, value, when


def specialise(x: Node, counters: Mapping[tuple[str, int], int]) -> Node:
    """A value for one turn of the loops around it; sums are written out."""
    known: dict[int, Node] = {}

    def visit(y: Node) -> Node:
        if id(y) not in known:
            known[id(y)] = made(y)
        return known[id(y)]

    def made(y: Node) -> Node:
        match y.op:
            case "const":
                return y
            case "var":
                return const(counters[str(y.attr[0]), int(y.attr[1])])
            case "sum":
                key = str(y.attr[0]), int(y.attr[1])
                return build.add(*(specialise(y.args[0], {**counters, key: turn}) for turn in range(key[1])))
            case "bits":
                return build.bits(str(y.attr[0]), visit(y.args[0]), int(y.attr[1]), bool(y.attr[2]))
            case "add":
                return build.add(*map(visit, y.args))
            case "mul":
                return build.multiply(*map(visit, y.args))
            case "wrap":
                return build.wrap(visit(y.args[0]), int(y.attr[0]), bool(y.attr[1]))
            case "select":
                return build.select(*map(visit, y.args))
            case op if op in _FOLDED:
                return _FOLDED[op](*map(visit, y.args))
            case _:
                return node(y.op, tuple(map(visit, y.args)), y.attr)

    return visit(x)
