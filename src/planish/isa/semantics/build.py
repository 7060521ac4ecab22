"""Constructors of expressions that simplify: each gives a node of the same value, shorter where that is to be had.

>>> from planish.isa.semantics.node import const
>>> a, b = (bits(x, const(0), 8, True) for x in "ab")
>>> wrap(add(wrap(add(a, b), 16), const(3)), 8)
wrap(8, False, add(bits('a', 8, False, const(0)), bits('b', 8, False, const(0)), const(3)))
>>> wrap(shift_right(bits("a", const(0), 32), const(8)), 8)
bits('a', 8, False, const(8))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planish.isa.semantics.node import Attribute, Node, const, node, scaled, terms_of

ZERO, ONE = const(0), const(1)
_RING = ("add", "mul", "and", "or", "xor", "invert", "sum")
"""Operators whose low bits depend on the low bits of their arguments alone."""


def bits(operand: str, offset: Node, width: int, signed: bool = False) -> Node:
    """Some bits of an operand, from an offset counted in bits; what lies outside of it is zero."""
    return node("bits", (offset,), (operand, width, signed and width > 1))


def add(*terms: Node) -> Node:
    """A sum: one level deep, equal terms together, with its constant at the end."""
    factors: dict[int, int] = {}
    bases: list[Node] = []
    constant = 0
    for term in terms:
        for x in terms_of(term):
            if x.op == "const":
                constant += x.low
                continue
            base, factor = scaled(x)
            if id(base) not in factors:
                bases.append(base)
            factors[id(base)] = factors.get(id(base), 0) + factor
    counted = [(base, factors[id(base)]) for base in bases]
    parts = [base if times == 1 else multiply(base, const(times)) for base, times in counted if times]
    if constant or not parts:
        parts.append(const(constant))
    return parts[0] if len(parts) == 1 else node("add", tuple(parts))


def negate(x: Node) -> Node:
    """Minus a value."""
    return multiply(x, const(-1))


def subtract(a: Node, b: Node) -> Node:
    """A difference."""
    return ZERO if a is b else add(a, negate(b))


def multiply(a: Node, b: Node) -> Node:
    """A product, with a constant behind and spread over sums."""
    if a.op == "const":
        a, b = b, a
    if b.op == "const":
        if a.op == "const":
            return const(a.low * b.low)
        if b.low == 0:
            return ZERO
        if b.low == 1:
            return a
        if a.op == "mul" and a.args[1].op == "const":
            return multiply(a.args[0], const(a.args[1].low * b.low))
        if a.op == "add":
            return add(*(multiply(x, b) for x in a.args))
    return node("mul", (a, b))


def quotient(a: Node, b: Node) -> Node:
    """A quotient, towards zero."""
    if a.op == b.op == "const" and b.low:
        whole = abs(a.low) // abs(b.low)
        return const(whole if (a.low < 0) == (b.low < 0) else -whole)
    return node("quo", (a, b))


def modulo(a: Node, b: Node) -> Node:
    """What is left of a division that rounds down by something positive."""
    if b.op == "const" and b.low > 0:
        if a.op == "const":
            return const(a.low % b.low)
        if b.low & (b.low - 1) == 0:
            return wrap(a, b.low.bit_length() - 1)
    return node("mod", (a, b))


def shift_left(x: Node, by: Node) -> Node:
    """A product with a power of two; what is shifted by less than nothing stays as it is."""
    if by.op == "const":
        return multiply(x, const(1 << max(by.low, 0))) if by.low < 4096 else ZERO
    return ZERO if x is ZERO else node("shl", (x, by))


def shift_right(x: Node, by: Node) -> Node:
    """A quotient by a power of two, rounded down."""
    if by.op == "const" and by.low <= 0:
        return x
    if x.op == "const" and by.op == "const":
        return const(x.low >> min(by.low, 4096))
    if x.low >= 0 and x.high.bit_length() <= by.low:
        return ZERO
    if x.op == "bits" and by.op == "const" and 0 < by.low < _width(x):
        if x.attr[2] and by.low == _width(x) - 1:  # 0 or -1
            return negate(bits(str(x.attr[0]), add(x.args[0], by), 1))
        return bits(str(x.attr[0]), add(x.args[0], by), _width(x) - by.low, bool(x.attr[2]))
    if x.op == "shr":
        return shift_right(x.args[0], add(x.args[1], by))
    if x.op == "wrap" and by.op == "const" and by.low < _width(x):
        return wrap(shift_right(x.args[0], by), _width(x) - by.low, bool(x.attr[1]))
    if x.op == "add" and by.op == "const":
        return _shifted_sum(x, by)
    if x.op == "shl" and by.op == "const" and x.args[1].low >= 0 and x.args[1].high <= by.low:
        return shift_right(x.args[0], subtract(by, x.args[1]))
    return node("shr", (x, by))


def _shifted_sum(x: Node, by: Node) -> Node:
    """A sum without the terms that end before what is left of it begins."""
    above = [y for y in x.args if _vanishes(y, by.low)]
    below = add(*(y for y in x.args if not _vanishes(y, by.low)))
    if not above or below.low < 0 or below.high.bit_length() > by.low:
        return node("shr", (x, by))
    return add(*(multiply(y.args[0], const(y.args[1].low >> by.low)) for y in above))


def conjoin(a: Node, b: Node) -> Node:
    """Bits that both have."""
    if a.op == "const":
        a, b = b, a
    if b.op == "const":
        if a.op == "const":
            return const(a.low & b.low)
        if b.low == -1:
            return a
        if b.low >= 0 and b.low & (b.low + 1) == 0:
            return wrap(a, b.low.bit_length())
    return a if a is b else node("and", (a, b))


def disjoin(a: Node, b: Node) -> Node:
    """Bits that one of them has."""
    if a.op == "const":
        a, b = b, a
    if b.op == "const":
        if a.op == "const":
            return const(a.low | b.low)
        if b.low == 0:
            return a
        if b.low == -1 or (a.is_truth and b.low == 1):
            return b
    if _ends_below(a, b):
        return add(b, a)
    if _ends_below(b, a):
        return add(a, b)
    return a if a is b else node("or", (a, b))


def _ends_below(a: Node, b: Node) -> bool:
    # Whether the bits of a end where the trailing zeros of b are: b is a product with a power of two.
    if b.op != "mul" or b.args[1].op != "const" or a.low < 0 or b.low < 0:
        return False
    factor = b.args[1].low
    return factor > 0 and a.high < (factor & -factor)


def exclude(a: Node, b: Node) -> Node:
    """Bits that just one of them has."""
    if a.op == "const":
        a, b = b, a
    if b.op == "const":
        if a.op == "const":
            return const(a.low ^ b.low)
        if b.low == 0:
            return a
        if b.low == -1:
            return invert(a)
        if b.low == 1 and a.is_truth:
            return negation(a)
    return ZERO if a is b else node("xor", (a, b))


def invert(x: Node) -> Node:
    """All bits the other way, as many as there are: -1 - x."""
    if x.op == "const":
        return const(~x.low)
    return x.args[0] if x.op == "invert" else node("invert", (x,))


def negation(x: Node) -> Node:
    """1 for 0, and 0 for 1."""
    if x.op == "const":
        return const(int(not x.low))
    return x.args[0] if x.op == "not" else node("not", (x,))


def truth(x: Node) -> Node:
    """Whether a value is not zero."""
    return x if x.is_truth else negation(equal(x, ZERO))


def equal(a: Node, b: Node) -> Node:
    """Whether two values are the same."""
    if a is b:
        return ONE
    if a.high < b.low or b.high < a.low:
        return ZERO
    if a.op == "const":
        a, b = b, a
    if a.is_truth and b.op == "const":
        return a if b.low == 1 else negation(a)
    return node("eq", (a, b))


def less(a: Node, b: Node) -> Node:
    """Whether a < b."""
    if a.high < b.low:
        return ONE
    return ZERO if a.low >= b.high or a is b else node("lt", (a, b))


def at_most(a: Node, b: Node) -> Node:
    """Whether a <= b."""
    if a.high <= b.low or a is b:
        return ONE
    return ZERO if a.low > b.high else node("le", (a, b))


def minimum(a: Node, b: Node) -> Node:
    """The lesser of two; bounds within that are not reached are none.

    >>> x = bits("x", ZERO, 16)
    >>> minimum(maximum(minimum(x, const(300)), const(7)), const(255)) is minimum(maximum(x, const(7)), const(255))
    True
    """
    a, b = _without_bounds(a, "min", b.high), _without_bounds(b, "min", a.high)
    if a.high <= b.low or a is b:
        return a
    return b if b.high <= a.low else node("min", (a, b))


def maximum(a: Node, b: Node) -> Node:
    """The greater of two; bounds within that are not reached are none."""
    a, b = _without_bounds(a, "max", b.low), _without_bounds(b, "max", a.low)
    if a.low >= b.high or a is b:
        return a
    if b.low >= a.high:
        return b
    return absolute(a) if add(a, b) is ZERO else node("max", (a, b))


_DEEP = 4
"""So many bounds within each other are looked through."""


def _without_bounds(x: Node, op: str, limit: int, depth: int = _DEEP) -> Node:
    """What may stand for a term whose lesser with something up to a limit (or greater, from one on) is taken: bounds
    at the limit or behind it make no difference, in extrema as well, over which these distribute."""
    if x.op not in ("min", "max") or not depth:
        return x
    kept = x.args
    if x.op == op:
        kept = tuple(y for y in x.args if (y.low < limit if op == "min" else y.high > limit))
    made = [_without_bounds(y, op, limit, depth - 1) for y in kept]
    if len(made) == 1:
        return made[0]
    if not made or all(y is z for y, z in zip(made, x.args, strict=True)):
        return x
    return (minimum if x.op == "min" else maximum)(*made)


def absolute(x: Node) -> Node:
    """The value without its sign."""
    if x.low >= 0:
        return x
    if x.op == "mul" and x.args[1].op == "const" and x.args[1].low == -1:
        return absolute(x.args[0])
    return negate(x) if x.high <= 0 else node("abs", (x,))


def select(condition: Node, then: Node, otherwise: Node) -> Node:
    """One value or the other."""
    if condition.op == "const":
        return then if condition.low else otherwise
    if then is otherwise:
        return then
    condition = truth(condition)
    if condition.op == "not":
        return select(condition.args[0], otherwise, then)
    if then.op == "select" and then.args[0] is condition:
        then = then.args[1]
    if otherwise.op == "select" and otherwise.args[0] is condition:
        otherwise = otherwise.args[2]
    if then is ONE and otherwise is ZERO:
        return condition
    if then is ZERO and otherwise is ONE:
        return negation(condition)
    if condition.op in ("lt", "le"):
        bounded = _bounded(condition, then, otherwise)
        if bounded is not None:
            return bounded
        if then is condition.args[1] and otherwise is condition.args[0]:
            return maximum(then, otherwise)
        if then is condition.args[0] and otherwise is condition.args[1]:
            return minimum(then, otherwise)
        difference = subtract(*condition.args)
        if difference is otherwise and add(then, otherwise) is ZERO:
            return absolute(otherwise)
    return node("select", (condition, then, otherwise))


def _bounded(condition: Node, then: Node, otherwise: Node) -> Node | None:
    """A choice of the ends of a width for what lies beyond these, and of low bits between, as what is saturated:
    `x < 0 ? 0 : x > 255 ? 255 : (uint8_t)x`."""
    tests, rest = [(condition, then)], otherwise
    if rest.op == "select":
        tests.append((rest.args[0], rest.args[1]))
        rest = rest.args[2]
    x = next((y for y in condition.args if y.op != "const"), None)
    if x is None or rest.op not in ("wrap", "bits") or any(y.op not in ("lt", "le") for y, _ in tests):
        return None
    width, signed = (int(y) for y in rest.attr[-2:])
    if rest is not wrap(x, width, bool(signed)):
        return None
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    missing = {end for end, beyond in ((low, x.low < low), (high, x.high > high)) if beyond}
    for test, end in tests:
        a, b = test.args
        strict = test.op == "lt"
        if a is x and b.op == "const" and end is const(low) and b.low - strict in (low - 1, low):
            missing.discard(low)
        elif b is x and a.op == "const" and end is const(high) and a.low + strict in (high, high + 1):
            missing.discard(high)
        else:
            return None
    return None if missing else saturate(x, width, bool(signed))


def saturate(x: Node, width: int, signed: bool) -> Node:
    """The nearest value that a width holds."""
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    if low <= x.low and x.high <= high:
        return x
    if x.op == "const":
        return const(min(max(x.low, low), high))
    return node("sat", (x,), (width, signed))


def wrap(x: Node, width: int, signed: bool = False) -> Node:
    """The low bits of a value, as a number of that width; none are nothing."""
    if width == 0:
        return ZERO
    if width == 1 and signed:
        return negate(wrap(x, 1))
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    if low <= x.low and x.high <= high:
        return x
    match x.op:
        case "const":
            value = x.low & ((1 << width) - 1)
            return const(value - (1 << width) if signed and value >> (width - 1) else value)
        case "bits" if width <= _width(x):
            return bits(str(x.attr[0]), x.args[0], width, signed)
        case "wrap" if width <= _width(x):
            return wrap(x.args[0], width, signed)
        case "sat" if width == int(x.attr[0]):
            return node("wrap", (x,), (width, signed))
        case "select":
            return select(x.args[0], wrap(x.args[1], width, signed), wrap(x.args[2], width, signed))
        case "shr" if x.args[0].op == "bits":
            source, by = x.args
            if by.low >= 0 and by.high + width <= _width(source):
                return bits(str(source.attr[0]), add(source.args[0], by), width, signed)
        case "shr" if x.args[1].op == "const" and x.args[0].op == "add":
            kept = [y for y in x.args[0].args if not _vanishes(y, x.args[1].low + width)]
            if len(kept) < len(x.args[0].args):
                return wrap(shift_right(add(*kept), x.args[1]), width, signed)
        case "add":
            parts = [y for y in x.args if not _vanishes(y, width)]
            if len(parts) < len(x.args):
                return wrap(add(*parts), width, signed)
            cut = add(*(low_bits(y, width) for y in x.args))
            return wrap(cut, width, signed) if cut is not x else node("wrap", (x,), (width, signed))
        case op if op in _RING:
            cut = low_bits(x, width)
            return wrap(cut, width, signed) if cut is not x else node("wrap", (x,), (width, signed))
    return node("wrap", (x,), (width, signed))


def _vanishes(x: Node, width: int) -> bool:
    """Whether nothing of a term is in the low bits: a product with a great power of two."""
    return x.op == "mul" and x.args[1].op == "const" and x.args[1].low % (1 << width) == 0


def low_bits(x: Node, width: int) -> Node:
    """A value whose low bits are the same: what is cut anyway is not cut before."""
    match x.op:
        case "wrap" if _width(x) >= width:
            return low_bits(x.args[0], width)
        case "bits" if _width(x) >= width and (x.attr[2] or _width(x) > width):
            return bits(str(x.attr[0]), x.args[0], width)
        case "const" if not -(1 << (width - 1)) <= x.low < (1 << width):
            return wrap(x, width)
        case "add":
            return add(*(low_bits(y, width) for y in x.args))
        case "mul":
            return multiply(low_bits(x.args[0], width), low_bits(x.args[1], width))
        case "and":
            return conjoin(low_bits(x.args[0], width), low_bits(x.args[1], width))
        case "or":
            return disjoin(low_bits(x.args[0], width), low_bits(x.args[1], width))
        case "xor":
            return exclude(low_bits(x.args[0], width), low_bits(x.args[1], width))
        case "invert":
            return invert(low_bits(x.args[0], width))
        case _:
            return x


def _width(x: Node) -> int:
    # Of a read, or of what has been cut.
    return int(x.attr[1]) if x.op == "bits" else int(x.attr[0])


def construct(op: str, args: tuple[Node, ...], attr: Attribute) -> Node:
    """The simplified node of any operator.

    >>> construct("min", (const(3), const(5)), ()).low
    3
    """
    match op:
        case "bits":
            return bits(str(attr[0]), args[0], int(attr[1]), bool(attr[2]))
        case "wrap":
            return wrap(args[0], int(attr[0]), bool(attr[1]))
        case "sat":
            return saturate(args[0], int(attr[0]), bool(attr[1]))
        case _ if op in _CONSTRUCTORS:
            return _CONSTRUCTORS[op](*args)
        case _:
            return node(op, args, attr)


_CONSTRUCTORS: Mapping[str, Callable[..., Node]] = {
    "add": add, "mul": multiply, "quo": quotient, "mod": modulo, "shl": shift_left, "shr": shift_right, "and": conjoin,
    "or": disjoin, "xor": exclude, "invert": invert, "not": negation, "eq": equal, "lt": less, "le": at_most,
    "min": minimum, "max": maximum, "abs": absolute, "select": select,
}  # fmt: skip
