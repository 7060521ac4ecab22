"""Affine recurrences in lanes: powers of factors overflow where the original's values do not, so they have no sign."""

from __future__ import annotations

import pytest

from planish.ir.nest import Block
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_stmt
from planish.library.loops.cell_reduction.blocks import in_blocks
from planish.library.loops.cell_reduction.cell_update import find_update


@pytest.mark.parametrize(
    ("own", "lanes"), [("i32", "u32"), ("i64", "u64"), ("u32", "u32"), ("u64", "u64"), ("f32", "f32")]
)
def test_lanes_of_integers_have_no_sign(own: str, lanes: str) -> None:
    factor = "0.5" if own == "f32" else "3"
    text = f"kernel f(n; x: {own}[n], s: {own}[]) {{ for i in 0 .. n {{ s[] = s[] * {factor}:{own} + x[i] }} }}"
    kernel = parse_kernel(text)
    found = find_update(kernel.body.body[0])
    assert found is not None
    made = print_stmt(Block(tuple(in_blocks(found, {"x", "s", "n", "i"}))))
    assert f"alloc lanes: {lanes}[64]" in made and ("s[] = lanes[0]" in made) == (own == lanes)
