"""Names for operations, as a person would call them, made of what their lanes compute.

>>> from planish.isa.lanes.text import parse_definition
>>> text = "(c: 32, a: 32, b: 32) -> dst: 32 { dst.u32[0] = u32(c.u32[0] + sum(q < 4: a.u8[q]*b.s8[q])) }"
>>> name_of([parse_definition(text)])
'dot_accumulate'
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from planish.isa.lanes.definition import Definition, nested_puts
from planish.isa.lanes.node import Node, walk
from planish.isa.outline import LONG, outlines

_TYPES = re.compile(r"\b(?:[ius]\d+|b?f\d+)\b")
_KNOWN = {
    "x": "move", "x + x": "add", "x - x": "subtract", "x*x": "multiply", "x + x*x": "multiply_accumulate",
    "x - x*x": "multiply_subtract", "x + x*x by n": "dot_accumulate", "x*x by n": "dot", "x by n": "sum",
    "x & x": "and", "x | x": "or", "x ^ x": "xor", "x ^ n": "invert", "n - x": "negate", "0 - x": "negate",
    "min(x, x)": "minimum", "max(x, x)": "maximum", "abs(x)": "absolute", "abs(x - x)": "absolute_difference",
    "x + abs(x - x)": "absolute_difference_accumulate", "abs(x - x) by n": "sum_of_absolute_differences",
    "sat(x + x)": "add_saturate", "satu(x + x)": "add_saturate", "sat(x - x)": "subtract_saturate",
    "satu(x - x)": "subtract_saturate", "sat(x)": "narrow_saturate", "satu(x)": "narrow_saturate",
    "avg(x, x)": "average_round", "x + x >> n": "average", "x - x >> n": "halve_difference",
    "x*x >> n": "multiply_high", "x << x": "shift_left", "x >> x": "shift_right", "x == x": "equal", "x < x": "less",
    "x <= x": "at_most", "not(x == x)": "unequal", "select(x < x, n, n)": "less_mask",
    "select(x == x, n, n)": "equal_mask", "select(x <= x, n, n)": "at_most_mask", "sat(x*x by n)": "dot_saturate",
    "sat(x + x*x by n)": "dot_accumulate_saturate", "popcount(x)": "count_ones", "clz(x)": "count_leading_zeros",
    "fsqrt(x)": "square_root", "x/x": "divide", "fround(x)": "round", "fromint(x)": "integer_to_float",
    "toint(x)": "float_to_integer", "fconvert(x)": "float_to_float", "clmul(x, x)": "carryless_multiply",
}  # fmt: skip
_WORDS = {
    "+": "add", "-": "subtract", "*": "multiply", "/": "divide", "&": "and", "|": "or", "^": "xor", "<<": "shift_left",
    ">>": "shift_right", "==": "equal", "<": "less", "<=": "at_most", "%": "modulo",
}  # fmt: skip
_MOST_WORDS = 4


def name_of(definitions: Sequence[Definition]) -> str:
    """The name of an operation whose members are these."""
    definition = min(definitions, key=lambda x: sum(1 for _ in nested_puts(x.body)))
    puts = [put for put, _ in nested_puts(definition.body)]
    memory = {x.name for x in definition.operands if x.role == "memory"}
    stores = any(x.target in memory for x in puts)
    prefix = "store_" if stores else "load_" if memory else ""
    masked = {_mask_of(x.value) for x in puts}
    if masked == {"merged"}:
        prefix += "masked_"
    elif masked == {"zeroed"}:
        prefix += "zeroed_"
    values = [_TYPES.sub("x", x.value) for x in outlines(definition)]
    if len(set(values)) > 1:
        return prefix + _several(values)
    name = _named(re.sub(r"-?\b(?:0x[0-9a-f]+|\d+)\b", "n", values[0]))
    if name == "move" and prefix in ("store_", "load_"):
        return prefix.rstrip("_")
    if name == "move" and len(puts) > 1:
        name = "interleave"
    elif any(_is_looked_up(x.value) for x in puts):
        name = "permute" if name == "move" else f"{name}_by_element"
    return prefix + name


def _is_looked_up(x: Node) -> bool:
    """Whether an operand says which place of another one is read."""
    return any(y.op == "bits" and any(z.op == "bits" for z in walk(y.args)) for y in walk([x]))


def _mask_of(x: Node) -> str:
    if x.op != "select" or x.args[0].op != "bits" or x.args[0].attr[1] != 1:
        return ""
    return "zeroed" if x.args[2].op == "const" and x.args[2].low == 0 else "merged"


def _several(values: list[str]) -> str:
    names = list(dict.fromkeys(_named(re.sub(r"-?\b\d+\b", "n", x)) for x in values))
    return "_or_".join(names[:2])


def _named(value: str) -> str:
    """The name of a value whose types are `x` and numbers `n`."""
    if value in _KNOWN:
        return _KNOWN[value]
    if value == LONG:
        return "compound"
    words = [_WORDS.get(x, x) for x in re.findall(r"[a-z]{2,}|<<|>>|<=|==|[-+*/&|^<%]", value) if x != "by"]
    short = list(dict.fromkeys(words))[:_MOST_WORDS]
    return "_".join(short) or "constant"
