"""SVE is defined for registers of any length, and run at several of them; what is wrong at one of these is left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from planish.core.cache import Cache
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.isa.collection import load_collection
from planish.isa.instruction_file import read_instructions
from planish.isa.semantics.evaluate import evaluate
from planish.isa.semantics.scalable import at_length
from planish.isa.semantics.text import parse_definition
from planish.isa.vendors.specification import Specification
from planish.isa.vendors.sve.entries import sve_entries
from planish.run.instructions.learn import learn
from planish.run.instructions.machines import sve_machines

CHOSEN = ("svadd_s32_z", "svmulh_u8_m", "svcmplt_f32", "svld1_s16", "svst1_f64", "svwhilelt_b16_s64", "svaddv_u8",
          "svzip2_f16", "svindex_s64", "svasr_s8_x", "svmsb_f32_m")  # fmt: skip


def test_what_ships_is_what_is_defined() -> None:
    shipped = load_collection("sve")
    assert {x.name: x.text for x in shipped} == {x.name: x.text for x in sve_entries().values()}
    assert sum(x.status == "verified" for x in shipped) == len(shipped) > 1000


@pytest.mark.parametrize("length", [128, 384, 2048])
def test_lanes_are_as_many_as_registers_have(length: int) -> None:
    definition = parse_definition(at_length(sve_entries()["svadd_s16_z"].text, length))
    count = length // 16
    one, other = np.arange(count, dtype=np.int16), np.full(count, 32767, np.int16)
    there = np.zeros(length // 8, np.uint8)
    there[::4] = 1
    given = {"pg": np.packbits(there, bitorder="little")[None], "op1": one.view(np.uint8)[None],
             "op2": other.view(np.uint8)[None]}  # fmt: skip
    with np.errstate(over="ignore"):
        wanted = np.where(np.arange(count) % 2 == 0, one + other, 0)
    assert np.array_equal(evaluate(definition, given).result.view(np.int16)[0], wanted)


def _opened(path: str) -> Specification:
    known = {x: sve_entries()[x] for x in CHOSEN}
    # Right for registers of 128 bits, and wrong for longer ones.
    text = known["svaddv_u8"].text.replace("q < VL/8", "q < 16")
    known["svaddv_s8"] = replace(known["svaddv_u8"], name="svaddv_s8", text=text.replace("op.u8", "op.s8"))
    return Specification("some", {x: repr(y.plain()) for x, y in known.items()}, known.__getitem__)


@pytest.mark.skipif(not sve_machines(), reason="no compiler or emulator for SVE")
def test_they_are_run_at_several_lengths(tmp_path: Path) -> None:
    store = Cache(tmp_path)
    found = learn("sve", _opened, "", sve_machines(), lambda _: None, store, lambda *_: None)
    assert {x.name for x in found if x.status == "verified"} == set(CHOSEN)
    assert found.entry("svaddv_s8").status == "excluded"
    assert "SVE of" in found.entry("svaddv_s8").reason
    assert found.entry("svadd_s32_z").text == sve_entries()["svadd_s32_z"].text


def test_schedules_do_not_take_them() -> None:
    text = "memory sve 256 bits 32 registers: i32 svint32_t\nfrom sve: SVE\n"
    with pytest.raises(PlanishError, match="no known length"):
        read_instructions(Source("own.isa", text))
