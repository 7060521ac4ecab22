"""Loops over whole matrices become loops over their dimensions, and do the same."""

from __future__ import annotations

import numpy as np
import pytest

from planish.ir.nest import For, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_expr
from planish.ir.traverse import walk
from planish.poly.canonical.delinearise import delinearise
from planish.poly.canonical.uncollapse import unfold
from planish.poly.scop.extraction import extract_scop

CLEARED = """kernel k(m, n; C: f64[?]) {
  for t in 0 .. m * n { C[t] = 0.0 }
  for i in 0 .. n { for j in 0 .. m { C[i * m + j] += 1.0 } }
}"""
ALONE = "kernel k(c, h, w; x: f64[?], y: f64[?]) { for t in 0 .. h * w * c { y[t] = x[t] * 2.0 } }"
SQUARE = "kernel k(n; x: f64[?]) { for t in 0 .. n * n { x[t] += 1.0 } for i in 0 .. n { x[i * n + i] = 5.0 } }"
INNER = """kernel k(m, n; x: f64[?]) {
  for t in 0 .. m * n - 2 * n - 2 * m + 4 { x[t] += 1.0 }
  for i in 0 .. m - 2 { for j in 0 .. n - 2 { x[i * n - 2 * i + j] += 3.0 } }
}"""
NESTED = "kernel k(l, m, n; x: f64[?]) { for i in 0 .. l { for t in 0 .. m * n { x[i * m * n + t] += 1.0 } } }"
SHADOWED = "kernel k(m, n; x: f64[?]) { for t in 0 .. m * n { for t in 0 .. 1 { x[t] += 1.0 } } }"
CONSTANT = "kernel k(n; x: f64[?]) { for t in 0 .. 6 * n { x[t] += 1.0 } }"


def bounds(kernel: Kernel) -> list[str]:
    return [print_expr(x.upper) for x in walk(kernel.body) if isinstance(x, For)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [(CLEARED, ["n", "m", "n", "m"]), (ALONE, ["c", "h", "w"]), (SQUARE, ["n", "n", "n"]),
     (INNER, ["m - 2", "n - 2", "m - 2", "n - 2"]), (NESTED, ["l", "m", "n"])],
)  # fmt: skip
def test_the_loops_that_it_means(text: str, expected: list[str]) -> None:
    assert bounds(unfold(parse_kernel(text))) == expected


@pytest.mark.parametrize("text", [CLEARED, ALONE, SQUARE, INNER, NESTED])
@pytest.mark.parametrize("sizes", [(3, 4, 5), (2, 5, 2), (1, 1, 1), (0, 3, 2), (3, 2, 0)])
def test_it_does_the_same(text: str, sizes: tuple[int, ...]) -> None:
    kernel = parse_kernel(text)
    if text is INNER:
        sizes = tuple(x + 2 for x in sizes)
    values = dict(zip(kernel.sizes, sizes, strict=False))
    before = {x.name: np.random.default_rng(1).uniform(size=200) for x in kernel.arrays}
    after = {name: x.copy() for name, x in before.items()}
    run_kernel(kernel, {**values, **before})
    run_kernel(unfold(kernel), {**values, **after})
    assert all(np.array_equal(before[x], after[x]) for x in before)


def test_it_is_a_static_control_part_afterwards() -> None:
    kernel = delinearise(unfold(parse_kernel(CLEARED)))
    assert [None if x is None else print_expr(x) for x in kernel.array("C").shape] == [None, "m"]
    assert len(extract_scop(kernel).statements) == 2


def test_sizes_with_which_it_would_differ_are_excluded() -> None:
    kernel = unfold(parse_kernel(CLEARED))
    with pytest.raises(ValueError, match="assumption"):
        run_kernel(kernel, {"m": -2, "n": -3, "C": np.zeros(6)})


@pytest.mark.parametrize("text", [SHADOWED, CONSTANT])
def test_what_is_no_product_of_sizes_stays(text: str) -> None:
    kernel = parse_kernel(text)
    assert unfold(kernel) == kernel
