"""Loops that are no movement of elements, or another one than they seem, are not written as one."""

from __future__ import annotations

import pytest

from planish.ir.text.parser import parse_kernel
from planish.isa.classes.proof import are_same
from planish.isa.select.fp_modulo import loosen
from planish.isa.select.instruction_text import InstructionFinder, spell
from planish.isa.select.selector import FpFlags, RegisterFile
from planish.isa.semantics.text import parse_definition
from planish.isa.shipped import extension

ZMM = "@zmm"


def _speech() -> RegisterFile:
    finder, _ = extension("avx512").speakers["zmm"]
    assert isinstance(finder, InstructionFinder)
    return finder.register_file


def _spelt(text: str, fp_flags: FpFlags) -> str | None:
    return spell(parse_kernel(text), _speech(), fp_flags)


@pytest.mark.parametrize(
    "text",
    [
        # What is written is read again.
        "(r: f32[16] @zmm) { for i in 0 .. 4 { for j in 0 .. 4 { r[4 * i + j] = r[4 * j + i] } } }",
        "(d: f32[16, 16]) { for l in 0 .. 16 { for q in 0 .. 16 { d[q, l] = d[l, q] } } }",
        "(d: f32[16] @zmm) { for i in 0 .. 8 { for j in 0 .. 2 { d[2 * i + j] = d[i] } } }",
        # The sum of values is another one than the value of the sum.
        "(x: f32; d: f32[4], a: f32[4, 16]) { for l in 0 .. 4 { for q in 0 .. 16 { d[l] += a[l, q] + x } } }",
        "(x: f32; d: f32[4], a: f32[4, 16]) { for l in 0 .. 4 { for q in 0 .. 16 { d[l] += x / a[l, q] } } }",
        # Registers that are none, or not all in one place.
        "(d: f32[16] @zmm, a: f32[4, 16]) { for l in 0 .. 4 { for q in 0 .. 16 { d[l] += a[l, q] } } }",
        "(d: f32[32], a: f32[16] @zmm, b: f32[16]) { for l in 0 .. 16 { d[2 * l] = a[l] d[2 * l + 1] = b[l] } }",
        "(d: f32[32], a: f32[32] @zmm) { for l in 0 .. 32 { d[l] = a[l] } }",
        "(d: f32[2, 16] @zmm, s: f32[2, 16]) { for l in 0 .. 16 { d[0, l] = s[1, l] d[1, l] = s[0, l] } }",
        # A row before the first one, an element without a place, a number of another type.
        "(ld; d: f32[2, 16], s: f32[4, ld]) assume ld >= 16 { for i in 0 .. 2 { for q in 0 .. 16 "
        "{ d[i, q] = s[i + -1, q] } } }",
        "(d: f32[16], s: f32[]) { for l in 0 .. 16 { d[l] = s[] } }",
        "(d: f32[16], s: f32[16] @zmm) { for l in 0 .. 16 { d[l] = s[l] * 2.0 } }",
        # Three rows, and a loop with too many turns.
        "(d: f32[16], a: f32[3, 16]) { for l in 0 .. 3 { for q in 0 .. 5 { d[5 * l + q] = a[l, q] } } }",
        "(d: i8[64, 64], s: i8[64, 64]) { for l in 0 .. 64 { for q in 0 .. 64 { d[q, l] = s[l, q] } } }",
    ],
)  # fmt: skip
def test_other_loops_are_refused(text: str) -> None:
    assert _spelt(f"kernel k{text}", FpFlags(reassociates=True)) is None


def test_sums_have_an_order_unless_it_is_free() -> None:
    text = "kernel k(s: f32[1], a: f32[16] @zmm) { for l in 0 .. 16 { s[0] += a[l] } }"
    assert _spelt(text, FpFlags()) is None
    assert _spelt(text, FpFlags(reassociates=True)) is not None


def test_sums_go_to_rows_of_their_own() -> None:
    head = "kernel k(d: f32[2, 8], a: f32[16] @zmm, b: f32[16] @zmm)"
    found = _spelt(f"{head} {{ for l in 0 .. 16 {{ d[0, 3] += a[l] d[1, 3] += b[l] }} }}", FpFlags(reassociates=True))
    assert found is not None
    assert "*({d} + 3) += " in found
    assert "*(({d} + 8) + 3) += " in found


