"""Equality of terms by cases: what is compared, bounded or wrapped on the way is decided one way and the other.

A case is what is known of differences: between what they lie. In each case comparisons are decided, extrema and
magnitudes are one of their arguments, and what lies within a width is not wrapped.

>>> from planish.isa.semantics.node import const
>>> x, y = (build.bits(name, const(0), 16) for name in "xy")
>>> up, down = (build.maximum(build.subtract(*pair), build.ZERO) for pair in ((x, y), (y, x)))
>>> are_equal(build.absolute(build.subtract(x, y)), build.disjoin(up, down), 16)
True
>>> are_equal(build.absolute(build.subtract(x, y)), up, 16)
False
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd

from planish.isa.semantics import build
from planish.isa.semantics.build import ONE, ZERO
from planish.isa.semantics.node import Node, by_number, const, node, rebuild, scaled, terms_of, walk

MOST_CASES = 96
"""So many cases are looked at for one equality."""
_BLOCKS = 4
"""What wraps into more pieces than these is not taken apart."""

Facts = Mapping[Node, tuple[int, int]]
"""Between what sums lie; see `_Line`."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A term as sign * base + constant, where the base is a sum without a constant whose order and sign are fixed."""

    base: Node
    sign: int
    constant: int

    def limit(self, most: int) -> int:
        """The limit of the base that tells whether the term is at most something: whether it is at most that, or not
        at most that where the sign is a minus."""
        return most - self.constant if self.sign > 0 else self.constant - most - 1


def _line(x: Node) -> _Line:
    parts = sorted((y for y in terms_of(x) if y.op != "const"), key=lambda y: scaled(y)[0].number)
    constant = sum(y.low for y in terms_of(x) if y.op == "const")
    if not parts:
        return _Line(ZERO, 1, constant)
    sign = 1 if scaled(parts[0])[1] > 0 else -1
    base = build.add(*parts) if sign > 0 else build.add(*map(build.negate, parts))
    return _Line(base, sign, constant)


def are_equal(a: Node, b: Node, width: int) -> bool:
    """Whether two values are shown to be the same in their lowest bits in all cases."""
    cases: list[dict[Node, tuple[int, int]]] = [{}]
    looked = 0
    while cases:
        facts = cases.pop()
        looked += 1
        if looked > MOST_CASES:
            return False
        known = _Case(facts)
        difference = known.reduced(build.subtract(known.reduced(a), known.reduced(b)))
        left = build.wrap(build.low_bits(difference, width), width)
        if left is ZERO or known.reduced(left) is ZERO:
            continue
        split = next(known.splits(left), None)
        if split is None:
            return False
        base, limit = split
        low, high = known.implied(base)
        parts = (low, min(limit, high)), (max(limit + 1, low), high)
        cases += [{**facts, base: x} for x in parts if x[0] <= x[1]]
    return True


