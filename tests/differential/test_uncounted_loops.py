"""A Python function with `while`, compiled, beside the plain Python."""

from typing import Any

import numpy as np
import pytest

from planish import f32, i64, kernel, size
from planish.frontend.python.reader import read_python
from planish.frontend.python.signature import bind_call
from planish.ir.semantics.interpreter import run_kernel


@kernel(measure=False)
def trimmed(n: size, least: f32, a: f32["n"], out: i64[2]) -> None:  # noqa: F821
    last = n
    while last > 0 and a[last - 1] < least:
        last -= 1
    first = 0
    while first < last and a[first] < least:
        first += 1
    out[0], out[1] = first, last


def test_searches_are_made_in_lanes() -> None:
    assert "early-exit" in str(trimmed.report)
    assert trimmed.report.unbounded == ("a", "out")
    for n, inside in ((0, []), (1, [0]), (300, [120, 177]), (300, []), (64, [63]), (64, [0])):
        a, got, want = np.zeros(n, np.float32), np.zeros(2, np.int64), np.zeros(2, np.int64)
        a[inside] = 1
        trimmed.python(n, 0.5, a, want)
        trimmed(n, 0.5, a, got)
        np.testing.assert_array_equal(got, want)


def downwards(n: size, a: i64["n"]) -> None:  # noqa: F821
    m = n
    while m > 0:
        for i in range(m - 1, -1, -1):
            a[i] += m
            m = m - 1


def upwards(n: size, a: i64["n"]) -> None:  # noqa: F821
    first, last = 0, n
    while first < last:
        for i in range(first, last):
            first += 2
            last -= 1
            a[i] += first * last


def in_computed_steps(n: size, a: i64["n"]) -> None:  # noqa: F821
    low, high = 1, n
    step = 1
    while step < n:
        for i in range(low, high, step):
            low += 1
            high -= 1
            step += 2
            a[i] += low * high + step
        step *= 2


def nested_both_ways(n: size, a: i64["n"]) -> None:  # noqa: F821
    m = n
    while m > 1:
        for i in range(m - 1, 0, -2):
            for j in range(i, m):
                m -= 1
                a[j] += m * i
            a[i] -= m
        m -= 1


def of_a_name_that_a_condition_sets(n: size, a: i64["n"]) -> None:  # noqa: F821
    i = 0
    while i < n - 2:
        if a[i] > 2:
            ahead = 1
        else:
            ahead = 0
        place = i + ahead
        ahead = 5
        a[place + 1] += ahead
        i += 1


def of_a_pair(n: size, a: i64["n"]) -> None:  # noqa: F821
    one, two = 1, 1
    while two < n:
        one, two = two, one + two
        a[one - 1], one = two, one - 1
        one += 1


def with_bounds_of_the_loop_around(n: size, a: i64["n"]) -> None:  # noqa: F821
    m = n
    while m > 0:
        half = m // 2
        for i in range(half, -1, -3):
            half += i
            m -= 1
            a[i] += half - m
        m = m // 2


SHAPES = (
    downwards, upwards, in_computed_steps, nested_both_ways, of_a_name_that_a_condition_sets, of_a_pair,
    with_bounds_of_the_loop_around,
)  # fmt: skip


@pytest.mark.parametrize("function", SHAPES, ids=lambda x: x.__name__)
def test_bounds_and_subscripts_are_what_they_were_where_they_are_read_first(function: Any) -> None:
    read = read_python(function)
    compiled = kernel(function, measure=False) if function in (downwards, of_a_name_that_a_condition_sets) else None
    for n in (0, 1, 2, 3, 7, 16):
        want = np.random.default_rng(n).integers(0, 5, n)
        meant, got = want.copy(), want.copy()
        function(n, want)
        run_kernel(read.kernel, bind_call(read.signature, [n, meant], {}))
        np.testing.assert_array_equal(meant, want)
        if compiled is not None:
            compiled(n, got)
            np.testing.assert_array_equal(got, want)