@pytest.mark.parametrize(("stride", "streams"), [("32", True), ("17", False)])
def test_rows_that_are_never_round_are_not_streamed(stride: str, streams: bool) -> None:
    head = f"kernel k(d: f32[2, {stride}], s: f32[2, 16])"
    found = _spelt(
        f"{head} {{ for i in 0 .. 2 {{ for q in 0 .. 16 {{ d[i, q] = s[i, q] }} }} }}", FpFlags(streams=True)
    )
    assert found is not None
    assert ("_stream_" in found) == streams


def test_a_register_is_not_streamed() -> None:
    text = "kernel k(d: f32[16] @zmm, s: f32[16]) { for l in 0 .. 16 { d[l] = s[l] } }"
    assert _spelt(text, FpFlags(streams=True)) == _spelt(text, FpFlags())


@pytest.mark.parametrize(
    "other",
    [
        "(a: 32) -> r: 64 { r.u32[0] = a.u32[0] }", "(a: 32 memory) -> r: 32 { r.u32[0] = a.u32[0] }",
        "(a: 32) -> r: 32 { r.u16[0] = a.u16[0] }", "(b: 32) -> r: 32 { r.u32[0] = b.u32[0] }",
        "(a: 32) -> r: 32 { r.u32[0] = a.u32[0] if a.u1[0] }",
    ],
)  # fmt: skip
def test_what_differs_is_not_proven(other: str) -> None:
    one = parse_definition("(a: 32) -> r: 32 { r.u32[0] = a.u32[0] }")
    assert not are_same(one, parse_definition(other))


@pytest.mark.parametrize(("tested", "flushes"), [("a.u31[0]", True), ("b.u31[0]", False), ("a.u30[0]", False)])
def test_only_what_is_tested_is_taken_for_zero(tested: str, flushes: bool) -> None:
    text = f"(a: 32, b: 32) -> r: 32 {{ r.u32[0] = select({tested} < 0x800000, a.u32[0] & 0x80000000, a.u32[0]) }}"
    (put,) = parse_definition(text).puts
    assert (loosen(put.value).op == "bits") == flushes


@pytest.mark.parametrize(
    "lane",
    [
        # Two numbers, lanes that are not there, a register by itself, one that is written while it is read.
        "select(l < 1, x, select(l < 2, y, s[l - 2]))",
        "select(l < 1, x, s[l + 1])",
        "select(l < 1, x, d[l - 1])",
        "select(l < x, x, s[l - 1])",
        "select(l < 1, x, s[l - 1] + x)",
    ],
)
def test_other_slides_are_refused(lane: str) -> None:
    head = "kernel k(x: f32, y: f32; d: f32[16] @zmm, s: f32[16] @zmm)"
    assert _spelt(f"{head} {{ for l in 0 .. 16 {{ d[l] = {lane} }} }}", FpFlags()) is None


def test_lanes_slide_by_several() -> None:
    head = "kernel k(x: f32; d: f32[16] @zmm, s: f32[16] @zmm)"
    text = _spelt(f"{head} {{ for l in 0 .. 16 {{ d[l] = select(l < 3, x, s[l - 3]) }} }}", FpFlags())
    assert text is not None and text.endswith(", 13)); }")


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_lanes_of_integers_slide_too(count: int) -> None:
    head = "kernel k(x: i32; d: i32[16] @zmm, s: i32[16] @zmm)"
    text = _spelt(f"{head} {{ for l in 0 .. 16 {{ d[l] = select(l < {count}, x, s[l - {count}]) }} }}", FpFlags())
    moved = f"_mm512_alignr_epi32({{s}}, _mm512_set1_epi32({{x}}), {16 - count})"
    assert text == f"{{ {{d}} = {moved if count < 8 else '_mm512_shuffle_i32x4(_mm512_set1_epi32({x}), {s}, 64)'}; }}"
