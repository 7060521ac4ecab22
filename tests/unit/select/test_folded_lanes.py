"""Accumulators in lanes are folded half onto half in registers, as long as the machine has any so narrow."""

from __future__ import annotations

import pytest

from planish.ir.text.parser import parse_kernel
from planish.library.loops.vector_strips.accumulated_loops import find_accumulated
from planish.library.loops.vector_strips.selected_accumulators import select_accumulation
from planish.select.instruction import extension_of
from planish.target.load import load_target

TEXTS = {
    "dot": "kernel k(n; A: i8[n], B: i8[n], s: i32[] distinct) { for x in 0 .. n { s[] += i32(A[x]) * i32(B[x]) } }",
    "greatest": "kernel k(n; A: u8[n], s: u8[] distinct) { for x in 0 .. n { s[] max= A[x] } }",
    "distance": "kernel k(n; A: i16[n], s: i16[] distinct) { for x in 0 .. n { s[] min= A[x] } }",
}


@pytest.mark.parametrize(
    ("name", "target", "expected"),
    [
        ("dot", "x86-avx512", [8, 4]),
        ("dot", "x86-avx2", [4]),
        ("dot", "aarch64-neon", [2]),
        ("greatest", "x86-avx512", [32, 16]),
        ("distance", "x86-avx2", [8]),
    ],
)
def test_lanes_are_halved_down_to_the_narrowest_register(name: str, target: str, expected: list[int]) -> None:
    kernel = parse_kernel(TEXTS[name])
    (found,) = find_accumulated(kernel)
    made = select_accumulation(found, kernel, extension_of(load_target(target)))
    (update,) = made.updates
    assert [int(x.shape[0].value) for x, _ in update.halving] == expected  # type: ignore[union-attr]
    # Each has an instruction of its own, which is handed over with those of the strips.
    assert {y for _, y in update.halving} <= {x.instruction.name for x in made.programs}
