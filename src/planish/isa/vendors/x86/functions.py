"""The functions that operations use without defining them: extensions, saturation, conversions, tables of ciphers.

>>> from planish.isa.semantics.node import const
>>> call("Saturate8", (SymbolicValue(const(300)),), Rounding()).node
const(127)
>>> call("SignExtend16", (SymbolicValue(const(255), 8),), Rounding()).node
const(-1)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from planish.isa.semantics import bit_parts, build
from planish.isa.semantics.floats import FORMATS
from planish.isa.semantics.galois import CIPHERS, crc, field_product
from planish.isa.semantics.node import FLOAT_BITS, Node, const, node
from planish.isa.vendors.symbolic_state import RealNumber, SymbolicValue, Unreadable
from planish.isa.vendors.x86.operators import (
    Operand,
    Rounding,
    apply_binary,
    as_float,
    compare,
    make_float,
    negate_float,
)

_CONVERSION = re.compile(r"Convert_(FP|BF|Int|UInt)(\d+)_To_(FP|BF|Int|UInt)(\d+)(_Truncate)?")
_SIZED = re.compile(r"(ZeroExtend|SignExtend|Saturate|SaturateU|Truncate|Cast_Int|Int|FP|Cast_FP|BF)(\d+)")
_FORMAT = {("FP", 16): "f16", ("BF", 16): "bf16", ("FP", 32): "f32", ("FP", 64): "f64"}
_TO_ZERO = const(3)


def call(name: str, arguments: tuple[Operand, ...], rounding: Rounding) -> SymbolicValue:
    """What a function gives; Unreadable where it is not known."""
    if found := _CONVERSION.fullmatch(name):
        (x,) = arguments
        return convert(x, found[1], int(found[2]), found[3], int(found[4]), _TO_ZERO if found[5] else rounding.mode)
    if found := _SIZED.fullmatch(name):
        (x,) = arguments
        return _sized(found[1], int(found[2]), x)
    if name.upper() in _PLAIN:
        return _PLAIN[name.upper()](arguments, rounding)
    if name in CIPHERS:
        (value,) = _values(arguments)
        return SymbolicValue(CIPHERS[name](value.node), value.width or 128)
    raise Unreadable(f"the function `{name}` is not known")


def _values(arguments: tuple[Operand, ...]) -> tuple[SymbolicValue, ...]:
    if not all(isinstance(x, SymbolicValue) for x in arguments):
        raise Unreadable("a function of a symbol")
    return tuple(x for x in arguments if isinstance(x, SymbolicValue))


def _sized(what: str, width: int, x: Operand) -> SymbolicValue:
    if what in ("FP", "Cast_FP", "BF"):
        kind = _FORMAT[what.removeprefix("Cast_"), width]
        if isinstance(x, SymbolicValue) and not x.is_float and what == "FP":
            return make_float("fromint", kind, x.node, const(4))
        return as_float(x, kind)
    if not isinstance(x, SymbolicValue):
        raise Unreadable(f"`{what}` of a symbol")
    inner = x.node
    match what:
        case "ZeroExtend":
            return SymbolicValue(build.wrap(inner, x.width) if x.width else inner, width)
        case "SignExtend" | "Cast_Int" | "Int":
            return SymbolicValue(build.wrap(inner, x.width or width, True), width)
        case "Saturate":
            return SymbolicValue(build.saturate(inner, width, True), width)
        case "SaturateU":
            return SymbolicValue(build.saturate(inner, width, False), width)
        case _:
            return SymbolicValue(build.wrap(inner, width), width)


def convert(x: Operand, source: str, width: int, target: str, bits: int, mode: Node) -> SymbolicValue:
    """A number in another format; floats that no integer holds give the "indefinite" one."""
    if source in ("FP", "BF"):
        value = as_float(x, _FORMAT[source, width])
        if target in ("FP", "BF"):
            kind = _FORMAT[target, bits]
            return make_float("fconvert", kind, value.node, mode, attr=(value.kind,))
        signed = target == "Int"
        return SymbolicValue(node("toint", (value.node, mode), (value.kind, bits, signed)), bits)
    (whole,) = _values((x,))
    number = build.wrap(whole.node, width, source == "Int")
    return make_float("fromint", _FORMAT[target, bits], number, mode)


def _least(arguments: tuple[Operand, ...], _: Rounding) -> SymbolicValue:
    a, b = _alike(arguments)
    if a.is_float:  # the second one where either is NaN
        return SymbolicValue(build.select(compare("flt", a, b, a.kind), a.node, b.node), a.width, a.kind)
    return SymbolicValue(build.minimum(a.node, b.node), a.width)


def _greatest(arguments: tuple[Operand, ...], _: Rounding) -> SymbolicValue:
    a, b = _alike(arguments)
    if a.is_float:
        return SymbolicValue(build.select(compare("flt", b, a, a.kind), a.node, b.node), a.width, a.kind)
    return SymbolicValue(build.maximum(a.node, b.node), a.width)


def _alike(arguments: tuple[Operand, ...]) -> tuple[SymbolicValue, SymbolicValue]:
    kind = next((x.kind for x in arguments if isinstance(x, SymbolicValue) and x.is_float), "")
    a, b = (as_float(x, kind) for x in arguments) if kind else _values(arguments)
    return a, b


def _absolute(arguments: tuple[Operand, ...], _: Rounding) -> SymbolicValue:
    (x,) = _values(arguments)
    if x.is_float:
        return SymbolicValue(build.wrap(x.node, FLOAT_BITS[x.kind] - 1), x.width, x.kind)
    return SymbolicValue(build.absolute(x.node), x.width)


def _root(arguments: tuple[Operand, ...], rounding: Rounding) -> SymbolicValue:
    (x,) = _values(arguments)
    return make_float("fsqrt", x.kind, x.node, rounding.mode)


def _whole(arguments: tuple[Operand, ...], mode: Node) -> SymbolicValue:
    (x,) = _values(arguments[:1])
    return make_float("fround", x.kind, x.node, mode)


def _rounded(arguments: tuple[Operand, ...], _: Rounding) -> SymbolicValue:
    (way,) = _values(arguments[1:2])
    return _whole(arguments[:1], build.wrap(way.node, 3))


def _signed(arguments: tuple[Operand, ...], _: Rounding) -> SymbolicValue:
    (x,) = _values(arguments)
    return SymbolicValue(build.wrap(x.node, x.width, True), x.width) if x.node.op == "bits" and x.width else x


def _leading_zeros(arguments: tuple[Operand, ...], _: Rounding) -> SymbolicValue:
    (x,) = _values(arguments)
    if not x.width:
        raise Unreadable("zeros before something without a width")
    return SymbolicValue(node("clz", (build.wrap(x.node, x.width),), (x.width,)), x.width)


def _ones(arguments: tuple[Operand, ...], _: Rounding) -> SymbolicValue:
    (x,) = _values(arguments)
    return SymbolicValue(node("popcount", (build.wrap(x.node, x.width or 64),)), x.width)


def _nth(arguments: tuple[Operand, ...], _: Rounding) -> SymbolicValue:
    mask, count = _values(arguments)
    return SymbolicValue(node("nth", (build.wrap(mask.node, mask.width or 64), count.node)), 32)


def _rank(arguments: tuple[Operand, ...], _: Rounding) -> SymbolicValue:
    mask, end = _values(arguments)
    return SymbolicValue(node("rank", (build.wrap(mask.node, mask.width or 64), end.node)), 32)


def _checksum(arguments: tuple[Operand, ...], _: Rounding) -> SymbolicValue:
    before, data = _values(arguments)
    width = max(data.width or 64, 32)
    start = build.wrap(before.node, 32)
    return SymbolicValue(crc(start, build.wrap(data.node, data.width or 64), data.width or 64), width)


def _without_carry(arguments: tuple[Operand, ...], _: Rounding) -> SymbolicValue:
    a, b = _values(arguments)
    factors = (build.wrap(a.node, a.width or 64), build.wrap(b.node, b.width or 64))
    return SymbolicValue(node("clmul", factors), (a.width or 64) + (b.width or 64))


def _in_field(arguments: tuple[Operand, ...], _: Rounding) -> SymbolicValue:
    a, b = _values(arguments)
    return SymbolicValue(field_product(build.wrap(a.node, 8), build.wrap(b.node, 8)), 8)


def _is_signalling(arguments: tuple[Operand, ...], _: Rounding) -> SymbolicValue:
    (x,) = _values(arguments)
    apart = node("funord", (x.node, x.node), (x.kind,))
    loud = build.negation(bit_parts.piece(x.node, FORMATS[x.kind].fraction - 1, 1))
    return SymbolicValue(build.conjoin(apart, loud), 1)


def _float_of(x: SymbolicValue) -> SymbolicValue:
    """Bits of 32 that have been put together are a float's where one is called for."""
    return x if x.is_float else as_float(x, {16: "f16", 64: "f64"}.get(x.width or 32, "f32"))