class _Case:
    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.kept: list[Node] = []

    def bounds(self, x: Node) -> tuple[int, int]:
        """Between what a term lies."""
        low, high = x.low, x.high
        if self.facts:
            line = _line(x)
            self.kept.append(line.base)
            known = self.facts.get(line.base)
            if known is not None:
                ends = sorted(line.sign * y + line.constant for y in known)
                low, high = max(low, ends[0]), min(high, ends[1])
        return low, high

    def implied(self, base: Node) -> tuple[int, int]:
        """Between what a sum lies by what is known of it, and by what is known of two that it is made of."""
        low, high = self.bounds(base)
        for known, (least, most) in self.facts.items():
            for rest, a, b in ((build.subtract(base, known), least, most), (build.add(base, known), -most, -least)):
                first, last = self.bounds(rest)
                low, high = max(low, first + a), min(high, last + b)
        return low, high

    def reduced(self, x: Node) -> Node:
        """The term as it is in this case."""
        return rebuild(x, self._change)

    def _change(self, old: Node, args: tuple[Node, ...]) -> Node:
        made = self._made(old, args)
        self.kept.append(made)
        if made.op != "const" and self.facts:
            low, high = self.bounds(made)
            if low == high:
                return const(low)
        return made

    def _made(self, old: Node, args: tuple[Node, ...]) -> Node:
        match old.op:
            case "wrap":
                return self._wrapped(args[0], int(old.attr[0]), bool(old.attr[1]))
            case "sat":
                width, signed = int(old.attr[0]), bool(old.attr[1])
                least, most = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
                return self._bounded(self._bounded(args[0], const(least), -1), const(most), 1)
            case "max" | "min":
                return self._bounded(args[0], args[1], 1 if old.op == "min" else -1)
            case "abs":
                low, high = self.bounds(args[0])
                return args[0] if low >= 0 else build.negate(args[0]) if high <= 0 else build.absolute(args[0])
            case "lt" | "le" | "eq":
                return self._compared(old.op, *args)
            case "and":
                return build.conjoin(*sorted(args, key=by_number))
            case "invert":
                return build.subtract(const(-1), args[0])
            case "mul" if args[1].op != "const":
                return _product(*args)
            case "xor":
                return _different(args)
            case "add":
                parts = (y for x in args for y in terms_of(x))
                return _rounded(_halved(_joined(build.add(*sorted(parts, key=lambda y: scaled(y)[0].number)))))
            case "shr" if (args[1].constant or 0) > 0:
                return _shifted(*args)
            case _:
                return build.construct(old.op, args, old.attr)

    def _wrapped(self, x: Node, width: int, signed: bool) -> Node:
        x = _joined(_low_bits(x, width), width)
        low, high = self.bounds(x)
        least = -(1 << (width - 1)) if signed else 0
        block = (low - least) >> width
        if block == (high - least) >> width:
            return build.subtract(x, const(block << width))
        return uncut(x, width, signed)

    def _bounded(self, x: Node, y: Node, sign: int) -> Node:
        """The lesser of two for 1, the greater for -1."""
        low, high = self.bounds(build.subtract(x, y))
        if high <= 0:
            return x if sign > 0 else y
        if low >= 0:
            return y if sign > 0 else x
        return (build.minimum if sign > 0 else build.maximum)(x, y)

    def _compared(self, op: str, x: Node, y: Node) -> Node:
        low, high = self.bounds(build.subtract(x, y))
        match op:
            case "lt":
                return ONE if high < 0 else ZERO if low >= 0 else build.less(x, y)
            case "le":
                return ONE if high <= 0 else ZERO if low > 0 else build.at_most(x, y)
            case _:
                return ONE if low == high == 0 else ZERO if low > 0 or high < 0 else _equal(x, y)

    def splits(self, x: Node) -> Iterator[tuple[Node, int]]:
        """The ways to take a term apart: sums, and up to what they lie in the first case."""
        for y in walk([x]):
            for inner, most in self._undecided(y):
                line = _line(inner)
                self.kept.append(line.base)
                limit = line.limit(most)
                low, high = self.bounds(line.base)
                if low <= limit < high:
                    yield line.base, limit

    def _undecided(self, x: Node) -> Iterator[tuple[Node, int]]:
        """What decides an operator: terms, and what they are at most in one of the cases."""
        match x.op:
            case "lt":
                yield build.subtract(*x.args), -1
            case "le" | "min" | "max":
                yield build.subtract(*x.args), 0
            case "eq":
                yield from ((build.subtract(*x.args), most) for most in (-1, 0))
            case "abs":
                yield x.args[0], -1
            case "select" if x.args[0].op not in ("lt", "le", "eq"):
                yield x.args[0], 0
            case "and":
                # What is one of two numbers is a mask, or none.
                yield from ((y, low) for y in x.args for low, high in (self.bounds(y),) if high == low + 1)
            case "wrap":
                width = int(x.attr[0])
                least = -(1 << (width - 1)) if x.attr[1] else 0
                low, high = self.bounds(x.args[0])
                first, last = ((y - least) >> width for y in (low, high))
                if last - first < _BLOCKS:
                    yield from ((x.args[0], ((block + 1) << width) + least - 1) for block in range(first, last))


