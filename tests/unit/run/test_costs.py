"""What instructions cost: tables that are shipped, and the same asked of LLVM again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from planish.cli import main
from planish.core.diagnostic import PlanishError
from planish.isa.collection import load_collection
from planish.isa.costs.tables import PROCESSORS, Costs, load_costs
from planish.run.instructions import costs as reading
from planish.run.instructions.costs import read_costs
from planish.run.processes.process import Limits, run_process
from planish.run.toolchains.toolchain import find_compilers


@pytest.mark.parametrize(("isa", "least"), [("x86", 4500), ("arm", 3000), ("hvx", 391)])
def test_most_instructions_have_costs(isa: str, least: int) -> None:
    known = load_costs(isa)
    assert known is not None
    assert len(known.records) >= least
    names = set(load_collection(isa).records)
    for name in known.records:
        assert name in names
        for processor, cost in known.of(name).items():
            assert processor in PROCESSORS[isa]
            assert cost.operations >= 0
            assert cost.latency >= 0
            assert 0 <= cost.throughput < 300


def test_a_processor_has_no_costs_of_what_it_has_not() -> None:
    known = load_costs("x86")
    assert known is not None
    assert set(known.of("_mm512_dpbusd_epi32")) == {"znver4", "icelake-server"}
    hexagon = load_costs("hvx")
    assert hexagon is not None
    assert set(hexagon.of("V6_vaddb")) == {"hexagonv60", "hexagonv66", "hexagonv68", "hexagonv73"}
    assert set(hexagon.of("V6_vrotr")) == {"hexagonv66", "hexagonv68", "hexagonv73"}


def test_they_are_the_same_when_asked_again() -> None:
    if not any(x.kind == "clang" for x in find_compilers()) or shutil.which("llvm-mca-19") is None:
        pytest.skip("no clang and llvm-mca here")
    for isa, names in (("x86", ("_mm_add_epi8", "_mm256_fmadd_ps")), ("arm", ("vfmaq_f32", "vdotq_s32"))):
        shipped = load_costs(isa)
        assert shipped is not None
        entries = [load_collection(isa).entry(x) for x in names]
        found = read_costs(entries, isa)
        if found.source != shipped.source:
            pytest.skip(f"{found.source} is another version than {shipped.source}")
        assert {x: found.of(x) for x in names} == {x: shipped.of(x) for x in names}
        assert Costs.unpacked(found.packed()) == found


def test_without_clang_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "find_compilers", lambda: ())
    with pytest.raises(PlanishError) as told:
        read_costs([], "x86")
    assert told.value.diagnostic.code == "E0660"


_TIMINGS = """class DepHVXItinV66 {
  InstrItinData <tc_any, /*any unit*/ [InstrStage<1, [SLOT0, SLOT1, SLOT2, SLOT3], 0>,
    InstrStage<1, [CVI_MPY0, CVI_MPY1, CVI_SHIFT, CVI_XLANE]>], [9, 7, 7], [HVX_FWD, HVX_FWD, HVX_FWD]>,
  InstrItinData <tc_both, [InstrStage<1, [SLOT2], 0>, InstrStage<1, [CVI_MPY01]>], [9, 5, 2],
    [HVX_FWD, HVX_FWD, Hex_FWD]> ]; }
class DepHVXItinV73 {
  InstrItinData <tc_both, [InstrStage<1, [CVI_XLSHF, CVI_MPY01]>], [9, 5, 2], [HVX_FWD, HVX_FWD, Hex_FWD]> ]; }
"""
_DEFINED = """def V6_vaddb : HInst<
(outs HvxVR:$Vd32),
(ins HvxVR:$Vu32, HvxVR:$Vv32), "", tc_any, TypeCVI_VA>, Requires<[UseHVXV60]> {
}
def V6_vmpyihb : HInst<
(outs HvxVR:$Vd32),
(ins HvxVR:$Vu32, IntRegs:$Rt32), "", tc_both, TypeCVI_VX>, Requires<[UseHVXV66]> {
}
"""


def test_of_hexagon_they_are_read_from_the_description_of_llvm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "HexagonDepIICHVX.td").write_text(_TIMINGS)
    (tmp_path / "HexagonDepInstrInfo.td").write_text(_DEFINED)
    assert main(["isa", "costs", "--isa", "hvx", "--hexagon", str(tmp_path), "-o", str(tmp_path / "costs")]) == 0
    assert "2 of 391" in capsys.readouterr().out
    found = Costs.unpacked((tmp_path / "costs" / "hvx.json.gz").read_bytes())
    one, both = found.of("V6_vaddb"), found.of("V6_vmpyihb")
    assert {x: (y.latency, y.throughput) for x, y in one.items()} == {"hexagonv66": (1, 0.25)}
    assert {x: (y.latency, y.throughput) for x, y in both.items()} == {"hexagonv66": (2, 1), "hexagonv73": (2, 0.5)}
    assert dict(both["hexagonv66"].ports) == {"SLOT2": 1, "MPY0": 1, "MPY1": 1}
    assert dict(both["hexagonv73"].ports) == dict.fromkeys(("MPY0", "MPY1", "SHIFT", "XLANE"), 0.5)


@pytest.mark.parametrize(
    ("timings", "code"), [(None, "E0101"), ("class Nothing {}", "E0660"), ("[<" * 100_000, "E0660")]
)
def test_without_that_description_it_is_told(
    timings: str | None, code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if timings is not None:
        (tmp_path / "HexagonDepIICHVX.td").write_text(timings)
        (tmp_path / "HexagonDepInstrInfo.td").write_text(_DEFINED)
    assert main(["isa", "costs", "--isa", "hvx", "--hexagon", str(tmp_path), "-o", str(tmp_path / "costs")]) == 1
    assert code in capsys.readouterr().err


_PACKETS = {
    "V6_vaddb": "v{0}.b = vadd(v10.b,v11.b)", "V6_vasrw": "v{0}.w = vasr(v10.w,r0)", "V6_vror": "v{0} = vror(v10,r0)",
    "V6_vmpyiwub": "v{0}.w = vmpyi(v10.w,r0.ub)", "V6_vaddb_dv": "v{1}.b = vadd(v11:10.b,v13:12.b)",
}  # fmt: skip


@pytest.mark.skipif(shutil.which("llvm-mc-19") is None, reason="no llvm-mc-19 here")
@pytest.mark.parametrize("name", _PACKETS)
def test_the_assembler_takes_as_many_in_a_packet(name: str, tmp_path: Path) -> None:
    known = load_costs("hvx")
    assert known is not None
    most = round(1 / known.of(name)["hexagonv66"].throughput)
    for count in (most, most + 1):
        lines = [_PACKETS[name].format(x, f"{2 * x + 1}:{2 * x}") for x in range(count)]
        source = tmp_path / "packet.s"
        source.write_text("{ " + "\n".join(lines) + " }\n")
        command = ["llvm-mc-19", "-triple=hexagon", "-mcpu=hexagonv66", "-mattr=+hvxv66,+hvx-length128b"]
        finished = run_process([*command, "-filetype=obj", str(source), "-o", str(tmp_path / "o")], Limits(seconds=60))
        assert (finished.code == 0) == (count == most), finished.stderr


def test_a_machine_names_the_processor_whose_costs_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["isa", "show", "_mm_add_epi8", "--target", "x86-avx512"]) == 0
    told = capsys.readouterr().out
    assert "Ice Lake: 1 micro-operation" in told
    assert "Zen 4" not in told
