"""Expressions of definitions on their way to lane functions: folded, cut to bits, in one order, with slots for reads.

>>> from planish.isa.semantics.text import parse_definition
>>> (put,) = parse_definition("(a: 8, b: 8) -> r: 8 { r.u8[0] = u8(b.u8[0] + 3*a.u8[0]) }").puts
>>> function, reads = slotted(put.value, frozenset(), lambda read: ("ab".index(str(read.attr[0])), 0))
>>> function
wrap(8, False, add(bits('0', 8, False, const(0)), mul(bits('1', 8, False, const(0)), const(3))))
>>> [str(x.attr[0]) for x in reads]
['b', 'a']
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planish.isa.semantics import bit_parts, build
from planish.isa.semantics.build import ONE, ZERO
from planish.isa.semantics.node import COMMUTE, Node, const, node, scaled, terms_of, walk

Counter = tuple[str, int]
Read = Callable[[str, Node, int, bool], Node]

_ROUNDED = ("fadd", "fmul", "fma")
"""Operators whose first two arguments may change places."""


def _shift_right(x: Node, by: Node) -> Node:
    if x.op == "shl" and by.op == "const" and x.args[1].low >= by.low >= 0:
        return build.shift_left(x.args[0], build.subtract(x.args[1], by))
    if x.op == "select" and by.op == x.args[1].op == x.args[2].op == "const":
        return build.select(x.args[0], *(build.shift_right(y, by) for y in x.args[1:]))
    return build.shift_right(x, by)


def choose(condition: Node, then: Node, otherwise: Node) -> Node:
    """A choice; where it leaves the bits of the greater or the lesser one of two numbers with a sign, that one."""
    made = build.select(condition, then, otherwise)
    if made.op != "select" or condition.op not in ("lt", "le") or then.op not in ("bits", "wrap"):
        return made
    width = int(then.attr[1 if then.op == "bits" else 0])
    first, second = (build.wrap(y, width) for y in condition.args)
    match then is first, otherwise is second, then is second, otherwise is first:
        case True, True, *_:
            return build.wrap(build.minimum(*condition.args), width)
        case _, _, True, True:
            return build.wrap(build.maximum(*condition.args), width)
    return made


_FOLDED: Mapping[str, Callable[..., Node]] = {
    "add": build.add, "mul": build.multiply, "quo": build.quotient, "mod": build.modulo, "shl": build.shift_left,
    "shr": _shift_right, "and": build.conjoin, "or": build.disjoin, "xor": build.exclude, "invert": build.invert,
    "not": build.negation, "eq": build.equal, "lt": build.less, "le": build.at_most, "min": build.minimum,
    "max": build.maximum, "abs": build.absolute, "select": choose,
}  # fmt: skip


class Folding:
    """Makes expressions anew with the constructors that simplify: `counters` have values, `read` makes reads, and sums
    are written out."""

    def __init__(self, counters: Mapping[Counter, Node], read: Read) -> None:
        self.counters, self.read = counters, read
        self.known: dict[int, Node] = {}

    def of(self, x: Node) -> Node:
        """The expression; what it is made of has to live as long as the folding."""
        found = self.known.get(id(x))
        if found is None:
            found = self.known[id(x)] = self._made(x)
        return found

    def _sum(self, x: Node) -> Node:
        counter = str(x.attr[0]), int(x.attr[1])
        turns = (Folding({**self.counters, counter: const(turn)}, self.read) for turn in range(counter[1]))
        return build.add(*(turn.of(x.args[0]) for turn in turns))

    def _made(self, x: Node) -> Node:
        match x.op:
            case "const":
                return x
            case "sum":
                return self._sum(x)
            case "select":
                condition = self.of(x.args[0])
                if condition.op == "const":  # the way that is not taken may be long
                    return self.of(x.args[1 if condition.low else 2])
        args = [self.of(y) for y in x.args]
        match x.op:
            case "var":
                return self.counters.get((str(x.attr[0]), int(x.attr[1])), x)
            case "bits":
                return self.read(str(x.attr[0]), args[0], int(x.attr[1]), bool(x.attr[2]))
            case "wrap":
                return build.wrap(args[0], int(x.attr[0]), bool(x.attr[1]))
            case "sat":
                return build.saturate(args[0], int(x.attr[0]), bool(x.attr[1]))
            case op if op in _FOLDED:
                return _FOLDED[op](*args)
            case _:
                return node(x.op, tuple(args), x.attr)


def cut(x: Node, offset: int, width: int) -> Node:
    """Some bits of a value; what is done bit by bit is done to them."""
    mask = (1 << width) - 1
    match x.op:
        case "const":
            return const(x.low >> offset & mask)
        case "bits" if offset + width <= int(x.attr[1]):
            return build.bits(str(x.attr[0]), build.add(x.args[0], const(offset)), width)
        case "wrap" if offset + width <= int(x.attr[0]):
            return cut(x.args[0], offset, width)
        case "select":
            return build.select(x.args[0], cut(x.args[1], offset, width), cut(x.args[2], offset, width))
        case "and" | "or" | "xor":
            return _FOLDED[x.op](*(cut(y, offset, width) for y in x.args))
        case "invert":
            return build.exclude(cut(x.args[0], offset, width), const(mask))
        case "shr" if x.args[1].op == "const":
            return cut(x.args[0], offset + x.args[1].low, width)
        case "mul" if x.args[1].op == "const" and x.args[1].low > 0 and x.args[1].low.bit_count() == 1:
            shift = x.args[1].low.bit_length() - 1
            if offset >= shift:
                return cut(x.args[0], offset - shift, width)
            return ZERO if offset + width <= shift else bit_parts.piece(x, offset, width)
        case "mul" if x.args[1].op == "const":
            return _cut_sum(x, offset, width)
        case "add" if x.low >= 0:
            for start, size, part in bit_parts.parts_of(x, max(x.high.bit_length(), offset + width)):
                if part is not x and start <= offset and offset + width <= start + size:
                    return cut(part, offset - start, width)
            return _cut_sum(x, offset, width)
    return bit_parts.piece(x, offset, width)


def _cut_sum(x: Node, offset: int, width: int) -> Node:
    """Some bits of a sum, of which its terms' factors have digits: those below add up to less than these bits."""
    below, inside = [], []
    for term in terms_of(x):
        base, factor = (ONE, term.low) if term.op == "const" else scaled(term)
        if factor < 0:
            return bit_parts.piece(x, offset, width)
        below.append(build.multiply(base, const(factor & ((1 << offset) - 1))))
        inside.append(build.multiply(base, const(factor >> offset & ((1 << width) - 1))))
    rest = build.add(*below)
    if rest.low < 0 or rest.high >> offset:
        return bit_parts.piece(x, offset, width)
    return build.wrap(build.add(*inside), width)


