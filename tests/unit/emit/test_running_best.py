"""Branches where a carried scalar becomes better, and conditions of stores behind names."""

from __future__ import annotations

import pytest

from planish.emit.idioms.conditional_stores import store_changes
from planish.emit.idioms.running_best import branch_on_best
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_stmt


def _kernel(body: str, head: str = "x: f64[n], s: f64[]", loop: str = "for i in 0 .. n") -> str:
    return f"kernel k(n; m: f64; {head}) {{ {loop} {{ {body} }} }}"


@pytest.mark.parametrize(
    "body",
    [
        "s[] = select(!(x[i] <= s[]), x[i], s[])",
        "s[] = select(s[] <= x[i], s[], x[i])",
        "s[] = select(x[i] - m > s[] - m, x[i], s[])",
        "let a = x[i] * x[i] s[] = select(!(a <= s[]), a, s[])",
    ],
)
def test_a_better_value_is_stored_behind_a_branch(body: str) -> None:
    assert "if " in print_stmt(branch_on_best(parse_kernel(_kernel(body))).body)


@pytest.mark.parametrize(
    ("body", "loop"),
    [
        ("s[] = select(x[i] > m * s[], x[i], s[])", "for i in 0 .. n"),  # it decays: others may be better again
        ("s[] = select(x[i] > m, x[i], s[])", "for i in 0 .. n"),
        ("s[] = select(x[i] - s[] > m, x[i], s[])", "for i in 0 .. n"),
        ("s[] = select(x[i] > s[], x[i] + 1.0, s[])", "for i in 0 .. n"),
        # What is set back, or decays, is better ever again.
        ("s[] = select(x[i] > m, 0.0, s[]) s[] = select(!(x[i] <= s[]), x[i], s[])", "for i in 0 .. n"),
        ("s[] *= 0.5 s[] = select(!(x[i] <= s[]), x[i], s[])", "for i in 0 .. n"),
        ("s[] = select(1.0 <= s[], 1.0, s[])", "for i in 0 .. n"),
        ("s[] = select(!(x[i] <= s[]), x[i], s[])", "for i in 0 .. 8"),
        ("s[] = select(!(x[i] <= s[]), x[i], s[])", "for i in 0 .. n simd"),
    ],
)
def test_other_choices_stay(body: str, loop: str) -> None:
    kernel = parse_kernel(_kernel(body, loop=loop))
    assert branch_on_best(kernel) == kernel


def test_a_condition_behind_names_is_that_of_the_store() -> None:
    body = "let old = a[i] let low = old < 0:i32 let new = select(low, 0:i32, old) a[i] = new"
    text = print_stmt(store_changes(parse_kernel(_kernel(body, "a: i32[n]")), {"a"}).body)
    assert "if low {" in text
    assert "a[i] = 0:i32" in text


def test_a_name_of_what_has_changed_is_not_the_own_value() -> None:
    body = "let old = a[i] a[i] = 7:i32 let new = select(old < 0:i32, 0:i32, old) a[i] = new"
    text = print_stmt(store_changes(parse_kernel(_kernel(body, "a: i32[n]")), {"a"}).body)
    assert "if old < 0:i32 {" not in text
