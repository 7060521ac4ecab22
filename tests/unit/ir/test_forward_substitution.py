"""Values become part of the statement that uses them only where that changes nothing."""

from __future__ import annotations

import pytest

from planish.ir.passes.forward_substitution import substitute_forward
from planish.ir.text.parser import parse_kernel

HEAD = "kernel k(n; x: f32[n], y: f32[n], s: f32[])"


def test_a_load_is_inlined() -> None:
    made = substitute_forward(parse_kernel(f"{HEAD} {{ for i in 0 .. n {{ let a = x[i] y[i] = a * 2.0:f32 }} }}"))
    assert made == parse_kernel(f"{HEAD} {{ for i in 0 .. n {{ y[i] = x[i] * 2.0:f32 }} }}")


@pytest.mark.parametrize(
    "body",
    [
        "for l in 0 .. 16 as avx512_load_f32 { let a = x[l] y[l] = a }",  # what an instruction does
        "for i in 0 .. n { let a = x[i] x[i] = 0.0:f32 y[i] = a }",  # stored between
        "for i in 0 .. n { let a = x[i] y[i] = a * a }",  # used twice
        "for i in 0 .. n { let a = x[i] y[i] = select(i < 3, a, 0.0:f32) }",  # loaded under a condition
        "let a = x[0] for i in 0 .. n { y[i] = a }",  # loaded once
        "for i in 0 .. n { let a = x[i] + 1.0:f32 x[i] = 0.0:f32 y[i] = a }",  # its element is stored between
        "for i in 0 .. n { let a = sqrt(x[i]) y[i] = a }",  # a function
    ],
)
def test_others_stay(body: str) -> None:
    kernel = parse_kernel(f"{HEAD} {{ {body} }}")
    assert substitute_forward(kernel) == kernel


def test_sums_and_products_are_inlined_as_they_were() -> None:
    chain = "let a = x[i] * 2.0:f32 let b = y[i] - a let c = b / a_third y[i] = -c"
    made = substitute_forward(parse_kernel(f"{HEAD} {{ for i in 0 .. n {{ let a_third = s[] {chain} }} }}"))
    assert made == parse_kernel(f"{HEAD} {{ for i in 0 .. n {{ y[i] = -((y[i] - x[i] * 2.0:f32) / s[]) }} }}")


def test_a_name_may_be_that_of_other_values_elsewhere() -> None:
    loop = "for i in 0 .. n { let a = x[i] y[i] = a * 2.0:f32 }"
    made = substitute_forward(parse_kernel(f"{HEAD} {{ {loop} {loop} }}"))
    assert made == parse_kernel(f"{HEAD} {{ {loop.replace('let a = x[i]', '').replace('= a', '= x[i]')} "
                                f"{loop.replace('let a = x[i]', '').replace('= a', '= x[i]')} }}")
    twice = parse_kernel(f"{HEAD} {{ for i in 0 .. n {{ let a = x[i] y[i] = a let a = x[i + 1] y[i] += a * a }} }}")
    assert substitute_forward(twice) == twice


def test_statements_do_not_grow_without_end() -> None:
    lets = " ".join(f"let a{n + 1} = a{n} + x[{n}]" for n in range(40))
    made = substitute_forward(parse_kernel(f"{HEAD} assume n >= 40 {{ let a0 = s[] {lets} y[0] = a40 }}"))
    assert 2 < len(made.body.body) < 12
