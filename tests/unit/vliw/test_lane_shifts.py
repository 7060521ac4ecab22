"""Vectors that are shifted together from neighbours: where loads take the time, and never past a store."""

from __future__ import annotations

import pytest

from planish.build.packets import build_packets
from planish.core.span import Source
from planish.options import Options
from planish.vliw.description import load_machine
from planish.vliw.program import Instr, Loop
from planish.vliw.streams.lane_shifts import shift_lanes
from planish.vliw.text import parse_program

CORRELATED = """
void f(const {0} *restrict a, const {0} *restrict b, {0} r[restrict 128]) {{
    for (int k = 0; k < 128; k++) {{
        {0} sum = 0;
        for (int i = 0; i < 200; i++) sum += {1};
        r[k] = sum;
    }}
}}
"""
KERNELS = {
    "int": CORRELATED.format("int", "a[i] * b[i + k]"),
    "double": CORRELATED.format("double", "b[k + i] * a[199 - i]"),
    "a filter": """
void f(const float *restrict x, const float h[restrict 90], float y[restrict 500]) {
    for (int i = 0; i < 500; i++) {
        y[i] = 0;
        for (int t = 0; t < 90; t++) y[i] += h[89 - t] * x[t + i + 3];
    }
}
""",
}


@pytest.mark.parametrize("name", KERNELS)
def test_sums_of_neighbours_are_shifted_and_right(name: str) -> None:
    machine = load_machine("ftmatrix")
    (made,) = build_packets(Source("f.c", KERNELS[name]), Options(), machine)
    assert made.planned is not None and made.message == ""
    issued = [x.instr.operation for packet in made.planned.packed.code.packets for x in packet]
    assert any(x.startswith("VSHIFT") for x in issued)


@pytest.mark.parametrize(("stored", "shifts"), [("y", 2), ("x", 0)])
def test_what_is_stored_to_in_the_loop_is_loaded(stored: str, shifts: int) -> None:
    machine = load_machine("ftmatrix")
    lines = ["program p on ftmatrix", "param x: AR.x in AM", "param y: AR.y in AM", "loop k 9 {"]
    for n, at in enumerate((0, 128, 4, 132, 136, 8, 12)):
        lines.append(f"VLDW V.v{n}, *AR.x[{at}] @x.k[{at}:{at + 128} +128]")
    lines += [f"VSTW *AR.{stored}[0]++128, V.v2 @{stored}.k[0:128 +128]", "}"]
    program = shift_lanes(parse_program(Source("p.sa", "\n".join(lines)), machine), machine)
    (loop,) = program.body
    assert isinstance(loop, Loop)
    assert sum(isinstance(x, Instr) and x.operation == "VSHIFT" for x in loop.body) == shifts
