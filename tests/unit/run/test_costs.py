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
from planish.run.toolchain import find_compilers


@pytest.mark.parametrize(("isa", "least"), [("x86", 4500), ("arm", 3000)])
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
    assert load_costs("hvx") is None


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


def test_of_hvx_there_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["isa", "costs", "--isa", "hvx", "-o", str(tmp_path)]) == 1
    assert "E0660" in capsys.readouterr().err
