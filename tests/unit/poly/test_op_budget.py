"""Bounds on isl's operations."""

from __future__ import annotations

import islpy as isl
import pytest

from planish.poly.isl.op_budget import OverBudgetError, within

HARD = [f"[n, m, s] -> {{ [a] : exists (b: a = {3 + k} b + m and {k} <= 5b <= n - {k + 2} s) }}" for k in range(8)]


def _largest() -> isl.PwAff:
    first, *rest = [isl.Set(text).dim_max(0) for text in HARD]
    for x in rest:
        first = first.union_max(x)
    return first


def test_what_takes_too_long_is_given_up_and_the_next_question_is_answered() -> None:
    with pytest.raises(OverBudgetError):
        within(_largest, 2000)
    assert not within(lambda: isl.Set("{ [i] : 0 <= i < 9 }"), 2000).is_empty()


def test_a_wrong_question_is_an_error_of_its_own() -> None:
    with pytest.raises(isl.Error):
        within(lambda: isl.Set("{ [i : }"))


def test_a_bound_inside_of_another_counts_by_itself() -> None:
    def outer() -> str:
        with pytest.raises(OverBudgetError):
            within(_largest, 2000)
        return str(isl.Set("{ [i] : i = 3 }"))

    assert within(outer, 5000) == "{ [i = 3] }"
