"""Floats of C: operators on values that are the bits of floats, as calls of what the header begins with.

>>> from planish.isa.semantics.node import const, node
>>> a = node("bits", (const(0),), ("a", 32, False))
>>> write_float(node("fadd", (a, a, const(4)), ("f32",)), lambda x: "a")
'planishk_bits_f32(planishk_f32((uint32_t)(a)) + planishk_f32((uint32_t)(a)))'
"""

from __future__ import annotations

from collections.abc import Callable

from planish.isa.exports.integers import NoC, type_of, write_mask, write_number
from planish.isa.semantics.floats import FORMATS
from planish.isa.semantics.node import FLOAT_BITS, FLOAT_OPERATORS, Node

_OF_C = ("f16", "f32", "f64")
_ARITHMETIC = {"fadd": "+", "fsub": "-", "fdiv": "/"}
_COMPARES = {"feq": "==", "flt": "<", "fle": "<="}
OPERATORS = frozenset({*FLOAT_OPERATORS, *_COMPARES, "funord", "toint", "quiet"})


def write_float(x: Node, value: Callable[[Node], str]) -> str:
    """An expression for an operator on floats, or one that gives them as their bits; `value` writes arguments. NoC
    where the header has nothing for it."""
    form = str(x.attr[0])
    kind = type_of(x).name
    if x.op in _COMPARES:
        if form not in _OF_C:
            raise NoC(f"{x.op} of {form}")
        one, other = (_as_float(y, form, value) for y in x.args)
        return f"({one} {_COMPARES[x.op]} {other})"
    if x.op == "funord":
        if form not in _OF_C:
            raise NoC(f"{x.op} of {form}")
        return f"__builtin_isunordered({', '.join(_as_float(y, form, value) for y in x.args)})"
    given = f"PLANISH_{form.upper()}"
    args = [f"(uint64_t)({value(y)})" for y in x.args]
    if x.op == "toint":
        bits, signed = int(x.attr[1]), bool(x.attr[2])
        found = f"planishk_to_integer({given}, {args[0]}, {bits}, {int(signed)}, (int)({value(x.args[1])}))"
        return f"({kind}){found}" if signed else f"({kind})((uint64_t){found} & {write_mask(bits)})"
    if x.op == "quiet":
        return f"({kind})({args[0]} | {write_number(1 << (FORMATS[form].fraction - 1))})"
    if x.op == "fconvert":
        source = f"PLANISH_{str(x.attr[1]).upper()}"
        return f"({kind})planishk_convert({given}, {source}, {args[0]}, (int)({value(x.args[1])}))"
    if x.op == "fromint":
        sign = "unsigned" if x.args[0].low >= 0 else "signed"
        return f"({kind})planishk_from_{sign}({given}, {args[0]}, (int)({value(x.args[1])}))"
    if x.op in ("fround", "roundscale"):
        digits = "0" if x.op == "fround" else f"(int)({value(x.args[1])})"
        return f"({kind})planishk_round({given}, {args[0]}, {digits}, (int)({value(x.args[-1])}))"
    if x.op == "scalef":
        return f"({kind})planishk_scale({given}, {args[0]}, {args[1]}, (int)({value(x.args[2])}))"
    if x.op == "getexp":
        return f"({kind})planishk_exponent({given}, {args[0]})"
    if x.op == "getmant":
        return f"({kind})planishk_mantissa({given}, {args[0]}, (int)({value(x.args[1])}))"
    if form not in _OF_C:
        raise NoC(f"{x.op} of {form}")
    return f"planishk_bits_{form}({_arithmetic(x, form, value)})"


def _as_float(x: Node, form: str, value: Callable[[Node], str]) -> str:
    return f"planishk_{form}((uint{FLOAT_BITS[form]}_t)({value(x)}))"


def _arithmetic(x: Node, form: str, value: Callable[[Node], str]) -> str:
    """The operation in C's type: of half floats float, which holds all but the sum of a product exactly enough."""
    count = FLOAT_OPERATORS[x.op]
    args = [_as_float(y, form, value) for y in x.args[:count]]
    letter = "" if form == "f64" else "f"
    if x.op == "frcp":
        return f"1 / {args[0]}"
    if x.op == "frsqrt":
        return f"1 / __builtin_sqrt{letter}({args[0]})"
    mode = x.args[count]
    if form == "f16" and (x.op == "fma" or mode.constant not in (0, 4)):
        if x.op != "fma" or mode.constant not in (0, 4):
            raise NoC(f"{x.op} of f16 in another way of rounding")
        return f"planishk_fma_f16({', '.join(args)})"
    if mode.constant in (0, 4):  # C's own way of rounding
        if x.op == "fmul":
            return f"planishk_product_{form}({args[0]}, {args[1]})"  # rounded by itself, whatever it is added to
        if x.op in _ARITHMETIC:
            return f"{args[0]} {_ARITHMETIC[x.op]} {args[1]}"
        return f"__builtin_{'sqrt' if x.op == 'fsqrt' else 'fma'}{letter}({', '.join(args)})"
    return f"planishk_{x.op}_{form}({', '.join([*args, f'(int)({value(mode)})'])})"