def uncut(x: Node, width: int, signed: bool) -> Node:
    """The lowest bits of a value as a number, whose constants are as near to 0 as may be where that fits in these bits.

    >>> x = build.bits("x", ZERO, 8)
    >>> uncut(build.add(x, const(65526)), 16, True) is build.subtract(x, const(10))
    True
    """
    made = build.wrap(x, width, signed)
    if made.op != "wrap" or x.op not in ("add", "mul"):
        return made
    near = build.wrap(centred(x, width), width, signed)
    half = 1 << (width - 1)
    constant = sum(y.low for y in terms_of(x) if y.op == "const")
    if near.op == "wrap" and signed and constant % (2 * half) == half:
        # A number with another highest bit, as it is compared where only signed ones are.
        return build.subtract(build.wrap(build.subtract(x, const(constant)), width), const(half))
    return made if near.op == "wrap" else near


def centred(x: Node, width: int) -> Node:
    """A value with the same low bits, whose constants are as near to 0 as may be."""
    match x.op:
        case "add":
            return build.add(*(centred(y, width) for y in x.args))
        case "mul":
            return build.multiply(*(centred(y, width) for y in x.args))
        case "const":
            return build.wrap(x, width, True)
        case _:
            return x


def _low_bits(x: Node, width: int) -> Node:
    """A value whose low bits are the same: of what is shifted right only some bits above these are kept."""
    if x.op == "add":
        return build.add(*(_low_bits(y, width) for y in x.args))
    base, factor = scaled(x)
    if factor != 1:
        less = width - _twos(x)
        return build.multiply(_low_bits(base, less), centred(const(factor), width)) if less > 0 else ZERO
    if x.op == "shr" and x.args[1].op == "const":
        return build.shift_right(build.low_bits(x.args[0], width + x.args[1].low), x.args[1])
    return build.low_bits(x, width)


def _equal(x: Node, y: Node) -> Node:
    """Whether two are the same, which their low bits tell where no others of their values have the same ones."""
    apart = max(x.high, y.high) - min(x.low, y.low)
    width = next((bits for bits in (8, 16, 32, 64) if not apart >> bits), 0)
    pair = (build.wrap(z, width) for z in (x, y)) if width else (x, y)
    return build.equal(*sorted(pair, key=lambda z: (z.op == "const", id(z))))


def _shifted(x: Node, by: Node) -> Node:
    """A quotient: of a multiple of a power of two by less, of a sum of quotients at once."""
    common = min((_twos(y) for y in terms_of(x)), default=0)
    if common > 0 and x.op != "const":
        less = min(common, by.low)
        inner = build.add(*(_quotient(y, less) for y in terms_of(x)))
        return _shifted(inner, const(by.low - less)) if by.low > less else inner
    if x.op == "add" and len(x.args) == 2 and x.args[0].op == "bits" and x.args[1].op == "const":
        # Bits below all that are added make no difference.
        read, constant = x.args
        less = min(_twos(constant), by.low, int(read.attr[1]) - 1)
        if less > 0:
            inner = build.add(build.shift_right(read, const(less)), const(constant.low >> less))
            return _shifted(inner, const(by.low - less)) if by.low > less else inner
    for part in terms_of(x):
        if part.op == "shr" and part.args[1].op == "const" and x.op == "add":
            inner, first = part.args
            rest = (build.multiply(y, const(1 << first.low)) for y in x.args if y is not part)
            return _shifted(_joined(build.add(inner, *rest)), const(first.low + by.low))
    return build.shift_right(x, by)


def _twos(x: Node) -> int:
    factor = x.low if x.op == "const" else scaled(x)[1]
    return (factor & -factor).bit_length() - 1


def _quotient(x: Node, by: int) -> Node:
    if x.op == "const":
        return const(x.low >> by)
    base, factor = scaled(x)
    return build.multiply(base, const(factor >> by))