def slotted(
    value: Node, named: frozenset[Node], place: Callable[[Node], tuple[int, int]]
) -> tuple[Node, tuple[Node, ...]]:
    """The function of a value over slots, with the operands of what commutes in one order, and the read of each slot.
    Reads that are `named` stay; `place` is where the others read, by which equal ones are told apart."""
    order = _Order(named, place)
    x = order.of(value)
    return _Slots(named).of(x)


class _Order:
    def __init__(self, named: frozenset[Node], place: Callable[[Node], tuple[int, int]]) -> None:
        self.named, self.place = named, place
        self.keys: dict[int, tuple[bool, str, tuple[tuple[int, int], ...]]] = {}
        self.made: dict[int, Node] = {}

    def of(self, root: Node) -> Node:
        for x in walk([root]):
            made = self._ordered(x)
            self.made[id(x)] = made
        return self.made[id(root)]

    def _ordered(self, x: Node) -> Node:
        if x.op == "bits":
            own = f"{x.attr[1]}{'s' if x.attr[2] else 'u'}"
            if x in self.named:
                self.keys[id(x)] = False, f"{x.attr[0]}.{own}", ()
            else:
                self.keys[id(x)] = False, own, (self.place(x),)
            return x
        args = [self.made[id(y)] for y in x.args]
        if x.op == "add" or x.op in COMMUTE:
            args.sort(key=lambda y: self.keys[id(y)])
        elif x.op in _ROUNDED:
            args[:2] = sorted(args[:2], key=lambda y: self.keys[id(y)])
        made = node(x.op, tuple(args), x.attr)
        inner = [self.keys[id(y)] for y in args]
        text = f"{x.op}{x.attr or ''}({','.join(key[1] for key in inner)})"
        self.keys[id(made)] = x.op == "const", text, tuple(at for key in inner for at in key[2])
        return made


class _Slots:
    def __init__(self, named: frozenset[Node]) -> None:
        self.named = named
        self.reads: dict[tuple[str, int, int], Node] = {}

    def of(self, root: Node) -> tuple[Node, tuple[Node, ...]]:
        made: dict[int, Node] = {}
        for x in walk([root]):
            if x.op == "bits" and x not in self.named:
                key = str(x.attr[0]), id(x.args[0]), int(x.attr[1])
                if key not in self.reads:
                    self.reads[key] = x
                slot = list(self.reads).index(key)
                made[id(x)] = node("bits", (ZERO,), (str(slot), *x.attr[1:]))
            elif x in self.named:
                made[id(x)] = x
            else:
                made[id(x)] = node(x.op, tuple(made[id(y)] for y in x.args), x.attr)
        return made[id(root)], tuple(self.reads.values())
