"""Arithmetic on the bits of floats, rounded as IEEE 754 says, in any of the four ways and any of the formats.

A value is taken apart into a whole number and a power of two, so that sums, products and what is between them are exact
until the one rounding at the end. Ways of rounding: 0 to nearest (ties to even), 1 down, 2 up, 3 to zero, 4 as 0, 8 to
nearest (ties away from zero), 9 to odd, 10 to odd, but to infinity what is too large.

>>> hex(fma("f32", 0x3F800001, 0x3F800001, 0xBF800002, 0))
'0x28800000'
>>> divide("f32", 0x3F800000, 0x40400000, 2) - divide("f32", 0x3F800000, 0x40400000, 1)
1
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt


@dataclass(frozen=True, slots=True)
class Format:
    """A binary format: its width, the bits of its fraction, and the greatest exponent."""

    name: str
    bits: int
    fraction: int

    @property
    def bias(self) -> int:
        """What is added to an exponent before it is stored."""
        return (1 << (self.bits - self.fraction - 2)) - 1

    @property
    def infinity(self) -> int:
        """The bits of +infinity."""
        return ((1 << (self.bits - self.fraction - 1)) - 1) << self.fraction

    @property
    def sign(self) -> int:
        """The bit of the sign."""
        return 1 << (self.bits - 1)

    @property
    def default_nan(self) -> int:
        """What an operation without a meaning gives here: a quiet NaN."""
        return self.sign | self.infinity | (1 << (self.fraction - 1))

    @property
    def least(self) -> int:
        """The exponent of the last bit of the least numbers."""
        return 1 - self.bias - self.fraction


_KNOWN = (Format("f16", 16, 10), Format("bf16", 16, 7), Format("f32", 32, 23), Format("f64", 64, 52))
FORMATS = {x.name: x for x in _KNOWN}


def is_nan(form: Format, x: int) -> bool:
    """Whether bits are no number."""
    return x & (form.sign - 1) > form.infinity


def is_infinite(form: Format, x: int) -> bool:
    """Whether bits are an infinity."""
    return x & (form.sign - 1) == form.infinity


def quiet(form: str, x: int) -> int:
    """A NaN that raises nothing when it is used."""
    return x | (1 << (FORMATS[form].fraction - 1))


def take_apart(form: Format, x: int) -> tuple[int, int]:
    """A finite float as a signed whole number and the power of two that it counts."""
    exponent = (x & (form.sign - 1)) >> form.fraction
    fraction = x & ((1 << form.fraction) - 1)
    if exponent:
        fraction |= 1 << form.fraction
    power = max(exponent, 1) - form.bias - form.fraction
    return (-fraction if x & form.sign else fraction), power


def put_together(form: Format, value: int, power: int, mode: int, zero: int = 0, sticky: bool = False) -> int:
    """The float nearest to value · 2^power in a way of rounding; `zero` are the bits where the value is none, `sticky`
    says that a little (less than one unit) has been dropped towards zero."""
    if value == 0 and not sticky:
        return zero
    negative, size = value < 0, abs(value)
    sign = form.sign if negative else 0
    if sticky:  # keeps what was dropped as a last bit
        size, power = (size << 2) | 1, power - 2
    drop = max(size.bit_length() - form.fraction - 1, form.least - power)
    if drop > 0:
        kept, rest = size >> drop, size & ((1 << drop) - 1)
        half = 1 << (drop - 1)
        up = {
            1: negative and rest > 0, 2: not negative and rest > 0, 3: False, 8: rest >= half,
            9: rest > 0 and kept & 1 == 0, 10: rest > 0 and kept & 1 == 0,
        }.get(mode, rest > half or (rest == half and kept & 1 == 1))  # fmt: skip
        size, power = kept + up, power + drop
    if size == 0:
        return sign
    while size.bit_length() <= form.fraction and power > form.least:
        size, power = size << 1, power - 1
    if size.bit_length() > form.fraction + 1:
        size, power = size >> 1, power + 1
    exponent = power + form.bias + form.fraction if size >> form.fraction else 0
    if exponent << form.fraction >= form.infinity:
        inward = mode in (3, 9) or (mode == 1 and not negative) or (mode == 2 and negative)
        return sign | (form.infinity - 1 if inward else form.infinity)
    return sign | (exponent << form.fraction) | (size & ((1 << form.fraction) - 1))


def _spread_nan(form: Format, *values: int) -> int | None:
    for x in values:
        if is_nan(form, x):
            return x | (1 << (form.fraction - 1))
    return None


def _zero(form: Format, mode: int) -> int:
    return form.sign if mode == 1 else 0


def add(name: str, a: int, b: int, mode: int) -> int:
    """a + b."""
    form = FORMATS[name]
    nan = _spread_nan(form, a, b)
    if nan is not None:
        return nan
    if is_infinite(form, a) or is_infinite(form, b):
        if is_infinite(form, a) and is_infinite(form, b) and a != b:
            return form.default_nan
        return a if is_infinite(form, a) else b
    (x, p), (y, q) = take_apart(form, a), take_apart(form, b)
    least = min(p, q)
    zero = a if x == 0 == y and a == b else _zero(form, mode)
    return put_together(form, (x << (p - least)) + (y << (q - least)), least, mode, zero)


def subtract(name: str, a: int, b: int, mode: int) -> int:
    """a - b."""
    form = FORMATS[name]
    return add(name, a, b if is_nan(form, b) else b ^ form.sign, mode)


def multiply(name: str, a: int, b: int, mode: int) -> int:
    """a · b."""
    form = FORMATS[name]
    nan = _spread_nan(form, a, b)
    if nan is not None:
        return nan
    sign = (a ^ b) & form.sign
    (x, p), (y, q) = take_apart(form, a), take_apart(form, b)
    if is_infinite(form, a) or is_infinite(form, b):
        return form.default_nan if x == 0 or y == 0 else sign | form.infinity
    return put_together(form, x * y, p + q, mode, sign)


def fma(name: str, a: int, b: int, c: int, mode: int) -> int:
    """a · b + c, rounded once."""
    form = FORMATS[name]
    nan = _spread_nan(form, a, b, c)
    if nan is not None:
        return nan
    sign = (a ^ b) & form.sign
    (x, p), (y, q), (z, r) = (take_apart(form, v) for v in (a, b, c))
    if is_infinite(form, a) or is_infinite(form, b):
        if x == 0 or y == 0 or (is_infinite(form, c) and (c & form.sign) != sign):
            return form.default_nan
        return sign | form.infinity
    if is_infinite(form, c):
        return c
    least = min(p + q, r)
    zero = sign if x * y == 0 == z and sign == c & form.sign else _zero(form, mode)
    return put_together(form, (x * y << (p + q - least)) + (z << (r - least)), least, mode, zero)


def divide(name: str, a: int, b: int, mode: int) -> int:
    """a / b."""
    form = FORMATS[name]
    nan = _spread_nan(form, a, b)
    if nan is not None:
        return nan
    sign = (a ^ b) & form.sign
    (x, p), (y, q) = take_apart(form, a), take_apart(form, b)
    if is_infinite(form, a):
        return form.default_nan if is_infinite(form, b) else sign | form.infinity
    if is_infinite(form, b):
        return sign
    if y == 0:
        return form.default_nan if x == 0 else sign | form.infinity
    shift = 2 * form.fraction + 4
    whole, rest = divmod(abs(x) << shift, abs(y))
    found = put_together(form, -whole if sign else whole, p - q - shift, mode, sign, sticky=rest != 0)
    return found


def root(name: str, a: int, mode: int) -> int:
    """The square root."""
    form = FORMATS[name]
    nan = _spread_nan(form, a)
    if nan is not None:
        return nan
    x, p = take_apart(form, a)
    if x == 0 or a == form.infinity:
        return a
    if x < 0:
        return form.default_nan
    shift = 2 * form.fraction + 6 + (p & 1)
    whole = isqrt(x << shift)
    return put_together(form, whole, (p - shift) >> 1, mode, sticky=whole * whole != x << shift)


def to_integral(value: int, power: int, mode: int) -> int:
    """value · 2^power as a whole number."""
    if power >= 0:
        return value << power
    whole, rest = value >> -power, value & ((1 << -power) - 1)
    half = 1 << (-power - 1)
    match mode:
        case 1:
            return whole
        case 2:
            return whole + (rest > 0)
        case 3:
            return whole + (rest > 0 and value < 0)
        case 8:
            return whole + (rest > half or (rest == half and value > 0))
        case _:
            return whole + (rest > half or (rest == half and whole & 1 == 1))


def round_scaled(name: str, a: int, digits: int, mode: int) -> int:
    """The float rounded to so many binary digits after the point."""
    form = FORMATS[name]
    nan = _spread_nan(form, a)
    if nan is not None:
        return nan
    if is_infinite(form, a):
        return a
    x, p = take_apart(form, a)
    return put_together(form, to_integral(x, p + digits, mode), -digits, 3, a & form.sign)


def to_integer(name: str, a: int, bits: int, signed: bool, mode: int) -> int:
    """The float as a whole number of a width; where it has none, the one that x86 calls indefinite."""
    form = FORMATS[name]
    indefinite = -(1 << (bits - 1)) if signed else (1 << bits) - 1
    if is_nan(form, a) or is_infinite(form, a):
        return indefinite
    found = to_integral(*take_apart(form, a), mode)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return found if low <= found <= high else indefinite


def from_integer(name: str, x: int, mode: int) -> int:
    """A whole number as a float."""
    return put_together(FORMATS[name], x, 0, mode)


def convert(target: str, source: str, a: int, mode: int) -> int:
    """A float in another format; of a NaN the first bits are kept."""
    old, new = FORMATS[source], FORMATS[target]
    sign = new.sign if a & old.sign else 0
    if is_nan(old, a):
        fraction = a & ((1 << old.fraction) - 1)
        step = new.fraction - old.fraction
        moved = fraction << step if step >= 0 else fraction >> -step
        return sign | new.infinity | moved | (1 << (new.fraction - 1))
    if is_infinite(old, a):
        return sign | new.infinity
    return put_together(new, *take_apart(old, a), mode, sign)


def scale(name: str, a: int, b: int, mode: int) -> int:
    """a · 2^floor(b)."""
    form = FORMATS[name]
    if is_nan(form, a) and not is_nan(form, b) and is_infinite(form, b) and a & (1 << (form.fraction - 1)):
        return 0 if b & form.sign else form.infinity  # a quiet NaN gives way to an infinity
    nan = _spread_nan(form, a, b)
    if nan is not None:
        return nan
    sign = a & form.sign
    x, p = take_apart(form, a)
    if is_infinite(form, b):
        if b & form.sign:
            return form.default_nan if is_infinite(form, a) else sign
        return form.default_nan if x == 0 else sign | form.infinity
    if is_infinite(form, a):
        return a
    by = max(-(1 << 14), min(to_integral(*take_apart(form, b), 1), 1 << 14))
    return put_together(form, x, p + by, mode, sign)


def exponent(name: str, a: int) -> int:
    """The exponent of a float, as a float; -infinity for 0."""
    form = FORMATS[name]
    nan = _spread_nan(form, a)
    if nan is not None:
        return nan
    if is_infinite(form, a):
        return form.infinity
    x, p = take_apart(form, a)
    if x == 0:
        return form.sign | form.infinity
    return put_together(form, p + abs(x).bit_length() - 1, 0, 0)


def mantissa(name: str, a: int, control: int) -> int:
    """What is left of a float without its power of two. Bits 0 and 1 of the control say in which interval: from 1 to 2,
    1/2 to 2, 1/2 to 1, 3/4 to 3/2; bits 2 and 3 what the sign is: its own, none, or NaN for what is negative."""
    form = FORMATS[name]
    nan = _spread_nan(form, a)
    if nan is not None:
        return nan
    interval, sign_control = control & 3, control >> 2
    sign = 0 if sign_control & 1 else a & form.sign
    x, p = take_apart(form, a)
    if a & form.sign and sign_control & 2 and (x != 0):
        return form.default_nan
    if x == 0 or is_infinite(form, a):
        return sign | (form.bias << form.fraction)
    size = abs(x)
    top = size.bit_length() - 1
    first = (size >> (top - 1)) & 1 if top else 0
    match interval:
        case 0:
            power = 0
        case 1:
            power = -1 if (p + top) & 1 else 0
        case 2:
            power = -1
        case _:
            power = -1 if first else 0
    return put_together(form, -size if sign else size, power - top, 3)


def compare(name: str, a: int, b: int) -> int | None:
    """-1, 0 or 1; None where they are not in any order."""
    form = FORMATS[name]
    if is_nan(form, a) or is_nan(form, b):
        return None
    x, y = (-(v & (form.sign - 1)) if v & form.sign else v for v in (a, b))
    return (x > y) - (x < y)
