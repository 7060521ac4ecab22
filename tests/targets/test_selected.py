"""Strips that were covered with instructions are executed, and give what the interpreter gives for their nests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from execution import Machine, machine
from tests.targets.test_instructions import GROUPS, Group, problems

from planish.ir.text.parser import parse_kernel
from planish.isa.instruction import Catalogue, Instruction
from planish.isa.shipped import extension
from planish.select.instruction import extension_of, select_strip
from planish.target.load import load_target

TARGETS = {"avx2": "x86-avx2", "neon": "aarch64-neon", "avx512": "x86-avx512"}
FEATURES = {
    "avx2": (("avx2", "fma"), ("-mavx2", "-mfma")),
    "neon": (("asimd", "asimdhp", "asimddp"), ("-march=armv8.2-a+fp16+dotprod",)),
    "avx512": (
        ("avx512f", "avx512vl", "avx512bw", "avx512dq", "avx512_vnni", "avx512vbmi"),
        ("-march=x86-64-v4", "-mavx512vnni", "-mavx512vbmi"),
    ),
}
AVERAGE = "A: u8[n], B: u8[n]", "B[l] = u8(i32(A[l]) + i32(B[l]) + 1:i32 >> 1:i32)"
GREATEST = "A: u8[n], B: u8[n]", "B[l] = max(max(A[l], A[l + 1]), A[l + 2])"
DIFFERENCE = "A: u8[n], B: u8[n]", "B[l] = u8(max(i32(A[l]) - i32(B[l]), i32(B[l]) - i32(A[l])))"
SCALED = "x: i16; A: i16[n], B: i32[n]", "B[l] = B[l] + i32(A[l]) * i32(x)"
ROUNDED = "A: u8[n], B: u8[n]", "B[l] = u8(i32(A[l]) + 2:i32 * i32(A[l + 1]) + i32(A[l + 2]) + 2:i32 >> 2:i32)"
STRIPS = {
    "avx2": ((32, *AVERAGE), (64, *GREATEST)),
    "neon": ((16, *AVERAGE), (32, *GREATEST), (16, *DIFFERENCE), (8, *SCALED), (16, *ROUNDED)),
    "avx512": ((64, *AVERAGE),),
}
"""By extensions: the lanes, the operands, and the statement of each strip."""


def selected(name: str) -> list[Instruction]:
    """The strips of an extension as instructions."""
    registers = extension_of(load_target(TARGETS[name]))
    found = []
    for lanes, operands, statement in STRIPS[name]:
        head = operands if ";" in operands else f"; {operands}"
        kernel = parse_kernel(f"kernel k(n; {head.removeprefix('; ')}) {{ for l in 0 .. {lanes} {{ {statement} }} }}")
        arrays = {x.name: x for x in kernel.arrays}
        found.append(select_strip(kernel.body.body[0], arrays, registers).instruction)
    return found


@pytest.mark.parametrize("name", STRIPS)
def test_selected_strips_do_what_they_say(name: str, tmp_path: Path) -> None:
    group = next(x for x in GROUPS if x.set == name)
    target = machine(group.processor, *FEATURES[name])
    if not isinstance(target, Machine):
        pytest.skip(f"{name}: {target}")
    members = selected(name)
    known = Catalogue({x.name: x for x in members}, extension(name).memories)
    found = problems(members, known, target, tmp_path)
    assert {x: text for x, (count, text) in found.items() if text or not count} == {}
    assert set(found) == {x.name for x in members}


def test_a_wrong_strip_is_seen(tmp_path: Path) -> None:
    group: Group = GROUPS[0]
    target = machine(group.processor, group.features, group.flags)
    if not isinstance(target, Machine):
        pytest.skip(f"{group}: {target}")
    (right, *_) = selected("avx2")
    wrong = replace(right, text=right.template.replace("_mm256_avg_epu8", "_mm256_adds_epu8"))
    found = problems([wrong], Catalogue({wrong.name: wrong}, extension("avx2").memories), target, tmp_path)
    assert found[wrong.name][1]
