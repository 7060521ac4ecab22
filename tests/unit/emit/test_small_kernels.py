"""Kernels of few operations become parts of their callers, where what the settings say of floats is not lost."""

from __future__ import annotations

import pytest

from planish.emit.c.small_kernels import part_of_caller
from planish.ir.text.parser import parse_kernel

NEST = "kernel k(n; x: {type}[64] distinct) {{ for i in 0 .. {end} {{ x[i] += x[i] }} }}"


@pytest.mark.parametrize(
    ("type", "end", "exact", "part"),
    [
        ("i8", "8", False, True), ("i8", "8", True, True), ("f32", "8", False, True), ("f32", "8", True, False),
        ("i8", "64", False, True), ("i32", "n", False, False), ("i8", "65", False, False),
    ],
)  # fmt: skip
def test_what_becomes_part_of_its_caller(type: str, end: str, exact: bool, part: bool) -> None:
    kernel = parse_kernel(NEST.format(type=type, end=end))
    text = "/* k */\nstatic void k(int8_t *restrict x)\n{\n}\n"
    made = part_of_caller(text, "k", kernel, exact)
    assert made == (text.replace("static void", "planish_part void") if part else text)
