"""The functions of Arm's operations, on bits, whole numbers and floats.

>>> from planish.isa.semantics.node import const
>>> saturated = call("SignedSatQ", [SymbolicValue(const(300)), SymbolicValue(const(8))])
>>> call("SInt", [SymbolicValue(const(255), 8)]).node, saturated.node
(const(-1), const(127))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from planish.isa.semantics import bit_parts, build
from planish.isa.semantics.floats import FORMATS, Format
from planish.isa.semantics.galois import CIPHERS, crc
from planish.isa.semantics.node import FLOAT_BITS, Node, const, node
from planish.isa.vendors.symbolic_state import SymbolicValue, Unreadable, float_bits

_KINDS = {16: "f16", 32: "f32", 64: "f64"}
_NEAREST = const(4)


def call(name: str, given: Sequence[SymbolicValue]) -> SymbolicValue:
    """What a function gives; Unreadable where it is not known. Those that also tell whether they saturated give the
    number alone."""
    if name.startswith("AES") and name.removeprefix("AES") in CIPHERS:
        return SymbolicValue(CIPHERS[name.removeprefix("AES")](given[0].node), 128)
    if name not in _FUNCTIONS:
        raise Unreadable(f"the function `{name}` is not known")
    return _FUNCTIONS[name](*given)


def _width(x: SymbolicValue) -> int:
    if x.width is None:
        raise Unreadable("bits without a width")
    return x.width


def _kind(x: SymbolicValue) -> str:
    if x.width not in _KINDS:
        raise Unreadable(f"a float of {x.width} bits")
    return _KINDS[x.width]


def _known(x: SymbolicValue) -> int:
    if x.node.constant is None:
        raise Unreadable("a number that is not known here")
    return x.node.low


def _number(x: SymbolicValue, unsigned: SymbolicValue) -> SymbolicValue:
    return SymbolicValue(build.wrap(x.node, _width(x), not _known(unsigned)))


def _saturated(x: SymbolicValue, width: SymbolicValue, unsigned: SymbolicValue) -> SymbolicValue:
    return SymbolicValue(
        build.wrap(build.saturate(x.node, _known(width), not _known(unsigned)), _known(width)), _known(width)
    )


def _shifted(x: SymbolicValue, by: SymbolicValue, left: bool) -> SymbolicValue:
    shift = build.shift_left if left else build.shift_right
    return SymbolicValue(build.wrap(shift(x.node, by.node), _width(x)), x.width)


def rotated(x: SymbolicValue, by: SymbolicValue, left: bool) -> SymbolicValue:
    """Bits that leave on one side come in on the other."""
    width = _width(x)
    step = _known(by) % width if left else (width - _known(by)) % width
    top, low = bit_parts.piece(x.node, width - step, step), bit_parts.piece(x.node, 0, width - step)
    return SymbolicValue(bit_parts.join([(0, step, top), (step, width - step, low)]) if step else x.node, width)


def _sign_bits(x: SymbolicValue) -> SymbolicValue:
    # The leading bits that are as the sign, itself not counted.
    width = _width(x)
    folded = build.exclude(x.node, build.shift_right(build.wrap(x.node, width, True), const(1)))
    return SymbolicValue(node("clz", (build.wrap(folded, width - 1),), (width - 1,)))


def _float(op: str, *args: SymbolicValue) -> SymbolicValue:
    kind = _kind(args[0])
    return SymbolicValue(node(op, (*(x.node for x in args), _NEAREST), (kind,)), FLOAT_BITS[kind])


def _negated(x: SymbolicValue) -> SymbolicValue:
    return SymbolicValue(build.exclude(x.node, const(1 << (_width(x) - 1))), x.width)


def _compared(op: str) -> Callable[[SymbolicValue, SymbolicValue, SymbolicValue], SymbolicValue]:
    return lambda a, b, _: SymbolicValue(node(op, (a.node, b.node), (_kind(a),)))


def _later(op: str) -> Callable[[SymbolicValue, SymbolicValue, SymbolicValue], SymbolicValue]:
    return lambda a, b, _: SymbolicValue(node(op, (b.node, a.node), (_kind(a),)))


def _apart(*args: SymbolicValue) -> Node:
    kind = _kind(args[0])
    found = build.ZERO
    for x in args:
        found = build.disjoin(found, node("funord", (x.node, x.node), (kind,)))
    return found


def _extreme(a: SymbolicValue, b: SymbolicValue, least: bool) -> SymbolicValue:
    # Zeros have an order; NaN propagates.
    first, second = (a, b) if least else (b, a)
    equal = (build.disjoin if least else build.conjoin)(a.node, b.node)
    ordered = build.select(node("flt", (first.node, second.node), (_kind(a),)), a.node, b.node)
    chosen = build.select(node("feq", (a.node, b.node), (_kind(a),)), equal, ordered)
    return SymbolicValue(build.select(_apart(a, b), _float("fadd", a, b).node, chosen), a.width)


def _extreme_number(a: SymbolicValue, b: SymbolicValue, least: bool) -> SymbolicValue:
    # A quiet NaN counts for nothing beside a number.
    quiet = [build.conjoin(_apart(x), bit_parts.piece(x.node, _form(x).fraction - 1, 1)) for x in (a, b)]
    first = build.conjoin(quiet[0], build.negation(_apart(b)))
    second = build.conjoin(quiet[1], build.negation(_apart(a)))
    chosen = _extreme(a, b, least).node
    return SymbolicValue(build.select(first, b.node, build.select(second, a.node, chosen)), a.width)


def _form(x: SymbolicValue) -> Format:
    return FORMATS[_kind(x)]


def _magnitude(x: SymbolicValue) -> SymbolicValue:
    return SymbolicValue(build.wrap(x.node, _width(x) - 1), x.width)


def _endless_by_nothing(a: SymbolicValue, b: SymbolicValue) -> Node:
    # One is infinite, the other zero.
    def so(x: SymbolicValue, y: SymbolicValue) -> Node:
        endless = build.equal(_magnitude(x).node, const(_form(x).infinity))
        return build.conjoin(endless, build.equal(_magnitude(y).node, const(0)))

    return build.disjoin(so(a, b), so(b, a))


def _real(x: SymbolicValue, value: float) -> Node:
    return const(float_bits(Fraction(value), _kind(x)))


def _extended(a: SymbolicValue, b: SymbolicValue, _: SymbolicValue) -> SymbolicValue:
    sign = build.conjoin(build.exclude(a.node, b.node), const(1 << (_width(a) - 1)))
    two = build.disjoin(sign, _real(a, 2.0))
    return SymbolicValue(build.select(_endless_by_nothing(a, b), two, _float("fmul", a, b).node), a.width)


def _step(a: SymbolicValue, b: SymbolicValue, start: float, alone: float) -> SymbolicValue:
    # start - a*b, rounded once; `alone` where that would be infinity times zero.
    made = _float("fma", _negated(a), b, SymbolicValue(_real(a, start), a.width))
    return SymbolicValue(build.select(_endless_by_nothing(a, b), _real(a, alone), made.node), a.width)


def _half_step(a: SymbolicValue, b: SymbolicValue) -> SymbolicValue:
    # (3 - a*b) / 2, rounded once: the larger factor is halved, which loses nothing.
    half = SymbolicValue(_real(a, 0.5), a.width)
    larger = node("fle", (_magnitude(b).node, _magnitude(a).node), (_kind(a),))
    first = SymbolicValue(build.select(larger, _float("fmul", a, half).node, a.node), a.width)
    second = SymbolicValue(build.select(larger, b.node, _float("fmul", b, half).node), a.width)
    made = _float("fma", _negated(first), second, SymbolicValue(_real(a, 1.5), a.width))
    return SymbolicValue(build.select(_endless_by_nothing(a, b), _real(a, 1.5), made.node), a.width)


def _scaled(x: SymbolicValue, power: Node) -> SymbolicValue:
    # By a power of two.
    if power.constant == 0:
        return x
    kind = _kind(x)
    return SymbolicValue(
        node("scalef", (x.node, node("fromint", (power, _NEAREST), (kind,)), _NEAREST), (kind,)), x.width
    )


def _from_fixed(x: SymbolicValue, digits: SymbolicValue, unsigned: SymbolicValue) -> SymbolicValue:
    number = build.wrap(x.node, _width(x), not _known(unsigned))
    made = SymbolicValue(node("fromint", (number, _NEAREST), (_kind(x),)), x.width)
    return _scaled(made, build.negate(digits.node))


def to_whole(x: SymbolicValue, unsigned: bool, mode: int) -> SymbolicValue:
    """A float as a whole number of its width: the nearest that there is, 0 for NaN."""
    kind, width = _kind(x), _width(x)
    inside = node("toint", (x.node, const(mode)), (kind, width, not unsigned))
    low, high = (0, (1 << width) - 1) if unsigned else (1 << (width - 1), (1 << (width - 1)) - 1)
    # A power of two as a float; beyond f16's numbers stands infinity.
    power = width if unsigned else width - 1
    form = _form(x)
    top = min((power + form.bias) << form.fraction, form.infinity)
    least = const(0) if unsigned else const(top | 1 << (width - 1))
    over = node("fle", (const(top), x.node), (kind,))
    under = node("flt", (x.node, least), (kind,))
    found = build.select(over, const(high), build.select(under, const(low), build.wrap(inside, width)))
    return SymbolicValue(build.select(_apart(x), const(0), found), width)


def _reduced(op: SymbolicValue, x: SymbolicValue, size: SymbolicValue) -> SymbolicValue:
    del op
    width = _known(size)
    parts = [bit_parts.piece(x.node, at, width) for at in range(0, _width(x), width)]
    return SymbolicValue(build.wrap(build.add(*parts), width), width)


def _estimate(op: str) -> Callable[..., SymbolicValue]:
    return lambda x, _: SymbolicValue(node(op, (x.node, _NEAREST), (_kind(x), 8)), x.width)


def _product(a: SymbolicValue, b: SymbolicValue) -> SymbolicValue:
    return SymbolicValue(node("clmul", (a.node, b.node)), _width(a) + _width(b))


def _sized(x: SymbolicValue, signed: bool, width: SymbolicValue) -> SymbolicValue:
    return SymbolicValue(build.wrap(build.wrap(x.node, _width(x), signed), _known(width)), _known(width))


_FUNCTIONS: dict[str, Callable[..., SymbolicValue]] = {
    "UInt": lambda x: SymbolicValue(x.node), "SInt": lambda x: SymbolicValue(build.wrap(x.node, _width(x), True)),
    "Int": _number, "Abs": lambda x: SymbolicValue(build.absolute(x.node)),
    "IsZero": lambda x: SymbolicValue(build.equal(x.node, const(0))),
    "Min": lambda a, b: SymbolicValue(build.minimum(a.node, b.node)),
    "Max": lambda a, b: SymbolicValue(build.maximum(a.node, b.node)),
    "SatQ": _saturated, "SignedSatQ": lambda x, n: _saturated(x, n, SymbolicValue(const(0))),
    "UnsignedSatQ": lambda x, n: _saturated(x, n, SymbolicValue(const(1))),
    "LSL": lambda x, n: _shifted(x, n, True), "LSR": lambda x, n: _shifted(x, n, False),
    "ROL": lambda x, n: rotated(x, n, True), "ROR": lambda x, n: rotated(x, n, False),
    "NOT": lambda x: SymbolicValue(build.exclude(x.node, const((1 << _width(x)) - 1)), x.width),
    "ZeroExtend": lambda x, n: _sized(x, False, n), "SignExtend": lambda x, n: _sized(x, True, n),
    "BitCount": lambda x: SymbolicValue(node("popcount", (x.node,))),
    "CountLeadingZeroBits": lambda x: SymbolicValue(node("clz", (x.node,), (_width(x),))),
    "CountLeadingSignBits": _sign_bits, "PolynomialMult": _product, "Reduce": _reduced,
    "Crc32": lambda a, x: SymbolicValue(crc(a.node, x.node, _width(x), 0xEDB88320), 32),
    "Crc32C": lambda a, x: SymbolicValue(crc(a.node, x.node, _width(x)), 32),
    "FPNeg": _negated, "FPAbs": _magnitude, "FPZero": lambda _: SymbolicValue(const(0), 0),
    "FPAdd": lambda a, b, _: _float("fadd", a, b), "FPSub": lambda a, b, _: _float("fsub", a, b),
    "FPMul": lambda a, b, _: _float("fmul", a, b), "FPDiv": lambda a, b, _: _float("fdiv", a, b),
    "FPSqrt": lambda a, _: _float("fsqrt", a), "FPMulAdd": lambda c, a, b, _: _float("fma", a, b, c),
    "FPMulX": _extended, "FPMax": lambda a, b, _: _extreme(a, b, False), "FPMin": lambda a, b, _: _extreme(a, b, True),
    "FPMaxNum": lambda a, b, _: _extreme_number(a, b, False),
    "FPMinNum": lambda a, b, _: _extreme_number(a, b, True),
    "FPCompareEQ": _compared("feq"), "FPCompareGE": _later("fle"), "FPCompareGT": _later("flt"),
    "FPToFixed": lambda x, digits, unsigned, _, mode: to_whole(
        _scaled(x, digits.node), bool(_known(unsigned)), _known(mode)),
    "FPRecipStepFused": lambda a, b: _step(a, b, 2.0, 2.0), "FPRSqrtStepFused": _half_step,
    "FPRecipEstimate": _estimate("frcp"), "FPRSqrtEstimate": _estimate("frsqrt"),
    "FPRoundingMode": lambda _: SymbolicValue(_NEAREST),
    "FPRoundInt": lambda x, _, mode, __: SymbolicValue(node("fround", (x.node, mode.node), (_kind(x),)), x.width),
    "FixedToFP": lambda x, digits, unsigned, _, __: _from_fixed(x, digits, unsigned),
    "FPConvert": lambda x, to, mode: SymbolicValue(
        node("fconvert", (x.node, mode.node), (_KINDS[_known(to)], _kind(x))), _known(to)),
}  # fmt: skip
