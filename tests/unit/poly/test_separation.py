"""Parts of one array that lie apart, and those of which that is not certain.

>>> apart("for i in b .. n { for k in 0 .. b { A[i, b] += A[i, k] } }")
True
"""

from __future__ import annotations

import pytest

from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_expr
from planish.poly.scop.separation import reads_apart


def apart(text: str) -> bool:
    """Whether the nest reads of A what it does not write."""
    kernel = parse_kernel(f"kernel k(n, b, c; A: f64[n, n], B: f64[n]) {{ {text} }}")
    return reads_apart(kernel.body.body[0], kernel.arrays[0]) is not None


APART = {
    "columns before": "for i in 0 .. n { for k in 0 .. b { A[i, b] += A[i, k] * B[k] } }",
    "rows behind": "for i in 0 .. b { for k in b .. n { A[i, k] = A[k, i] } }",
    "by a minimum": "for i in 0 .. min(4, n) { for j in min(4, n) .. n { A[i, j] = A[j, i] } }",
    "backwards": "for i in 0 .. b { A[b - i - 1, 0] = A[b + i, 0] }",
    "triangular bounds": "for i in 0 .. b { for k in 0 .. i { A[k, b] += A[k, i] } }",
    "nothing is read": "for i in 0 .. n { A[i, i] = B[i] }",
    "a constant distance": "for i in 0 .. n { A[i, 0] = A[i, 1] }",
    "steps": "for i in 0 .. b step 4 { A[i, b] = A[i, b - 1] }",
    "an end that is a minimum": "for i in 0 .. min(4, n - b) { A[b + i, 0] += A[n, 0] }",
}
TOGETHER = {
    "the same element": "for i in 0 .. n { A[i, 0] = A[i, 0] * A[i, 0] }",
    "one column is both": "for i in 0 .. n { for k in 0 .. b + 1 { A[i, b] += A[i, k] } }",
    "sizes that may be any": "for i in 0 .. n { A[i, b] = A[i, c] }",
    "a stencil": "for i in 1 .. n { A[i, 0] = A[i - 1, 0] }",
    "two statements write": "for i in 0 .. n { A[i, 0] = A[i, 2] A[i, 2] = B[i] }",
    "bounds that are read": "for i in 0 .. n { if A[i, 0] > 0.0 { A[i, 0] = 1.0 } }",
    "a name that moves": "for i in 0 .. n { let t = 2 * i for j in 0 .. n { B[j] = A[0, t] A[0, t + 2] = 1.0 } }",
    "a place that is read": "for i in 0 .. n { A[i64(B[i]), 0] = A[i, 0] }",
    "steps that meet": "for i in 0 .. n step 2 { A[i + 1, 0] = A[i, 0] }",
    "a subscript that is no line": "for i in 0 .. n { A[0, i * i] = A[0, n + i] }",
}


@pytest.mark.parametrize("text", APART.values(), ids=APART)
def test_apart(text: str) -> None:
    assert apart(text)


@pytest.mark.parametrize("text", TOGETHER.values(), ids=TOGETHER)
def test_together(text: str) -> None:
    assert not apart(text)


def test_rows_must_not_run_into_each_other() -> None:
    kernel = parse_kernel("kernel k(n; A: f64[9, n]) { for i in 0 .. 4 { A[1, i] = A[0, i] } }")
    found = reads_apart(kernel.body.body[0], kernel.arrays[0])
    assert found is not None and [print_expr(x) for x in found] == ["n > 3"]
    kernel = parse_kernel("kernel k(n; A: f64[9, 3]) { for i in 0 .. 4 { A[1, i] = A[0, i] } }")
    assert reads_apart(kernel.body.body[0], kernel.arrays[0]) is None
