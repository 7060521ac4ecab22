"""Neon's bf16 (FEAT_BF16), which Arm's page of 2018 lacks, as definitions of our own: conversions, products that are
added as floats, and dot products, whose steps round to odd and take denormal numbers for zero. They are run like all
others.

>>> found = {x.name: x for x in bfloat16_entries()}
>>> found["vbfmlalbq_f32"].text
'(r: 128 f32, a: 128 bf16, b: 128 bf16) -> dst: 128 f32 { for i < 4 { dst.u32[i] = \
fma.f32(0x10000*a.u16[2*i], 0x10000*b.u16[2*i], r.u32[i], 4) } }'
"""

from __future__ import annotations

from collections.abc import Iterator

from planish.isa.entry import Entry
from planish.isa.vendors.arm.float16 import own_entry

_ODD = 10
"""The way of rounding of dot products: to odd, or to infinity."""

_HALF, _WHOLE, _WIDE, _SHORT = "bfloat16x4_t", "bfloat16x8_t", "float32x4_t", "float32x2_t"
_LANES = (("", "", 0), ("_lane", _HALF, 4), ("_laneq", _WHOLE, 8))
"""How the last factor is given: as a register, or as part of one with so many elements."""


def bfloat16_entries() -> tuple[Entry, ...]:
    """All of them, not proven as yet."""
    return (*_conversions(), *_long_products(), *_dots(), _matrix())


def _entry(
    name: str, mnemonic: str, result: str, parameters: tuple[tuple[str, str], ...], text: str, lanes: int = 0
) -> Entry:
    return own_entry(name, mnemonic, result, parameters, text, lanes, "BF16")


def _conversions() -> Iterator[Entry]:
    widened = "(a: {bits} bf16) -> dst: 128 f32 {{ for i < 4 {{ dst.u32[i] = 0x10000*a.u16[{place}] }} }}"
    yield _entry("vcvt_f32_bf16", "shll", _WIDE, ((_HALF, "a"),), widened.format(bits=64, place="i"))
    yield _entry("vcvtq_low_f32_bf16", "shll", _WIDE, ((_WHOLE, "a"),), widened.format(bits=128, place="i"))
    yield _entry("vcvtq_high_f32_bf16", "shll2", _WIDE, ((_WHOLE, "a"),), widened.format(bits=128, place="i + 4"))
    low = "for i < 4 { dst.u16[i] = fconvert.bf16.f32(a.u32[i], 4) }"
    high = low.replace("dst.u16[i]", "dst.u16[i + 4]")
    yield _entry("vcvt_bf16_f32", "bfcvtn", _HALF, ((_WIDE, "a"),), f"(a: 128 f32) -> dst: 64 bf16 {{ {low} }}")
    text = f"(a: 128 f32) -> dst: 128 bf16 {{ dst.u64[1] = 0 {low} }}"
    yield _entry("vcvtq_low_bf16_f32", "bfcvtn", _WHOLE, ((_WIDE, "a"),), text)
    text = f"(inactive: 128 bf16, a: 128 f32) -> dst: 128 bf16 {{ dst.u64[0] = inactive.u64[0] {high} }}"
    yield _entry("vcvtq_high_bf16_f32", "bfcvtn2", _WHOLE, ((_WHOLE, "inactive"), (_WIDE, "a")), text)


def _long_products() -> Iterator[Entry]:
    """Even or odd elements, widened, multiplied and added with one rounding."""
    for at, half in enumerate("bt"):
        first = f"0x10000*a.u16[2*i + {at}]"
        for form, factor, count in _LANES:
            second = "0x10000*b.u16[lane.u8[0]]" if count else f"0x10000*b.u16[2*i + {at}]"
            head = f"(r: 128 f32, a: 128 bf16, b: {16 * (count or 8)} bf16{', lane: 8 immediate' if count else ''})"
            text = f"{head} -> dst: 128 f32 {{ for i < 4 {{ dst.u32[i] = fma.f32({first}, {second}, r.u32[i], 4) }} }}"
            parameters = ((_WIDE, "r"), (_WHOLE, "a"), (factor or _WHOLE, "b"), *_lane(count))
            yield _entry(f"vbfmlal{half}q{form}_f32", f"bfmlal{half}", _WIDE, parameters, text, count)


def _dots() -> Iterator[Entry]:
    for quad, total, factor, lanes in (("", _SHORT, _HALF, 2), ("q", _WIDE, _WHOLE, 4)):
        bits = 32 * lanes
        for form, other, elements in _LANES:
            place = "2*lane.u8[0]" if elements else "2*i"
            width = 16 * elements or bits
            given = f"(r: {bits} f32, a: {bits} bf16, b: {width} bf16{', lane: 8 immediate' if elements else ''})"
            value = _dot("r.u32[i]", "2*i", place)
            text = f"{given} -> dst: {bits} f32 {{ for i < {lanes} {{ dst.u32[i] = {value} }} }}"
            parameters = ((total, "r"), (factor, "a"), (other or factor, "b"), *_lane(elements))
            yield _entry(f"vbfdot{quad}{form}_f32", "bfdot", total, parameters, text, elements // 2)


def _matrix() -> Entry:
    """The product of 2 x 4 and 4 x 2 elements, as two dot products each."""
    value = _dot(_dot("r.u32[2*j + i]", "4*j", "4*i"), "4*j + 2", "4*i + 2")
    text = ("(r: 128 f32, a: 128 bf16, b: 128 bf16) -> dst: 128 f32 "
            f"{{ for j < 2 {{ for i < 2 {{ dst.u32[2*j + i] = {value} }} }} }}")  # fmt: skip
    return _entry("vbfmmlaq_f32", "bfmmla", _WIDE, ((_WIDE, "r"), (_WHOLE, "a"), (_WHOLE, "b")), text)


def _dot(total: str, first: str, second: str) -> str:
    """What two products and a total become: the products are added first."""
    products = [
        _flushed(f"fmul.f32({_widened('a', f'{first} + {at}')}, {_widened('b', f'{second} + {at}')}, {_ODD})")
        for at in range(2)
    ]
    both = _flushed(f"fadd.f32({products[0]}, {products[1]}, {_ODD})")
    return _flushed(f"fadd.f32({_flushed(total)}, {both}, {_ODD})")


def _widened(name: str, place: str) -> str:
    return _flushed(f"0x10000*{name}.u16[{place}]")


def _flushed(value: str) -> str:
    """A zero of the same sign where a number is less than the normal ones."""
    return f"select(u31({value}) < 0x800000, {value} & 0x80000000, {value})"


def _lane(count: int) -> tuple[tuple[str, str], ...]:
    return (("const int", "lane"),) if count else ()
