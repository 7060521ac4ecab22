"""Arithmetic of values: exact-width integers, rounding after every operation, C's conversions.

Values of `f32` and `f16` are NumPy scalars (they round by themselves); `f64` and `bf16` are Python floats; integers
are Python integers within the limits of their type.

>>> from planish.ir.types import I8, U8
>>> wrap(200, I8), wrap(-1, U8)
(-56, 255)
>>> quotient(-7, 2), remainder(-7, 2)
(-3, -1)
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from planish.ir.types import F16, F32, F64, Type

Value = int | float | bool | np.float32 | np.float16


class UndefinedOperation(ArithmeticError):
    """An operation whose result C leaves undefined: a zero divisor, a shift past the width, a value that won't fit."""


def limits(type: Type) -> tuple[int, int]:
    """The least and the greatest value of an integer type (bool: 0 and 1)."""
    match type.kind:
        case "bool":
            return 0, 1
        case "uint":
            return 0, (1 << type.bits) - 1
        case _:
            return -(1 << (type.bits - 1)), (1 << (type.bits - 1)) - 1


def wrap(value: int, type: Type) -> int:
    """The value modulo 2**bits that lies within the type's limits."""
    low = limits(type)[0]
    return ((value - low) & ((1 << type.bits) - 1)) + low


def quotient(a: int, b: int) -> int:
    """Division towards zero; UndefinedOperation where b is 0."""
    if b == 0:
        raise UndefinedOperation(f"quo({a}, 0): the divisor is zero")
    return a // b if (a >= 0) == (b > 0) else -(-a // b)


def remainder(a: int, b: int) -> int:
    """What division towards zero leaves, with the sign of a; UndefinedOperation where b is 0."""
    return a - b * quotient(a, b)


def floor_quotient(a: int, b: int) -> int:
    """Division towards minus infinity; UndefinedOperation where b is 0."""
    if b == 0:
        raise UndefinedOperation(f"{a} // 0: the divisor is zero")
    return a // b


def floor_remainder(a: int, b: int) -> int:
    """What division towards minus infinity leaves, with the sign of b; UndefinedOperation where b is 0."""
    if b == 0:
        raise UndefinedOperation(f"{a} % 0: the divisor is zero")
    return a % b


def shift_count(count: int, type: Type) -> int:
    """The count itself; UndefinedOperation unless it lies in 0 .. the width of the type."""
    if not 0 <= count < type.bits:
        raise UndefinedOperation(f"a {type} is shifted by {count}")
    return count


def divide(a: float, b: float) -> float:
    """IEEE division of doubles, with infinities and NaN where Python would raise."""
    return a / b if b != 0.0 else float(np.float64(a) / np.float64(b))


def fused(a: float, b: float, c: float) -> float:
    """a * b + c rounded once to double."""
    plain = a * b + c
    if math.isfinite(a) and math.isfinite(b) and not math.isfinite(c):
        return c  # also where the product alone would be infinite
    if not (math.isfinite(a) and math.isfinite(b)):
        return plain
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return plain
    return nearest(exact)


