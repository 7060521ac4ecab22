"""Intel's data: what is read of a file, operations that become definitions, and what is refused with a place."""

from __future__ import annotations

import numpy as np
import pytest

from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.isa.collection import load_collection
from planish.isa.semantics.evaluate import evaluate
from planish.isa.semantics.text import print_definition
from planish.isa.vendors.symbolic_state import Unreadable
from planish.isa.vendors.x86.data import IntelIntrinsic, IntelParameter, read_listing
from planish.isa.vendors.x86.grammar import parse_operation
from planish.isa.vendors.x86.translate import translate


def _entry(operation: str, kind: str = "UI8", width: int = 128, instruction: str = "") -> IntelIntrinsic:
    parameters = tuple(IntelParameter(f"__m{width}i", x, kind) for x in "ab")
    result = IntelParameter(f"__m{width}i", "dst", kind)
    return IntelIntrinsic("_f", "SSE2", ("SSE2",), "", result, parameters, operation, 1, instruction)


@pytest.mark.parametrize(
    ("operation", "kind", "body"),
    [
        ("FOR j := 0 to 15\ni := j*8\ndst[i+7:i] := a[i+7:i] + b[i+7:i]\nENDFOR", "UI8",
         "for i < 16 { dst.u8[i] = u8(a.u8[i] + b.u8[i]) }"),
        ("FOR j := 0 to 15\ni := j*8\ndst[i+7:i] := (a[i+7:i] > b[i+7:i]) ? 0xFF : 0\nENDFOR", "SI8",
         "for i < 16 { dst.u8[i] = select(b.s8[i] < a.s8[i], 255, 0) }"),
        ("FOR j := 0 to 3\ni := j*32\ndst[i+31:i] := SignExtend32(a[i+31:i+16]*b[i+31:i+16]) + "
         "SignExtend32(a[i+15:i]*b[i+15:i])\nENDFOR", "SI16",
         "for i < 4 { dst.u32[i] = u32(sum(q < 2: a.s16[q + 2*i] * b.s16[q + 2*i])) }"),
        ("dst[63:0] := a[63:0]\ndst[127:64] := b[63:0]", "UI64", "dst.u64[0] = a.u64[0] dst.u64[1] = b.u64[0]"),
    ],
)  # fmt: skip
def test_operations_become_nests(operation: str, kind: str, body: str) -> None:
    text = print_definition(translate(_entry(operation, kind), overrides=()))
    assert text == f"(a: 128, b: 128) -> dst: 128 {{ {body} }}"


def test_cases_become_one_read() -> None:
    operation = """DEFINE SELECT4(src, control) {
	CASE(control[1:0]) OF
	0:	tmp[31:0] := src[31:0]
	1:	tmp[31:0] := src[63:32]
	2:	tmp[31:0] := src[95:64]
	3:	tmp[31:0] := src[127:96]
	ESAC
	RETURN tmp[31:0]
}
FOR j := 0 to 3
	dst.dword[j] := SELECT4(a[127:0], b[2*j+1:2*j])
ENDFOR"""
    text = print_definition(translate(_entry(operation, "UI32"), overrides=()))
    assert "dst.u32[i] = a.u32[b.u2[i]]" in text


def test_tiles_are_rows_that_are_changed_in_place() -> None:
    tiles = tuple(IntelParameter("__tile", x, "") for x in ("dst", "a"))
    operation = """FOR m := 0 TO dst.rows - 1
	tmp := dst.row[m]
	FOR n := 0 TO (dst.colsb / 4) - 1
		tmp.dword[n] := tmp.dword[n] + a.row[n].dword[m]
	ENDFOR
	dst.row[m] := tmp
ENDFOR"""
    entry = IntelIntrinsic("_tile_x", "AMX", ("AMXINT8",), "", IntelParameter("void", "", ""), tiles, operation, 1)
    assert print_definition(translate(entry, overrides=())) == (
        "(dst: 8192, a: 8192) -> out: 8192 { for j < 16 { for i < 16 "
        "{ out.u32[16*j + i] = u32(dst.u32[16*j + i] + a.u32[j + 16*i]) } } }"
    )


