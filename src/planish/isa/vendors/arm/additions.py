"""Neon instructions that Arm's page of 2018 lacks, as definitions of our own: dot products, products of 2 x 8 matrices,
and products that are doubled, rounded and added. They are run like all others.

>>> found = {x.name: x for x in additions()}
>>> found["vdot_lane_s32"].text
'(r: 64, a: 64, b: 64, lane: 8 immediate) -> dst: 64 { for i < 2 { dst.u32[i] = \
u32(r.s32[i] + sum(q < 4: a.s8[4*i + q] * b.s8[4*lane.u8[0] + q])) } }'
"""

from __future__ import annotations

from collections.abc import Iterator

from planish.isa.entry import Entry, IntrinsicSignature
from planish.isa.semantics.text import parse_definition, print_definition
from planish.isa.vendors.arm.features import features_of

_SIGNS = {"s": "int", "u": "uint"}


def additions() -> tuple[Entry, ...]:
    """All of them, not proven as yet."""
    return (*_dots(), *_matrices(), *_rounded_products())


def _entry(
    name: str, mnemonic: str, result: str, parameters: tuple[tuple[str, str], ...], text: str, lanes: int
) -> Entry:
    values = {"lane": tuple(range(lanes))} if lanes else {}
    plain = print_definition(parse_definition(text))
    signature, features = IntrinsicSignature(result, parameters), ("A64", *features_of(mnemonic, name))
    return Entry(name, "arm", signature, plain, features, mnemonic, "", values)


def _dots() -> Iterator[Entry]:
    # Which signs the factors have, and which forms there are of that.
    kinds = (("dot_s32", "s", "s", "sdot", True), ("dot_u32", "u", "u", "udot", True),
             ("usdot_s32", "u", "s", "usdot", True), ("sudot_s32", "s", "u", "sudot", False))  # fmt: skip
    for kind, first, second, mnemonic, plain in kinds:
        stem, _, suffix = kind.partition("_")
        result_sign = "u" if suffix == "u32" else "s"
        for quad, lanes in (("", 2), ("q", 4)):
            bits = 32 * lanes
            total = f"{_SIGNS[result_sign]}32x{lanes}_t"
            given = (("r", total), ("a", f"{_SIGNS[first]}8x{4 * lanes}_t"))
            for form, count in (("", 0), ("_lane", 2), ("_laneq", 4)):
                if not form and not plain:
                    continue
                factors = f"{_SIGNS[second]}8x{4 * (count or lanes)}_t"
                place = "4*lane.u8[0] + q" if form else "4*i + q"
                immediate = ", lane: 8 immediate" if form else ""
                heading = f"(r: {bits}, a: {bits}, b: {32 * (count or lanes)}{immediate}) -> dst: {bits}"
                products = f"sum(q < 4: a.{first}8[4*i + q]*b.{second}8[{place}])"
                text = f"{heading} {{ for i < {lanes} {{ dst.u32[i] = u32(r.{result_sign}32[i] + {products}) }} }}"
                parameters = tuple((c, x) for x, c in (*given, ("b", factors)))
                parameters += (("const int", "lane"),) if form else ()
                yield _entry(f"v{stem}{quad}{form}_{suffix}", mnemonic, total, parameters, text, count)


def _matrices() -> Iterator[Entry]:
    for name, first, second, mnemonic in (("vmmlaq_s32", "s", "s", "smmla"), ("vmmlaq_u32", "u", "u", "ummla"),
                                          ("vusmmlaq_s32", "u", "s", "usmmla")):  # fmt: skip
        total = f"{_SIGNS[name[-3]]}32x4_t"
        text = ("(r: 128, a: 128, b: 128) -> dst: 128 { for j < 2 { for i < 2 { dst.u32[2*j + i] = "
                f"u32(r.{name[-3]}32[2*j + i] + sum(q < 8: a.{first}8[8*j + q]*b.{second}8[8*i + q])) }} }} }}")
        parameters = ((total, "r"), (f"{_SIGNS[first]}8x16_t", "a"), (f"{_SIGNS[second]}8x16_t", "b"))
        yield _entry(name, mnemonic, total, parameters, text, 0)


def _rounded_products() -> Iterator[Entry]:
    for op, sign in (("vqrdmlah", ""), ("vqrdmlsh", "-")):
        for size, single in ((16, "h"), (32, "s")):
            for quad in ("", "q", single):
                lanes = 1 if quad == single else (64 if not quad else 128) // size
                kind = f"int{size}_t" if quad == single else f"int{size}x{lanes}_t"
                for form, width in (("", 0), ("_lane", 64), ("_laneq", 128)):
                    yield _rounded_product(f"{op}{quad}{form}_s{size}", sign, size, lanes, kind, width)


def _rounded_product(name: str, sign: str, size: int, lanes: int, kind: str, width: int) -> Entry:
    bits = size * lanes
    place = "lane.u8[0]" if width else "i"
    factor = f"int{size}x{width // size}_t" if width else kind
    immediate = ", lane: 8 immediate" if width else ""
    product = f"({sign}2)*a.s{size}[i]*b.s{size}[{place}]"
    heading = f"(r: {bits}, a: {bits}, b: {width or bits}{immediate}) -> dst: {bits}"
    total = f"{1 << size}*r.s{size}[i] + {product} + {1 << (size - 1)}"
    text = f"{heading} {{ for i < {lanes} {{ dst.u{size}[i] = u{size}(sat_s{size}({total} >> {size})) }} }}"
    parameters = ((kind, "r"), (kind, "a"), (factor, "b"), *((("const int", "lane"),) if width else ()))
    mnemonic = "sqrdmlsh" if sign else "sqrdmlah"
    return _entry(name, mnemonic, kind, parameters, text, width // size)
