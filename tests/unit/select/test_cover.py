"""Strips of common idioms are covered by the instruction that is meant for them, and the programs are proven."""

from __future__ import annotations

import pytest

from planish.ir.text.parser import parse_kernel
from planish.isa.select.lane_values import NoCover
from planish.isa.semantics.node import const
from planish.select.body import read_body
from planish.select.instruction import cover_for, cover_strip, extension_of, select_strip
from planish.select.program import RegisterProgram, in_order
from planish.select.proof import Proof
from planish.select.strip import read_strip
from planish.target.load import load_target

AVERAGE = "B[l] = u8(i32(A[l]) + i32(B[l]) + 1:i32 >> 1:i32)"
DIFFERENCE = "B[l] = u8(max(i32(A[l]) - i32(B[l]), i32(B[l]) - i32(A[l])))"
GREATEST = "B[l] = max(max(A[l], A[l + 1]), A[l + 2])"
IDIOMS = {
    ("average", "aarch64-neon"): (AVERAGE, 16, {"vrhaddq_u8"}),
    ("difference", "aarch64-neon"): (DIFFERENCE, 16, {"vabdq_u8"}),
    ("greatest", "aarch64-neon"): (GREATEST, 16, {"vmaxq_u8"}),
    ("average", "x86-avx2"): (AVERAGE, 32, {"_mm256_avg_epu8"}),
    ("greatest", "x86-avx2"): (GREATEST, 32, {"_mm256_max_epu8"}),
    ("average", "x86-avx512"): (AVERAGE, 64, {"_mm512_avg_epu8"}),
}


def strip_of(statement: str, lanes: int, kind: str = "u8"):
    kernel = parse_kernel(f"kernel k(n; A: {kind}[n], B: {kind}[n]) {{ for l in 0 .. {lanes} {{ {statement} }} }}")
    return kernel.body.body[0], {x.name: x for x in kernel.arrays}


@pytest.mark.parametrize(("name", "target"), IDIOMS, ids=lambda x: x)
def test_an_idiom_is_its_instruction(name, target):
    statement, lanes, wanted = IDIOMS[name, target]
    stores, _ = cover_strip(read_strip(*strip_of(statement, lanes)), extension_of(load_target(target)))
    called = {x.detail[0] for value, _, _ in stores for x in in_order([value]) if x.kind == "call"}
    assert called == wanted


def _sum(type_: str, addends: list[tuple[int, str]]) -> str:
    return " + ".join(f"{weight}:{type_} * {type_}(A[{place}])" for weight, place in addends)


