"""Calls within each other have room: no depth asks the system for memory with each call."""

from __future__ import annotations

import resource
import sys

import pytest

from planish.core.recursion_limit import call_with_room

CALLS = 500


def _called() -> None:
    pass


def _call_from_each(depth: int) -> None:
    for _ in range(CALLS):
        _called()
    if depth:
        _call_from_each(depth - 1)


def _pages() -> int:
    """How often memory was given by the system so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="frames of others are kept otherwise")
def test_calls_from_any_depth_take_no_memory() -> None:
    before = _pages()
    call_with_room(_call_from_each, 400)
    assert _pages() - before < CALLS


def test_arguments_results_and_exceptions_pass() -> None:
    assert call_with_room(lambda *given, **named: (given, named), 1, 2, function=3) == ((1, 2), {"function": 3})
    with pytest.raises(ZeroDivisionError):
        call_with_room(lambda: 1 // 0)
