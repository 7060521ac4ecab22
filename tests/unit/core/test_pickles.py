"""Pickles are read as they were written, and nothing is read that could run code."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.pickles import read_pickle, write_pickle
from planish.core.span import Span
from planish.ir.text.parser import parse_kernel

PLACES = ("planish.",)
KERNEL = parse_kernel("kernel k(n; A: f64[n] distinct) { for i in 0 .. n { A[i] = A[i] * 2.0 } }")


@dataclass
class Open:
    """A dataclass without slots."""

    value: int


def test_dataclasses_are_read_as_they_were_written() -> None:
    assert read_pickle(write_pickle((KERNEL, {"k": KERNEL})), PLACES) == (KERNEL, {"k": KERNEL})
    assert pickle.loads(write_pickle(KERNEL)) == KERNEL


def test_one_object_stays_one() -> None:
    one, other = read_pickle(write_pickle((KERNEL, KERNEL)), PLACES)  # type: ignore[misc]
    assert one is other


def test_other_objects_are_pickled_as_always() -> None:
    error = PlanishError(Diagnostic("E0101", "there is no file", Span("a.c", 1, 1, 1, 2)))
    assert pickle.loads(write_pickle(error)).diagnostic == error.diagnostic
    assert pickle.loads(write_pickle(Open(3))) == Open(3)


def test_classes_of_others_are_not_read() -> None:
    assert read_pickle(write_pickle(KERNEL), ("planish.core.",)) is None
    assert read_pickle(pickle.dumps(print), PLACES) is None
