"""Nests in blocks: parts of arrays are moved near and back, for any machine with transfers, whatever the sizes are."""

from __future__ import annotations

from pathlib import Path

import pytest

from planish.build.packets import build_packets
from planish.core.span import Source
from planish.ir.text.parser import parse_kernel
from planish.options import Options
from planish.vliw.description import load_machine, parse_machine
from planish.vliw.machine import VliwMachine
from planish.vliw.pack.reports import PackOptions
from planish.vliw.streams.oracle import check_code, draw_values
from planish.vliw.streams.stream import RefusedError
from planish.vliw.tiling.bands import BlockShape
from planish.vliw.tiling.planning import BlockPlanner

PRODUCTS = """
[operations.MULP]
definition = '(d: i64[] @P, a: i64[] @P, b: i64[] @P) { d[] = a[] * b[] }'
units = ["LEFT"]
latency = 4

[operations.SUBP]
definition = '(d: i64[] @P, a: i64[] @P, b: i64[] @P) { d[] = a[] - b[] }'
units = ["LEFT", "RIGHT"]
"""

AXPY = "kernel axpy(n; a: f32, x: f32[n] distinct, y: f32[n] distinct) { for i in 0 .. n { y[i] += a * x[i] } }"
MATMUL = """
kernel matmul(A: f32[20, 40] distinct, B: f32[40, 70] distinct, C: f32[20, 70] distinct) {
  for i in 0 .. 20 { for j in 0 .. 70 {
    alloc s: f32[] register s[] = 0.0:f32
    for k in 0 .. 40 { s[] += A[i, k] * B[k, j] }
    C[i, j] = s[]
  } }
}
"""
STENCIL = """
kernel stencil(A: f32[30, 70] distinct, B: f32[30, 70] distinct) {
  for i in 1 .. 29 { for j in 1 .. 69 { B[i, j] = A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1] } }
}
"""
MATVEC = """
kernel matvec(m, n; A: f32[m, n] distinct, x: f32[n] distinct, y: f32[m] distinct) {
  for i in 0 .. m { alloc s: f32[] register s[] = 0.0:f32 for j in 0 .. n { s[] += A[i, j] * x[j] } y[i] = s[] }
}
"""
RUNNING = "kernel running(n; x: f32[n] distinct) { for i in 1 .. n { x[i] += x[i - 1] } }"


def narrow(channels: int) -> VliwMachine:
    here = Path(__file__).parent
    moves = (here / "transfers.toml").read_text().replace("channels = 2", f"channels = {channels}")
    text = (here / "narrow.toml").read_text().replace("count = 10", "count = 32")
    text += PRODUCTS + moves.replace('"64K"', '"16M"')
    return parse_machine(Source("moving.toml", text))


def run(text: str, machine: VliwMachine, shape: BlockShape, sizes: dict[str, int]) -> str:
    kernel = parse_kernel(text)
    planner = BlockPlanner(kernel, machine, sizes, options=PackOptions(unroll=0), grid=((4, 1), (1, 1)))
    planned = planner.packed(planner.cut(shape))
    values = draw_values(kernel, sizes)
    return check_code(planned.packed.code, planned.lowered, kernel, machine, values).message


@pytest.mark.parametrize("channels", [1, 4])
@pytest.mark.parametrize("n", [0, 16, 41])
def test_elementwise_by_any_number_of_channels(channels: int, n: int) -> None:
    assert run(AXPY, narrow(channels), BlockShape((("i", 16),)), {"n": n}) == ""


@pytest.mark.parametrize("shape", [(("i", 12), ("j", 64)), (("j", 32), ("k", 16))])
def test_blocks_of_all_loops_of_a_product(shape: tuple[tuple[str, int], ...]) -> None:
    assert run(MATMUL, load_machine("ftmatrix"), BlockShape(shape), {}) == ""


def test_one_part_stays_near_while_others_change() -> None:
    shape = BlockShape((("i", 8), ("j", 32), ("k", 24)), kept=(("A", "i"),))
    assert run(MATMUL, load_machine("ftmatrix"), shape, {}) == ""


@pytest.mark.parametrize("overlap", [True, False])
def test_parts_with_borders(overlap: bool) -> None:
    assert run(STENCIL, load_machine("ftmatrix"), BlockShape((("i", 10), ("j", 32)), overlap), {}) == ""


def test_sums_over_several_blocks() -> None:
    assert run(MATVEC, load_machine("ftmatrix"), BlockShape((("i", 12), ("j", 32))), {"m": 30, "n": 70}) == ""


def test_parts_that_share_elements_are_not_moved_early() -> None:
    assert run(RUNNING, load_machine("ftmatrix"), BlockShape((("i", 32),)), {"n": 100}) == ""


def test_elements_that_are_read_under_a_condition() -> None:
    text = "y[i] = select(x[i] > 3:i32, x[i] - y[i], 7:i32)"
    text = f"kernel f(x: i32[101] distinct, y: i32[101] distinct) {{ for i in 0 .. 101 {{ {text} }} }}"
    assert run(text, load_machine("ftmatrix"), BlockShape((("i", 32),)), {}) == ""


def test_illegal_orders_are_refused() -> None:
    text = "kernel f(A: f32[64, 64] distinct) { for i in 1 .. 64 { for j in 0 .. 63 { A[i, j] += A[i - 1, j + 1] } } }"
    with pytest.raises(RefusedError):
        run(text, load_machine("ftmatrix"), BlockShape((("j", 32), ("i", 32))), {})


def test_what_does_not_fit_is_built_in_blocks() -> None:
    text = """void f(int n, const float *restrict x, float *restrict y) {
      for (int i = 0; i < n; i++) y[i] = 2 * x[i] + y[i]; }"""
    (found,) = build_packets(Source("f.c", text), Options(sizes={"n": 100_001}), load_machine("ftmatrix"))
    assert found.message == "" and found.blocks is not None and found.checked > 5
    assert found.planned is not None and found.planned.described.startswith("blocks of")
