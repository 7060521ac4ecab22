"""Sums and extrema whose accumulators are registers, as streams of Hexagon beside the kernels that they are made of."""

from __future__ import annotations

import pytest

from planish.ir.text.parser import parse_kernel
from planish.library.loops.vector_strips.packet_strips import StripProgram, packet_strips
from planish.target.load import load_target
from planish.vliw.description import load_machine
from planish.vliw.machine import VliwMachine
from planish.vliw.program import Instr, Item, Loop
from planish.vliw.streams.lower import LoweredStream, lower
from planish.vliw.streams.oracle import check_stream, draw_values, sizes_for

KERNELS = {
    "differences": """kernel k(n; A: u8[n] distinct, B: u8[n] distinct, s: i32[] distinct) {
      for i in 0 .. n { s[] += max(i32(A[i]), i32(B[i])) - min(i32(A[i]), i32(B[i])) } }""",
    "products": """kernel k(n; x: i16[n] distinct, y: i16[n] distinct, s: i32[] distinct) {
      for i in 0 .. n { s[] += i32(x[i]) * i32(y[i]) } }""",
    "columns": """kernel k(n, m; A: u8[m, n] distinct, y: u16[n] distinct) {
      alloc s: u16[max(n, 0)] distinct
      for c in 0 .. n { s[c] = 3:u16 for r in 0 .. m { s[c] += u16(A[r, c]) } y[c] = s[c] } }""",
}
SIZES = {"differences": (0, 1, 127, 128, 700), "products": (0, 63, 64, 300), "columns": (128, 200)}


@pytest.fixture(scope="module")
def machine() -> VliwMachine:
    return load_machine("hexagon")


def _streams(text: str, machine: VliwMachine) -> list[tuple[StripProgram, LoweredStream]]:
    found = [x for x in packet_strips(parse_kernel(text), load_target(machine.target)) if isinstance(x, StripProgram)]
    return [(x, lower(x.kernel, machine, programs=x.programs, pointers=6)) for x in found]


@pytest.mark.parametrize("name", KERNELS)
def test_streams_reduce_as_kernels_do(name: str, machine: VliwMachine) -> None:
    kernel = parse_kernel(KERNELS[name])
    streams = _streams(KERNELS[name], machine)
    assert streams
    for _, lowered in streams:
        for sizes in sizes_for(kernel, SIZES[name]):
            assert check_stream(lowered, kernel, machine, draw_values(kernel, sizes)) == "", sizes


def test_accumulators_are_not_copied(machine: VliwMachine) -> None:
    ((_, lowered),) = _streams(KERNELS["differences"], machine)
    strips = max(_loops(lowered.program.body), key=len)
    assert not any(x.operation.startswith("VMOV") for x in strips)
    assert sum(x.place is not None for x in strips) == 8  # two vectors for each of four strips, and no accumulators


def _loops(items: tuple[Item, ...]) -> list[list[Instr]]:
    """The operations of innermost loops."""
    found: list[list[Instr]] = []
    for x in items:
        if isinstance(x, Loop):
            inner = _loops(x.body)
            found += inner or [[y for y in x.body if isinstance(y, Instr)]]
    return found
