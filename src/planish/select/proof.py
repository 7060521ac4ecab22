"""A selected program recomposed from the definitions of its instructions, and compared with the terms that it covers.

Each register is what its instruction's definition (as the library has it, not its lane functions) leaves of its
operands' registers; what is stored has to be the term of each lane in one normal form.

>>> from planish.select.body import read_body
>>> body = read_body("(p: 128) -> out: 128 { for i < 16 { out.u8[i] = u8(2*p.u8[i]) } }")
>>> from planish.select.program import RegisterProgram
>>> program = RegisterProgram()
>>> row = program.make("load", 128, ("p", 0))
>>> proof = Proof(body, "arm")
>>> proof.refuted(program.make("call", 128, ("vaddq_u8", ()), (row, row)), body.outputs[0], range(16)) is None
True
>>> proof.refuted(row, body.outputs[0], range(16))
0
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from planish.isa.collection import load_collection
from planish.isa.select.lane_values import NoCover
from planish.isa.semantics import bit_parts, build
from planish.isa.semantics.definition import Definition
from planish.isa.semantics.node import Node, by_number, const, node, rebuild, scaled, terms_of, var, walk
from planish.isa.semantics.scalarised import ordered, puts_of, specialise
from planish.select import cases, exhaustive
from planish.select.body import LaneBody, Output
from planish.select.demand import Demand
from planish.select.factored.lane_terms import choose, cut
from planish.select.forms import polynomial
from planish.select.forms.split_products import WORD
from planish.select.program import Value
from planish.select.unify import CHAINED, chain_of, fits, join_chain

_MASK = 64
"""The bits of the widest mask."""
Segments = tuple[tuple[int, int, Node], ...]
"""What lies in a register: offset, width and value, in order."""


@dataclass(slots=True)
class Proof:
    """Recomposes the values of programs for one strip, with the instructions of an architecture."""

    body: LaneBody
    isa: str
    claims: Mapping[Value, Demand] = field(default_factory=dict)
    _named: Mapping[Node, int] = field(init=False)
    _known: dict[Value, Segments] = field(default_factory=dict)
    _abbreviated: dict[Value, Segments] = field(default_factory=dict)
    _shown: dict[tuple[Node, Node, int], bool] = field(default_factory=dict)
    _undefined: int = 0

    def __post_init__(self) -> None:
        self._named = factors_of([x.value for x in self.body.outputs], self.body.is_leaf)

    def refuted(self, value: Value, output: Output, iterations: Sequence[int]) -> int | None:
        """The first of the iterations, which lie in the lanes of a register, for which it is not shown to hold what is
        put; None where all are shown. NoCover where values tell which bits of a register are read."""
        lane = self.wrong_lane(value, [(output.value, x) for x in iterations], output.width)
        return None if lane is None else iterations[lane]

    def wrong_lane(self, value: Value, lanes: Sequence[tuple[Node, int]], width: int) -> int | None:
        """The first lane of a register that is not shown to hold its term at an iteration; None where all are shown."""
        return next((at for at, x in enumerate(lanes) if not self._holds(value, at * width, width, x)), None)

    def _holds(self, value: Value, offset: int, width: int, lane: tuple[Node, int]) -> bool:
        """Whether some bits of a register are shown to be a term at an iteration: with names for factors that are shown
        by themselves, or as it stands."""
        term, iteration = lane
        if self._named:
            named = self._with_names(term, True) if width == WORD else rebuild(term, self._named_words)
            wanted = build.wrap(self.at(named, iteration), width)
            if self._is_shown(wanted, read(self.abbreviated(value), offset, width), width):
                return True
        wanted = build.wrap(self.at(term, iteration), width)
        return self._is_shown(wanted, read(self.segments(value), offset, width), width)

    def abbreviated(self, value: Value) -> Segments:
        """What a value holds, where registers that are shown to hold a factor of a product of words hold a name of it:
        of that nothing is known."""
        if value not in self._abbreviated:
            self._abbreviated[value] = self._named_lanes(value) or self._segments(value, self.abbreviated)
        return self._abbreviated[value]

    def _named_lanes(self, value: Value) -> Segments | None:
        """The names in a register all of whose lanes are shown to hold one factor; None where that is not so."""
        claim = self.claims.get(value)
        if claim is None or claim.width != WORD or len(claim.terms) != 1:
            return None
        name = self._named.get(_uncut(claim.terms[0]))
        if name is None:
            return None
        self._abbreviated[value] = self._segments(value, self.abbreviated)
        if not all(x is None or self._holds(value, at * WORD, WORD, x) for at, x in enumerate(claim.lanes)):
            return self._abbreviated[value]
        lanes = [(at * WORD, x[1]) for at, x in enumerate(claim.lanes) if x is not None]
        made = tuple((at, WORD, build.bits(f"factor {name}", const(x * WORD), WORD)) for at, x in lanes)
        return self._filled(made, value.bits)

    def _named_words(self, old: Node, args: tuple[Node, ...]) -> Node:
        """A part of a term, where it is a word with names of its factors."""
        if old.op == "wrap" and int(old.attr[0]) == WORD:
            return build.wrap(self._with_names(old.args[0]), WORD, bool(old.attr[1]))
        return build.construct(old.op, args, old.attr) if args else old

    def _with_names(self, x: Node, whole: bool = False) -> Node:
        """A term modulo 2^32 with names of the factors that it is made of, but for all of it."""
        inner = _uncut(x)
        name = None if whole else self._named.get(inner)
        if name is not None:
            return build.bits(f"factor {name}", build.multiply(self.body.counter, const(WORD)), WORD)
        if inner.op in ("add", "mul"):
            return build.construct(inner.op, tuple(map(self._with_names, inner.args)), ())
        return inner

    def _is_shown(self, a: Node, b: Node, width: int) -> bool:
        """Whether two values are shown to be the same; what differs in where its rows begin is looked at once."""
        if a is b:
            return True
        first, second = from_beginnings(a, b)
        known = self._shown.get((first, second, width))
        if known is None:
            known = self._shown[first, second, width] = same(first, second, width)
        return known

    def at(self, term: Node, iteration: int) -> Node:
        """A term at an iteration."""
        counter = self.body.counter
        return specialise(term, {(str(counter.attr[0]), int(counter.attr[1])): iteration})

    def segments(self, value: Value) -> Segments:
        """What a value holds."""
        if value not in self._known:
            self._known[value] = self._segments(value, self.segments)
        return self._known[value]

    def _segments(self, value: Value, of: Callable[[Value], Segments]) -> Segments:
        """What a value holds; `of` says it of its arguments."""
        match value.kind:
            case "load" | "masked load":
                # What is not read is not asked for where it matters (see `strip`).
                row, offset = str(value.detail[0]), value.detail[1]
                assert isinstance(offset, int)
                return ((0, value.bits, build.bits(row, const(offset), value.bits)),)
            case "constant" | "splat" | "scalar":
                width, lanes = value.detail
                assert isinstance(width, int) and isinstance(lanes, tuple)
                return tuple(_repeated(width, lanes, value.bits))
            case "call":
                return self._called(value, of)
            case "part":
                (start,) = value.detail
                assert isinstance(start, int)
                return tuple(_inside(of(value.args[0]), start, value.bits))
            case "masked":
                return of(value.args[0])
        raise AssertionError(value.kind)

    def _called(self, value: Value, of: Callable[[Value], Segments]) -> Segments:
        entry = load_collection(self.isa).entry(str(value.detail[0]))
        names = [name for _, name in entry.signature.parameters]
        sizes = {x.name: x.bits for x in entry.definition.operands}
        operands = {name: self._operand(x, of(x), sizes[name]) for name, x in zip(names, value.args, strict=True)}
        return self._filled(recompose(entry.definition, operands), value.bits)

    def _operand(self, value: Value, found: Segments, bits: int) -> Segments:
        """What an operand holds: where a narrower register stands for it, anything above that. Masks have zeros
        there."""
        return found if value.kind == "scalar" or bits <= _MASK else self._filled(found, bits)

    def _filled(self, segments: Segments, bits: int) -> Segments:
        """All bits of a register: those that nothing is said of may be any, each time that it is made."""
        found: list[tuple[int, int, Node]] = []
        end = 0
        for x in (*segments, (bits, 0, build.ZERO)):
            if x[0] > end:
                self._undefined += 1
                found.append((end, x[0] - end, build.bits(f"undefined {self._undefined}", const(0), x[0] - end)))
            end = max(end, x[0] + x[1])
            found.append(x)
        return tuple(found[:-1])


def factors_of(terms: Sequence[Node], is_leaf: Callable[[Node], bool]) -> Mapping[Node, int]:
    """Numbers for the factors of products of words that some terms compute."""
    found: dict[Node, int] = {}
    for x in walk(list(terms)):
        if x.op == "mul" and not any(fits(y, WORD // 2, signed) for y in x.args for signed in (False, True)):
            for y in map(_uncut, x.args):
                if not is_leaf(y) and y.op != "const":
                    found.setdefault(y, len(found))
    return found


def _uncut(x: Node) -> Node:
    """A word without what cuts it to one."""
    while x.op == "wrap" and int(x.attr[0]) >= WORD:
        x = x.args[0]
    return x


def _repeated(width: int, lanes: tuple[object, ...], bits: int) -> list[tuple[int, int, Node]]:
    found = []
    for at in range(bits // width):
        x = lanes[at % len(lanes)]
        term = x if isinstance(x, Node) else const(x if isinstance(x, int) else 0)
        found.append((at * width, width, build.wrap(term, width)))
    return found


def from_beginnings(*values: Node) -> tuple[Node, ...]:
    """Values that read each operand from its beginning on, as far from each other as they do.

    >>> x, y = (build.bits("x", const(at), 8) for at in (24, 40))
    >>> [z.args[0].low for z in from_beginnings(build.add(x, y))[0].args]
    [0, 16]
    """
    starts: dict[object, int] = {}
    for x in walk(values):
        if x.op == "bits" and x.args[0].op == "const":
            name, start = x.attr[0], x.args[0].low
            starts[name] = min(starts.get(name, start), start)
    if not any(starts.values()):
        return values

    def change(old: Node, args: tuple[Node, ...]) -> Node:
        if old.op == "bits" and args[0].op == "const":
            return node("bits", (const(args[0].low - starts[old.attr[0]]),), old.attr)
        return old if args == old.args else node(old.op, args, old.attr)

    return tuple(rebuild(x, change) for x in values)


def recompose(definition: Definition, operands: Mapping[str, Segments]) -> Segments:
    """What an instruction leaves of what its operands hold."""
    found = []
    for put in puts_of(definition):
        assert put.offset.op == "const"
        found.append((put.offset.low, put.width, build.wrap(substitute(put.value, operands), put.width)))
    return tuple(sorted(found, key=lambda x: x[0]))


def substitute(x: Node, operands: Mapping[str, Segments]) -> Node:
    """A value with what its operands hold in place of what it reads; NoCover where values tell which bits it reads."""

    def change(old: Node, args: tuple[Node, ...]) -> Node:
        if old.op == "bits" and str(old.attr[0]) in operands:
            if args[0].op != "const":
                raise NoCover("an instruction reads a register at a place that depends on values")
            return read(operands[str(old.attr[0])], args[0].low, int(old.attr[1]), bool(old.attr[2]))
        if old.op == "select":
            return choose(*args)
        return build.construct(old.op, args, old.attr)

    return rebuild(x, change)


def read(segments: Segments, offset: int, width: int, signed: bool = False) -> Node:
    """Some bits of a register."""
    parts = list(_inside(segments, offset, width))
    whole = parts[0][2] if len(parts) == 1 and parts[0][0] == 0 else bit_parts.join(parts)
    return build.wrap(whole, width, signed)


def _inside(segments: Segments, offset: int, width: int) -> Iterator[tuple[int, int, Node]]:
    """What lies in some bits of a register, cut to these, by places in them."""
    for low, size, value in segments:
        start, end = max(low, offset), min(low + size, offset + width)
        if start < end:
            yield start - offset, end - start, cut(value, start - low, end - start)


def in_chains(*values: Node) -> list[Node]:
    """Values in which the members of chains (the greatest of several, say) have one order, and are there once."""
    # The order is that of addresses, so that what is made for one value has to live until the last one is.
    kept: list[Node] = []

    def change(old: Node, args: tuple[Node, ...]) -> Node:
        if old.op == "mul" and args[1].op != "const":
            made = _product(args)
        elif old.op == "wrap" and args[0].op == "shr" and args[0].args[1].op == "const":
            # What is kept of a shifted value are some of its low bits.
            inner, by = args[0].args
            width = int(old.attr[0])
            kept_bits = cases.centred(build.low_bits(inner, width + by.low), width + by.low)
            made = build.wrap(build.shift_right(kept_bits, by), width, bool(old.attr[1]))
        elif old.op == "wrap":
            made = cases.uncut(args[0], int(old.attr[0]), bool(old.attr[1]))
        elif old.op == "shr" and args[0].op in ("mul", "add") and (args[1].constant or 0) > 0:
            made = _shifted(*args)
        elif old.op == "select":
            made = _without_choice(build.select(*args))
        else:
            made = build.construct(old.op, args, old.attr)
        if made.op in CHAINED:
            made = _saturated(made) or join_chain(made.op, sorted(chain_of(made), key=by_number))
        kept.append(made)
        return made

    return [rebuild(x, change) for x in values]


def _without_choice(x: Node) -> Node:
    """A choice by whether a number, which is never below 0, is above: if the one value is the other one where it is 0,
    no choice is needed.

    >>> v, n = build.bits("v", const(0), 32, True), build.bits("n", const(0), 5)
    >>> shifted = build.shift_right(v, n)
    >>> _without_choice(build.select(build.less(build.negate(n), build.ZERO), shifted, v)) is shifted
    True
    """
    if x.op != "select" or x.args[0].op != "lt" or x.args[0].args[1] is not build.ZERO:
        return x
    condition, then, otherwise = x.args
    number = build.negate(condition.args[0])
    if number.low < 0:
        return x

    def change(old: Node, args: tuple[Node, ...]) -> Node:
        return build.ZERO if old is number else build.construct(old.op, args, old.attr) if args else old

    return then if rebuild(then, change) is otherwise else x


def _saturated(x: Node) -> Node | None:
    """The least of values that are not negative and of the greatest one of some bits, as what is saturated to these;
    some of the values may be saturated to as many bits already.

    >>> a, b = (build.multiply(build.bits(x, const(0), 16), const(2)) for x in "ab")
    >>> one = _saturated(build.construct("min", (build.saturate(a, 16, False), b), ()))
    >>> one is build.saturate(join_chain("min", sorted((a, b), key=by_number)), 16, False)
    True
    """
    if x.op != "min":
        return None
    members = [z for y in chain_of(x) for z in _of_saturated(y)]
    ends = {y.low for y in members if y.op == "const"}
    rest = sorted({y for y in members if y.op != "const"}, key=by_number)
    bits = min(ends).bit_length() if len(ends) == 1 else 0
    if bits not in (8, 16, 32) or ends != {(1 << bits) - 1} or any(y.low < 0 for y in rest):
        return None
    return build.saturate(join_chain("min", rest), bits, False)


def _of_saturated(x: Node) -> Sequence[Node]:
    """The members of the least that a saturation without a sign of what is not negative is; else the value itself."""
    if x.op != "sat" or x.attr[1] or x.args[0].low < 0:
        return (x,)
    (inner,) = x.args
    return (*(chain_of(inner) if inner.op == "min" else (inner,)), const((1 << int(x.attr[0])) - 1))


def _product(args: tuple[Node, ...]) -> Node:
    """A product with its constant factors behind all others."""
    bases, factors = zip(*map(scaled, args), strict=True)
    return build.multiply(build.construct("mul", bases, ()), const(prod(factors)))


def _shifted(x: Node, by: Node) -> Node:
    """A shifted sum: of each factor what is a multiple of the power of two stays, the rest where it may reach that."""
    above, below = [], []
    for y in terms_of(x):
        base, factor = (build.ONE, y.low) if y.op == "const" else scaled(y)
        above.append(build.multiply(base, const(factor >> by.low)))
        below.append(build.multiply(base, const(factor % (1 << by.low))))
    rest = build.add(*below)
    if rest.low >= 0 and rest.high >> by.low == 0:
        return build.add(*above)
    if len(below) > 1:
        return build.construct("shr", (x, by), ())
    base, factor = scaled(x)
    common = min((factor & -factor).bit_length() - 1, by.low)
    return build.shift_right(build.multiply(base, const(factor >> common)), const(by.low - common))


def _counted(x: Node) -> Node:
    """A value in which choices of two constants, and bits of these, are multiples of the conditions."""

    def change(old: Node, args: tuple[Node, ...]) -> Node:
        if old.op == "select" and args[0].is_truth and args[1].op == args[2].op == "const":
            return build.add(build.multiply(args[0], const(args[1].low - args[2].low)), args[2])
        if old.op == "and" and args[1].op == "const":
            base, factor = scaled(args[0])
            if base.is_truth:
                return build.multiply(base, const(factor & args[1].low))
        return build.construct(old.op, args, old.attr)

    return rebuild(x, change)


def same(a: Node, b: Node, width: int) -> bool:
    """Whether two values are shown to be equal in their lowest bits."""
    if a is b:
        return True
    pair = in_chains(*(build.wrap(build.low_bits(x, width), width) for x in (a, b)))
    if _are_one(pair, width) or _are_one([_counted(x) for x in pair], width):
        return True
    if cases.are_equal(a, b, width) or exhaustive.are_equal(a, b, width) is True or polynomial.are_equal(a, b, width):
        return True
    named = _with_numbers(*pair)
    if named is not None and cases.are_equal(*named, width):
        return True
    return _for_all_amounts(a, b, width)


_AMOUNTS = 64


def _for_all_amounts(a: Node, b: Node, width: int) -> bool:
    """Whether two values are shown to be the same for each number by which they shift, which is one of few."""
    found = [x.args[1] for x in walk([a, b]) if x.op in ("shl", "shr") and x.args[1].op != "const"]
    amount = min(found, key=lambda x: (sum(1 for _ in walk([x])), x.number), default=None)
    if amount is None or not 0 <= amount.low <= amount.high < _AMOUNTS:
        return False
    return all(
        cases.are_equal(_with(a, amount, const(value)), _with(b, amount, const(value)), width)
        for value in range(amount.low, amount.high + 1)
    )  # fmt: skip


def _with(x: Node, old: Node, made: Node) -> Node:
    """A value with another one in place of a part."""
    return rebuild(x, lambda y, args: made if y is old else build.construct(y.op, args, y.attr))


def _with_numbers(a: Node, b: Node) -> tuple[Node, Node] | None:
    """Two values in which each product, quotient, or part of one, that both have is a number of which only its range is
    known: what is equal for all such numbers is equal. None where they have none in common."""
    common = {x for x in walk([a]) if _is_opaque(x)} & {x for x in walk([b]) if _is_opaque(x)}
    if not common:
        return None
    numbers: dict[Node, Node] = {}

    def change(x: Node) -> Node:
        made = numbers.get(x)
        if made is None:
            if x in common:
                made = build.add(var(f"number {len(numbers)}", x.high - x.low + 1), const(x.low))
            else:
                made = build.construct(x.op, tuple(map(change, x.args)), x.attr) if x.args else x
            numbers[x] = made
        return made

    return change(a), change(b)


def _is_opaque(x: Node) -> bool:
    return x.op in ("shr", "quo", "mod") or (x.op == "mul" and x.args[1].op != "const") or (
        x.op == "wrap" and _is_opaque(x.args[0])
    )


def _are_one(pair: Sequence[Node], width: int) -> bool:
    a, b = map(ordered, pair)
    return a is b or build.wrap(build.subtract(a, b), width) is build.ZERO
