"""Collected terms have the same sum and fewer operations; what saves nothing is left as it is."""

from __future__ import annotations

import random

import numpy as np
import pytest

from planish.ir.nest import Assign, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_expr
from planish.ir.traverse import walk
from planish.schedule.auto.rewrites.reassociate import collect_terms


def kernel_of(value: str, type: str = "f64") -> Kernel:
    scalars = ", ".join(f"{x}: {type}" for x in "abcd")
    return parse_kernel(f"kernel k(n; {scalars}; x: {type}[4], y: {type}[1]) {{ y[0] = {value} }}")


def value_of(kernel: Kernel) -> str:
    return next(print_expr(s.value) for s in walk(kernel.body) if isinstance(s, Assign)).replace(":f64", "")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("0.125 * (a - 2.0 * b + c) + 0.125 * (d - 2.0 * b + x[1]) + b", "0.125 * (a + c + d + x[1]) + 0.5 * b"),
        ("a - (b - a) + a", "3.0 * a - b"),
        ("x[0] + x[1] / 4.0 + x[0] + x[0]", "3.0 * x[0] + 0.25 * x[1]"),
        ("-(2.0 * a) - 2.0 * b", "-(2.0 * (a + b))"),
        ("0.5 * a - 0.5 * b", "0.5 * (a - b)"),
        ("-0.5 * a + 0.5 * b", "0.5 * (b - a)"),
        ("a * b + a * b", "2.0 * (a * b)"),
    ],
)
def test_terms_are_collected(before: str, after: str) -> None:
    assert value_of(collect_terms(kernel_of(before))) == after


@pytest.mark.parametrize(
    "value",
    [
        "a + b", "a - (b - a)", "(a + b + c) / 3.0", "a - a + b", "a * b + c", "0.2 * (a + b)",
        "1e308 * (1e308 * a) + 1e308 * a", "select(a > b, a, b)", "sqrt(a) + b",
    ],
)  # fmt: skip
def test_what_saves_nothing_is_left(value: str) -> None:
    kernel = kernel_of(value)
    assert collect_terms(kernel) == kernel


def test_factors_that_the_type_does_not_hold_are_left() -> None:
    text = "1e30:f32 * (1e30:f32 * a) + x[0] + 1e-30:f32 * (1e-30:f32 * b)"
    kernel = kernel_of(text, "f32")
    assert collect_terms(kernel) == kernel


def test_integers_are_left() -> None:
    kernel = parse_kernel("kernel k(n; a: i32, b: i32; y: i32[1]) { y[0] = a + b + a + b }")
    assert collect_terms(kernel) == kernel


def make_value(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(("a", "b", "c", "d", "x[0]", "x[1]", "a * b"))
    inner = make_value(rng, depth - 1)
    match rng.randint(0, 5):
        case 0:
            return f"-({inner})"
        case 1:
            return f"{rng.choice(('0.5', '2.0', '3.0', '-1.5'))} * ({inner})"
        case 2:
            return f"({inner}) / {rng.choice(('2.0', '3.0', '-4.0'))}"
        case _:
            return f"({inner}) {rng.choice('+-')} ({make_value(rng, depth - 1)})"


def test_the_sum_is_the_same() -> None:
    rng, changed = random.Random(1), 0
    for _ in range(300):
        kernel = kernel_of(make_value(rng, rng.randint(1, 5)))
        made = collect_terms(kernel)
        changed += made != kernel
        values = {x: rng.uniform(-1, 1) for x in "abcd"} | {"x": np.array([rng.uniform(-1, 1) for _ in range(4)])}
        wanted, found = np.zeros(1), np.zeros(1)
        run_kernel(kernel, {"n": 1, **values, "y": wanted})
        run_kernel(made, {"n": 1, **values, "y": found})
        # Five levels of factors of at most three, of sums of 32 terms.
        assert abs(found[0] - wanted[0]) <= 1e-16 * 32 * 3**5
    assert changed > 50
