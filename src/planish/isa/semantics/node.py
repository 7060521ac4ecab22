"""Expressions over whole numbers without a width: each node knows between what its value lies.

An operand is a row of bits; `bits` reads some of them, signed or not. Sums and products are those of mathematics, and
what is stored is cut to the width of its place, so that widths stand only where they matter. Equal nodes are one node.

>>> a = node("bits", (const(8),), ("a", 8, True))
>>> (a.low, a.high), a is node("bits", (const(8),), ("a", 8, True))
((-128, 127), True)
>>> total = node("add", (a, const(1)))
>>> total.low, total.high, a.number < total.number
(-127, 128, True)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from weakref import WeakValueDictionary

Attribute = tuple[str | int | bool, ...]


class Node:
    """An operator with its arguments and attributes; compared by identity, since equal nodes are one. `number`: so many
    were made before, which gives them an order that is the same in every run."""

    __slots__ = ("__weakref__", "args", "attr", "high", "low", "number", "op")

    def __init__(self, op: str, args: tuple[Node, ...], attr: Attribute, low: int, high: int) -> None:
        self.op, self.args, self.attr, self.low, self.high = op, args, attr, low, high
        self.number = next(_COUNT)

    def __repr__(self) -> str:
        inner = ", ".join([*map(repr, self.attr), *map(repr, self.args)])
        return f"{self.op}({inner})"

    def __reduce__(self) -> tuple[Callable[..., Node], tuple[object, ...]]:
        """Equal nodes stay one where they are read again."""
        return node, (self.op, self.args, self.attr)

    @property
    def constant(self) -> int | None:
        """Its value, where that is known."""
        return self.low if self.op == "const" else None

    @property
    def is_truth(self) -> bool:
        """Whether it is nothing but 0 or 1."""
        return self.low >= 0 and self.high <= 1


_COUNT = itertools.count()
_MOST_BITS = 16384
_LIMIT = 1 << _MOST_BITS

_KNOWN: WeakValueDictionary[tuple[object, ...], Node] = WeakValueDictionary()

by_number = attrgetter("number")
"""The order of nodes: that in which they were made."""

_NUMBERS: dict[int, Node] = {}
"""Numbers that are asked for all the time: places of bits in registers."""


def node(op: str, args: tuple[Node, ...] = (), attr: Attribute = ()) -> Node:
    """The node of an operator; KeyError for an unknown one, OverflowError where its values have no sensible bound. See
    `build` for the constructors that simplify."""
    # True equals 1 as a key: attributes of one operator have one type each, so that it does not matter.
    key = (op, attr, *map(id, args))
    found = _KNOWN.get(key)
    if found is None:
        low, high = _RANGE[op](args, attr)
        if low < -_LIMIT or high > _LIMIT:
            raise OverflowError(f"a number of more than {_MOST_BITS} bits")
        found = _KNOWN[key] = Node(op, args, attr, low, high)
    return found


def const(value: int) -> Node:
    """A number."""
    found = _NUMBERS.get(value)
    if found is None:
        found = node("const", (), (value,))
        if 0 <= value <= _MOST_BITS:
            _NUMBERS[value] = found
    return found


def var(name: str, count: int) -> Node:
    """What counts a loop: from 0 to count - 1."""
    return node("var", (), (name, count))


def width_of(low: int, high: int) -> int:
    """The bits of the narrowest two's complement, or unsigned where nothing is negative, that holds a range."""
    return high.bit_length() if low >= 0 else max((-low - 1).bit_length(), max(high, 0).bit_length()) + 1


def walk(roots: Sequence[Node]) -> Iterator[Node]:
    """Each node under some, once, arguments first."""
    seen: set[int] = set()
    stack: list[Node | None] = [*reversed(roots)]
    while stack:
        place = stack.pop()
        if place is None:
            # What stands below has been reached before, and so have all its arguments by now.
            below = stack.pop()
            assert below is not None
            yield below
        elif id(place) not in seen:
            seen.add(id(place))
            if place.args:
                stack += (place, None, *reversed(place.args))
            else:
                yield place


