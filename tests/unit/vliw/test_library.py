"""Routines that were written by hand for FT-Matrix do what they say, whatever the sizes."""

from __future__ import annotations

import pytest

from bench.promises.vliw_library import LibraryCase, run_routine

SIZES = {"fir": (130, 9), "autocor": (41, 130), "conv3x3": (9, 33), "sgemm": (7, 33, 5), "fft4": (3, 65)}


@pytest.mark.parametrize("routine", SIZES)
def test_a_routine_is_right(routine: str) -> None:
    assert run_routine(LibraryCase("", "", routine, SIZES[routine])).wrong == ""
