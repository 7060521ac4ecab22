"""Filters that keep states are recurrences of their output; what is kept otherwise is left as it is."""

from __future__ import annotations

import numpy as np
import pytest

from planish.ir.checker import check_kernel
from planish.ir.nest import For, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_stmt
from planish.ir.traverse import walk
from planish.schedule.auto.recurrence import LONG, use_blocks
from planish.schedule.auto.rewrites.rematerialise import unfold

BIQUAD = """y[j] = c[0] * x[j] + z[0]
  z[0] = c[1] * x[j] - c[3] * y[j] + z[1]
  z[1] = c[2] * x[j] - c[4] * y[j]"""
DIRECT = """y[j] = c[0] * x[j] + c[1] * z[0] + c[2] * z[1] - c[3] * y[j - 1] - c[4] * y[j - 2]
  z[1] = z[0]
  z[0] = x[j]"""
SMOOTH = """y[j] = 0.75 * z[0] + 0.25 * x[j]
  z[0] = y[j]"""
LAST_FIRST = """z[1] = z[0]
  z[0] = c[0] * z[1] + x[j]
  y[j] = z[0]"""
"""What is kept is made before the array."""
SIZES = (0, 1, 2, 3, 4, LONG, LONG + 1, LONG + 2, LONG + 3, LONG + 11, 2 * LONG + 5)


def kernel_of(body: str) -> Kernel:
    return parse_kernel(f"kernel k(n; c: f64[5], x: f64[n], y: f64[n], z: f64[2]) {{ {body} }}")


def run(kernel: Kernel, n: int, spoilt: int | None = None) -> dict[str, np.ndarray]:
    random = np.random.default_rng(n)
    values = {x: random.uniform(-1, 1, length) for x, length in (("c", 5), ("x", n), ("y", n), ("z", 2))}
    values["c"] *= 0.5
    if spoilt is not None:
        values["x"][spoilt] = np.nan
    run_kernel(kernel, {"n": n, **values})
    return values


@pytest.mark.parametrize(
    ("body", "begin"), [(BIQUAD, 0), (DIRECT, 2), (SMOOTH, 0), (LAST_FIRST, 0)], ids=["biquad", "direct", "one", "last"]
)
def test_filters_give_the_same(body: str, begin: int) -> None:
    kernel = kernel_of(f"for j in {begin} .. n {{ {body} }}")
    blocked, (remark,) = use_blocks(kernel)
    check_kernel(blocked, "a filter by blocks")
    assert remark.id == "recurrence-blocks"
    assert any(isinstance(x, For) and x.facts.simd for x in walk(blocked.body))
    for n in SIZES:
        before, after = run(kernel, n), run(blocked, n)
        for name, wanted in before.items():
            np.testing.assert_allclose(after[name], wanted, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("spoilt", [0, 40, LONG + 9])
def test_what_is_no_number_does_not_spread_backwards(spoilt: int) -> None:
    kernel = kernel_of(f"for j in 0 .. n {{ {BIQUAD} }}")
    blocked, _ = use_blocks(kernel)
    before, after = run(kernel, 2 * LONG, spoilt), run(blocked, 2 * LONG, spoilt)
    for name in "yz":
        assert np.array_equal(np.isnan(before[name]), np.isnan(after[name]))
    np.testing.assert_allclose(after["y"][:spoilt], before["y"][:spoilt], rtol=1e-11, atol=1e-11)


def test_a_cascade_of_filters_in_rows() -> None:
    """Each row has factors of its own, which are made where the row is long enough."""
    body = """for k in 0 .. 3 { for j in 0 .. n {
      y[n * k + j] = c[5 * k] * x[j] + z[2 * k]
      z[2 * k] = c[5 * k + 1] * x[j] - c[5 * k + 3] * y[n * k + j] + z[2 * k + 1]
      z[2 * k + 1] = c[5 * k + 2] * x[j] - c[5 * k + 4] * y[n * k + j]
    } }"""
    kernel = parse_kernel(f"kernel k(n; c: f64[15], x: f64[n], y: f64[3 * n], z: f64[6]) {{ {body} }}")
    blocked, remarks = use_blocks(kernel)
    assert len(remarks) == 1
    for n in (0, 1, 2, LONG - 1, LONG + 5, 2 * LONG):
        random = np.random.default_rng(n)
        before = {x: random.uniform(-0.5, 0.5, m) for x, m in (("c", 15), ("x", n), ("y", 3 * n), ("z", 6))}
        after = {x: y.copy() for x, y in before.items()}
        run_kernel(kernel, {"n": n, **before})
        run_kernel(blocked, {"n": n, **after})
        for name in before:
            np.testing.assert_allclose(after[name], before[name], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    "body",
    [
        "y[j] = x[j] + z[0] z[0] = z[0] + y[j]",  # a sum of all
        "y[j] = x[j] + z[0] z[0] = z[1] z[1] = z[0]",  # one that goes round
        "y[j] = x[j] + z[0] z[j % 2] = y[j]",  # cells that move
        "y[j] = x[j] + z[0] z[0] = y[j] x[j] = 0.0",  # two arrays
        "y[j] = x[j] + z[0] z[0] = y[n - 1 - j]",  # what is not there yet
        "y[j] = x[j] + z[0] z[0] = y[j] * c[0] c[0] = z[0]",  # a factor that is kept, too
        "y[0] = x[j] + z[0] z[0] = y[0]",  # no array
        "y[j] += z[0] z[0] = y[j]",  # what was there
        "y[j] = x[j] + z[0] z[1] = y[j]",  # nothing waits for it
    ],
)
def test_what_is_left(body: str) -> None:
    kernel = kernel_of(f"for j in 0 .. n {{ {body} }}")
    blocked, _ = use_blocks(kernel)
    assert blocked == kernel


def test_distances_in_the_array() -> None:
    """What came from the array may come from it again, but not from further than two iterations."""
    near = kernel_of("for j in 1 .. n { y[j] = x[j] + z[0] z[0] = 0.5 * y[j - 1] }").body.body[0]
    assert isinstance(near, For)
    found = unfold(near)
    assert found is not None
    assert print_stmt(found[1]) == "for j in 2 .. n {\n  y[j] = x[j] + 0.5:f64 * y[j - 2]\n}"
    far = kernel_of("for j in 2 .. n { y[j] = x[j] + z[0] z[0] = 0.5 * y[j - 2] }")
    assert use_blocks(far) == (far, ())


@pytest.mark.parametrize("cell", ["s[k]", "s[m]"])
def test_a_cell_that_may_be_another_one_is_not_known(cell: str) -> None:
    """Also where the array reads it behind the last store to a cell."""
    loop = f"for j in 0 .. n {{ s[k] = x[j] z[1] = z[0] z[0] = x[j] y[j] = z[1] + {cell} }}"
    made = parse_kernel(f"kernel q(n, k, m; x: f64[n], y: f64[n], s: f64[n], z: f64[2]) {{ {loop} }}").body.body[0]
    assert isinstance(made, For)
    assert (unfold(made) is None) == (cell == "s[m]")
