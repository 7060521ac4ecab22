"""Sums that stop at the border of an array: what gets a copy with a border, and what is left as it is."""

from __future__ import annotations

import pytest
from tests.unit.raising.interpreted import assert_same, make_values

from planish.ir.checker import check_kernel
from planish.ir.nest import Alloc, Block, Kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_expr
from planish.raising.match.zero_padding import with_borders

HEAD = "kernel k(n, h, w; X: f64[h, w], W: f64[3, 2], O: f64[n, n], V: f64[h]) "
LOOPS = "for y in 0 .. n { for x in 0 .. n { for r in 0 .. 3 { for s in 0 .. 2 { @ } } } }"
ROWS = "y + r >= 1 && y + r - 1 < h"
SUM = "O[y, x] += X[y + r - 1, x + s] * W[r, s]"


def kernel_of(statement: str) -> Kernel:
    return parse_kernel(f"{HEAD}{{ {LOOPS.replace('@', statement)} }}")


def closed(kernel: Kernel, names: tuple[str, ...]) -> Kernel:
    """The kernel with its copies as arrays of its own."""
    own = tuple(Alloc(x) for x in kernel.arrays if x.name in names)
    arrays = tuple(x for x in kernel.arrays if x.name not in names)
    return Kernel(kernel.name, kernel.sizes, kernel.scalars, arrays, Block((*own, *kernel.body.body)))


@pytest.mark.parametrize(
    "statement",
    [
        f"if {ROWS} {{ {SUM} }}",
        "if y + r - 1 >= 0 { if h > y + r - 1 { if x + s < w { O[y, x] += W[r, s] * X[y + r - 1, x + s] } } }",
        "if 2 * y + r >= 2 && 2 * y + r - 2 < h && 0 <= x + 3 * s - 1 && x + 3 * s - 1 < w"
        " { O[y, x] += X[2 * y + r - 2, x + 3 * s - 1] * W[r, s] }",
        "if y - r + 1 >= 0 && y - r + 1 < h { O[y, x] += X[y - r + 1, x + s] * W[r, s] }",
    ],
)
def test_a_copy_with_a_border_gives_the_same(statement: str) -> None:
    kernel = kernel_of(statement)
    found = with_borders(kernel)
    assert found is not None
    check_kernel(found.kernel, "borders")
    for n, h, w in ((0, 3, 4), (1, 1, 2), (4, 4, 5), (3, 9, 8), (5, 2, 6)):
        sizes = {"n": n, "h": h, "w": w}
        assert_same(kernel, closed(found.kernel, found.copies), make_values(kernel, sizes))


def test_what_is_not_proven_is_assumed() -> None:
    found = with_borders(kernel_of(f"if {ROWS} {{ {SUM} }}"))
    assert found is not None
    texts = {print_expr(x) for x in found.kernel.assumptions}
    assert texts == {"n < w", "n + 2 >= 0", "w >= 0"}


@pytest.mark.parametrize(
    "statement",
    [
        # Something else is asked, too little is seen, or what is written is read.
        f"if {ROWS} && r > s {{ {SUM} }}",
        "if y + r >= 2 && y + r - 1 < h { O[y, x] += X[y + r - 1, x + s] * W[r, s] }",
        f"if {ROWS} {{ {SUM} }} else {{ O[y, x] += 1.0 }}",
        "if y + r >= 1 && y + r - 1 < h { O[y, x] += X[y + r - 1, x + s] + W[r, s] }",
        "if y + r >= 1 && y + r - 1 < h { O[y, x] = X[y + r - 1, x + s] * W[r, s] }",
        "if y + r >= 1 && y + r - 1 < n { O[y, x] += O[y + r - 1, x + s] * W[r, s] }",
        SUM,
        # Elsewhere, a part of an array would be used that is none where nothing was summed.
        "if x + s >= 1 && x + s - 1 < h { O[y, x] += V[x + s - 1] * W[x + s - 1, r] }",
        "if x + s >= 1 && x + s - 1 < h { O[y, x + s - 1] += V[x + s - 1] * W[r, s] }",
        f"if {ROWS} {{ O[y, x] += X[y + r - 1, x + y + r - 2] * W[r, s] }}",
        "let t = y + r if t >= 1 && t - 1 < h { O[y, x] += X[t - 1, t] * W[r, s] }",
    ],
)
def test_other_sums_have_no_border(statement: str) -> None:
    assert with_borders(kernel_of(statement)) is None