def nearest(exact: Fraction) -> float:
    """The double nearest to an exact value, infinite past the largest."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def fused_narrow(a: float, b: float, c: float) -> float:
    """a * b + c, of values of a narrower type, as a double that rounds to it as the exact value would (rounded to odd).

    >>> a, b, c = 2.0**-12 * (1 + 2.0**-18), 2.0**-12 * (1 - 2.0**-18), 1 + 2.0**-23
    >>> [float(np.float32(x)) - 1 for x in (a * b + c, fused_narrow(a, b, c))]
    [2.384185791015625e-07, 1.1920928955078125e-07]
    """
    product = a * b  # exact: it has twice the bits of a narrower type
    near = product + c
    if not math.isfinite(near):
        return near
    # What the sum lost is a double, too.
    added = near - product
    lost = (product - (near - added)) + (c - added)
    if lost == 0.0 or struct.unpack("<q", struct.pack("<d", near))[0] & 1:
        return near
    return math.nextafter(near, math.inf if lost > 0 else -math.inf)


def round_bf16(value: float) -> float:
    """The nearest bf16 value (eight significant bits, exponents as in f32), ties to even."""
    if value == 0.0 or not math.isfinite(value):
        return value
    unit = max(math.frexp(value)[1] - 8, -133)
    result = math.ldexp(round(math.ldexp(value, -unit)), unit)
    if abs(result) >= 2.0**128:
        return math.copysign(math.inf, value)
    return math.copysign(result, value)


def round_f32(value: float) -> np.float32:
    """The nearest f32 value."""
    return np.float32(value)


def round_f16(value: float) -> np.float16:
    """The nearest f16 value."""
    return np.float16(value)


def rounding(type: Type) -> Callable[[float], Value]:
    """The function that rounds a double to a float type."""
    if type == F64:
        return float
    if type == F32:
        return round_f32
    if type == F16:
        return round_f16
    return round_bf16


def integer_to_f32(value: int) -> np.float32:
    """The f32 value nearest to an integer, rounded once."""
    if -(1 << 53) <= value <= 1 << 53:
        return np.float32(value)
    return np.uint64(value).astype(np.float32) if value > 0 else np.int64(value).astype(np.float32)


def truncation(type: Type) -> Callable[[float], int]:
    """The conversion from floats to an integer type; UndefinedOperation where the value does not fit."""
    low, high = limits(type)

    def truncate(value: float) -> int:
        if not math.isfinite(value):
            raise UndefinedOperation(f"{value} does not fit {type}")
        whole = int(value)
        if not low <= whole <= high:
            raise UndefinedOperation(f"{value} does not fit {type}")
        return whole

    return truncate


def conversion(source: Type, target: Type) -> Callable[[Any], Value]:
    """The function that converts a value as a C cast does."""
    if target.kind == "bool":
        return lambda value: bool(value != 0)
    if target.is_int:
        return truncation(target) if source.is_float else lambda value: wrap(int(value), target)
    if target == F32 and source.is_int:
        return integer_to_f32
    if target.is_float and not source.is_float:
        round_value = rounding(target)
        return lambda value: round_value(float(value))
    round_float = rounding(target)
    return lambda value: round_float(float(value))


def constant(value: float | bool, type: Type) -> Value:
    """The value that a literal stands for; ValueError where an integer lies outside its type."""
    if type.kind == "bool":
        return bool(value)
    if type.is_float:
        return rounding(type)(float(value))
    low, high = limits(type)
    if int(value) != value or not low <= value <= high:
        raise ValueError(f"{value} is not a value of {type}")
    return int(value)


def round_half_away(value: float) -> float:
    """C's `round`: ties go away from zero."""
    if not math.isfinite(value):
        return value
    whole = math.trunc(value)
    if abs(value - whole) >= 0.5:
        whole += 1 if value > 0 else -1
    return math.copysign(whole, value)


def guarded(exact: Callable[..., float], total: Callable[..., Any]) -> Callable[..., float]:
    """A function that never raises: `exact` where it is defined, NumPy's `total` for infinities and NaN."""

    def run(*arguments: float) -> float:
        try:
            return exact(*arguments)
        except (ValueError, OverflowError):
            return float(total(*arguments))

    return run


def total(function: Callable[..., Any]) -> Callable[..., float]:
    """NumPy's function, giving a Python float."""
    return lambda *arguments: float(function(*arguments))


_F64_FUNCTIONS: dict[str, Callable[..., float]] = {
    "sqrt": guarded(math.sqrt, np.sqrt),
    "exp": guarded(math.exp, np.exp),
    "exp2": guarded(math.exp2, np.exp2),
    "log": guarded(math.log, np.log),
    "log2": guarded(math.log2, np.log2),
    "log10": guarded(math.log10, np.log10),
    "sin": guarded(math.sin, np.sin),
    "cos": guarded(math.cos, np.cos),
    "tan": guarded(math.tan, np.tan),
    "tanh": guarded(math.tanh, np.tanh),
    "sinh": guarded(math.sinh, np.sinh),
    "cosh": guarded(math.cosh, np.cosh),
    "asin": guarded(math.asin, np.arcsin),
    "acos": guarded(math.acos, np.arccos),
    "atan": guarded(math.atan, np.arctan),
    "atan2": guarded(math.atan2, np.arctan2),
    "pow": guarded(math.pow, np.power),
    "fabs": math.fabs,
    "floor": total(np.floor),
    "ceil": total(np.ceil),
    "round": round_half_away,
    "trunc": total(np.trunc),
    "fmin": total(np.fmin),
    "fmax": total(np.fmax),
    "fmod": guarded(math.fmod, np.fmod),
    "hypot": guarded(math.hypot, np.hypot),
    "cbrt": guarded(math.cbrt, np.cbrt),
    "rint": total(np.rint),
    "fma": fused,
    "copysign": math.copysign,
    "expm1": guarded(math.expm1, np.expm1),
    "log1p": guarded(math.log1p, np.log1p),
}


def function(name: str, type: Type) -> Callable[..., Value]:
    """The pure function of that name over values of `type`; narrow types are computed in double and rounded once.

    KeyError where there is no such function for the type.
    """
    if name == "abs":
        if not type.is_int:
            raise KeyError(name)
        return lambda value: wrap(abs(value), type)
    exact = fused_narrow if name == "fma" and type != F64 else _F64_FUNCTIONS[name]
    if not type.is_float:
        raise KeyError(name)
    if type == F64:
        return exact
    round_value = rounding(type)
    return lambda *arguments: round_value(exact(*(float(x) for x in arguments)))
