"""Sums of what is read under conditions: loads with these as masks, on machines that have such loads only."""

from __future__ import annotations

import pytest

from planish.ir.text.parser import parse_kernel
from planish.isa.select.lane_values import NoCover
from planish.library.loops.vector_strips.accumulated_loops import find_accumulated
from planish.library.loops.vector_strips.selected_accumulators import SelectedAccumulation, select_accumulation
from planish.select.instruction import extension_of
from planish.select.program import in_order
from planish.target.load import load_target

TERMS = {
    "bytes": "select(M[x] > 7:u8, u32(A[x]), 0:u32)",
    "squares": "select(i32(M[x]) > 7:i32, u32(i32(A[x]) * i32(A[x])), 0:u32)",
    "counted": "u32(M[x] != 0:u8 && A[x] == 3:u8)",
}


def selected(name: str, target: str) -> SelectedAccumulation:
    text = f"kernel k(n; M: u8[n], A: u8[n], s: u32[] distinct) {{ for x in 0 .. n {{ s[] += {TERMS[name]} }} }}"
    kernel = parse_kernel(text)
    (found,) = find_accumulated(kernel)
    return select_accumulation(found, kernel, extension_of(load_target(target)))


@pytest.mark.parametrize("name", TERMS)
def test_conditions_are_masks_of_loads(name: str) -> None:
    made = selected(name, "x86-avx512")
    values = [x for value, *_ in made.programs[0].stores for x in in_order([value])]
    assert made.lanes == 64
    # The array of the conditions and the accumulators are read whole, the other one nowhere.
    whole, masked = ({x.detail[0] for x in values if x.kind == kind} for kind in ("load", "masked load"))
    assert masked and not whole & masked


def test_there_are_none_without_masks() -> None:
    with pytest.raises(NoCover):
        selected("bytes", "x86-avx2")