COMMUTE = ("mul", "and", "or", "xor", "min", "max", "eq", "feq", "funord", "clmul")
"""Operators of two arguments that may change places; those of `add` are in any order, too."""


def scaled(x: Node) -> tuple[Node, int]:
    """What a constant is a factor of, and the constant: 1 where there is none."""
    return (x.args[0], x.args[1].low) if x.op == "mul" and x.args[1].op == "const" else (x, 1)


def terms_of(x: Node) -> tuple[Node, ...]:
    """What a sum is made of: itself where it is none.

    >>> i = var("i", 4)
    >>> [scaled(y) for y in terms_of(node("add", (node("mul", (i, const(8))), const(3))))] == [(i, 8), (const(3), 1)]
    True
    """
    return x.args if x.op == "add" else (x,)


def tree_size(root: Node) -> int:
    """The terms that a node is when it is written out."""
    sizes: dict[int, int] = {}
    for x in walk([root]):
        sizes[id(x)] = 1 + sum(sizes[id(y)] for y in x.args)
    return sizes[id(root)]


def rebuild(root: Node, change: Callable[[Node, tuple[Node, ...]], Node]) -> Node:
    """The node made again from the bottom: `change` gives the new one of an old one and its new arguments."""
    made: dict[int, Node] = {}
    for place in walk([root]):
        made[id(place)] = change(place, tuple(made[id(x)] for x in place.args))
    return made[id(root)]


_Range = tuple[int, int]
_BIT: _Range = (0, 1)


def _width_range(width: int, signed: bool) -> _Range:
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)


def _of_products(a: Node, b: Node) -> _Range:
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return min(corners), max(corners)


def _of_shift_left(a: Node, n: Node) -> _Range:
    steps = (max(n.low, 0), max(min(n.high, 4096), 0))
    corners = [x << y for x in (a.low, a.high) for y in steps]
    return min(corners), max(corners)


def _of_shift_right(a: Node, n: Node) -> _Range:
    half = next((x for x in terms_of(a) if _is_half(x, n)), None)
    if half is not None and 0 <= n.low <= n.high < _MOST_SHIFTED:
        # What is rounded to the nearest is no further away from 0 than what is shifted by as much as that.
        low, high = (sum(getattr(x, end) for x in terms_of(a) if x is not half) for end in ("low", "high"))
        ends = [x + (1 << by >> 1) >> by for x in (low, high) for by in range(n.low, n.high + 1)]
        return min(ends), max(ends)
    steps = (max(n.low, 0), max(min(n.high, 4096), 0))
    corners = [x >> y for x in (a.low, a.high) for y in steps]
    return min(corners), max(corners)


_MOST_SHIFTED = 128


def _is_half(x: Node, n: Node) -> bool:
    """Whether a term is half of 2^n, rounded down."""
    if x.op != "shr" or x.args[1].constant != 1 or x.args[0].op != "shl":
        return False
    power, by = x.args[0].args
    return by is n and power.constant == 1


def _of_bitwise(a: Node, b: Node) -> _Range:
    width = max(width_of(a.low, a.high) + (a.low >= 0), width_of(b.low, b.high) + (b.low >= 0))
    return _width_range(width, a.low < 0 or b.low < 0) if a.low < 0 or b.low < 0 else (0, (1 << (width - 1)) - 1)


def _of_and(a: Node, b: Node) -> _Range:
    if a.low >= 0 or b.low >= 0:
        return 0, min(x.high for x in (a, b) if x.low >= 0)
    return _of_bitwise(a, b)


def _of_abs(a: Node) -> _Range:
    least = 0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high))
    return least, max(abs(a.low), abs(a.high))