FIVE = (2, 2, 4, 2, 2)
LONG = {
    "a column of five rows less another": (
        "u8", "B[0, l] = u8(min(max({s}, 0:i32 - ({s})), 255:i32))",
        [(x, f"{y}, l") for y, x in enumerate(FIVE)] + [(-x, f"{y}, l + 4") for y, x in enumerate(FIVE)],
    ),
    "a row of shorts less another": (
        "i16", "B[0, l] = i16({s} >> 2:i32)",
        [(x, f"0, l + {y}") for y, x in enumerate(FIVE)] + [(-x, f"4, l + {y}") for y, x in enumerate(FIVE)],
    ),
    "three rows": (
        "u8", "B[0, l] = u8({s} >> 5:i32)",
        [(x, f"{z}, l + {y}") for z in range(3) for y, x in enumerate(FIVE)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LONG)
def test_long_sums_over_several_rows_are_soon_covered(name):
    kind, statement, addends = LONG[name]
    body = statement.format(s=f"({_sum('i32', addends)})")
    lanes = 128 if kind == "u8" else 64
    kernel = parse_kernel(f"kernel k(n; A: {kind}[n, n], B: {kind}[n, n]) {{ for l in 0 .. {lanes} {{ {body} }} }}")
    strip = read_strip(kernel.body.body[0], {x.name: x for x in kernel.arrays})
    registers = extension_of(load_target("hexagon-hvx"))
    cover = cover_for(strip.body, registers)
    (out,) = strip.body.outputs
    assert cover.lanes.best(out.value, out.width).ways and cover.lanes.asked < 1_000
    stores, _ = cover_strip(strip, registers)
    assert stores


def test_a_strip_becomes_an_instruction_with_its_own_definition():
    found = select_strip(*strip_of(GREATEST, 32), extension_of(load_target("aarch64-neon"))).instruction
    assert found.lanes == 32
    assert found.template.count("vmaxq_u8") == 4
    assert {x.name for x in found.definition.arrays} == {"m0", "m1"}


def test_products_of_neighbours_are_covered_with_scalars_as_operands():
    statement = "C[l] = C[l] + i32(A[l]) * i32(x)"
    kernel = parse_kernel(f"kernel k(n; x: i16; A: i16[n], C: i32[n]) {{ for l in 0 .. 4 {{ {statement} }} }}")
    strip = read_strip(kernel.body.body[0], {x.name: x for x in kernel.arrays})
    stores, _ = cover_strip(strip, extension_of(load_target("aarch64-neon")))
    assert any(str(x.detail[0]).startswith("vmlal") for x in in_order([stores[0][0]]) if x.kind == "call")


def test_another_program_is_refuted_at_the_first_wrong_lane():
    body = read_body("(p: 128, q: 128) -> out: 128 { for i < 16 { out.u8[i] = p.u8[i] + q.u8[i] + 1 >> 1 } }")
    program = RegisterProgram()
    rows = [program.make("load", 128, (name, 0)) for name in "pq"]
    rounded, cut = (program.make("call", 128, (name, ()), rows) for name in ("vrhaddq_u8", "vhaddq_u8"))
    proof = Proof(body, "arm")
    assert proof.refuted(rounded, body.outputs[0], range(16)) is None
    assert proof.refuted(cut, body.outputs[0], range(16)) == 0


@pytest.mark.parametrize(
    "statement",
    [
        "B[l] = A[3 * l * l]",
        "B[2 * l] = A[l]",
        "B[l] = B[l + 1]",
        "A[l] = A[l] + B[l] B[l] = A[l + 1]",
    ],
)
def test_what_is_no_strip_is_refused(statement):
    with pytest.raises(NoCover):
        cover_strip(read_strip(*strip_of(statement, 16)), extension_of(load_target("aarch64-neon")))


@pytest.mark.parametrize(
    "value", ["select(A[l] > B[l], A[l + 1], A[l])", "select(A[l] > 3:u8 && A[l + 1] > 3:u8, A[l], B[l])"]
)
def test_what_is_read_under_a_condition_only_is_not_read_by_an_instruction(value):
    with pytest.raises(NoCover, match=r"`A\[l \+ 1\]` is read under a condition only"):
        read_strip(*strip_of(f"B[l] = {value}", 16))


def test_rows_are_summed_before_their_sums():
    """Of a window whose weights are a column times a row, each row is summed once: in 16 bits where the sums of these
    need 32, with the halves of one register unpacked for them."""
    weights = (21, 38, 21)
    taps = [f"{a * b}:i32 * i32(A[{y}, l + {x}])" for y, a in enumerate(weights) for x, b in enumerate(weights)]
    statement = f"for l in 0 .. 64 {{ B[0, l] = u8({' + '.join(taps)} >> 13:i32) }}"
    kernel = parse_kernel(f"kernel k(n; A: u8[n, n], B: u8[n, n]) {{ {statement} }}")
    strip = read_strip(kernel.body.body[0], {x.name: x for x in kernel.arrays})
    stores, _ = cover_strip(strip, extension_of(load_target("x86-avx512")))
    names = [str(x.detail[0]) for x in in_order([x for x, _, _ in stores]) if x.kind == "call"]
    assert any("maddubs" in x for x in names) and any(x.endswith(("dpwssd_epi32", "madd_epi16")) for x in names)
    assert "_mm512_mullo_epi32" not in names


def test_pairs_of_registers_are_used_by_halves() -> None:
    statement = "B[l] = u8(i32(A[l]) + 2:i32 * i32(A[l + 1]) + i32(A[l + 2]) + 2:i32 >> 2:i32)"
    stores, _ = cover_strip(read_strip(*strip_of(statement, 128)), extension_of(load_target("hexagon-hvx")))
    values = list(in_order([x for x, _, _ in stores]))
    pairs = {x for x in values if x.kind == "call" and x.bits == 2048}
    assert {y.detail for y in values if y.kind == "part"} == {(0,), (1024,)}
    assert len(pairs) < 4, "both halves are of the same pair"


def test_bits_that_an_instruction_does_not_define_are_no_zeros_and_no_other_ones():
    """Above a register that is cast to a wider one there is anything, each time that it is made."""
    program = RegisterProgram()
    row = program.make("load", 128, ("p", 0))
    wide = program.make("call", 256, ("_mm256_castsi128_si256", ()), (row,))
    again = program.make("call", 256, ("_mm256_castsi128_si256", ()), (program.make("load", 128, ("p", 128)),))
    difference = program.make("call", 256, ("_mm256_xor_si256", ()), (wide, again))
    zeros = read_body("(p: 256) -> out: 128 { for i < 16 { out.u8[i] = 0 } }")
    first = program.make("scalar", 8, (8, (const(1),)))
    proof = Proof(zeros, "x86")
    for value in (wide, difference):
        upper = program.make("call", 128, ("_mm256_extracti128_si256", ()), (value, first))
        assert proof.refuted(upper, zeros.outputs[0], range(16)) == 0


def test_what_is_read_at_places_that_depend_on_values_is_not_proven():
    program = RegisterProgram()
    moved = [program.make("call", 128, ("vqtbl1q_u8", ()), [program.make("load", 128, (x, 0)) for x in pair])
             for pair in ("pi", "qi")]  # fmt: skip
    difference = program.make("call", 128, ("veorq_u8", ()), moved)
    zeros = read_body("(p: 128, q: 128, i: 128) -> out: 128 { for l < 16 { out.u8[l] = 0 } }")
    with pytest.raises(NoCover, match="depends on values"):
        Proof(zeros, "arm").refuted(difference, zeros.outputs[0], range(16))


@pytest.mark.parametrize("statement", ["B[63 - l] = A[63 - l] + B[63 - l]", "B[126 - 2 * l] = A[l]"])
def test_lanes_that_go_down_are_no_strip(statement):
    with pytest.raises(NoCover, match="not written one after another"):
        cover_strip(read_strip(*strip_of(statement, 64)), extension_of(load_target("x86-avx512")))
