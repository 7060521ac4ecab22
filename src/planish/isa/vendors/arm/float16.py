"""Neon's arithmetic on half floats (FEAT_FP16), which Arm's page of 2018 lacks, as definitions of our own. They are run
like all others.

>>> found = {x.name: x for x in float16_entries()}
>>> found["vaddq_f16"].text
'(a: 128 f16, b: 128 f16) -> dst: 128 f16 { for i < 8 { dst.u16[i] = fadd.f16(a.u16[i], b.u16[i], 4) } }'
"""

from __future__ import annotations

from collections.abc import Iterator

from planish.isa.entry import Entry, IntrinsicSignature
from planish.isa.semantics.text import parse_definition, print_definition

_A, _B, _C = "a.u16[i]", "b.u16[i]", "c.u16[i]"
_UNORDERED = f"funord.f16({_A}, {_A})", f"funord.f16({_B}, {_B})"
_SIGN = "0x8000"


def _extremum(joined: str, first: str, second: str) -> str:
    either = f"{_UNORDERED[0]} | {_UNORDERED[1]}"
    ordered = f"select(flt.f16({first}, {second}), {_A}, {_B})"
    return f"select({either}, fadd.f16({_A}, {_B}, 4), select(feq.f16({_A}, {_B}), {_A} {joined} {_B}, {ordered}))"


def _number(extremum: str) -> str:
    """A number wins over a quiet NaN."""
    a, b = _UNORDERED
    return f"select({a} & a.u1[16*i + 9] & !{b}, {_B}, select({b} & b.u1[16*i + 9] & !{a}, {_A}, {extremum}))"


_MAX, _MIN = _extremum("&", _B, _A), _extremum("|", _A, _B)
_BINARY = {
    "add": ("fadd", f"fadd.f16({_A}, {_B}, 4)"), "sub": ("fsub", f"fsub.f16({_A}, {_B}, 4)"),
    "mul": ("fmul", f"fmul.f16({_A}, {_B}, 4)"), "div": ("fdiv", f"fdiv.f16({_A}, {_B}, 4)"),
    "abd": ("fabd", f"u15(fsub.f16({_A}, {_B}, 4))"), "max": ("fmax", _MAX), "min": ("fmin", _MIN),
    "maxnm": ("fmaxnm", _number(_MAX)), "minnm": ("fminnm", _number(_MIN)),
}  # fmt: skip
_UNARY = {
    "neg": ("fneg", f"{_A} ^ {_SIGN}"), "abs": ("fabs", "a.u15@[16*i]"), "sqrt": ("fsqrt", f"fsqrt.f16({_A}, 4)"),
    "rnd": ("frintz", f"fround.f16({_A}, 3)"), "rndm": ("frintm", f"fround.f16({_A}, 1)"),
    "rndp": ("frintp", f"fround.f16({_A}, 2)"), "rndn": ("frintn", f"fround.f16({_A}, 0)"),
    "rnda": ("frinta", f"fround.f16({_A}, 8)"), "rndi": ("frinti", f"fround.f16({_A}, 4)"),
    "rndx": ("frintx", f"fround.f16({_A}, 4)"),
}  # fmt: skip
_COMPARE = {
    "ceq": ("fcmeq", f"feq.f16({_A}, {_B})"), "cge": ("fcmge", f"fle.f16({_B}, {_A})"),
    "cgt": ("fcmgt", f"flt.f16({_B}, {_A})"), "cle": ("fcmge", f"fle.f16({_A}, {_B})"),
    "clt": ("fcmgt", f"flt.f16({_A}, {_B})"),
}  # fmt: skip
_FUSED = {
    "fma": ("fmla", f"fma.f16({{0}}, {{1}}, {_A}, 4)"), "fms": ("fmls", f"fma.f16({{0}} ^ {_SIGN}, {{1}}, {_A}, 4)"),
}  # fmt: skip
_PAIRS = {
    "zip1": ("a.u16[i]", "b.u16[i]"), "zip2": ("a.u16[i + {half}]", "b.u16[i + {half}]"),
    "trn1": ("a.u16[2*i]", "b.u16[2*i]"), "trn2": ("a.u16[2*i + 1]", "b.u16[2*i + 1]"),
}  # fmt: skip


def float16_entries() -> tuple[Entry, ...]:
    """All of them, not proven as yet."""
    return (*_elementwise(), *_by_scalar(), *_moves(), *_integers())


def _vector(quad: str, element: str = "float16") -> tuple[str, int]:
    lanes = 8 if quad else 4
    return f"{element}x{lanes}_t", lanes


def own_entry(name: str, mnemonic: str, result: str, parameters: tuple[tuple[str, str], ...], text: str,
              lanes: int = 0, feature: str = "FP16") -> Entry:  # fmt: skip
    values = {"lane": tuple(range(lanes))} if lanes else {}
    plain = print_definition(parse_definition(text))
    return Entry(name, "arm", IntrinsicSignature(result, parameters), plain, ("A64", feature), mnemonic, "", values)


