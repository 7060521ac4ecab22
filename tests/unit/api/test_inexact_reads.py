"""Python kernels that read what is not affine, or what data choose, and that assert what their calls keep."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import planish
from planish.core.cache import Cache
from planish.core.diagnostic import PlanishError
from planish.frontend.python.reader import read_python_source
from planish.ir.text.printer import print_stmt

HEAD = "from planish import f32, i16, i32, kernel, size, u8\n@kernel\n"
POOL = HEAD + """
def pool(s: size, x: f32["H", "W"], y: f32["h", "w"]):
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            y[i, j] = x[i * s, j * s]
            for k in range(3):
                y[i, j] = max(y[i, j], x[i * s + k, j * s + k])
"""
TONE = HEAD + """
def tone(gain: i32, x: u8["n"], curve: u8["m"], fine: i32[4, 16], y: i32["n"]):
    assert 0 <= gain <= 255
    assert len(x) % 2 == 0
    for i in range(len(x)):
        y[i] = curve[x[i]] * gain + fine[x[i] >> 6, x[i] & 15]
"""


@pytest.fixture
def cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return Cache(tmp_path_factory.getbasetemp() / "inexact")


def test_a_window_that_moves_by_a_size(cache: Cache) -> None:
    pool = planish.compile(POOL, measure=False, cache=cache)
    x = np.random.default_rng(0).random((17, 20), np.float32)
    for s in (0, 1, 3):
        y: NDArray[np.float32] = np.zeros((5, 6), np.float32)
        pool(s, x, y)
        want = [[max(x[i * s + k, j * s + k] for k in (0, 1, 2)) for j in range(6)] for i in range(5)]
        np.testing.assert_array_equal(y, np.array(want, np.float32))
    with pytest.raises(ValueError, match="`x` is accessed up to 18 in dimension 1"):
        pool(4, x, np.zeros((5, 6), np.float32))


def test_tables_that_data_choose_from(cache: Cache) -> None:
    tone = planish.compile(TONE, measure=False, cache=cache)
    random = np.random.default_rng(0)
    x, curve = (random.integers(0, 256, n).astype(np.uint8) for n in (98, 256))
    fine, y = random.integers(0, 99, (4, 16)).astype(np.int32), np.zeros(98, np.int32)
    tone(77, x, curve, fine, y)
    np.testing.assert_array_equal(y, curve[x].astype(np.int32) * 77 + fine[x >> 6, x & 15])
    with pytest.raises(ValueError, match="`curve` must have 256 elements"):
        tone(77, x, curve[:255], fine, y)
    with pytest.raises(AssertionError, match="tone: 0 <= gain <= 255"):
        tone(-1, x, curve, fine, y)
    with pytest.raises(AssertionError, match="len"):
        tone(1, x[:97], curve, fine, y[:97])


BINS = HEAD + """
def count(x: u8["h", "w"], weight: i32["w"], bins: i32["m"], place: i32[256]):
    for i in range(len(x)):
        for j in range(x.shape[1]):
            bins[x[i, j]] += weight[j]
    for i in range(len(x)):
        for j in range(x.shape[1]):
            if weight[j] > 50:
                place[x[i, j]] = i
"""


def test_elements_that_data_choose_are_added_and_stored_to(cache: Cache) -> None:
    count = planish.compile(BINS, measure=False, cache=cache)
    random = np.random.default_rng(0)
    x, weight = random.integers(0, 256, (70, 67)).astype(np.uint8), random.integers(0, 99, 67).astype(np.int32)
    bins, place = random.integers(0, 9, 300).astype(np.int32), np.zeros(256, np.int32)
    want, at = bins.copy(), place.copy()
    np.add.at(want, x, np.broadcast_to(weight, x.shape))
    for i, j in np.ndindex(x.shape):
        at[x[i, j]] = i if weight[j] > 50 else at[x[i, j]]
    count(x, weight, bins, place)
    np.testing.assert_array_equal(bins, want)
    np.testing.assert_array_equal(place, at)
    with pytest.raises(ValueError, match="`bins` must have 256 elements"):
        count(x, weight, bins[:255], place)


def test_numbers_have_the_types_that_they_are_asserted_to_fit() -> None:
    assert "i32(u8(gain))" in print_stmt(read_python_source(TONE, "<text>").kernel.body)


@pytest.mark.parametrize("index", ["z[i]", "y[x[i]]", "z[i] - 100"])
def test_what_may_be_negative_is_refused(index: str) -> None:
    text = HEAD + f"""
def f(x: i32["n"], z: i8["n"], t: i32["m"], y: i32["n"]):
    for i in range(len(x)):
        y[i] = t[{index}]
"""
    with pytest.raises(PlanishError, match="E0320"):
        read_python_source(text, "<text>")


def test_what_may_be_anything_is_for_the_caller_to_keep_inside(cache: Cache) -> None:
    text = HEAD + """
def f(x: i32["n"], t: i32["m"], y: i32["n"]):
    for i in range(len(x)):
        y[i] = t[x[i]]
"""
    gather = planish.compile(text, measure=False, cache=cache)
    x, t, y = np.array([4, 0, 2], np.int32), np.arange(10, 15, dtype=np.int32), np.zeros(3, np.int32)
    gather(x, t, y)
    np.testing.assert_array_equal(y, t[x])
    assert gather.report.unbounded == ("t",)
