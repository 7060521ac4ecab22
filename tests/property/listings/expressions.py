"""Random expressions over the data that a function sees, none of which has a value that C leaves undefined.

>>> rng = random.Random(1)
>>> operate(rng, "+", Value("a[i]", "int", -5, 5), Value("u", "unsigned char", 0, 255), wraps=False)
Value(text='a[i] + u', type='int', low=-5, high=260, tight=False)
"""

from __future__ import annotations

import math
import random
from dataclasses import replace

from tests.property.listings.types import BITS, FLOATS, Value, common, fits, is_float, is_signed, promoted, reach

FAR = 1e30
"""What a float may be in a place where nothing is known of it."""

_CASTS = ("int", "unsigned", "long", "unsigned char", "short", "int8_t", "uint16_t", "long long", "double", "float")


def literal(rng: random.Random, floating: bool) -> Value:
    """A number as people spell it."""
    if floating:
        text = rng.choice(("0.5f", "1.0f", "2.0", "0.25", "1.5", "3.0f", "-1.0f", "1e-1", "0.f", "2"))
        number = float(text.rstrip("f"))
        kind = "int" if text == "2" else "float" if text.endswith("f") else "double"
        return Value(text, kind, number, number, number >= 0)
    spellings = ("0", "1", "2", "3", "5", "7", "-1", "10", "255", "0x1F", "3u", "10L", "'a'", "1000", "77u", "4ull")
    text = rng.choice(spellings)
    number = ord("a") if text == "'a'" else int(text.rstrip("uLl"), 0)
    kind = {"u": "unsigned", "L": "long", "l": "unsigned long long"}.get(text[-1], "int")
    return Value(text, kind, number, number, number >= 0)


def converted(value: Value, type: str, wraps: bool = True) -> Value:
    """A value after the conversion to a type, without a change of text."""
    if is_float(type):
        return replace(value, type=type, low=max(value.low, -FAR), high=min(value.high, FAR))
    if type == "_Bool":
        return replace(value, type=type, low=0, high=1)
    low, high = (math.floor(value.low), math.ceil(value.high)) if is_float(value.type) else (value.low, value.high)
    return replace(value, type=type, low=low, high=high) if fits(low, high, type) else full(value, type)


def full(value: Value, type: str) -> Value:
    """A value of a type of which nothing is known."""
    low, high = reach(type)
    return replace(value, type=type, low=low, high=high)


def cast(type: str, value: Value) -> Value:
    """A written conversion; the value is one that the type can hold where it is a float."""
    made = converted(value, type)
    return replace(made, text=f"({type}){value.operand}", tight=False)


def can_cast(value: Value, type: str) -> bool:
    """Whether C defines the conversion."""
    return not is_float(value.type) or is_float(type) or (type != "_Bool" and fits(value.low - 1, value.high + 1, type))


def operate(rng: random.Random, op: str, a: Value, b: Value, wraps: bool) -> Value:
    """`a op b`, with operands converted or replaced where C would leave the result undefined.

    Signed sums may wrap around where `wraps`.
    """
    if op in ("<<", ">>"):
        return _shift(rng, op, a, b, wraps)
    type = common(a.type, b.type)
    if is_float(type):
        if op not in ("+", "-", "*", "/"):
            op = rng.choice("+-*")
        if op == "/" and not (b.low > 0.1 or b.high < -0.1):
            b = Value(f"({b.operand} * {b.operand} + 1)", type, 1, FAR) if abs(b.high) < 1000 else literal(rng, True)
            b = b if b.low > 0.1 else Value("2.0f", "float", 2, 2)
        type = common(a.type, b.type)
        low, high = _corners(op, a, b)
        return Value(f"{a.operand} {op} {b.operand}", type, max(low, -FAR), min(high, FAR), False)
    if op in ("/", "%"):
        if b.low <= 0 <= b.high or (b.low <= -1 <= b.high):
            number = rng.choice((2, 3, 5, 7, 10, 16))
            b = Value(str(number), "int", number, number)
            type = common(a.type, b.type)
    a, b = _as(a, type), _as(b, type)
    low, high = _corners(op, a, b)
    text = f"{a.operand} {op} {b.operand}"
    if fits(low, high, type):
        return Value(text, type, low, high, False)
    if is_signed(type) and not wraps:
        wide = "unsigned" if type == "int" else "unsigned long"
        return full(Value(f"({wide}){a.operand} {op} {b.operand}", wide, 0, 0, False), wide)
    return full(Value(text, type, 0, 0, False), type)


def _as(value: Value, type: str) -> Value:
    return value if fits(value.low, value.high, type) else full(value, type)


def _corners(op: str, a: Value, b: Value) -> tuple[float, float]:
    """The least and greatest result over all values of the operands."""
    match op:
        case "+":
            return a.low + b.low, a.high + b.high
        case "-":
            return a.low - b.high, a.high - b.low
        case "*":
            ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
            return min(ends), max(ends)
        case "/" if is_float(a.type) or is_float(b.type):
            ends = [x / y for x in (a.low, a.high) for y in (b.low, b.high)]
            return min(ends), max(ends)
        case "/":
            # Operands may be switched in sign, but no quotient lies further from 0 than its dividend.
            most = max(abs(a.low), abs(a.high))
            return (0 if a.low >= 0 and b.low >= 0 else -most), most
        case "%":
            most = min(max(abs(b.low), abs(b.high)) - 1, max(abs(a.low), abs(a.high)))
            return (0 if a.low >= 0 else -most), most
        case _:
            bits = max(int(max(abs(x), 1)).bit_length() for x in (a.low, a.high, b.low, b.high))
            return (0 if min(a.low, b.low) >= 0 else -(2**bits)), 2**bits - 1


