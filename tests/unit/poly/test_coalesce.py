"""Coalescing keeps the elements of a union (unions for which isl's own does not come up in the random maps)."""

from __future__ import annotations

import islpy as isl
import pytest

from planish.poly.isl.coalesce import coalesce, coalesce_function


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("[n] -> { [i] : 0 <= i < n or n <= i < 2n }", 1),
        ("{ [i] : 0 <= i < 9 and i mod 2 = 0 or 9 <= i < 20 and i mod 2 = 0 }", 1),
        ("{ [i] : 0 <= i < 9 or 12 <= i < 20 }", 2),
    ],
)
def test_pieces_that_fit_are_joined(text: str, pieces: int) -> None:
    union = isl.Set(text)
    fewer = coalesce(union)
    assert fewer.is_equal(union) and fewer.n_basic_set() == pieces


def test_pieces_of_a_function_that_fit_are_joined() -> None:
    function = isl.PwAff("[n] -> { [i] -> [(i)] : 0 <= i < n; [i] -> [(i)] : n <= i < 2n }")
    assert coalesce_function(function).n_piece() == 1
    assert coalesce_function(function).is_equal(function)