def _flush(arguments: tuple[Operand, ...], _: Rounding) -> SymbolicValue:
    # Numbers below the normal ones become a zero of their sign.
    x = _float_of(*_values(arguments))
    magnitude, sign = _absolute((x,), _).node, const(1 << (FLOAT_BITS[x.kind] - 1))
    tiny = build.less(magnitude, const(_infinity(x.kind).node.low & -_infinity(x.kind).node.low))
    return SymbolicValue(build.select(tiny, build.conjoin(x.node, sign), x.node), x.width, x.kind)


def _exponent(arguments: tuple[Operand, ...], _: Rounding) -> SymbolicValue:
    (x,) = _values(arguments)
    return make_float("getexp", x.kind, x.node, const(4))


def _mantissa(arguments: tuple[Operand, ...], _: Rounding) -> SymbolicValue:
    # The sign and the interval stand in one number, as the instruction has them in its immediate.
    x, sign, interval = _values(arguments)
    control = build.disjoin(build.shift_left(build.wrap(sign.node, 2), const(2)), build.wrap(interval.node, 2))
    return make_float("getmant", x.kind, x.node, control)


def _round_scale(arguments: tuple[Operand, ...], rounding: Rounding) -> SymbolicValue:
    x, control = _values(arguments)
    digits, mode = build.shift_right(control.node, const(4)), build.wrap(control.node, 3)
    return make_float("roundscale", x.kind, x.node, digits, mode)


