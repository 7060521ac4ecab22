"""A Python function with `while`, compiled, beside the plain Python."""

import numpy as np

from planish import f32, i64, kernel, size


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