def _halved(x: Node) -> Node:
    """A sum in which the bits that two have and half of those that one of them has are half of their sum, and so is
    what is rounded up but for an odd one: for all whole numbers."""
    parts = terms_of(x)
    for part in parts:
        inner, factor = scaled(part)
        if inner.op == "and":
            both = build.multiply(build.shift_right(_pair("xor", inner), ONE), const(factor))
            if both in parts:
                half = build.multiply(build.shift_right(build.add(*inner.args), ONE), const(factor))
                return build.add(half, *(y for y in parts if y is not part and y is not both))
        elif inner.op == "shr" and inner.args[1] is ONE and inner.args[0].op == "add":
            *pair, up = inner.args[0].args
            if up is not ONE or len(pair) != 2:
                continue
            odd = build.multiply(_different(tuple(build.wrap(y, 1) for y in pair)), const(-factor))
            if odd in parts:
                half = build.multiply(build.shift_right(build.add(*pair), ONE), const(factor))
                return build.add(half, *(y for y in parts if y is not part and y is not odd))
    return x


def _rounded(x: Node) -> Node:
    """A sum in which a quotient by a power of two and the bit below its last one are the quotient of what is half of
    that more: it is rounded to the nearest.

    >>> x = build.multiply(*(build.bits(name, ZERO, 32) for name in "xy"))
    >>> bit = build.equal(build.conjoin(x, const(4)), const(4))
    >>> _rounded(build.add(build.shift_right(x, const(3)), bit)) is build.shift_right(build.add(x, const(4)), const(3))
    True
    """
    parts = terms_of(x)
    for part in parts:
        (quotient, factor), rest = scaled(part), [y for y in parts if y is not part]
        if quotient.op != "shr" or (quotient.args[1].constant or 0) < 1:
            continue
        inner, by = quotient.args
        for y in rest:
            bit, times = _tested_bit(*scaled(y))
            if bit is not None and times == factor and bit.args[1].low == by.low - 1:
                if _have_low_bits(bit.args[0], inner, by.low):
                    up = build.shift_right(build.add(inner, const(1 << by.low - 1)), by)
                    return build.add(build.multiply(up, const(factor)), *(z for z in rest if z is not y))
    return x


def _have_low_bits(a: Node, b: Node, width: int) -> bool:
    """Whether two values have the same low bits, whatever the order of factors."""
    known = _Case({})  # which keeps what it makes, so that the order of equal terms is one
    first, second = (known.reduced(build.wrap(build.low_bits(x, width), width)) for x in (a, b))
    return first is second


def _tested_bit(x: Node, factor: int) -> tuple[Node | None, int]:
    """A multiple of a bit, as a shift that has it last, and the factor; None where it is none."""
    if x.op == "select" and x.args[1] is const(-1) and x.args[2] is ZERO:
        x, factor = x.args[0], -factor
    match (x.op, *x.args):
        case ("and", Node() as shifted, last) if last is ONE:
            x = shifted
        case ("wrap", Node() as shifted) if x.attr == (1, False):
            x = shifted
        case ("not", Node(op="eq", args=(Node(op="and", args=(value, bit)), none))) if none is ZERO:
            x = _last_bit(value, bit)
        case ("eq", Node(op="and", args=(value, bit)), other) if other is bit:
            x = _last_bit(value, bit)
        case _:
            return None, factor
    return (x if x.op == "shr" and x.args[1].op == "const" else None), factor


def _last_bit(value: Node, bit: Node) -> Node:
    """A value shifted so that the only bit that a constant has is its last one; that constant where it has more."""
    power = bit.constant or 0
    return node("shr", (value, const(power.bit_length() - 1))) if power > 0 and not power & (power - 1) else bit


def _pair(op: str, x: Node) -> Node:
    return build.construct(op, tuple(sorted(x.args, key=by_number)), ())


def _product(a: Node, b: Node) -> Node:
    """A product with its constant factors behind all others, those of all addends of a sum as well."""
    (x, by), (y, times) = map(_factored, (a, b))
    return build.multiply(build.multiply(*sorted((x, y), key=by_number)), const(by * times))


def _factored(x: Node) -> tuple[Node, int]:
    """A value without the factor that all of its addends have, and that.

    >>> x, y = (build.bits(name, ZERO, 8) for name in "xy")
    >>> _factored(build.add(build.multiply(x, const(12)), build.multiply(y, const(-8))))[1]
    4
    """
    if x.op != "add":
        return scaled(x)
    common = gcd(*(y.low if y.op == "const" else scaled(y)[1] for y in x.args))
    return (build.add(*(_quotient_of(y, common) for y in x.args)), common) if common > 1 else (x, 1)