def _scale(arguments: tuple[Operand, ...], rounding: Rounding) -> SymbolicValue:
    x, by = _values(arguments)
    return make_float("scalef", x.kind, x.node, by.node, rounding.mode)


def _reciprocal(op: str) -> Callable[[tuple[Operand, ...], Rounding], SymbolicValue]:
    def apply(arguments: tuple[Operand, ...], _: Rounding) -> SymbolicValue:
        x, error = _values(arguments)
        return make_float(op, x.kind, x.node, const(4), attr=(error.node.low,))

    return apply


def _quiet(arguments: tuple[Operand, ...], _: Rounding) -> SymbolicValue:
    (x,) = _values(arguments)
    return make_float("quiet", x.kind, x.node)


def _is_nan(arguments: tuple[Operand, ...], _: Rounding) -> SymbolicValue:
    (x,) = _values(arguments)
    return SymbolicValue(node("funord", (x.node, x.node), (x.kind,)), 1)


def _fused(arguments: tuple[Operand, ...], rounding: Rounding) -> SymbolicValue:
    a, b, c = (_float_of(x) for x in _values(arguments))
    return make_float("fma", a.kind, a.node, b.node, c.node, rounding.mode)


def _parity(arguments: tuple[Operand, ...], _: Rounding) -> SymbolicValue:
    (x,) = _values(arguments)
    return SymbolicValue(node("parity", (build.wrap(x.node, x.width or 64),)), 1)


def _reduced(arguments: tuple[Operand, ...], rounding: Rounding) -> SymbolicValue:
    # What is left when the nearest multiple of a power of two is taken off; nothing is left of an infinity.
    x, control = _values(arguments)
    scaled = _round_scale((x, control), rounding)
    left = apply_binary("-", x, scaled, Rounding(build.wrap(control.node, 3)))
    endless = compare("feq", _absolute((x,), rounding), _infinity(x.kind), x.kind)
    return SymbolicValue(build.select(endless, const(0), left.node), x.width, x.kind)


def _infinity(kind: str) -> SymbolicValue:
    form = FORMATS[kind]
    return SymbolicValue(const(form.infinity), form.bits, kind)


def _is_infinite(arguments: tuple[Operand, ...], rounding: Rounding) -> SymbolicValue:
    (x,) = _values(arguments)
    return SymbolicValue(compare("feq", _absolute((x,), rounding), _infinity(x.kind), x.kind), 1)


def _minus(arguments: tuple[Operand, ...], _: Rounding) -> SymbolicValue:
    (x,) = _values(arguments)
    return negate_float(x) if x.is_float else SymbolicValue(build.negate(x.node))


_PLAIN: dict[str, Callable[[tuple[Operand, ...], Rounding], SymbolicValue]] = {
    "MIN": _least, "MAX": _greatest, "ABS": _absolute, "SQRT": _root, "SIGNED": _signed, "NEGATE": _minus,
    "FLOOR": lambda a, _: _whole(a, const(1)), "CEIL": lambda a, _: _whole(a, const(2)), "ROUND": _rounded,
    "LEADINGZEROS": _leading_zeros, "POPCOUNT": _ones, "NTHSET": _nth, "PARITY": _parity, "RANK": _rank,
    "CRC32C": _checksum, "FLUSH": _flush, "CLMUL": _without_carry, "FIELDMUL": _in_field,
    "ISSIGNALLING": _is_signalling,
    "GETEXP": _exponent, "GETMANT": _mantissa, "ROUNDSCALE": _round_scale, "SCALEF": _scale, "REDUCE": _reduced,
    "CONVERTEXPFP32": _exponent, "CONVERTEXPFP64": _exponent,
    "RECIPROCAL": _reciprocal("frcp"), "RECIPROCALROOT": _reciprocal("frsqrt"),
    "QNAN": _quiet, "ISNAN": _is_nan, "ISINF": _is_infinite, "FMA": _fused,
}  # fmt: skip
"""Functions by name, in capitals: the vendor's, and those that overrides use."""

ONE = RealNumber(Fraction(1))
