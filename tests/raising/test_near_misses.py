"""Every near miss computes something else than the program that it was made from, in numbers that mean something."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus import Entry
from near_misses import NearMiss, near_misses
from running import Outcome, differs, read_entry_file, run, signed_arguments

from planish.frontend.c.translation_unit import CFunction

MISSES = near_misses()
CASES = [pytest.param(x, id=x.name, marks=[pytest.mark.slow] * (n % 6 > 0)) for n, x in enumerate(MISSES)]


def test_there_are_enough_and_each_once() -> None:
    assert len(MISSES) >= 200
    assert len({x.name for x in MISSES}) == len({x.entry.text for x in MISSES}) == len(MISSES)


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Entry], Outcome]:
    """What right programs leave; each is run once."""

    @cache
    def run_original(path: Path) -> Outcome:
        original = next(x.original for x in MISSES if x.original.path == path)
        function, arguments = prepare(original)
        return run(original, function, arguments, tmp_path_factory.mktemp("right"))

    return lambda entry: run_original(entry.path)


def prepare(original: Entry) -> tuple[CFunction, dict[str, Any]]:
    """A program's function, and what it is called with."""
    (function,) = read_entry_file(original).functions
    return function, signed_arguments(function, original.sizes, 5)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")
@pytest.mark.parametrize("miss", CASES)
def test_it_computes_something_else(miss: NearMiss, originals: Callable[[Entry], Outcome], tmp_path: Path) -> None:
    function, arguments = prepare(miss.original)
    right = originals(miss.original)
    wrong = run(miss.entry, function, arguments, tmp_path / "wrong")
    for outcome in (right, wrong):
        assert all(np.all(np.isfinite(x)) for x in outcome.arrays.values()), "the data say nothing"
    arrays = [name for name, value in right.arrays.items() if differs(value, wrong.arrays[name])]
    result = right.result is not None and differs(np.asarray(right.result), np.asarray(wrong.result))
    assert arrays or result
