"""Instructions from Python: those that come with planish, and a user's own, in a schedule that runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import planish
from planish import f32
from planish.schedule.steps.buffers import StageMem
from planish.schedule.steps.instructions import Replace
from planish.schedule.steps.kernels import Assume
from planish.schedule.steps.loops import Split
from planish.schedule.steps.storage import SetMemory

SCALE = """
void scale(int n, const float *a, float *restrict b) {
  for (int i = 0; i < n; i++)
    b[i] = a[i] + a[i];
}
"""


@planish.instr("planish_copy4({d}, {s});")
def copy4(d: f32[4], s: f32[4]) -> None:
    for lane in range(4):
        d[lane] = s[lane]


@planish.instr("for (int t = 0; t < 4; t++) ({d})[t] = ({s})[t] + ({s})[t];")
def double4(d: f32[4], s: f32[4]) -> None:
    for lane in range(4):
        d[lane] = s[lane] + s[lane]


def test_the_shipped_ones_are_listed_by_extension() -> None:
    assert "avx512_load_f32" in planish.instructions("avx512")
    assert "neon_fmadd_lane_f32" in planish.instructions("neon")
    assert len(planish.instructions()) > 150


def test_an_instruction_of_ones_own_runs(tmp_path: Path) -> None:
    program = planish.program(SCALE, instructions=[double4])
    program = program.apply(Assume("n % 4 == 0"), Split("i", 4, ("o", "l"), "perfect"), Replace("l", "double4"))
    run = planish.compile(SCALE, script=program, cache=planish.Cache(tmp_path))
    assert "t < 4" in run.source and run.report.account.version == "script"
    for n in (0, 4, 20, 21):
        a, b = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
        run(n, a, b)
        assert (b == 2 * a).all()


def test_what_it_does_is_compared_with_its_definition() -> None:
    program = planish.program(SCALE, instructions=[copy4]).apply(Assume("n % 4 == 0"))
    program = program.apply(Split("i", 4, ("o", "l"), "perfect"))
    with pytest.raises(planish.PlanishError, match="E0632"):
        program.apply(Replace("l", "copy4"))


def test_a_wrong_declaration_is_refused() -> None:
    with pytest.raises(planish.PlanishError, match="E0630.*`x`, which is no operand"):

        @planish.instr("{d} = {x};")
        def wrong(d: f32[4]) -> None:
            for lane in range(4):
                d[lane] = 0.0

    with pytest.raises(planish.PlanishError, match="E0633"):

        @planish.instr("{d} = zero();", memory={"d": "vmm"})
        def nowhere(d: f32[4]) -> None:
            for lane in range(4):
                d[lane] = 0.0


def test_registers_are_left_to_instructions() -> None:
    program = planish.program(SCALE).apply(Assume("n % 16 == 0"), Split("i", 16, ("o", "l"), "perfect"))
    program = program.apply(StageMem("l", "a", "r"), SetMemory("r: _", "zmm"))
    run = planish.compile(SCALE, script=program)
    assert not run.report.transformed
    assert any("E0711" in reason or "touches lanes" in reason for reason in run.report.account.reasons)
