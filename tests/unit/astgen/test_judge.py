"""Parameters of an input, and verdicts where no proof is found."""

from __future__ import annotations

import pytest

from planish.astgen.checking.judge import choose_sizes, find_ranges, name_unbounded, rival_text, verify_input
from planish.astgen.formats import CodegenInput, generate_input, parse_input
from planish.astgen.option_names import check_options, set_options
from planish.core.diagnostic import PlanishError
from planish.ir.nest import Block

ROWS = "[n, m] -> { S[i, j] -> [j mod 3, i, j] : 0 <= i < n and 0 <= j < m }"


def map_of(schedule: str, context: str = "{ : }", options: str = "{ }") -> CodegenInput:
    return parse_input(f"{schedule}\n{context}\n{options}", "test.in")


def test_ranges_come_from_the_context() -> None:
    found = find_ranges(map_of(ROWS, "[n, m] -> { : 0 <= n <= m <= 9 and m mod 2 = 0 }"))
    assert found == {"n": (0, 8), "m": (0, 8)}
    low, high = find_ranges(map_of(ROWS, "[n] -> { : n >= 3 }"))["n"]
    assert low == 3 and high > 1 << 32


def test_sizes_are_allowed_and_busy() -> None:
    sizes = choose_sizes(map_of(ROWS, "[n, m] -> { : n >= 4 and m = n + 2 }"))
    assert len(sizes) >= 3
    assert all(x["n"] >= 4 and x["m"] == x["n"] + 2 for x in sizes)


def test_a_nest_that_is_not_proven_is_run() -> None:
    found = map_of(ROWS)
    nest = generate_input(found)
    assert str(verify_input(found, nest, ())) == "proven"
    tried = verify_input(found, nest, ({"n": 3, "m": 4},), operations=10)
    assert tried.answer == "given up"
    assert tried.detail == "it takes too long; right for n = 3, m = 4"
    assert verify_input(found, nest, (), operations=10).detail.count("for n = ") >= 3


def test_a_run_finds_what_differs() -> None:
    found = map_of(ROWS)
    verdict = verify_input(found, Block(()), ({"n": 3, "m": 4},), operations=10)
    assert verdict.answer == "differs"
    assert verdict.detail.startswith("0 instances ran, 12 are scheduled")


def test_a_loop_without_end_is_named() -> None:
    assert name_unbounded(map_of(ROWS)) is None
    error = name_unbounded(map_of("[n] -> { S[i] -> [i] : 0 <= i < n; T[i, j] -> [j - i] : 0 <= i <= j }"))
    assert error is not None
    assert error.diagnostic.message == "`T` has no upper bound in dimension 0 of its schedule"
    assert error.diagnostic.span is not None and error.diagnostic.span.column == 36


def test_isl_prints_its_macros() -> None:
    text = rival_text(map_of("[n] -> { S[i] -> [floor(i/4), i] : 0 <= i < n }"))
    assert text.startswith("#define min(x,y)")


@pytest.mark.parametrize(
    "options", ["{ [t, i, j] -> unroll[x] }", "{ [t, i, j] -> separate[1]; [t, i, j] -> atomic[0] }"]
)
def test_options_that_exist_pass(options: str) -> None:
    check_options(map_of(ROWS, options=options))
    assert str(set_options(map_of(ROWS), options).options) == str(map_of(ROWS, options=options).options)


def test_options_are_set_on_every_band() -> None:
    tree = parse_input(
        'domain: "{ S[i, j] : 0 <= i, j < 9 }"\nchild:\n  schedule: "[{ S[i, j] -> [(i)] }]"\n  child:\n'
        '    schedule: "[{ S[i, j] -> [(j)] }]"\n',
        "two.st",
    )
    changed = set_options(tree, "{ separate[0] }")
    assert str(changed.schedule).count("separate[0]") == 2
    with pytest.raises(PlanishError, match="E0514"):
        set_options(tree, "{ separated[0] }")
