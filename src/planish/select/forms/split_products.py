"""Products of 32 bits by the halves of one factor: what instructions take that multiply words by half words.

Where a lane of 32 bits is multiplied by the low and by the high half of another one, a product of 64 bits is never
made: what is shifted out of it is `(a * low >> 16) + a * high`, shifted by the rest, and its low bits are
`a * low + (a * high << 16)`. A register of words is had for both halves of them: they lie in it.

>>> from planish.isa.semantics.node import const
>>> a, b = (build.bits(x, const(0), 32, True) for x in "ab")
>>> rounded = build.shift_right(build.add(build.multiply(a, b), const(1 << 30)), const(31))
>>> (made,) = split_quotients(rounded)
>>> made.args[0].args[0].args[0].args[0].op, made.args[1].low
('shr', 1)
>>> [half_of(x, high) is b for x in (made.args[0].args[0].args[0].args[1].args[1],) for high in (False, True)]
[False, True]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from planish.isa.semantics import build
from planish.isa.semantics.build import ONE
from planish.isa.semantics.node import Node, const, node, scaled, terms_of, walk
from planish.select.unify import fits

HALF, WORD = 16, 32
_POINT = WORD - 1
"""Instructions shift products by so many bits, halves and rounding in."""


def low_half(x: Node) -> Node:
    """The low half of a word, as it stands, so that it can be told of which word."""
    return const(x.low % (1 << HALF)) if x.op == "const" else node("wrap", (x,), (HALF, False))


def high_half(x: Node) -> Node:
    """What lies above that."""
    return const(x.low >> HALF) if x.op == "const" else node("shr", (x, const(HALF)))


def half_of(x: Node, high: bool) -> Node | None:
    """The word of which a term is a half; None where it is not."""
    if high and x.op == "shr" and x.args[1].constant == HALF:
        inner = x.args[0]
        return _word(inner) if fits(inner, WORD, True) or fits(inner, WORD, False) else None
    if not high and x.op == "wrap" and int(x.attr[0]) == HALF:
        return _word(x.args[0])
    return None


def _word(x: Node) -> Node:
    """A term with the same low word, which is not cut to that."""
    while x.op == "wrap" and int(x.attr[0]) >= WORD:
        x = x.args[0]
    return x


def as_words(lanes: Mapping[int, tuple[tuple[Node, int], int]]) -> Mapping[int, tuple[tuple[Node, int], int]]:
    """What an operand has to hold, terms at iterations in so many bits by their offsets: words, where all of it are
    halves of words in their places."""
    words: dict[int, tuple[tuple[Node, int], int]] = {}
    for offset, ((term, iteration), width) in lanes.items():
        word = half_of(term, offset % WORD == HALF) if width == HALF and offset % HALF == 0 else None
        given = None if word is None else ((word, iteration), WORD)
        if given is None or words.setdefault(offset - offset % WORD, given) != given:
            return lanes
    return words


def multiplies_halves(functions: Iterable[Node]) -> bool:
    """Whether one of some functions is made of a product of a word and a half."""
    return any(
        x.op == "mul" and {y.attr[1] for y in x.args if y.op == "bits"} == {HALF, WORD} for x in walk([*functions])
    )  # fmt: skip


def split_products(x: Node, width: int) -> Iterator[Node]:
    """Other ways to write a term in lanes of words: quotients of products, as they are or bounded, and low products."""
    if width != WORD:
        return
    match x.op:
        case "shr":
            yield from split_quotients(x)
        case "sat" | "min" | "max" if x.args[0].op in ("shr", "min", "max"):
            for inner in split_products(x.args[0], width):
                yield node(x.op, (inner, *x.args[1:]), x.attr)
        case "mul":
            yield from _low_products(x)


def split_quotients(x: Node) -> Iterator[Node]:
    """A quotient of a product of words by a power of two, which may be rounded to the nearest."""
    by = x.args[1].constant
    products = [y for y in terms_of(x.args[0]) if y.op != "const"]
    if by is None or len(products) != 1 or max(-x.args[0].low - 1, x.args[0].high) >> _POINT == 0:
        return
    found = _words_of(products[0])
    if found is None:
        return
    a, b = found
    up = sum(y.low for y in terms_of(x.args[0]) if y.op == "const")
    if by > _POINT:
        whole = build.multiply(a, b)
        if up % (1 << _POINT) == 0 and max(-whole.low - 1, whole.high) >> _POINT + _POINT == 0:
            first = _shifted(a, b, False)
            part = first if up == 0 else node("add", (first, const(up >> _POINT)))
            yield node("shr", (part, const(by - _POINT)))
        return
    if up not in (0, 1 << by - 1):
        return
    left = _POINT - by
    more = min(left, _room(b))
    if left - more <= _room(a):
        yield _shifted(_scaled_by(a, left - more), _scaled_by(b, more), up > 0)


def _words_of(product: Node) -> tuple[Node, Node] | None:
    """The factors of a product, each of which is a word, the one that needs least beside."""
    base, factor = scaled(product)
    if factor != 1:
        pairs = [(base, const(factor))]
        if base.op == "mul":
            pairs += [(build.multiply(x, const(factor)), y) for x, y in (base.args, base.args[::-1])]
    elif base.op == "mul":
        pairs = [(base.args[0], base.args[1])]
    else:
        return None
    found = next(((a, b) for a, b in pairs if fits(a, WORD, True) and fits(b, WORD, True)), None)
    if found is None:
        return None
    return found if _varies(found[0]) or not _varies(found[1]) else found[::-1]


def _varies(x: Node) -> bool:
    return any(y.op == "var" for y in walk([x]))


def _room(x: Node) -> int:
    """By how many bits a word may be shifted left."""
    return WORD - 1 - max((-x.low - 1).bit_length(), x.high.bit_length())


def _scaled_by(x: Node, by: int) -> Node:
    return build.multiply(x, const(1 << by)) if by else x


def _shifted(a: Node, b: Node, rounds: bool) -> Node:
    """The product of two words shifted by 31, as it is made of the halves of the second."""
    low = node("shr", (node("mul", (a, low_half(b))), const(HALF)))
    whole = node("add", (low, node("mul", (a, high_half(b)))))
    if not rounds:
        return node("shr", (whole, const(_POINT - HALF)))
    return node("shr", (node("add", (node("shr", (whole, const(_POINT - HALF - 1))), ONE)), ONE))


def _low_products(x: Node) -> Iterator[Node]:
    """The low bits of a product of words: of neither factor's high half alone nothing is left."""
    a, b = (_signed(y) for y in x.args)
    if a.op == "const" or any(fits(y, HALF, signed) for y in x.args for signed in (False, True)):
        return
    high = node("mul", (node("mul", (node("wrap", (a,), (HALF, True)), high_half(b))), const(1 << HALF)))
    if b.op == "const":
        high = node("mul", (node("wrap", (a,), (HALF, True)), const((b.low >> HALF) << HALF)))
    yield node("add", (high, node("mul", (low_half(b), a) if b.op != "const" else (a, low_half(b)))))


def _signed(x: Node) -> Node:
    """A word as a signed one: its low bits are the same."""
    if fits(x, WORD, True):
        return x
    value = x.low % (1 << WORD) if x.op == "const" else 0
    return const(value - (value >> WORD - 1 << WORD)) if x.op == "const" else node("wrap", (x,), (WORD, True))
