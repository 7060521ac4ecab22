"""Arm's page: what is read of it, operations that become definitions, and what is refused with a place."""

from __future__ import annotations

import pytest

from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.isa.collection import load_collection
from planish.isa.semantics.text import print_definition
from planish.isa.vendors.arm.bf16_moves import renamed_moves
from planish.isa.vendors.arm.entries import entry_of
from planish.isa.vendors.arm.grammar import parse_operation
from planish.isa.vendors.arm.page import ArmIntrinsic, read_page
from planish.isa.vendors.arm.translate import translate

ADD = """bits(datasize) operand1 = V[n];
bits(datasize) operand2 = V[m];
bits(datasize) result;
for e = 0 to elements-1
    if sub_op then
        Elem[result, e, esize] = Elem[operand1, e, esize] - Elem[operand2, e, esize];
    else
        Elem[result, e, esize] = Elem[operand1, e, esize] + Elem[operand2, e, esize];
V[d] = result;"""

LONG = """bits(datasize) operand1 = Vpart[n, part];
bits(datasize) operand2 = Vpart[m, part];
bits(2*datasize) result;
for e = 0 to elements-1
    Elem[result, e, 2*esize] = (Int(Elem[operand1, e, esize], unsigned)*Int(Elem[operand2, e, esize], unsigned))<2*esize-1:0>;
V[d] = result;"""  # noqa: E501

NARROW = """bits(2*datasize) operand = V[n];
bits(datasize) result;
boolean sat;
for e = 0 to elements-1
    (Elem[result, e, esize], sat) = SatQ(Int(Elem[operand, e, 2*esize], unsigned), esize, unsigned);
    if sat then FPSR.QC = '1';
Vpart[d, part] = result;"""


def _entry(instruction: str, operation: str, result: str, prepared: str, **parameters: str) -> ArmIntrinsic:
    given = tuple((kind, name) for name, kind in parameters.items())
    return ArmIntrinsic("vf", result, given, instruction, prepared, "Vd → result", operation, "A64", 1)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (_entry("ADD Vd.4H,Vn.4H,Vm.4H", ADD, "int16x4_t", "a → Vn.4H; b → Vm.4H", a="int16x4_t", b="int16x4_t"),
         "(a: 64, b: 64) -> dst: 64 { for i < 4 { dst.u16[i] = u16(a.u16[i] + b.u16[i]) } }"),
        (_entry("SUB Dd,Dn,Dm", ADD, "int64x1_t", "a → Dn; b → Dm", a="int64x1_t", b="int64x1_t"),
         "(a: 64, b: 64) -> dst: 64 { dst.u64[0] = u64(a.u64[0] + (-1)*b.u64[0]) }"),
        (_entry("UMULL2 Vd.4S,Vn.8H,Vm.8H", LONG, "uint32x4_t", "a → Vn.8H; b → Vm.8H", a="uint16x8_t", b="uint16x8_t"),
         "(a: 128, b: 128) -> dst: 128 { for i < 4 { dst.u32[i] = a.u16[i + 4] * b.u16[i + 4] } }"),
        (_entry("SMULL Vd.4S,Vn.4H,Vm.H[lane]", LONG, "int32x4_t", "a → Vn.4H; v → Vm.4H; 0 << lane << 3",
                a="int16x4_t", v="int16x4_t", lane="const int"),
         "(a: 64, v: 64, lane: 8 immediate) -> dst: 128 "
         "{ for i < 4 { dst.u32[i] = u32(a.s16[i] * v.s16[lane.u8[0]]) } }"),
        (_entry("SQXTN2 Vd.16B,Vn.8H", NARROW, "int8x16_t", "r → Vd.8B; a → Vn.8H", r="int8x8_t", a="int16x8_t"),
         "(r: 64, a: 128) -> dst: 128 { dst.u64[0] = r.u64[0] for i < 8 { dst.u8[i + 8] = u8(sat_s8(a.s16[i])) } }"),
    ],
)  # fmt: skip
def test_operations_become_nests(entry: ArmIntrinsic, text: str) -> None:
    assert print_definition(translate(entry)) == text


