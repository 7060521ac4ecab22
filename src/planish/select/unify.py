"""Goal-directed unification: a lane function matched against a term of the source, modulo a power of two.

Terms have no widths but ranges: a slot that reads 8 unsigned bits takes any term between 0 and 255, `wrap` and `sat`
vanish where the range of a term fits, and the addends of a sum are distributed over the addends of the function.

>>> from planish.isa.semantics import build
>>> from planish.isa.semantics.node import const
>>> slot = lambda n: build.bits(str(n), const(0), 8)
>>> average = build.shift_right(build.add(slot(0), slot(1), const(1)), const(1))
>>> x, y = build.bits("x", const(0), 8), build.bits("y", const(0), 8)
>>> term = build.shift_right(build.add(y, const(1), x), const(1))
>>> [b["0"] is y and b["1"] is x for b in unify(average, term, 8)]
[True, False]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from itertools import combinations
from math import gcd

from planish.isa.semantics import build
from planish.isa.semantics.node import COMMUTE, Node, const, node, rebuild, scaled, terms_of, walk

Binding = dict[str, Node]
"""What lies in the slots and parameters of a lane function, by their names; one that does not matter is missing."""

_ANY_ORDER = 6
"""Sums of more addends are covered in the order of their addends."""
_ONES = const(-1)
_RING = ("add", "mul", "and", "or", "xor", "invert", "sum")
_SELECTED = 64
_REMEMBERED = 1 << 14
"""So many sums are parted once for all functions."""
CHAINED = ("min", "max", "and", "or")
"""Operators whose members may be taken together in any order, and any number of times."""


def unify(pattern: Node, term: Node, width: int) -> Iterator[Binding]:
    """The bindings under which a lane function is a term in its lowest `width` bits, each once."""
    seen: set[tuple[tuple[str, int], ...]] = set()
    for found in _match(pattern, term, width, {}):
        key = tuple(sorted((name, id(x)) for name, x in found.items()))
        if key not in seen:
            seen.add(key)
            yield found
            if len(seen) >= _SELECTED:
                return


def fits(term: Node, width: int, signed: bool) -> bool:
    """Whether a number of so many bits holds all values of a term."""
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    return low <= term.low and term.high <= high


def _match(p: Node, t: Node, ring: int, b: Binding) -> Iterator[Binding]:
    """Bindings that extend `b` under which `p` is `t`: modulo 2^ring, or exactly where that is 0."""
    if ring:
        while t.op == "wrap" and int(t.attr[0]) >= ring:
            t = t.args[0]
    match p.op:
        case "const":
            if t.op == "const" and (t.low - p.low) % (1 << ring) == 0 if ring else t is p:
                yield b
        case "bits":
            yield from _bind(p, t, ring, b)
        case "wrap":
            width, signed = int(p.attr[0]), bool(p.attr[1])
            if ring and ring <= width:
                yield from _match(p.args[0], t, ring, b)
            elif fits(t, width, signed):
                yield from _match(p.args[0], t, width, b)
            elif t.op == "wrap" and t.attr == p.attr:
                yield from _match(p.args[0], t.args[0], width, b)
        case "sat":
            width, signed = int(p.attr[0]), bool(p.attr[1])
            if fits(t, width, signed):
                yield from _match(p.args[0], t, 0, b)
                for inner in unclamped(t, width, signed):
                    yield from _match(p.args[0], inner, 0, b)
                    yield from _match_clamped(p.args[0], inner, b)
            elif ring == width and t.op not in ("sat", "const"):
                yield from _match(p.args[0], node("wrap", (t,), (width, signed)), 0, b)
            elif ring == width and t.op == "const":
                value = t.low % (1 << width)
                exact = const(value - (1 << width) if signed and value >> (width - 1) else value)
                yield from _match(p.args[0], exact, 0, b)
            if t.op == "sat" and t.attr == p.attr:
                yield from _match(p.args[0], t.args[0], 0, b)
                yield from _match_clamped(p.args[0], t.args[0], b)
        case "add":
            yield from _match_sum(p, t, ring, b)
        case "mul":
            yield from _match_product(p, t, ring, b)
        case "xor" if t.op == "invert":
            for pair in ((t.args[0], _ONES), (_ONES, t.args[0])):
                yield from _match_all(p.args, pair, (ring, ring), b)
        case "select" if t.op in ("shl", "shr"):
            yield from _match_decided(p, t, ring, b)
        case "and" if t.op == "wrap" and not t.attr[1]:
            ones = const((1 << int(t.attr[0])) - 1)
            for pair in ((t.args[0], ones), (ones, t.args[0])):
                yield from _match_all(p.args, pair, (ring, ring), b)
        case "shl":
            yield from _match_scaled(p, t, ring, b)
        case "shr":
            yield from _match_shifted(p, t, ring, b)
        case op:
            if op == t.op and p.attr == t.attr and len(p.args) == len(t.args):
                yield from _match_alike(p, t, ring, b)


def unclamped(t: Node, width: int, signed: bool) -> Iterator[Node]:
    """What becomes a term when a width saturates it: its only bounds are the least and the greatest of that width."""
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    seen: list[str] = []
    while t.op in ("min", "max") and t.op not in seen and t.args[1].constant == (low if t.op == "max" else high):
        seen.append(t.op)
        t = t.args[0]
        if ("max" in seen or t.low >= low) and ("min" in seen or t.high <= high):
            yield t


def _match_clamped(p: Node, t: Node, b: Binding) -> Iterator[Binding]:
    """What is saturated more narrowly later may be saturated to the width of a slot before."""
    if p.op != "bits" or t.op == "sat":
        return
    width, signed = int(p.attr[1]), bool(p.attr[2])
    if not fits(t, width, signed):
        clamped = build.saturate(t, width, signed) if signed else build.maximum(t, build.ZERO)
        if fits(clamped, width, signed):
            yield from _bind(p, clamped, 0, b)


def _bind(p: Node, t: Node, ring: int, b: Binding) -> Iterator[Binding]:
    name, width, signed = str(p.attr[0]), int(p.attr[1]), bool(p.attr[2])
    if ring and ring <= width:
        t = build.low_bits(t, width) if ring == width else t
        if t.op == "const":  # the number that a register holds
            t = const(t.low % (1 << width))
    elif not fits(t, width, signed):
        return
    elif t.op == "const":
        t = const(t.low % (1 << width))
    known = b.get(name)
    if known is None:
        yield {**b, name: t}
    elif known is t or (ring == width and "wrap" in (known.op, t.op) and _are_one(known, t, ring)):
        yield b


def _are_one(x: Node, y: Node, width: int) -> bool:
    """Whether two values are the same number in a register of some bits."""
    return build.wrap(x, width) is build.wrap(y, width)


def _match_alike(p: Node, t: Node, ring: int, b: Binding) -> Iterator[Binding]:
    """The same operator: its arguments in their order, or the other one where it commutes."""
    if p.op in CHAINED and len(chain_of(t)) > 2:
        yield from _match_chain(p, t, ring, b)
        return
    inner = ring if p.op in _RING else 0
    rings = (0, ring, ring) if p.op == "select" else (inner,) * len(p.args)
    if p.op == "eq":
        rings = (_compared_ring(p, t),) * 2
    orders = [t.args]
    if p.op in COMMUTE or (p.op in ("fadd", "fmul", "fma") and len(t.args) > 1):
        orders.append((t.args[1], t.args[0], *t.args[2:]))
    for args in orders:
        yield from _match_all(p.args, args, rings, b)


def _match_decided(p: Node, t: Node, ring: int, b: Binding) -> Iterator[Binding]:
    """One of the ways of a choice, where it is always taken: the amount of a shift is never too great."""
    condition, *ways = p.args
    for way, wanted in zip(ways, (1, 0), strict=True):
        for found in _match(way, t, ring, b):
            if rebuild(condition, partial(_bound, found)).constant == wanted:
                yield found


def _bound(b: Binding, old: Node, args: tuple[Node, ...]) -> Node:
    if old.op == "bits" and str(old.attr[0]) in b:
        return build.wrap(b[str(old.attr[0])], int(old.attr[1]), bool(old.attr[2]))
    return build.construct(old.op, args, old.attr)


def _compared_ring(p: Node, t: Node) -> int:
    """The bits in which it is decided whether two values are the same: those of slots where these tell all values
    apart, 0 for all."""
    widths = [int(x.attr[1]) for x in walk(p.args) if x.op == "bits"]
    apart = max(x.high for x in t.args) - min(x.low for x in t.args)
    return min(widths) if widths and not apart >> min(widths) else 0


def _match_chain(p: Node, t: Node, ring: int, b: Binding) -> Iterator[Binding]:
    """One operator of a chain of the same: some of its members on one side, the others on the other."""
    members = chain_of(t)
    inner = ring if p.op in _RING else 0
    for group in _groups(members):
        some = join_chain(t.op, [members[at] for at in group])
        rest = join_chain(t.op, [x for at, x in enumerate(members) if at not in group])
        yield from _match_all(p.args, (some, rest), (inner, inner), b)


def chain_of(t: Node) -> list[Node]:
    """The members of a chain of one operator that may be made in any order, each once."""
    found: dict[Node, None] = {}
    stack = [t]
    while stack:
        x = stack.pop()
        if x.op == t.op:
            stack += reversed(x.args)
        else:
            found[x] = None
    return list(found)


def join_chain(op: str, members: Sequence[Node]) -> Node:
    """The chain of some members, in their order."""
    found = members[0]
    for x in members[1:]:
        found = build.construct(op, (found, x), ())
    return found


def _match_all(ps: Sequence[Node], ts: Sequence[Node], rings: Sequence[int], b: Binding) -> Iterator[Binding]:
    if not ps:
        yield b
        return
    for found in _match(ps[0], ts[0], rings[0], b):
        yield from _match_all(ps[1:], ts[1:], rings[1:], found)


def _match_product(p: Node, t: Node, ring: int, b: Binding) -> Iterator[Binding]:
    if p.args[1].op == "const":
        factor = p.args[1].low
        divided = _divide(t, factor)
        if divided is not None and (factor > 0 or _is_negative(t)):
            yield from _match(p.args[0], divided, ring, b)
        return
    if t.op == "const":
        return
    for left, right in factors(t):
        yield from _match_all(p.args, (left, right), (ring, ring), b)
        yield from _match_all(p.args, (right, left), (ring, ring), b)


def factors(t: Node) -> Iterator[tuple[Node, Node]]:
    """The ways to write a term as a product."""
    if t.op == "mul":
        base, by = t.args
        yield base, by
        if base.op == "mul" and by.op == "const":
            yield build.multiply(base.args[0], by), base.args[1]
            yield base.args[0], build.multiply(base.args[1], by)
        return
    if t.op == "add":
        common = _common_factor(t)
        if common > 1:
            divided = _divide(t, common)
            assert divided is not None
            yield divided, const(common)


def _common_factor(t: Node) -> int:
    found = 0
    for x in terms_of(t):
        found = gcd(found, x.low if x.op == "const" else scaled(x)[1])
    return abs(found)


def _divide(t: Node, by: int) -> Node | None:
    """A term divided by a factor of all of its addends; None where it is none."""
    if by == 0:
        return None
    parts = []
    for x in terms_of(t):
        base, factor = (build.ONE, x.low) if x.op == "const" else scaled(x)
        if factor % by:
            return None
        parts.append(build.multiply(base, const(factor // by)))
    return build.add(*parts)


def _match_scaled(p: Node, t: Node, ring: int, b: Binding) -> Iterator[Binding]:
    """A product with a power of two, as a shift by a parameter."""
    inner, by = p.args
    if t.op == "shl":
        yield from _match_all(p.args, t.args, (ring, 0), b)
    if by.op != "bits" or t.op == "const":
        return
    power, common = 1, _common_factor(t)
    while common and common % (1 << power) == 0:
        divided = _divide(t, 1 << power)
        assert divided is not None
        for found in _bind(by, const(power), 0, b):
            yield from _match(inner, divided, ring, found)
        power += 1


def _match_shifted(p: Node, t: Node, ring: int, b: Binding) -> Iterator[Binding]:
    """A quotient by a power of two: the distance first, since what is rounded may depend on it."""
    if t.op == "wrap" and t.args[0].op == "shr" and t.args[0].args[1].constant is not None:
        # What is cut after a shift may be cut before it.
        whole, by = t.args[0].args
        t = node("shr", (node("wrap", (whole,), (int(t.attr[0]) + by.low, t.attr[1])), by))
    if t.op != "shr":
        return
    for by, rest in _distances(p, t):
        for found in _match(p.args[1], by, 0, b):
            inner = p.args[0]
            distance = by.constant
            if p.args[1].op != "const" and distance is not None:
                inner = _with_parameter(inner, p.args[1], by)
            yield from _match(inner, rest, ring + distance if ring and distance is not None else 0, found)


def _distances(p: Node, t: Node) -> Iterator[tuple[Node, Node]]:
    """By how much a term is shifted, and what: all at once, or a high half of a product first."""
    yield t.args[1], t.args[0]
    distance = t.args[1].constant
    if p.args[1].op == "const" or distance is None or t.args[0].op != "mul":
        return
    for half in (16, 32):
        if distance > half:
            yield const(distance - half), node("shr", (t.args[0], const(half)))


def _with_parameter(p: Node, parameter: Node, value: Node) -> Node:
    return rebuild(p, lambda x, args: value if x is parameter else build.construct(x.op, args, x.attr))


def _match_sum(p: Node, t: Node, ring: int, b: Binding) -> Iterator[Binding]:
    constant = sum(x.low for x in p.args if x.op == "const")
    parts = [x for x in p.args if x.op != "const"]
    taps = [x for x in parts if x.op == "mul" and x.args[0].op == "bits" and x.args[1].op == "bits"]
    plain = [x for x in parts if scaled(x)[0].op == "bits"]
    others = [x for x in parts if x not in taps and x not in plain]
    left = [x for x in terms_of(t) if x.op != "const"]
    given = sum(x.low for x in terms_of(t) if x.op == "const") - constant
    for rest, found in _match_others(others, left, ring, b):
        for more, bound in _match_taps(taps, rest, ring, found):
            yield from _match_plain(plain, more, given, ring, bound)


_Open = list[Node]


def _match_others(ps: list[Node], left: _Open, ring: int, b: Binding) -> Iterator[tuple[_Open, Binding]]:
    """Addends of the function that are neither products of slots nor slots: each is one addend of the term; of a long
    sum the first that it can be, or of those that read one row all, since what is left is covered in the same way."""
    if not ps:
        yield left, b
        return
    long = len(left) > _ANY_ORDER
    members = sums_of_rows(left) if long else left
    for at, x in enumerate(members):
        rest = [y for z in (*members[:at], *members[at + 1 :]) for y in terms_of(z)]
        matches = list(_match(ps[0], x, ring, b))
        for found in matches:
            yield from _match_others(ps[1:], rest, ring, found)
        if long and matches:
            return


def _match_taps(taps: list[Node], left: _Open, ring: int, b: Binding) -> Iterator[tuple[_Open, Binding]]:
    """Products of two slots: the first takes the first addend that it can, the others later ones, or none."""
    if not taps:
        yield left, b
        return
    rows = sums_of_rows(left)
    if len(rows) < len(left):
        # Rows are summed before their sums are: neighbouring rows of a strip share them.
        for rest, found in _match_first(taps, rows, ring, b):
            yield [y for x in rest for y in terms_of(x)], found
    else:
        yield from _match_first(taps, left, ring, b)


def sums_of_rows(addends: Sequence[Node]) -> list[Node]:
    """Addends, those that read one row summed; as they are, where all read the same."""
    rows: dict[object, list[Node]] = {}
    for x in addends:
        rows.setdefault(row_of(x), []).append(x)
    return [build.add(*x) for x in rows.values()] if len(rows) > 1 else list(addends)


def _match_first(taps: list[Node], left: _Open, ring: int, b: Binding) -> Iterator[tuple[_Open, Binding]]:
    """Products of slots: the first takes the first addend that it can."""
    for first, x in enumerate(left):
        starts = list(_match_tap(taps[0], x, ring, b, len(taps) > 1))
        if not starts:
            continue
        after = list(range(first + 1, len(left)))
        most = min(len(taps) - 1, len(after))
        for count in range(most, -1, -1):
            chosen = combinations(after, count) if len(left) <= _ANY_ORDER else [tuple(after[:count])]
            for places in chosen:
                rest = [y for at, y in enumerate(left) if at != first and at not in places]
                used = taps[1 : 1 + count]
                for found in starts:
                    for bound in _match_each(used, [left[at] for at in places], ring, found):
                        yield rest, _without(taps[1 + count :], bound)
        return


def _without(taps: Sequence[Node], b: Binding) -> Binding:
    """Products that are not needed: their second slots are 0."""
    zero = {str(x.args[1].attr[0]): build.ZERO for x in taps if str(x.args[1].attr[0]) not in b}
    return {**b, **zero}


def _match_each(taps: Sequence[Node], terms: Sequence[Node], ring: int, b: Binding) -> Iterator[Binding]:
    if not taps:
        yield b
        return
    for found in _match_tap(taps[0], terms[0], ring, b, True):
        yield from _match_each(taps[1:], terms[1:], ring, found)


def _match_tap(tap: Node, t: Node, ring: int, b: Binding, several: bool) -> Iterator[Binding]:
    yield from _match_product(tap, t, ring, b)
    if several and t.op != "mul":  # one product with 1 is a sum
        for pair in ((t, build.ONE), (build.ONE, t)):
            yield from _match_all(tap.args, pair, (ring, ring), b)


def _match_plain(plain: list[Node], left: _Open, given: int, ring: int, b: Binding) -> Iterator[Binding]:
    """Slots as addends, with factors: each takes some of what is left, all of it is taken."""
    if not plain:
        if not left and (given % (1 << ring) == 0 if ring else given == 0):
            yield b
        return
    parts = (*left, *([const(given)] if given else []))
    base, factor = scaled(plain[0])
    if len(plain) == 1:
        divided = _divided_sum(parts, factor)
        if divided is not None and not (factor < 0 and _is_negative(divided)):
            yield from _match(base, divided, ring, b)
        return
    for divided, others, number in _partings(parts, factor):
        for found in _match(base, divided, ring, b):
            yield from _match_plain(plain[1:], list(others), number, ring, found)


@lru_cache(_REMEMBERED)
def _divided_sum(parts: tuple[Node, ...], by: int) -> Node | None:
    return _divide(build.add(*parts), by) if parts else build.ZERO


@lru_cache(_REMEMBERED)
def _partings(parts: tuple[Node, ...], by: int) -> tuple[tuple[Node, tuple[Node, ...], int], ...]:
    """The ways to part a sum: what goes together, divided by a factor, what is left, and the number in that. They are
    the same for every function whose addends have the factor."""
    found: list[tuple[Node, tuple[Node, ...], int]] = []
    if len(parts) == 1 and _is_negative(parts[0]):
        # What is negated is subtracted from 0.
        whole = _divide(parts[0], by) if by < 0 else None
        found += [(build.ZERO, parts, 0)] if by > 0 else [(whole, (), 0)] if whole is not None else []
    for group in _groups(parts):
        divided = _divide(build.add(*(parts[at] for at in group)), by)
        if divided is None or _is_negative(divided):
            continue
        rest = [x for at, x in enumerate(parts) if at not in group]
        others = tuple(x for x in rest if x.op != "const")
        found.append((divided, others, sum(x.low for x in rest if x.op == "const")))
    return tuple(found)


def _is_negative(x: Node) -> bool:
    """Whether all addends have a minus: what would be subtracted is rather added, and the other way round."""
    return all((y.low if y.op == "const" else scaled(y)[1]) < 0 for y in terms_of(x))


def _groups(parts: Sequence[Node]) -> Iterator[tuple[int, ...]]:
    """Which addends go together: all ways for a few; of more of them those that read the row of the first one, so that
    rows are summed before their sums are, or the first, alone or with the next one of the same factor; and what is left
    beside each of these: so that sums are covered in order."""
    count = len(parts)
    if count <= 3:
        for size in range(1, count):
            yield from combinations(range(count), size)
        return
    first = row_of(parts[0])
    row = tuple(at for at, x in enumerate(parts) if row_of(x) == first)
    mate = next((at for at in range(1, count) if scaled(parts[at])[1] == scaled(parts[0])[1]), 1)
    for group in (row,) if 1 < len(row) < count else dict.fromkeys(((0,), (0, 1), (0, mate))):
        if len(group) < count:
            yield group
            yield tuple(x for x in range(count) if x not in group)


def row_of(x: Node) -> object:
    """What an addend reads, where it is a multiple of that."""
    base = scaled(x)[0]
    return base.attr[0] if base.op == "bits" else base
