"""Words are added up one by one only where neighbours that are added up in narrower lanes do not cost less."""

from __future__ import annotations

import pytest

from planish.ir.text.parser import parse_kernel
from planish.library.loops.vector_strips.accumulated_loops import find_accumulated
from planish.library.loops.vector_strips.selected_accumulators import select_accumulation
from planish.select.instruction import extension_of
from planish.target.load import load_target

TEXTS = {
    "bytes less zeros": ("y: u8, z: u8; A: u8[n], B: u8[n]", "(i32(A[x]) - i32(y)) * (i32(B[x]) - i32(z))"),
    "bytes less one zero": ("z: u8; A: u8[n], B: u8[n]", "(i32(A[x]) - i32(z)) * i32(B[x])"),
    "halves": ("A: i16[n], B: i16[n]", "i32(A[x]) * i32(B[x])"),
    "halves and words": ("A: i16[n], B: i32[n]", "i32(A[x]) * B[x]"),
}


@pytest.mark.parametrize(
    ("name", "grouped", "most"),
    [
        ("bytes less zeros", True, 4.5), ("bytes less one zero", True, 4.5),
        ("halves", False, 6.5), ("halves and words", False, 6.0),
    ],
)  # fmt: skip
def test_sums_are_of_groups_where_these_cost_less(name: str, grouped: bool, most: float) -> None:
    head, term = TEXTS[name]
    before = f"n, {head}" if ";" in head else f"n; {head}"
    kernel = parse_kernel(f"kernel k({before}, s: i32[] distinct) {{ for x in 0 .. n {{ s[] += {term} }} }}")
    (found,) = find_accumulated(kernel)
    made = select_accumulation(found, kernel, extension_of(load_target("hexagon-hvx")))
    (update,) = made.updates
    assert (len(update.groups[0]) > 1) == grouped
    assert made.programs[0].cost <= most