def _quotient_of(x: Node, by: int) -> Node:
    """An addend without a factor."""
    base, factor = (ONE, x.low) if x.op == "const" else scaled(x)
    return build.multiply(base, const(factor // by))


def _different(args: tuple[Node, ...]) -> Node:
    """The bits that an odd number of terms have, of which equal ones are none."""
    found: dict[Node, None] = {}
    stack = [*args]
    while stack:
        x = stack.pop()
        if x.op == "xor":
            stack += x.args
        elif x in found:
            del found[x]
        else:
            found[x] = None
    made = ZERO
    for x in sorted(found, key=by_number):
        made = build.exclude(made, x)
    return made


def _joined(x: Node, width: int = 0) -> Node:
    """A sum in which the low bits of a value and the bits above them are one, as they are or as a factor of one value;
    in its lowest bits, where there is a width."""
    parts = terms_of(x)
    if width:
        whole = build.add(*(_as_another(y, parts, width) for y in parts))
        if whole is not x:
            return _joined(whole, width)
    for high in parts:
        base, factor = scaled(high)
        if abs(factor) <= 1 or base.op not in ("wrap", "bits", "shr", "mul"):
            continue
        for low in parts:
            made = _whole(base, factor, low, width)
            if made is not None:
                return _joined(build.add(made, *(y for y in parts if y is not low and y is not high)), width)
    return x


def _as_another(x: Node, parts: Sequence[Node], width: int) -> Node:
    """A multiple of some low bits of a value, of which no more matter, as one of the value that another part is of."""
    base, factor = scaled(x)
    matter = width - _twos(x)
    if factor == 1 or base.op not in ("bits", "wrap") or matter <= 0:
        return x
    for y in parts:
        other = scaled(y)[0]
        if other.op in ("bits", "wrap") and int(other.attr[-2]) > int(base.attr[-2]):
            if build.wrap(other, matter) is build.wrap(base, matter):
                return build.multiply(other, const(factor))
    return x


def _whole(high: Node, factor: int, low: Node, width: int) -> Node | None:
    """The sum of a value's low bits, and `factor` times the bits above them, each perhaps times another value."""
    base, times = scaled(low)
    power = factor // times if times else 0
    by = power.bit_length() - 1
    if by <= 0 or times << by != factor:
        return None
    if high.op != "mul" or base.op != "mul":
        made = _above(high, by, base)
        return None if made is None else build.multiply(made, const(times))
    # Of what is multiplied by a power of two fewer bits matter.
    matter = width - _twos(const(factor)) if width else 0
    for (x, above), (y, below) in product(*((z.args, z.args[::-1]) for z in (high, base))):
        if x is y or (matter > 0 and build.wrap(x, matter) is build.wrap(y, matter)):
            made = _above(above, by, below)
            if made is not None:
                return build.multiply(_product(y, made), const(times))
    return None


def _above(high: Node, by: int, low: Node) -> Node | None:
    """A value whose low bits, as many as `by` says, are one term, and whose bits above are another one."""
    if low.op == "bits" and high.op == "bits":
        width = int(low.attr[1])
        beside = low.attr[0] == high.attr[0] and build.subtract(high.args[0], low.args[0]) is const(width)
        if width == by and beside and not low.attr[2]:
            return build.bits(str(low.attr[0]), low.args[0], width + int(high.attr[1]), bool(high.attr[2]))
        return None
    if low.op != "wrap" or int(low.attr[0]) != by or low.attr[1]:
        return None
    inner = low.args[0]
    if high is build.shift_right(inner, const(by)):
        return inner
    if high.op == "wrap":
        width, signed = int(high.attr[0]) + by, bool(high.attr[1])
        if high is build.wrap(build.shift_right(inner, const(by)), width - by, signed):
            return build.wrap(inner, width, signed)
    return None