def _of_sat(a: Node, width: int, signed: bool) -> _Range:
    low, high = _width_range(width, signed)
    return min(max(a.low, low), high), max(min(a.high, high), low)


def _of_float(args: tuple[Node, ...], attr: Attribute) -> _Range:
    return 0, (1 << FLOAT_BITS[str(attr[0])]) - 1


FLOAT_BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
"""The widths of the formats of floats; the value of a float is its bits, as an unsigned number."""

FLOAT_OPERATORS = {
    "fadd": 2, "fsub": 2, "fmul": 2, "fdiv": 2, "fsqrt": 1, "fma": 3, "fround": 1, "fromint": 1,
    "scalef": 2, "getexp": 1, "getmant": 1, "roundscale": 2, "frcp": 1, "frsqrt": 1, "fconvert": 1,
}  # fmt: skip
"""Operators that give a float, with the arguments before the way of rounding. The first attribute is the format of
the result. `frcp` and `frsqrt` are known but for a relative error of 2^-n, where n is the second attribute;
`fconvert` has the format that it comes from there."""

_RANGE: dict[str, Callable[[tuple[Node, ...], Attribute], _Range]] = {
    "const": lambda _, attr: (int(attr[0]), int(attr[0])),
    "var": lambda _, attr: (0, max(int(attr[1]) - 1, 0)),
    "bits": lambda _, attr: _width_range(int(attr[1]), bool(attr[2])),
    "add": lambda a, _: (sum(x.low for x in a), sum(x.high for x in a)),
    "mul": lambda a, _: _of_products(a[0], a[1]),
    "quo": lambda a, _: (-max(abs(a[0].low), abs(a[0].high)), max(abs(a[0].low), abs(a[0].high))),
    "mod": lambda a, _: (0, max(a[1].high - 1, 0)),
    "shl": lambda a, _: _of_shift_left(a[0], a[1]),
    "shr": lambda a, _: _of_shift_right(a[0], a[1]),
    "and": lambda a, _: _of_and(a[0], a[1]),
    "or": lambda a, _: _of_bitwise(a[0], a[1]),
    "xor": lambda a, _: _of_bitwise(a[0], a[1]),
    "invert": lambda a, _: (-1 - a[0].high, -1 - a[0].low),
    "not": lambda _, __: _BIT,
    "eq": lambda _, __: _BIT,
    "lt": lambda _, __: _BIT,
    "le": lambda _, __: _BIT,
    "min": lambda a, _: (min(a[0].low, a[1].low), min(a[0].high, a[1].high)),
    "max": lambda a, _: (max(a[0].low, a[1].low), max(a[0].high, a[1].high)),
    "abs": lambda a, _: _of_abs(a[0]),
    "select": lambda a, _: (min(a[1].low, a[2].low), max(a[1].high, a[2].high)),
    "wrap": lambda _, attr: _width_range(int(attr[0]), bool(attr[1])),
    "sat": lambda a, attr: _of_sat(a[0], int(attr[0]), bool(attr[1])),
    "sum": lambda a, attr: (int(attr[1]) * a[0].low, int(attr[1]) * a[0].high),
    "popcount": lambda a, _: (0, a[0].high.bit_length()),
    "clz": lambda _, attr: (0, int(attr[0])),
    "parity": lambda _, __: _BIT,
    "clmul": lambda a, _: (0, (1 << max(a[0].high.bit_length() + a[1].high.bit_length() - 1, 0)) - 1),
    "nth": lambda a, _: (0, a[0].high.bit_length()),
    "rank": lambda a, _: (0, a[0].high.bit_length()),
    "feq": lambda _, __: _BIT,
    "flt": lambda _, __: _BIT,
    "fle": lambda _, __: _BIT,
    "funord": lambda _, __: _BIT,
    "toint": lambda _, attr: _width_range(int(attr[1]), bool(attr[2])),
    "quiet": _of_float,
    **dict.fromkeys(FLOAT_OPERATORS, _of_float),
}  # fmt: skip
