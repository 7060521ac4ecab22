"""Names for operations, as a person would call them, made of what their lanes compute; what is too long for that is
called as its vendor does.

>>> from planish.isa.entry import IntrinsicSignature
>>> text = "(c: 32, a: 32, b: 32) -> dst: 32 { dst.u32[0] = u32(c.u32[0] + sum(q < 4: a.u8[q]*b.s8[q])) }"
>>> name_of([Entry("_mm_dpbusd_epi32", "x86", IntrinsicSignature("int", ()), text)])
'dot_accumulate'
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from planish.isa.classes.signature import LONG, outlines
from planish.isa.entry import Entry
from planish.isa.semantics.definition import nested_puts
from planish.isa.semantics.node import FLOAT_OPERATORS, Node, walk

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
    "x + x*(x ^ n)": "multiply_subtract", "(x ^ n) + x*x": "multiply_then_subtract",
    "(x ^ n) + x*(x ^ n)": "negated_multiply_then_subtract", "x & (x ^ n)": "and_not", "x | x ^ n": "or_not",
    "x ^ x & (x ^ x)": "select_bits", "sat(abs(x))": "absolute_saturate", "sat(n*x)": "negate_saturate",
    "n*x": "scale", "select(x < n, n, n)": "negative_mask", "select(n < x, n, n)": "positive_mask",
    "select(n <= x, n, n)": "not_negative_mask", "select(x <= n, n, n)": "not_positive_mask",
    "select(x == n, x, x)": "select_by_equal", "select(lane == x, x, x)": "replace_lane",
    "select(n*lane == n*x, x, x)": "replace_lane", "select((x & x) == n, n, n)": "test_mask",
    "not((x & x) == n)": "test_mask", "(x & x) == n": "test_zero_mask", "x - roundscale(x, x)": "reduce_by_rounding",
    "select(lane < popcount(x), x, n)": "compress", "select(lane < popcount(x), x, x)": "compress",
    "sat(n*x*x)": "double_multiply_saturate", "sat(n*x*x >> n)": "double_multiply_high_saturate",
    "sat(n*x*x + n >> n)": "double_multiply_high_round_saturate",
    "sat(x + sat(n*x*x))": "double_multiply_accumulate_saturate",
    "sat(x - sat(n*x*x))": "double_multiply_subtract_saturate",
    "sat(n*x*x + n*x + n >> n)": "double_multiply_accumulate_high_round_saturate",
    "(x*x >> n) + n >> n": "multiply_high_round", "x + n*x >> x": "shift_right_double",
    "x + n*x >> n*x": "align",
}  # fmt: skip
_CALLED = {
    "sll": "shift_left_logical", "srl": "shift_right_logical", "sra": "shift_right_arithmetic",
    "slli": "shift_left_logical", "srli": "shift_right_logical", "srai": "shift_right_arithmetic",
    "sllv": "shift_left_logical", "srlv": "shift_right_logical", "srav": "shift_right_arithmetic",
    "rol": "rotate_left", "ror": "rotate_right", "rolv": "rotate_left", "rorv": "rotate_right",
    "max": "maximum_or_second", "min": "minimum_or_second", "fmax": "maximum_float", "fmin": "minimum_float",
    "fmaxnm": "maximum_number", "fminnm": "minimum_number", "fmaddsub": "multiply_then_subtract_add",
    "fmsubadd": "multiply_then_add_subtract", "shldv": "shift_left_double", "shldi": "shift_left_double",
    "cmp": "compare", "ext": "align", "alignr": "align", "bsl": "select_bits", "sli": "shift_left_insert",
    "sri": "shift_right_insert", "reduce": "reduce_by_rounding", "mulhrs": "multiply_high_round",
}  # fmt: skip
"""What its vendors call an operation, in words."""
_WORDS = {
    "+": "add", "-": "subtract", "*": "multiply", "/": "divide", "&": "and", "|": "or", "^": "xor", "<<": "shift_left",
    ">>": "shift_right", "==": "equal", "<": "less", "<=": "at_most", "%": "modulo",
}  # fmt: skip
_MOST_WORDS = 2
"""What needs more of them is called as its vendor does."""

_COMPOUND = "compound"
_OF_TYPES = re.compile(r"(?:epi|epu|si|pi|pu)\d+x?|[ps][sdh]|mask|b?[suf]\d+|[mxz]")
_MASKED = re.compile(r"_mm\d*_(?:mask[z23]?_)?")


def name_of(entries: Sequence[Entry]) -> str:
    """The name of an operation whose members are these."""
    name = _computed(entries)
    if _COMPOUND not in name:
        return name
    prefix, suffix = (re.findall(x, name)[0] for x in (r"^(?:load_|store_|masked_|zeroed_)*", r"(?:_rounding)?$"))
    stems = Counter(map(_stem, entries))
    for x in list(stems):  # of whole numbers with a sign and without one
        if {"s" + x[1:], "u" + x[1:]} <= stems.keys():
            stems[x[1:]] += stems[x]
    stem = min(stems, key=lambda x: (-stems[x], x))
    return f"{prefix}{_CALLED.get(stem, stem)}{suffix}"


def _stem(entry: Entry) -> str:
    """What its vendor calls an instruction, without types, masks and the width of registers."""
    match entry.isa:
        case "x86":
            words = _MASKED.sub("", entry.name).split("_")
            kept = [x for x in words if x not in ("", "m", "round") and not _OF_TYPES.fullmatch(x)]
            return "_".join(kept)
        case "sve":
            words = entry.name.removeprefix("sv").split("_")
            return "_".join(x for x in words if not _OF_TYPES.fullmatch(x))
        case "hvx":
            return entry.name.removeprefix("V6_").removeprefix("v")
        case _:
            return entry.mnemonic or entry.name


def _computed(entries: Sequence[Entry]) -> str:
    definitions = [x.definition for x in entries]
    definition = min(definitions, key=lambda x: sum(1 for _ in nested_puts(x.body)))
    puts = [put for put, _ in nested_puts(definition.body)]
    memory = {x.name for x in definition.operands if x.role == "memory"}
    stores = any(x.target in memory for x in puts)
    prefix = "store_" if stores else "load_" if memory else ""
    alone = not next(loops for _, loops in nested_puts(definition.body))
    masked = {_mask_of(x.value) for x in (puts[:1] if alone else puts)}
    if masked == {"merged"}:
        prefix += "masked_"
    elif masked == {"zeroed"}:
        prefix += "zeroed_"
    suffix = "_rounding" if any(map(_is_rounded_as_told, walk([x.value for x in puts]))) else ""
    values = [_TYPES.sub("x", x.value) for x in outlines(definition)]
    if len(set(values)) > 1:
        return prefix + _several(values, alone) + suffix
    name = _named(re.sub(r"-?\b(?:0x[0-9a-f]+|\d+)\b", "n", values[0]))
    if name == "move" and prefix in ("store_", "load_"):
        return prefix.rstrip("_")
    if name == "move" and len(puts) > 1:
        name = "interleave"
    elif any(_is_looked_up(x.value) for x in puts):
        name = "permute" if name == "move" else f"{name}_by_element"
    return prefix + name + suffix


def _is_looked_up(x: Node) -> bool:
    """Whether an operand says which place of another one is read."""
    return any(y.op == "bits" and any(z.op == "bits" for z in walk(y.args)) for y in walk([x]))


def _is_rounded_as_told(x: Node) -> bool:
    """Whether an operand says how a float is rounded."""
    return x.op in FLOAT_OPERATORS and x.args[-1].op == "bits" and len(x.args) > FLOAT_OPERATORS[x.op]


def _mask_of(x: Node) -> str:
    if x.op != "select" or x.args[0].op != "bits" or x.args[0].attr[1] != 1:
        return ""
    if x.args[2].op == "const":
        return "zeroed" if x.args[2].low == 0 else ""
    return "merged"


def _several(values: list[str], alone: bool) -> str:
    """The name of several values, the first of which may be that of one lane."""
    names = list(dict.fromkeys(_named(re.sub(r"-?\b\d+\b", "n", x)) for x in values))
    match names:
        case [first, "move"] if alone:
            return f"{first}_lowest"
        case [first, "constant"] if values[-1] == "0":
            return f"{first}_lowest" if alone else f"{first}_low"
        case _:
            return "_or_".join(names[:2])


def _named(value: str) -> str:
    """The name of a value whose types are `x` and numbers `n`."""
    if value in _KNOWN:
        return _KNOWN[value]
    if value == LONG:
        return _COMPOUND
    words = [_WORDS.get(x, x) for x in re.findall(r"[a-z]{2,}|<<|>>|<=|==|[-+*/&|^<%]", value) if x != "by"]
    short = list(dict.fromkeys(words))
    return _COMPOUND if len(short) > _MOST_WORDS else "_".join(short) or "constant"
