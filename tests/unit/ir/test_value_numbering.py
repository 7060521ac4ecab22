"""Local value numbering: a value is computed once for all that need it, as long as it is the same."""

from __future__ import annotations

from planish.ir.passes.value_numbering import number_values
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_stmt


def numbered(body: str) -> str:
    kernel = parse_kernel(f"kernel k(n; x: f64[n], y: f64[n], z: f64[n]) {{ {body} }}")
    return " ".join(print_stmt(number_values(kernel.body, frozenset({"n"}))).split())


def test_blocks_share_what_they_name_alike() -> None:
    blocks = "{ let t = x[i] let u = t * t y[i] = u } { let t = x[i] let u = t * t z[i] = u + t }"
    assert numbered(f"for i in 0 .. n {{ {blocks} }}") == (
        "{ for i in 0 .. n { let t = x[i] let u = t * t y[i] = u z[i] = u + t } }"
    )


def test_what_was_stored_to_is_loaded_again() -> None:
    blocks = "{ let t = x[i] x[i] = t + 1.0 } { let t = x[i] z[i] = t }"
    assert numbered(f"for i in 0 .. n {{ {blocks} }}") == (
        "{ for i in 0 .. n { let t = x[i] x[i] = t + 1.0:f64 let t_2 = x[i] z[i] = t_2 } }"
    )


def test_a_store_within_a_loop_or_a_condition_counts() -> None:
    body = "{ let t = x[0] y[0] = t } for i in 1 .. n { if i > 3 { x[i - 4] = 1.0 } } { let t = x[0] z[0] = t }"
    assert "let t_2 = x[0]" in numbered(body)


def test_another_loop_has_another_variable() -> None:
    inner = "{ let t = x[i] y[i] = t } for i in 0 .. n { { let t = x[i] z[i] = t } }"
    assert "let t_2 = x[i]" in numbered(f"for i in 0 .. n {{ {inner} }}")


def test_names_of_two_values_are_told_apart() -> None:
    blocks = "{ let t = x[i] y[i] = t } { let t = x[i] * 2.0 z[i] = t } { let t = x[i] z[i] += t }"
    assert numbered(f"for i in 0 .. n {{ {blocks} }}").endswith("let t_2 = x[i] * 2.0:f64 z[i] = t_2 z[i] += t } }")


def test_zeros_of_both_signs_are_two_values() -> None:
    blocks = "{ let t = x[i] + 0.0 y[i] = t } { let t = x[i] + -0.0 z[i] = t }"
    assert "let t_2" in numbered(f"for i in 0 .. n {{ {blocks} }}")
