"""Narrow whole numbers, one at a time, in registers that are wider."""

from __future__ import annotations

import pytest

from planish.build.vliw_machines.packet_runs import MOST_RUN, typical_sizes, work_of_nest
from planish.ir.text.parser import parse_kernel
from planish.vliw.description import load_machine
from planish.vliw.streams.lower import lower
from planish.vliw.streams.oracle import check_stream, draw_values, sizes_for

BODIES = {
    "u8, i16, u8": ("B[i] = max(A[i], B[i])", "B[i] = select(i32(A[i]) > i32(B[i]), B[i], C[i])"),
    "i16, u8, i16": ("A[i] = min(A[i], C[i])", "C[i] = select(A[i] < C[i], C[i], i16(B[i]))", "A[i] = A[i] >> 3:i16"),
    "u16, i8, u32": ("C[i] += u32(A[i])", "C[i] = u32(B[i]) * 3:u32", "A[i] = max(A[i] >> 9:u16, 40000:u16)"),
    "i32, u8, u16": ("C[i] = select(B[i] <= 127:u8, u16(B[i]), C[i])", "B[i] = B[i] >> 1:u8", "A[i] = i32(u32(C[i]))"),
}
CASES = [(types, body) for types, bodies in BODIES.items() for body in bodies]


@pytest.mark.parametrize("machine", ["hexagon", "c6000"])
@pytest.mark.parametrize(("types", "body"), CASES)
def test_narrow_numbers_are_computed_in_wide_registers(types: str, body: str, machine: str) -> None:
    arrays = ", ".join(f"{x}: {y}[n] distinct" for x, y in zip("ABC", types.split(", "), strict=True))
    kernel = parse_kernel(f"kernel k(n; {arrays}) {{ for i in 0 .. n {{ {body} }} }}")
    lowered = lower(kernel, load_machine(machine))
    for sizes in sizes_for(kernel, (1, 40)):
        values = draw_values(kernel, sizes)
        assert check_stream(lowered, kernel, load_machine(machine), values) == ""


def test_cycles_of_deep_nests_are_told_for_smaller_sizes() -> None:
    loops = "for h in 0 .. a { for i in 0 .. b { for j in 0 .. c { for k in 0 .. d { for l in 0 .. e {"
    kernel = parse_kernel(f"kernel k(a, b, c, d, e; S: i32[a] distinct) {{ {loops} S[h] += 1:i32 }} }} }} }} }} }}")
    found = typical_sizes(kernel, (64, 16, 8))
    assert min(found.values()) == 16 and work_of_nest(kernel, found) <= MOST_RUN
    assert min(typical_sizes(kernel, (64,)).values()) == 64
    short = parse_kernel("kernel k(n; S: i32[n]) { for i in 0 .. n { S[i] = 1:i32 } }")
    assert typical_sizes(short, (64, 16, 8)) == {"n": 64}
