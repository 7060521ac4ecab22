"""Expressions with their numbers taken out: a shape, and the numbers in the order in which the shape has them.

What people would call the same operation has one shape: widths, signs, formats of floats, counts and offsets are
numbers; arguments of what commutes are in order, whatever the operands are called; each read has an offset for every
counter around it, 0 where it does not move.

>>> from planish.isa.semantics.text import parse_definition
>>> text = "(x: 64, y: 64) -> dst: 64 {{ for i < 4 {{ dst.u16[i] = {a}.u16[i] & {b}.u16[i] }} }}"
>>> one, other = (shaped(parse_definition(text.format(a=a, b=b))) for a, b in ("xy", "yx"))
>>> one.shape == other.shape, one.numbers == other.numbers, one.operands, other.operands
(True, True, ('x', 'y'), ('y', 'x'))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planish.isa.semantics import build
from planish.isa.semantics.definition import Definition, LaneLoop, Operand, Put, Statement, nested_puts
from planish.isa.semantics.node import COMMUTE, Node, const, node, scaled, terms_of, tree_size, var
from planish.isa.semantics.text import print_definition

_ROUNDED = ("fadd", "fmul")
_FORMATS = ("f16", "bf16", "f32", "f64")
DEPTH = 2
"""Loops around every statement; those that are not there have one turn."""

_LANES, _SUMS = "ijlmnop", "qrstuvwxyz"

_LARGEST = 4000
"""Terms, written out, from which on a definition is compared as it stands."""

Shape = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Shaped:
    """A definition as its shape and numbers. `operands` are the names that its places stand for, in their
    order."""

    shape: Shape
    numbers: tuple[int, ...]
    operands: tuple[str, ...]


@dataclass(slots=True)
class _Term:
    """An expression on its way to a shape: what it is but for operands, its own numbers, and its parts."""

    head: tuple[object, ...]
    numbers: tuple[int, ...]
    args: list[_Term]
    operand: str | None = None
    key: tuple[str, tuple[int, ...]] = ("", ())

    def finish(self) -> _Term:
        """Gives it the key by which parts are ordered: operands do not count."""
        if self.head[0] in _ROUNDED:  # the way of rounding stays behind what it rounds
            self.args = [*sorted(self.args[:2], key=lambda x: x.key), *self.args[2:]]
        elif self.head[0] in COMMUTE or self.head[0] == "add":
            self.args.sort(key=lambda x: x.key)
        text = f"{self.head}({','.join(x.key[0] for x in self.args)})"
        self.key = text, (*self.numbers, *(n for x in self.args for n in x.key[1]))
        return self

    def shape(self, places: dict[str, int]) -> Shape:
        """The shape, with operands numbered in the order in which they are met."""
        if self.operand is None:
            return (*self.head, *(x.shape(places) for x in self.args))
        inner = [x.shape(places) for x in self.args]
        return (*self.head, places.setdefault(self.operand, len(places)), *inner)

    def mark_loads(self, memories: frozenset[str]) -> None:
        """Tells reads of memory from those of registers."""
        if self.operand in memories and self.head[0] in ("read", "read at"):
            self.head = (str(self.head[0]).replace("read", "load"), *self.head[1:])
        for x in self.args:
            x.mark_loads(memories)


def shaped(definition: Definition) -> Shaped:
    """The shape of a definition; that of one with very many terms is its text."""
    nodes = [x for put, _ in nested_puts(definition.body) for x in (put.offset, put.value, put.when)]
    if sum(map(tree_size, nodes)) > _LARGEST:
        names = tuple(x.name for x in definition.operands)
        return Shaped(("text", print_definition(definition)), (), names)
    terms: list[_Term] = []
    for put, loops in nested_puts(definition.body):
        terms.append(_put(put, loops, definition.result))
    places: dict[str, int] = {}
    memories = frozenset(x.name for x in definition.operands if x.role == "memory")
    for x in terms:
        x.mark_loads(memories)
    shape = tuple(x.shape(places) for x in terms)
    return Shaped(shape, tuple(n for x in terms for n in x.key[1]), tuple(places))


def _put(put: Put, loops: Sequence[LaneLoop], result: Operand | None) -> _Term:
    padded = [1] * (DEPTH - len(loops)) + [x.count for x in loops]
    counters = {(x.var, x.count): len(padded) - len(loops) + at for at, x in enumerate(loops)}
    own = result is not None and put.target == result.name
    value = put.value
    while value.op == "wrap" and int(value.attr[0]) >= put.width:
        value = value.args[0]  # what is put is cut anyway
    offset = _linear(put.offset, counters, len(padded))
    place = _visit(put.offset, counters, len(padded)) if offset is None else _place_of(len(padded), offset)
    parts = [place, _visit(value, counters, len(padded))]
    if put.when is not build.ONE:
        parts.append(_visit(put.when, counters, len(padded)))
    head = ("put", "result" if own else "memory", len(padded), len(parts))
    return _Term(head, (put.width, *padded), parts, None if own else put.target).finish()


def _visit(x: Node, counters: dict[tuple[str, int], int], depth: int) -> _Term:
    def visit(y: Node) -> _Term:
        return _visit(y, counters, depth)

    linear = _linear(x, counters, depth)
    if linear is not None and x.op != "const":
        return _place_of(depth, linear)
    match x.op:
        case "const":
            return _Term(("number",), (x.low,), []).finish()
        case "bits":
            name, width, signed = str(x.attr[0]), int(x.attr[1]), int(x.attr[2])
            offset = _linear(x.args[0], counters, depth)
            if offset is not None:
                return _Term(("read", depth), (width, signed, *offset), [], name).finish()
            return _Term(("read at",), (width, signed), [visit(x.args[0])], name).finish()
        case "add":
            return _added(x, counters, depth)
        case "sum":
            inner = dict(counters)
            inner[str(x.attr[0]), int(x.attr[1])] = depth
            return _Term(("sum",), (int(x.attr[1]),), [_visit(x.args[0], inner, depth + 1)]).finish()
        case _:
            numbers = tuple(_FORMATS.index(a) if isinstance(a, str) else int(a) for a in x.attr)
            return _Term((x.op,), numbers, [visit(y) for y in x.args]).finish()


def _place_of(depth: int, numbers: tuple[int, ...]) -> _Term:
    return _Term(("place", depth), numbers, []).finish()


def _added(x: Node, counters: dict[tuple[str, int], int], depth: int) -> _Term:
    """A sum: terms with factors, and a number, 0 where there is none."""
    constant = 0
    terms = []
    for y in x.args:
        if y.op == "const":
            constant += y.low
            continue
        inner, factor = scaled(y)
        term = _visit(inner, counters, depth)
        terms.append(_Term(("times",) if factor >= 0 else ("minus",), (abs(factor),), [term]).finish())
    return _Term(("add",), (constant,), terms).finish()


def _linear(x: Node, counters: dict[tuple[str, int], int], depth: int) -> tuple[int, ...] | None:
    """A number and a factor for each counter; None where it is something else."""
    found = [0] * (depth + 1)
    for term in terms_of(x):
        inner, factor = scaled(term)
        if term.op == "const":
            found[0] += term.low
        elif inner.op == "var" and (str(inner.attr[0]), int(inner.attr[1])) in counters:
            found[counters[str(inner.attr[0]), int(inner.attr[1])] + 1] += factor
        else:
            return None
    return tuple(found)


def definition_of(
    shape: Shape, numbers: Sequence[int], operands: tuple[Operand, ...], names: Sequence[str], result: Operand | None
) -> Definition:
    """The definition that a shape and numbers stand for, with operands in the places of `names`: the inverse of
    `shaped`, but for the order of what commutes."""
    source = iter(numbers)
    body = tuple(_statement(x, source, names, result) for x in shape if isinstance(x, tuple))
    return Definition(operands, result, body)


def _statement(shape: Shape, numbers: Iterator[int], names: Sequence[str], result: Operand | None) -> Statement:
    _, kind, depth, parts, *rest = shape
    assert isinstance(depth, int) and isinstance(parts, int)
    width = next(numbers)
    counts = [next(numbers) for _ in range(depth)]
    counters = [var(_LANES[at], count) for at, count in enumerate(counts)]
    target = result.name if kind == "result" and result else names[_place(rest.pop(0))]
    nodes = [_node(x, numbers, names, counters) for x in rest if isinstance(x, tuple)]
    made: Statement = Put(target, nodes[0], width, nodes[1], *nodes[2:3])
    for at in reversed(range(depth)):
        made = LaneLoop(_LANES[at], counts[at], (made,))
    return made


def _place(x: object) -> int:
    assert isinstance(x, int)
    return x


def _node(shape: Shape, numbers: Iterator[int], names: Sequence[str], counters: list[Node]) -> Node:
    head, *rest = shape
    match head:
        case "number":
            return const(next(numbers))
        case "place":
            return _moving(numbers, counters)
        case "read" | "load":
            width, signed = next(numbers), bool(next(numbers))
            return build.bits(names[_place(rest[1])], _moving(numbers, counters), width, signed)
        case "read at" | "load at":
            width, signed = next(numbers), bool(next(numbers))
            (inner,) = (x for x in rest if isinstance(x, tuple))
            return build.bits(names[_place(rest[0])], _node(inner, numbers, names, counters), width, signed)
        case "add":
            constant = next(numbers)
            terms = []
            for term in rest:
                assert isinstance(term, tuple)
                factor = next(numbers) * (-1 if term[0] == "minus" else 1)
                terms.append(build.multiply(_node(term[1], numbers, names, counters), const(factor)))
            return build.add(*terms, const(constant))
        case "sum":
            count = next(numbers)
            (inner,) = (x for x in rest if isinstance(x, tuple))
            name = _SUMS[len(counters)]
            return node("sum", (_node(inner, numbers, names, [*counters, var(name, count)]),), (name, count))
        case op:
            assert isinstance(op, str)
            attributes = [next(numbers) for _ in range(ATTRIBUTES.get(op, 0))]
            args = tuple(_node(x, numbers, names, counters) for x in rest if isinstance(x, tuple))
            return node(op, args, tuple(_attribute(op, at, x) for at, x in enumerate(attributes)))


def _moving(numbers: Iterator[int], counters: list[Node]) -> Node:
    start = const(next(numbers))
    return build.add(start, *(build.multiply(x, const(next(numbers))) for x in counters))


ATTRIBUTES = {
    "wrap": 2, "sat": 2, "clz": 1, "toint": 3, "frcp": 2, "frsqrt": 2, "fconvert": 2, "quiet": 1,
    **dict.fromkeys(("feq", "flt", "fle", "funord", "fadd", "fsub", "fmul", "fdiv", "fsqrt", "fma", "fround", "fromint",
                     "scalef", "getexp", "getmant", "roundscale"), 1),
}  # fmt: skip
"""The numbers that operators have besides their arguments."""


def _attribute(op: str, at: int, number: int) -> int | str | bool:
    if op in ("wrap", "sat"):
        return bool(number) if at else number
    if op == "clz":
        return number
    if op == "toint":
        return _FORMATS[number] if at == 0 else number if at == 1 else bool(number)
    if op in ("frcp", "frsqrt") and at:
        return number
    return _FORMATS[number]