def test_products_of_tiles_are_products_of_matrices() -> None:
    entry = next(x for x in load_collection("x86") if x.name == "_tile_dpbusd")
    assert (entry.status, "AMX" in entry.reason) == ("unproven", True)
    chance = np.random.default_rng(1)
    total = chance.integers(-(2**31), 2**31, (16, 16)).astype(np.int32)
    a, b = chance.integers(0, 256, (16, 64)).astype(np.uint8), chance.integers(-128, 128, (16, 64)).astype(np.int8)
    given = {name: x.reshape(1, -1).view(np.uint8) for name, x in (("dst", total), ("a", a), ("b", b))}
    found = evaluate(entry.definition, given).result.view(np.int32).reshape(16, 16)
    # Four rows of the second factor lie beside each other in one of the tile's.
    factor = b.reshape(16, 16, 4).swapaxes(1, 2).reshape(64, 16)
    product = a.astype(np.int64) @ factor.astype(np.int64)
    assert np.array_equal(found, (total + product).astype(np.int32))


def test_products_of_fused_instructions_are_rounded_once() -> None:
    entry = _entry("dst[31:0] := (a[31:0] * b[31:0]) + a[31:0]", "FP32", instruction="VFMADD132SS")
    assert "fma.f32(a.u32[0], b.u32[0], a.u32[0], 4)" in print_definition(translate(entry, overrides=()))


@pytest.mark.parametrize(
    "operation",
    ["dst := FROB(a)", "dst[7:0] := nowhere", "DO WHILE a[0] == 0\na := a >> 1\nOD\ndst := a",
     "FOR j := 0 to b\nENDFOR",
     "DEFINE F(x) {\nRETURN F(x)\n}\ndst := F(a)", "DO WHILE 1\ni := 1\nOD", ""],
)  # fmt: skip
def test_what_cannot_be_run_is_unreadable(operation: str) -> None:
    with pytest.raises(Unreadable):
        translate(_entry(operation), overrides=())


@pytest.mark.parametrize(
    ("operation", "line", "what"),
    [
        ("dst := (a\n", 1, "`)` is missing before the end of the line"),
        ("x := 1\nIF a\ndst := b\n", 4, "`FI` is missing"),
        ("dst := @", 1, "`@` is no part of an operation"),
        ("(" * 500 + "a" + ")" * 500, 1, "deep in one another"),
        ("IF a\n" * 500, 59, "deep in one another"),
        ("dst := " + "9" * 500, 1, "more than 300 digits"),
    ],
)
def test_operations_are_refused_with_their_line(operation: str, line: int, what: str) -> None:
    with pytest.raises(PlanishError, match="E0651") as caught:
        parse_operation(operation, Source("data.xml", ""), 1)
    assert what in str(caught.value)
    span = caught.value.diagnostic.span
    assert span is not None
    assert span.line == line


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "this is no XML"),
        ("<a></a>", "no intrinsic stands in this file"),
        ("<a><b></a>", "mismatched tag"),
        ("<intrinsics_list><intrinsic/></intrinsics_list>", "without a name"),
        ('<!DOCTYPE a [<!ENTITY x "y"><!ENTITY z "&x;&x;">]><a>&z;</a>', "declares no entities"),
        ("<a>" * 50, "deep in one another"),
        ('<a><intrinsic name="f"><parameter type="int" memwidth="9999999999"/></intrinsic></a>', "no number of bits"),
    ],
)
def test_files_that_are_no_listing(text: str, what: str) -> None:
    with pytest.raises(PlanishError, match="E0650") as caught:
        read_listing(Source("data.xml", text))
    assert what in str(caught.value)
