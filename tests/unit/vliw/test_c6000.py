"""A third machine by its file alone: packets with delay slots, and text that the GNU assembler for it accepts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from planish.ir.text.parser import parse_kernel
from planish.vliw.assembly import print_assembly
from planish.vliw.description import load_machine
from planish.vliw.streams.oracle import check_code, draw_values
from planish.vliw.streams.plan import plan_scalar

MACHINE = load_machine("c6000")
ASSEMBLER = shutil.which("tic6x-elf-as")
KERNELS = {
    "dot": "(n; s: i32[], x: i32[n], y: i32[n]) { for i in 0 .. n { s[] += x[i] * y[i] } }",
    "saxpy": "(n; a: i32, x: i32[n], y: i32[n]) { for i in 0 .. n { y[i] += a * x[i] } }",
    "saxpy_float": "(n; a: f32, x: f32[n], y: f32[n]) { for i in 0 .. n { y[i] += a * x[i] } }",
    "fir": "(n; x: i32[n + 8], h: i32[8], y: i32[n]) "
    "{ for i in 0 .. n { y[i] = 0:i32 for k in 0 .. 8 { y[i] += h[k] * x[i + k] } } }",
    "stencil": "(n; x: i32[n + 2], y: i32[n]) { for i in 0 .. n { y[i] = x[i] + 2:i32 * x[i + 1] + x[i + 2] } }",
    "largest": "(n; m: i32[], x: i32[n]) { for i in 0 .. n { m[] max= x[i] } }",
    "shifts": "(n; x: i32[n], y: i32[n]) { for i in 0 .. n { y[i] = x[i] >> 3:i32 ^ x[i] } }",
    "bytes": "(n; x: i8[n], y: i8[n]) { for i in 0 .. n { y[i] = i8(i32(x[i]) + 1:i32) } }",
    "halves": "(n; x: i16[n], y: i32[n]) { for i in 0 .. n { y[i] = i32(x[i]) * i32(x[i]) } }",
    "running": "(n; s: i32[], x: i32[n], y: i32[n]) { for i in 0 .. n { s[] += x[i] y[i] = s[] } }",
    "matmul": "(a: i32[4, 4], b: i32[4, 4], c: i32[4, 4]) "
    "{ for i in 0 .. 4 { for j in 0 .. 4 { c[i, j] = 0:i32 for k in 0 .. 4 { c[i, j] += a[i, k] * b[k, j] } } } }",
    "choice": "(n; x: i32[n], y: i32[n]) { for i in 0 .. n { y[i] = select(x[i] > 3:i32, x[i], 3:i32) } }",
}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_packets_are_right_and_are_accepted(name: str, tmp_path: Path) -> None:
    kernel = parse_kernel(f"kernel {name}{KERNELS[name]}")
    planned = plan_scalar(kernel, MACHINE)
    values = draw_values(kernel, dict.fromkeys(kernel.sizes, 13))
    assert check_code(planned.packed.code, planned.lowered, kernel, MACHINE, values).message == ""
    if ASSEMBLER is None:
        pytest.skip("there is no tic6x-elf-as (see docs/vliw.md)")
    text = tmp_path / "packets.s"
    text.write_text(print_assembly(planned.packed.code, MACHINE) + "\n")
    command = [ASSEMBLER, "-march=c674x", str(text), "-o", str(tmp_path / "packets.o")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
