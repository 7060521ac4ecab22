"""Random arguments and the comparison of results."""

from __future__ import annotations

import math

import numpy as np
import pytest

from planish.ir.types import BF16, F16, F32, F64, I8, I16, I64, U16, U64, Type
from planish.run.oracle.tolerance import difference
from planish.run.sizes.random_arguments import Inputs, epsilon, from_memory, integer_range, perturbed, to_memory


def test_square_matrices_are_diagonally_dominant() -> None:
    values = Inputs(1, "uniform").array(F64, 400, (20, 20)).reshape(20, 20)
    rest = np.abs(values).sum(axis=1) - np.diag(values)
    assert (np.diag(values) > rest).all()
    assert np.linalg.eigvalsh(np.tril(values) + np.tril(values, -1).T).min() > 0


def test_distributions_stay_in_their_ranges() -> None:
    assert set(Inputs(1, "whole").array(F32, 100, ()).tolist()) == {1.0, 2.0, 3.0}
    small = Inputs(1, "small").array(F64, 1000, (10, 100))
    assert small.min() > 0 and small.max() <= 0.01
    assert Inputs(1, "normal").array(F64, 1000, ()).min() < 0
    assert 1e-3 < abs(np.prod(Inputs(1, "near one").array(F64, 1000, ()))) < 1e3


@pytest.mark.parametrize("type", [BF16, F16, F32, F64], ids=str)
def test_wild_numbers_have_all_kinds(type: Type) -> None:
    values = from_memory(Inputs(1, "wild").array(type, 2000, ()), type)
    assert np.isnan(values).any() and {math.inf, -math.inf} <= {*values}
    assert {*np.signbit(values[values == 0]).tolist()} == {True, False}
    assert np.nanmin(np.abs(values[values != 0])) < np.finfo("f4" if type == BF16 else type.numpy).tiny


@pytest.mark.parametrize(
    ("type", "low", "high"), [(I8, -128, 127), (I16, -32768, 32767), (U16, 0, 65535), (I64, -100, 100), (U64, 0, 100)]
)
def test_integers_cover_their_range(type: Type, low: int, high: int) -> None:
    assert integer_range(type) == (low, high)
    values = Inputs(3, "auto").array(type, 200_000 if high > 1000 else 5000, ())
    assert values.dtype == np.dtype(type.numpy)
    assert low <= int(values.min()) < low + 5 + (high - low) // 100
    assert int(values.max()) <= high


def test_bf16_keeps_eight_bits() -> None:
    stored = to_memory(np.array([1.0, -2.5, 1 / 3]), BF16)
    assert stored.dtype == np.uint16
    back = from_memory(stored, BF16)
    assert back[:2].tolist() == [1.0, -2.5]
    assert abs(back[2] - 1 / 3) < epsilon(BF16)


@pytest.mark.parametrize("type", [F16, F32, F64, BF16], ids=str)
def test_a_perturbation_is_one_unit_in_the_last_place(type: Type) -> None:
    stored = Inputs(1, "uniform").array(type, 1000, ())
    moved = from_memory(perturbed(stored, type, 5), type)
    gap = np.abs(moved - from_memory(stored, type))
    assert 0 < gap.max() <= epsilon(type)


def test_special_values() -> None:
    want = np.array([math.nan, math.inf, 0.0, 1.0])
    assert difference(want, want * 1, F64, None).place == -1
    negative = np.array([math.nan, math.inf, -0.0, 1.0])
    assert difference(want, negative, F64, None).place == 2
    assert difference(want, negative, F64, 0.0).place == -1
    assert difference(want, np.array([0.0, math.inf, 0.0, 1.0]), F64, 1.0).place == 0
    assert difference(want, np.array([math.nan, -math.inf, 0.0, 1.0]), F64, 1.0).place == 1


def test_what_was_there_before_counts_as_magnitude() -> None:
    want, got = np.array([1e-17]), np.array([3e-17])
    assert difference(want, got, F64, 1e-12).place == 0
    assert difference(want, got, F64, 1e-12, np.array([1.0])).place == -1


def test_whole_numbers_of_64_bits_do_not_wrap() -> None:
    found = difference(np.array([0], np.uint64), np.array([2**64 - 1], np.uint64), U64, 0.0)
    assert (found.place, found.absolute) == (0, float(2**64 - 1))
