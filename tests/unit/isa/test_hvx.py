"""Hexagon's semantics: what is read of the list, statements of C that become definitions, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.isa.collection import load_collection
from planish.isa.vendors.hvx.entries import entry_of
from planish.isa.vendors.hvx.intrinsics import HEADER, intrinsic_of
from planish.isa.vendors.hvx.listing import ListedInstruction, read_listing


@pytest.mark.parametrize(
    ("syntax", "body", "text"),
    [
        ("Vd32.h=vadd(Vu32.h,Vv32.h):sat",
         "{ fHIDE(int i;) fVFOREACH(16, i) { VdV.h[i] = fVSADDSAT(16, VuV.h[i], VvV.h[i]); } }",
         "(Vu: 1024, Vv: 1024) -> dst: 1024 { for i < 64 { dst.u16[i] = u16(sat_s16(Vu.s16[i] + Vv.s16[i])) } }"),
        ("Vx32.w+=vrmpy(Vu32.ub,Vv32.b)",
         "{ fHIDE(int i;) fVFOREACH(32, i) { VxV.w[i] += fMPY8US(fGETUBYTE(0,VuV.uw[i]), fGETBYTE(0,VvV.w[i])); "
         "VxV.w[i] += fMPY8US(fGETUBYTE(1,VuV.uw[i]), fGETBYTE(1,VvV.w[i])); } }",
         "(Vx: 1024, Vu: 1024, Vv: 1024) -> dst: 1024 "
         "{ for i < 32 { dst.u32[i] = u32(Vx.u32[i] + sum(q < 2: Vu.u8[q + 4*i] * Vv.s8[q + 4*i])) } }"),
        ("Qd4=vcmp.gt(Vu32.b,Vv32.b)",
         "{ for(fHIDE(int) i = 0; i < fVBYTES(); i += 1) "
         "{ fSETQBITS(QdV,1,0x1,i,((VuV.b[i] > VvV.b[i]) ? 0x1 : 0)); } }",
         "(Vu: 1024, Vv: 1024) -> dst: 1024 { for i < 128 { dst.u8[i] = select(Vv.s8[i] < Vu.s8[i], 255, 0) } }"),
        ("Vd32=vmux(Qt4,Vu32,Vv32)",
         "{ fHIDE(int i;) fVFOREACH(8, i) { VdV.ub[i] = fGETQBIT(QtV,i) ? VuV.ub[i] : VvV.ub[i]; } }",
         "(Qt: 1024, Vu: 1024, Vv: 1024) -> dst: 1024 "
         "{ for i < 128 { dst.u8[i] = select(Qt.u8[i] == 0, Vv.u8[i], Vu.u8[i]) } }"),
        ("if (Ps4) Vd32=Vu32", "{ if (fLSBOLD(PsV)) { VdV = VuV; } else { CANCEL; } }",
         "(Vd: 1024, Ps: 32, Vu: 1024) -> dst: 1024 { dst.u1024[0] = select(Ps.u1[0], Vu.u1024[0], Vd.u1024[0]) }"),
        ("Vd32=vmem(Rt32+#s4)", "", "(Rt: 1024 memory) -> dst: 1024 { dst.u1024[0] = Rt.u1024[0] }"),
        ("if (!Pv4) vmem(Rt32+#s4)=Vs32", "",
         "(Pv: 32, Rt: 1024 memory, Vs: 1024) { Rt.u1024[0] = Vs.u1024[0] if !Pv.u1[0] }"),
    ],
)  # fmt: skip
def test_semantics_become_nests(syntax: str, body: str, text: str) -> None:
    (given,) = read_listing(Source("list", f'@@V6_x@@"{syntax}"@@{body}@@'))
    entry = entry_of(given)
    assert entry.reason == ""
    assert entry.text == text


@pytest.mark.parametrize(
    ("syntax", "body", "reason"),
    [
        ("Vd32=x(Vu32)", "{ VdV = f(VuV); }", "the macro `f` is not known"),
        ("Vd32=x(Vu32)", "{ for (;;) ; }", "an expression of the kind NoneType"),
        ("Vd32=x(Vu32)", "{ int i; for (i = 0; i < 1000000; i++) ; }", "30000 steps"),
        ("Vd32=x(Vu32)", "{ @ }", "its C cannot be read"),
        ("vhist(Vu32)", "{ }", "it has no results"),
        ("Vd32,Qe4=x(Vu32)", "{ }", "it has 2 results"),
        ("Vd32=x(Vu32)", "{ EA = 1; }", "it loads or stores"),
    ],
)
def test_what_is_not_understood_is_refused_with_a_reason(syntax: str, body: str, reason: str) -> None:
    entry = entry_of(ListedInstruction("V6_x", syntax, body))
    assert entry.status == "refused"
    assert reason in entry.reason


def test_a_text_that_is_no_list_is_refused() -> None:
    with pytest.raises(PlanishError, match="E0650"):
        read_listing(Source("list", "nothing"))


def test_intrinsics_have_the_names_that_clang_gives_them() -> None:
    roots = (Path("/usr/lib"), Path("/usr/local/lib"), Path("/opt"))
    places = [x for root in roots for x in root.glob(f"llvm*/lib/clang/*/include/{HEADER}")]
    if not places:
        pytest.skip(f"there is no {HEADER} here")
    text = max(places).read_text()
    known = dict(re.findall(r"#define (Q6_\w+)\([^)]*\) (.*)", text))
    found = {x.name: y for x in load_collection("hvx") if x.status == "verified" and (y := intrinsic_of(x.mnemonic))}
    assert len(found) > 300
    assert {x: y for x, y in found.items() if f"HEXAGON_{x})" not in known.get(y, "")} == {}
