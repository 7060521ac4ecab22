"""Other ways to write a term: equal ones, in its lowest bits, that instructions are found for where the first has none.

Unification finds what is one instruction; what takes several that are not of the term's own shape is found by rules. A
rule is an equality, and needs no trust: what is selected by it is proven like anything else.

>>> from planish.isa.semantics.node import node
>>> x, y = (build.bits(name, const(0), 8) for name in "xy")
>>> first = next(alternatives(build.absolute(build.subtract(x, y)), 8))
>>> first.op, [z.op for z in first.args]
('or', ['max', 'max'])
>>> mask_of(build.less(x, y)).args[1:] == (const(-1), const(0))
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planish.isa.semantics import build
from planish.isa.semantics.build import ONE, ZERO
from planish.isa.semantics.node import Node, const, node, scaled, terms_of
from planish.select.forms.offset_products import without_offsets
from planish.select.unify import fits, unclamped

_ONES = const(-1)
_NARROWED = ("bits", "mul", "shr", "shl", "select")
"""What may be cut to the bits of a lane before it is packed; sums are made in narrow lanes."""
COMPARED = ("lt", "le", "eq")
_LANES = (8, 16, 32, 64)
_TRUTHS = (*COMPARED, "not", "and", "or", "xor")


def mask_of(condition: Node) -> Node:
    """All bits where a condition holds, and none where it does not; made as it stands, since the constructor would take
    a negation out."""
    return node("select", (condition, _ONES, ZERO))


def is_mask(x: Node) -> bool:
    """Whether a term has all bits or none."""
    return x.op == "select" and x.args[1] is _ONES and x.args[2] is ZERO


def is_condition(x: Node) -> bool:
    """Whether a term is made by comparing."""
    return x.is_truth and x.op in _TRUTHS


def canonical(x: Node, width: int) -> Node:
    """What all bits, or none, of a width are, as a mask."""
    if x.op == "select" and x.args[1].op == x.args[2].op == "const":
        first, second = ((y.low + 1) % (1 << width) == 0 for y in x.args[1:])
        if first and x.args[2].low % (1 << width) == 0:
            return mask_of(x.args[0])
        if second and x.args[1].low % (1 << width) == 0:
            return mask_of(opposite(x.args[0]))
    return x


def opposite(condition: Node) -> Node:
    """A condition that holds where another one does not."""
    match condition.op:
        case "lt":
            return build.at_most(condition.args[1], condition.args[0])
        case "le":
            return build.less(condition.args[1], condition.args[0])
        case "and":
            return build.disjoin(*map(opposite, condition.args))
        case "or":
            return build.conjoin(*map(opposite, condition.args))
        case _:
            return build.negation(condition)


def alternatives(x: Node, width: int) -> Iterator[Node]:
    """Terms that are another one in its lowest `width` bits; not what is found by unification anyway. A condition in
    lanes of one bit is the bit of a mask."""
    if is_condition(x) or (width == 1 and x.is_truth):
        yield from _conditions(x, width)
        return
    while x.op == "wrap" and int(x.attr[0]) >= width:
        x = x.args[0]
    rules = _RULES.get(x.op)
    if rules is not None:
        yield from rules(x, width)
    if x.op in _NARROWED and not fits(x, width, False) and not fits(x, width, True):
        yield node("wrap", (x,), (width, False))


def _conditions(x: Node, width: int) -> Iterator[Node]:
    """A condition as a number is a bit of its mask, or minus its mask; as a bit it is whether something is not 0."""
    if width > 1:
        mask = mask_of(x)
        yield node("and", (mask, ONE))
        yield node("mul", (mask, _ONES))
        yield node("select", (x, ONE, ZERO))
        return
    tested = _tested(x)
    if tested is not None:
        yield node("not", (node("eq", tested),))
    if x.op == "le" and x.args[1].op == "const":
        yield node("lt", (x.args[0], const(x.args[1].low + 1)))
    if x.op == "not" and x.args[0].op in COMPARED:
        inner = opposite(x.args[0])
        if inner is not x:
            yield inner


def _tested(x: Node) -> tuple[Node, Node] | None:
    """A bit of a number, as what is not 0."""
    if x.op in _TRUTHS:
        return None
    inner = x.args[0] if x.op == "wrap" and int(x.attr[0]) == 1 else x
    by = 0
    if inner.op == "shr" and inner.args[1].op == "const":
        inner, by = inner.args[0], inner.args[1].low
    if inner is x:
        return (x, ZERO)
    return node("and", (inner, const(1 << by))), ZERO


def _choices(x: Node, width: int) -> Iterator[Node]:
    condition, then, otherwise = x.args
    if is_mask(x):
        yield from _masks(condition, width)
        return
    if condition.op in COMPARED or condition.op == "not":
        turned = opposite(condition)
        if turned.op in COMPARED:
            yield node("select", (turned, otherwise, then))
    mask = mask_of(condition)
    if otherwise is ZERO:
        yield node("and", (mask, then))
    elif then is ZERO:
        yield node("and", (node("invert", (mask,)), otherwise))
        yield node("and", (mask_of(opposite(condition)), otherwise))
    else:
        difference = build.subtract(then, otherwise)
        if difference.op == "const":
            yield _sum(otherwise, node("mul", (mask, const(-difference.low))))
            yield _sum(otherwise, node("and", (mask, difference)))
        yield node("xor", (otherwise, node("and", (mask, node("xor", (then, otherwise))))))
        yield node("or", (node("and", (mask, then)), node("and", (node("invert", (mask,)), otherwise))))
        turned = mask_of(opposite(condition))
        yield node("or", (node("and", (turned, otherwise)), node("and", (node("invert", (turned,)), then))))


def _sum(*parts: Node) -> Node:
    return node("add", tuple(y for x in parts for y in terms_of(x) if y is not ZERO))


def _masks(condition: Node, width: int) -> Iterator[Node]:
    """A mask by the comparisons that there are: of signed numbers, whether one is greater, or the same."""
    args = condition.args
    match condition.op:
        case "and" | "or" | "xor":
            yield node(condition.op, tuple(map(mask_of, args)))
        case "not":
            yield node("invert", (mask_of(args[0]),))
            yield node("select", (args[0], ZERO, _ONES))
            turned = opposite(args[0])
            if turned.op in COMPARED:
                yield mask_of(turned)
        case "le":
            a, b = args
            yield mask_of(node("eq", (node("min", (a, b)), a)))
            yield mask_of(node("eq", (node("max", (a, b)), b)))
            for operand, by, swap in ((a, -1, False), (b, 1, True)):
                if operand.op == "const":
                    other = const(operand.low + by)
                    yield mask_of(node("lt", (a, other) if swap else (other, b)))
            yield node("invert", (mask_of(node("lt", (b, a))),))
        case "lt":
            a, b = args
            if not all(fits(y, width, True) for y in args) and all(fits(y, width, False) for y in args):
                half = const(-(1 << (width - 1)))
                yield mask_of(node("lt", (build.add(a, half), build.add(b, half))))
            if b.op == "const":
                yield mask_of(node("eq", (node("min", (a, const(b.low - 1))), a)))
            if a.op == "const":
                yield mask_of(node("eq", (node("max", (b, const(a.low + 1))), b)))
            yield node("invert", (mask_of(node("eq", (node("max", (a, b)), a))),))
        case op if op not in COMPARED:
            tested = _tested(condition)
            if tested is not None and tested[0].op == "and":
                yield mask_of(node("eq", (tested[0], tested[0].args[1])))
            yield from _masks(node("not", (node("eq", tested or (condition, ZERO)),)), width)


def _magnitudes(x: Node, width: int) -> Iterator[Node]:
    """|a - b| by differences that saturate, or by the greater and the lesser."""
    inner = x.args[0]
    if len(terms_of(inner)) > 3:
        return  # the sides of a long sum are not had more cheaply than the sum
    opposed = build.negate(inner)
    yield node("or", (build.maximum(inner, ZERO), build.maximum(opposed, ZERO)))
    pair = _difference(inner)
    if pair is not None:
        yield build.subtract(node("max", pair), node("min", pair))
    yield node("max", (inner, opposed))


def _difference(x: Node) -> tuple[Node, Node] | None:
    """The two sides of a difference."""
    up = [y for y in terms_of(x) if (y.low if y.op == "const" else scaled(y)[1]) > 0]
    down = [y for y in terms_of(x) if y not in up]
    return (build.add(*up), build.negate(build.add(*down))) if up and down else None


def _sums(x: Node, width: int) -> Iterator[Node]:
    """Conditions that are added are masks that are subtracted; products of bytes less their zeros are added up without
    these."""
    if any(is_condition(scaled(y)[0]) for y in x.args):
        parts = []
        for y in x.args:
            base, factor = scaled(y)
            counted = is_condition(base)
            parts.append(node("mul", (mask_of(base), const(-factor))) if counted and factor != -1
                         else mask_of(base) if counted else y)  # fmt: skip
        yield node("add", tuple(parts))
    yield from without_offsets(x)


def _bitwise(x: Node, width: int) -> Iterator[Node]:
    """Bits that are set, or cleared but for the last one, where a condition holds."""
    for condition, other in (x.args, x.args[::-1]):
        if is_condition(condition) and not other.is_truth:
            bit = node("and", (mask_of(condition), ONE))
            yield node(x.op, (other, bit))
            yield node("select", (condition, node(x.op, (other, ONE)), ZERO if x.op == "and" else other))


def _halves(x: Node, width: int) -> Iterator[Node]:
    """(a + b) / 2 without a carry: by the bits that both have and those that one of them has, or by what rounds up."""
    inner, by = x.args
    parts = terms_of(inner)
    if by is not ONE or not 2 <= len(parts) <= 3 or any(scaled(y)[1] != 1 for y in parts if y.op != "const"):
        return
    rest = sum(y.low for y in parts if y.op == "const")
    found = [y for y in parts if y.op != "const"]
    if len(found) != 2 or rest not in (0, 1):
        return
    a, b = found
    signed = not all(fits(y, width, False) for y in found)
    if signed and not all(fits(y, width, True) for y in found):
        return
    differ = node("xor", (a, b))
    if rest == 0 and not signed:
        yield node("add", (node("and", (a, b)), node("shr", (differ, ONE))))
        up = node("shr", (node("add", (a, b, ONE)), ONE))
        yield node("add", (up, node("mul", (node("and", (differ, ONE)), _ONES))))
    elif rest == 1 and signed:
        half = const(1 << (width - 1))
        raised = node("add", (build.add(a, half), build.add(b, half), ONE))
        yield node("add", (node("shr", (raised, ONE)), const(-half.low)))


def _shifts(x: Node, width: int) -> Iterator[Node]:
    """A shift by a variable amount as one that goes the other way for less than nothing."""
    inner, by = x.args
    if by.op == "const" or by.low < 0 or by.high >= width:
        return
    there = by if x.op == "shl" else node("mul", (by, _ONES))
    back = node("mul", (there, _ONES))
    left = node("wrap", (node("shl", (inner, node("max", (there, ZERO)))),), (width, False))
    right = node("shr", (inner, node("max", (back, ZERO))))
    yield node("select", (node("lt", (there, ZERO)), right, left))


def _rounded(x: Node, width: int) -> Iterator[Node]:
    """(p + 2^(k-1)) >> k of 16 bits as the high half of twice a product, rounded as pmulhrsw has it; or by adding what
    is shifted out last."""
    inner, by = x.args
    rest = [y for y in terms_of(inner) if y.op != "const"]
    constant = sum(y.low for y in terms_of(inner) if y.op == "const")
    if by.op != "const" or by.low < 1 or not rest or constant != 1 << by.low - 1:
        return
    whole = build.add(*rest)
    base, factor = scaled(whole)
    if width == 16 and by.low <= 15:
        if fits(whole, 16, True) and by.low > 1:
            yield _fraction(node("mul", (whole, const(1 << (15 - by.low)))))
        elif by.low == 15 and whole.op == "mul":
            yield _fraction(whole)
    if factor == 1:
        last = node("and", (base if by is ONE else node("shr", (base, const(by.low - 1))), ONE))
        yield node("add", (node("shr", (base, by)), last))


def _fraction(product: Node) -> Node:
    return node("shr", (node("add", (node("shr", (product, const(14))), ONE)), ONE))


def _any_rounding(x: Node, width: int) -> Iterator[Node]:
    """(v + (1 << n >> 1)) >> n, for any amount, as half of a sum that rounds up: of `v >> n - 1` and nothing, and of
    `v` and itself where nothing is shifted."""
    parts = _rounded_parts(x)
    if parts is None or not fits(x, width, True):
        return
    value, n = build.add(*parts), x.args[1]
    if fits(value, width, True) and n.low >= 0:
        less = build.maximum(build.add(build.minimum(n, const(width)), _ONES), ZERO)
        itself = node("and", (value, build.select(build.equal(n, ZERO), _ONES, ZERO)))
        yield node("shr", (node("add", (node("shr", (value, less)), itself, ONE)), ONE))


def _shifted(x: Node, width: int) -> Iterator[Node]:
    yield from _halves(x, width)
    yield from _rounded(x, width)
    yield from _any_rounding(x, width)
    yield from _shifts(x, width)


def _rounded_parts(x: Node) -> list[Node] | None:
    """The addends of v in (v + (1 << n >> 1)) >> n, whose amount is no constant; None for another term."""
    if x.op != "shr" or x.args[1].op == "const":
        return None
    half = node("shr", (node("shl", (ONE, x.args[1])), ONE))
    rest = [y for y in terms_of(x.args[0]) if y is not half]
    return rest if rest and len(rest) + 1 == len(terms_of(x.args[0])) else None


def _by_rounding(x: Node) -> Node | None:
    """(v + (1 << n >> 1)) >> n as (v + (1 << n - 1)) >> n, as it is for all but 0; None for another term."""
    rest = _rounded_parts(x)
    if rest is None:
        return None
    n = x.args[1]
    return node("shr", (node("add", (*rest, node("shl", (ONE, build.add(n, _ONES))))), n))


def _saturated(x: Node, width: int) -> Iterator[Node]:
    """What saturates, by bounds; where it saturates anyway to less, that comes after."""
    rounded = _by_rounding(x.args[0])
    if rounded is not None:
        yield node("sat", (rounded,), x.attr)
    size, signed = int(x.attr[0]), bool(x.attr[1])
    low, high = (-(1 << (size - 1)), (1 << (size - 1)) - 1) if signed else (0, (1 << size) - 1)
    inner = x.args[0]
    bounded = node("min", (inner, const(high))) if inner.high > high else inner
    yield node("max", (bounded, const(low))) if inner.low < low else bounded


def _bounds(x: Node, width: int) -> Iterator[Node]:
    """The lesser of a bound and of what is too great for a lane, or the greater, as one of what saturates; the least
    and the greatest of a lane both, as what saturates."""
    for inner in unclamped(x, width, True):
        if inner.op == "shr" and not fits(inner, width, True):
            yield from _saturated(node("sat", (inner,), (width, True)), width)
    for signed in (True, False):
        bound, other = x.args if fits(x.args[0], width, signed) else x.args[::-1]
        low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
        kept = other.low >= low if x.op == "min" else other.high <= high
        if kept and fits(bound, width, signed) and not fits(other, width, signed):
            yield node(x.op, (node("sat", (other,), (width, signed)), bound))


def _products(x: Node, width: int) -> Iterator[Node]:
    base, factor = scaled(x)
    if factor != 1 and is_condition(base):
        yield node("mul", (mask_of(base), const(-factor)))
        yield node("and", (mask_of(base), const(factor)))


def _cuts(x: Node, width: int) -> Iterator[Node]:
    """Some bits of a value, as those of a lane that are shifted: the last ones of its low bits, or a part of these."""
    inner, size, signed = x.args[0], int(x.attr[0]), bool(x.attr[1])
    if size in _LANES or inner.op != "shr" or inner.args[1].op != "const":
        return
    for lane in _LANES:
        by = lane - size
        if 0 < by <= inner.args[1].low:
            less = build.shift_right(inner.args[0], const(inner.args[1].low - by))
            yield node("shr", (build.wrap(less, lane, signed), const(by)))
            return


_RULES: dict[str, Callable[[Node, int], Iterator[Node]]] = {
    "select": _choices, "abs": _magnitudes, "add": _sums, "shr": _shifted, "shl": _shifts, "sat": _saturated,
    "mul": _products, "wrap": _cuts, "min": _bounds, "max": _bounds,
    "or": _bitwise, "and": _bitwise, "xor": _bitwise,
}  # fmt: skip