@pytest.mark.parametrize(
    ("name", "result", "kind", "made"),
    [
        ("vld1_lane_u16", "uint16x4_t", "uint16_t const *", {"vld1_lane_bf16": "bfloat16_t const *"}),
        ("vst3q_u16", "void", "uint16x8x3_t", {"vst3q_bf16": "bfloat16x8x3_t"}),
        ("vset_lane_u16", "uint16x4_t", "uint16_t", {"vset_lane_bf16": "bfloat16_t", "vset_lane_f16": "float16_t"}),
        ("vreinterpret_u16_u32", "uint16x4_t", "uint32x2_t", {"vreinterpret_bf16_u32": "uint32x2_t"}),
        ("vreinterpret_u16_s16", "uint16x4_t", "int16x4_t",
         {"vreinterpret_bf16_s16": "int16x4_t", "vreinterpret_u16_bf16": "bfloat16x4_t"}),
        ("vadd_u16", "uint16x4_t", "uint16x4_t", {}),
        ("vreinterpret_s8_s16", "int8x8_t", "int16x4_t", {}),
    ],
)  # fmt: skip
def test_moves_of_other_elements_are_named_after_whole_numbers(
    name: str, result: str, kind: str, made: dict[str, str]
) -> None:
    given = ArmIntrinsic(name, result, ((kind, "a"),), "", "", "", "", "A64", 1)
    assert {x.name: x.parameters[0][0] for x in renamed_moves([given])} == made


def test_nothing_of_neon_is_left_out() -> None:
    shipped = load_collection("arm")
    assert {x.status for x in shipped} == {"verified"}
    names = {x.name for x in shipped}
    assert {"vld4q_lane_bf16", "vreinterpretq_f64_bf16", "vset_lane_f16", "vsha256hq_u32", "vrsqrte_u32"} <= names


def test_several_instructions_fill_a_structure() -> None:
    operation = """bits(datasize) operand1 = V[n];
bits(datasize) operand2 = V[m];
bits(datasize) result;
for p = 0 to pairs-1
    Elem[result, 2*p+0, esize] = Elem[operand1, 2*p+part, esize];
    Elem[result, 2*p+1, esize] = Elem[operand2, 2*p+part, esize];
V[d] = result;"""
    lines = "TRN1 Vd1.2S,Vn.2S,Vm.2S\nTRN2 Vd2.2S,Vn.2S,Vm.2S"
    entry = _entry(lines, operation, "int32x2x2_t", "a → Vn.2S; b → Vm.2S", a="int32x2_t", b="int32x2_t")
    text = "for i < 2 { dst.u32[2*i] = a.u32[i] dst.u32[2*i + 1] = b.u32[i] }"
    assert text in print_definition(translate(entry))


@pytest.mark.parametrize(
    ("operation", "what"),
    [
        ("x = (a;", "`)` is missing"),
        ("x = @;", "`@` is no part of an operation"),
        ("x = " + "(" * 500 + "a" + ")" * 500 + ";", "too deep"),
        ("x = " + "9" * 500 + ";", "more than 80 digits"),
        ("x = 1", "`;` is missing at the end of the line"),
    ],
)
def test_operations_are_refused_with_their_line(operation: str, what: str) -> None:
    with pytest.raises(PlanishError, match="E0651") as caught:
        parse_operation("y = 1;\n" + operation, Source("page.html", "\n" * 9), 3)
    assert what in str(caught.value)
    assert "page.html:4" in str(caught.value)


def test_what_is_not_understood_is_refused_with_a_reason() -> None:
    c = ("int8x8_t", "a → Vn.8B")
    loop = _entry("X Vd.8B,Vn.8B", "for e = 0 to 99999999\n    y = e;\nV[d] = y;", *c, a="int8x8_t")
    assert entry_of(loop, None).reason == "it takes more than 20000 steps"
    unknown = entry_of(_entry("X Vd.8B,Vn.8B", "V[d] = F(V[n]);", *c, a="int8x8_t"), None)
    assert (unknown.status, unknown.reason) == ("refused", "the function `F` is not known")


def test_a_file_that_is_no_page_is_refused() -> None:
    with pytest.raises(PlanishError, match="E0650"):
        read_page(Source("page.html", "<html><body>" + "<div>" * 5000))