def _elementwise() -> Iterator[Entry]:
    for quad in ("", "q"):
        kind, lanes = _vector(quad)
        mask, _ = _vector(quad, "uint16")
        bits = 16 * lanes
        one, two = ((kind, "a"),), ((kind, "a"), (kind, "b"))
        heads = {1: f"(a: {bits} f16)", 2: f"(a: {bits} f16, b: {bits} f16)"}
        for name, (mnemonic, value) in _BINARY.items():
            text = f"{heads[2]} -> dst: {bits} f16 {{ for i < {lanes} {{ dst.u16[i] = {value} }} }}"
            yield own_entry(f"v{name}{quad}_f16", mnemonic, kind, two, text)
        for name, (mnemonic, value) in _UNARY.items():
            text = f"{heads[1]} -> dst: {bits} f16 {{ for i < {lanes} {{ dst.u16[i] = {value} }} }}"
            yield own_entry(f"v{name}{quad}_f16", mnemonic, kind, one, text)
        for name, (mnemonic, value) in _COMPARE.items():
            text = f"{heads[2]} -> dst: {bits} {{ for i < {lanes} {{ dst.u16[i] = select({value}, 0xffff, 0) }} }}"
            yield own_entry(f"v{name}{quad}_f16", mnemonic, mask, two, text)
        for name, (mnemonic, value) in _FUSED.items():
            head = f"(a: {bits} f16, b: {bits} f16, c: {bits} f16)"
            text = f"{head} -> dst: {bits} f16 {{ for i < {lanes} {{ dst.u16[i] = {value.format(_B, _C)} }} }}"
            yield own_entry(f"v{name}{quad}_f16", mnemonic, kind, (*two, (kind, "c")), text)


def _by_scalar() -> Iterator[Entry]:
    """A factor that is the same for all lanes: a scalar, or a lane of another register."""
    for quad in ("", "q"):
        kind, lanes = _vector(quad)
        bits = 16 * lanes
        for form, other, width, place in (("n", "float16_t", 16, "v.u16[0]"),
                                          ("lane", "float16x4_t", 64, "v.u16[lane.u8[0]]"),
                                          ("laneq", "float16x8_t", 128, "v.u16[lane.u8[0]]")):  # fmt: skip
            lane = form != "n"
            count = width // 16 if lane else 0
            tail = (*((("const int", "lane"),) if lane else ()),)
            given = f"v: {width} f16{', lane: 8 immediate' if lane else ''}"
            text = f"(a: {bits} f16, {given}) -> dst: {bits} f16 {{ for i < {lanes} {{ dst.u16[i] = "
            product = f"{text}fmul.f16({_A}, {place}, 4) }} }}"
            yield own_entry(f"vmul{quad}_{form}_f16", "fmul", kind, ((kind, "a"), (other, "v"), *tail), product, count)
            for name, (mnemonic, value) in _FUSED.items():
                text = f"(a: {bits} f16, b: {bits} f16, {given}) -> dst: {bits} f16 {{ for i < {lanes} {{ dst.u16[i] = "
                total = f"{text}{value.format(_B, place)} }} }}"
                parameters = ((kind, "a"), (kind, "b"), (other, "v"), *tail)
                yield own_entry(f"v{name}{quad}_{form}_f16", mnemonic, kind, parameters, total, count)


def _moves() -> Iterator[Entry]:
    for quad in ("", "q"):
        kind, lanes = _vector(quad)
        bits, half = 16 * lanes, lanes // 2
        for name in ("dup", "mov"):
            text = f"(value: 16 f16) -> dst: {bits} f16 {{ for i < {lanes} {{ dst.u16[i] = value.u16[0] }} }}"
            yield own_entry(f"v{name}{quad}_n_f16", "dup", kind, (("float16_t", "value"),), text)
        head = f"(a: {bits} f16, b: {bits} f16) -> dst: {bits} f16"
        two = ((kind, "a"), (kind, "b"))
        for name, (even, odd) in _PAIRS.items():
            first, second = even.format(half=half), odd.format(half=half)
            text = f"{head} {{ for i < {half} {{ dst.u16[2*i] = {first} dst.u16[2*i + 1] = {second} }} }}"
            yield own_entry(f"v{name}{quad}_f16", name, kind, two, text)
        for at in (0, 1):
            puts = f"dst.u16[i] = a.u16[2*i + {at}] dst.u16[i + {half}] = b.u16[2*i + {at}]"
            text = f"{head} {{ for i < {half} {{ {puts} }} }}"
            yield own_entry(f"vuzp{at + 1}{quad}_f16", f"uzp{at + 1}", kind, two, text)


def _integers() -> Iterator[Entry]:
    for quad in ("", "q"):
        for sign, element in (("s", "int16"), ("u", "uint16")):
            kind, lanes = _vector(quad)
            whole, _ = _vector(quad, element)
            bits = 16 * lanes
            head, value = f"(a: {bits}) -> dst: {bits} f16", f"fromint.f16(a.{sign}16[i], 4)"
            text = f"{head} {{ for i < {lanes} {{ dst.u16[i] = {value} }} }}"
            yield own_entry(f"vcvt{quad}_f16_{sign}16", f"{sign}cvtf", kind, ((whole, "a"),), text)
