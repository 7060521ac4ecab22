"""Loads become part of the statement that uses them only where that changes nothing."""

from __future__ import annotations

import pytest

from planish.ir.passes.inline_loads import inline_loads
from planish.ir.text.parser import parse_kernel

HEAD = "kernel k(n; x: f32[n], y: f32[n], s: f32[])"


def test_a_load_is_inlined() -> None:
    made = inline_loads(parse_kernel(f"{HEAD} {{ for i in 0 .. n {{ let a = x[i] y[i] = a * 2.0:f32 }} }}"))
    assert made == parse_kernel(f"{HEAD} {{ for i in 0 .. n {{ y[i] = x[i] * 2.0:f32 }} }}")


@pytest.mark.parametrize(
    "body",
    [
        "for l in 0 .. 16 as avx512_load_f32 { let a = x[l] y[l] = a }",  # what an instruction does
        "for i in 0 .. n { let a = x[i] x[i] = 0.0:f32 y[i] = a }",  # stored between
        "for i in 0 .. n { let a = x[i] y[i] = a * a }",  # used twice
        "for i in 0 .. n { let a = x[i] y[i] = select(i < 3, a, 0.0:f32) }",  # loaded under a condition
        "let a = x[0] for i in 0 .. n { y[i] = a }",  # loaded once
        "for i in 0 .. n { let a = x[i] + 1.0:f32 y[i] = a }",  # no element
    ],
)
def test_others_stay(body: str) -> None:
    kernel = parse_kernel(f"{HEAD} {{ {body} }}")
    assert inline_loads(kernel) == kernel