def _shift(rng: random.Random, op: str, a: Value, b: Value, wraps: bool) -> Value:
    if is_float(a.type):
        return a
    type = promoted(a.type)
    most = BITS[type] - 1
    if is_float(b.type) or b.low < 0 or b.high > most or rng.random() < 0.5:
        if not is_float(b.type) and rng.random() < 0.3:
            b = Value(f"({b.operand} & {most})", promoted(b.type), 0, most)
        else:
            number = rng.choice((1, 2, 3, 4, 7, 8, 15, rng.randint(0, most)))
            b = Value(str(min(number, most)), "int", min(number, most), min(number, most))
    if op == ">>":
        low = int(a.low) >> int(b.low if a.low < 0 else b.high)
        high = int(a.high) >> int(b.high if a.high < 0 else b.low)
        return Value(f"{a.operand} >> {b.operand}", type, low, high, False)
    low, high = min(0, int(a.low) << int(b.high)), max(0, int(a.high)) << int(b.high)
    if (a.low >= 0 or wraps) and fits(low, high, type):
        return Value(f"{a.operand} << {b.operand}", type, low, high, False)
    if is_signed(type):
        wide = "unsigned" if type == "int" else "unsigned long"
        return full(Value(f"({wide}){a.operand} << {b.operand}", wide, 0, 0, False), wide)
    return full(Value(f"{a.operand} << {b.operand}", type, 0, 0, False), type)


def compare(rng: random.Random, a: Value, b: Value) -> Value:
    """A comparison, 0 or 1."""
    return Value(f"{a.operand} {rng.choice(('<', '<=', '>', '>=', '==', '!='))} {b.operand}", "int", 0, 1, False)


def choose(condition: Value, a: Value, b: Value) -> Value:
    """`condition ? a : b`."""
    type = common(a.type, b.type)
    if not is_float(type):
        a, b = _as(a, type), _as(b, type)
    text = f"{condition.operand} ? {a.operand} : {b.operand}"
    return Value(text, type, min(a.low, b.low), max(a.high, b.high), False)


def call(rng: random.Random, a: Value, b: Value) -> Value:
    """A call of the library's or of one of the helpers that stand at the top of every file (see `listing.HELPERS`)."""
    if is_float(common(a.type, b.type)):
        single = common(a.type, b.type) == "float"
        name = rng.choice(("fabs", "sqrt", "fmax", "mix", "SQUARE"))
        suffix, kind = ("f", "float") if single else ("", "double")
        most = max(abs(x) for x in (a.low, a.high, b.low, b.high))
        match name:
            case "fabs":
                return Value(f"fabs{suffix}({a.text})", kind, 0, most)
            case "sqrt":
                return Value(f"sqrt{suffix}(fabs{suffix}({a.text}))", kind, 0, most + 1)
            case "fmax":
                return Value(f"{rng.choice(('fmax', 'fmin'))}{suffix}({a.text}, {b.text})", kind, -most, most)
            case "mix":
                return Value(f"mix{suffix}({a.text}, {b.text})", kind, -2 * most, 2 * most)
            case _:
                return Value(f"SQUARE({a.text})", promoted(a.type), -FAR, FAR) if is_float(a.type) else a
    name = rng.choice(("MIN", "MAX", "clip", "hash", "abs"))
    match name:
        case "MIN" | "MAX":
            type = common(a.type, b.type)
            a, b = _as(a, type), _as(b, type)
            return Value(f"{name}({a.text}, {b.text})", type, min(a.low, b.low), max(a.high, b.high))
        case "clip":
            return Value(f"clip((int)({a.text}), 0, 255)", "int", 0, 255)
        case "hash":
            return full(Value(f"hash((unsigned)({a.text}))", "unsigned", 0, 0), "unsigned")
        case _:
            if fits(a.low, a.high, "int") and a.low > reach("int")[0]:
                return Value(f"abs({a.text})", "int", 0, max(abs(a.low), abs(a.high)))
            return a


def unary(rng: random.Random, a: Value, wraps: bool) -> Value:
    """An operator with one operand."""
    type = promoted(a.type)
    if is_float(type):
        return Value(f"-{a.operand}", type, -a.high, -a.low, False)
    op = rng.choice("-~!")
    match op:
        case "!":
            return Value(f"!{a.operand}", "int", 0, 1, False)
        case "~":
            made = Value(f"~{a.operand}", type, -a.high - 1, -a.low - 1, False)
        case _:
            made = Value(f"-{a.operand}", type, -a.high, -a.low, False)
    if fits(made.low, made.high, type):
        return made
    if is_signed(type) and not wraps:
        return a
    return full(made, type)


def any_cast(rng: random.Random, a: Value) -> Value:
    """The value in some other type."""
    type = rng.choice(_CASTS)
    return cast(type, a) if can_cast(a, type) else cast(rng.choice(FLOATS), a)
