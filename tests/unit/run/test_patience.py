"""Time for pieces of work: one that is slow takes none from those after it, unless nothing comes of any of them."""

from __future__ import annotations

import pytest

from planish.run.instructions.limits import Patience


def _work_for(seconds: float, patience: Patience) -> None:
    patience.wasted += seconds
    patience.in_vain += 1


def test_pieces_that_come_to_something_make_up_for_a_slow_one() -> None:
    patience = Patience(seconds=2, enough=1, earned=0.02)
    for _ in range(200):
        patience.wait_for(lambda: 1, lambda x: x == 0)
    _work_for(4, patience)
    assert patience.left == pytest.approx(2, abs=0.1)
    assert not patience.is_over


def test_pieces_that_come_to_nothing_get_less_and_less() -> None:
    patience = Patience(seconds=2, enough=1, earned=0.02)
    for _ in range(10):
        _work_for(0.5, patience)
    assert patience.left < 0.1
    assert patience.is_over


def test_no_piece_may_take_for_ever() -> None:
    patience = Patience(seconds=2, enough=1, earned=0.02)
    patience.useful = 100_000
    assert patience.left == 10
