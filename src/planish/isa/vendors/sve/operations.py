"""SVE's operations in a lane, as text: `a`, `b`, `c` are the lanes of operands, `w` their width.

`{a}` has the sign of the type, `{au}` and `{as_}` are without and with one; of floats all are their bits.

>>> BINARY["add"].format(**lane_names("s32"))
'u32(op1.s32[i] + op2.s32[i])'
"""

from __future__ import annotations

INTEGERS = ("s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64")
FLOATS = ("f16", "f32", "f64")

BINARY = {
    "add": "u{w}({a} + {b})", "sub": "u{w}({a} - {b})", "subr": "u{w}({b} - {a})", "mul": "u{w}({a} * {b})",
    "mulh": "u{w}(({a} * {b}) >> {w})", "and": "{au} & {bu}", "orr": "{au} | {bu}", "eor": "{au} ^ {bu}",
    "bic": "{au} & ({bu} ^ {ones})", "max": "u{w}(max({a}, {b}))", "min": "u{w}(min({a}, {b}))",
    "abd": "u{w}(abs({a} - {b}))",
}  # fmt: skip
"""Of whole numbers, under a predicate."""

SATURATED = {"qadd": "u{w}(sat_{t}({a} + {b}))", "qsub": "u{w}(sat_{t}({a} - {b}))"}
"""Without a predicate."""

SHIFTS = {
    "lsl": (INTEGERS, "select({bu} < {w}, u{w}({au} << {bu}), 0)"),
    "lsr": (INTEGERS[4:], "select({bu} < {w}, {au} >> {bu}, 0)"),
    "asr": (INTEGERS[:4], "u{w}({as_} >> min({bu}, {w} - 1))"),
}
"""By lanes without a sign, for some types."""

UNARY = {"neg": (INTEGERS[:4], "u{w}(0 - {as_})"), "abs": (INTEGERS[:4], "u{w}(abs({as_}))"),
         "not": (INTEGERS, "{au} ^ {ones}"), "cnot": (INTEGERS, "{au} == 0")}  # fmt: skip

COUNTS = {"cnt": (INTEGERS, "popcount({au})"), "clz": (INTEGERS, "clz.{w}({au})")}
"""Their result has no sign."""

EXTENSIONS = {"extb": 8, "exth": 16, "extw": 32}
"""The low bits of a lane that stay, as a number with the type's sign."""

TERNARY = {
    "mla": "u{w}({a} + {b}*{c})", "mls": "u{w}({a} - {b}*{c})", "mad": "u{w}({a}*{b} + {c})",
    "msb": "u{w}({c} - {a}*{b})",
}  # fmt: skip

COMPARED = {"cmpeq": "{a} == {b}", "cmpne": "!({a} == {b})", "cmplt": "{a} < {b}", "cmple": "{a} <= {b}",
            "cmpgt": "{b} < {a}", "cmpge": "{b} <= {a}"}  # fmt: skip
FLOAT_COMPARED = {"cmpeq": "feq.{t}({a}, {b})", "cmplt": "flt.{t}({a}, {b})", "cmple": "fle.{t}({a}, {b})",
                  "cmpgt": "flt.{t}({b}, {a})", "cmpge": "fle.{t}({b}, {a})"}  # fmt: skip

_NAN = "funord.{t}({a}, {b})"
_LARGER = "select(feq.{t}({a}, {b}), {a} & {b}, select(flt.{t}({b}, {a}), {a}, {b}))"
_SMALLER = "select(feq.{t}({a}, {b}), {a} | {b}, select(flt.{t}({a}, {b}), {a}, {b}))"
_SUM = "fadd.{t}({a}, {b}, 4)"
FLOAT_BINARY = {
    "add": _SUM, "sub": "fsub.{t}({a}, {b}, 4)", "subr": "fsub.{t}({b}, {a}, 4)", "mul": "fmul.{t}({a}, {b}, 4)",
    "div": "fdiv.{t}({a}, {b}, 4)", "divr": "fdiv.{t}({b}, {a}, 4)", "abd": "fsub.{t}({a}, {b}, 4) & {rest}",
    "max": f"select({_NAN}, {_SUM}, {_LARGER})", "min": f"select({_NAN}, {_SUM}, {_SMALLER})",
}  # fmt: skip
FLOAT_UNARY = {"neg": "{a} ^ {sign}", "abs": "{a} & {rest}", "sqrt": "fsqrt.{t}({a}, 4)",
               "rintz": "fround.{t}({a}, 3)", "rintn": "fround.{t}({a}, 0)", "rintp": "fround.{t}({a}, 2)",
               "rintm": "fround.{t}({a}, 1)"}  # fmt: skip
FLOAT_TERNARY = {
    "mla": "fma.{t}({b}, {c}, {a}, 4)", "mls": "fma.{t}({b} ^ {sign}, {c}, {a}, 4)",
    "nmla": "fma.{t}({b} ^ {sign}, {c}, {a} ^ {sign}, 4)", "nmls": "fma.{t}({b}, {c}, {a} ^ {sign}, 4)",
    "mad": "fma.{t}({a}, {b}, {c}, 4)", "msb": "fma.{t}({a} ^ {sign}, {b}, {c}, 4)",
}  # fmt: skip

PREDICATES = {"and": "a & b", "orr": "a | b", "eor": "a ^ b", "bic": "a & !b", "nand": "!(a & b)", "nor": "!(a | b)"}

# Where lane i of the first half of a result comes from, and of the second one (or of the even and the odd lanes).
HALVES = "for i < VL/{v} {{ dst.u{w}[{first}] = {one} dst.u{w}[{second}] = {other} }}"
_INTERLEAVED = ("2*i", "2*i + 1")
_APART = ("i", "VL/{v} + i")
PERMUTED = {
    "zip1": (*_INTERLEAVED, "op1.u{w}[i]", "op2.u{w}[i]"),
    "zip2": (*_INTERLEAVED, "op1.u{w}[VL/{v} + i]", "op2.u{w}[VL/{v} + i]"),
    "uzp1": (*_APART, "op1.u{w}[2*i]", "op2.u{w}[2*i]"),
    "uzp2": (*_APART, "op1.u{w}[2*i + 1]", "op2.u{w}[2*i + 1]"),
    "trn1": (*_INTERLEAVED, "op1.u{w}[2*i]", "op2.u{w}[2*i]"),
    "trn2": (*_INTERLEAVED, "op1.u{w}[2*i + 1]", "op2.u{w}[2*i + 1]"),
}


def lane_names(kind: str) -> dict[str, str | int]:
    """What stands for the lanes of operands of a type, and numbers that depend on it."""
    width = int(kind[1:])
    sign = "u" if kind[0] == "f" else kind[0]
    named: dict[str, str | int] = {"w": width, "t": kind, "ones": (1 << width) - 1, "sign": 1 << (width - 1)}
    named["rest"] = (1 << (width - 1)) - 1
    for letter, operand in zip("abc", ("op1", "op2", "op3"), strict=True):
        named |= {letter: f"{operand}.{sign}{width}[i]", f"{letter}u": f"{operand}.u{width}[i]"}
        named[f"{letter}s_"] = f"{operand}.s{width}[i]"
    return named
