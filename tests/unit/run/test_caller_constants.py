"""Numbers in calls of a file: what is no sum of a few, or is too long, is not known, and nothing is said about it."""

from __future__ import annotations

import warnings

import pytest

from planish.core.python_text import parse_module
from planish.run.sizes.caller_constants import find_calls

CALL = "void f(int n, float *x);\nint main(void) { f(N, x); return 0; }\n"


@pytest.mark.parametrize(
    ("define", "value"),
    [
        ("(2*(3+4)<<1)", 28), ("0x10uL - 6", 10), ("(1u<<12)", 4096), ("100 / 3", None), ("7 % 4", None), ("-1", None),
        ('"\\e[31m"', None), ("'\\d'", None), ("(" + "+".join("1" * 2000) + ")", None), ("(" * 150, None),
        ("(" * 80 + "3" + ")" * 80, 3), ("1 if", None), ("3.5", None), ("sizeof(int)", None),
    ],
)  # fmt: skip
def test_macros_are_numbers_or_nothing(define: str, value: int | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calls = find_calls(f"#define N {define}\n{CALL}", "f", ("n", "x"))
    assert calls == (() if value is None else ({"n": value},))


def test_text_that_is_no_python_only_raises_a_syntax_error() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in ('s = "\\e[0m" if', "x = " + "+".join("1" * 20000), "x = " + "(" * 3000, "x = 1\0"):
            with pytest.raises(SyntaxError):
                parse_module(text)
