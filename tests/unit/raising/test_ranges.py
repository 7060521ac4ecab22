"""Operations on parts of arrays, from one index to another: along rows, along columns, and in the sum."""

from __future__ import annotations

import pytest
from tests.unit.raising.interpreted import assert_same, make_values

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.frontend.python.reader import read_python_source
from planish.ir.checker import check_kernel
from planish.ir.nest import Kernel
from planish.raising.expansion import expand
from planish.raising.nests import raise_kernel
from planish.raising.raised import Apply
from planish.raising.tdl.constants import specialise_all
from planish.raising.tdl.reader import load_tactics

OPERATIONS = [tactic.operation for tactic in load_tactics()]
PARTS = ((0, 5), (1, 4), (2, 2), (4, 1))
"""From which index to which one: all, some, none."""


def find(kernel: Kernel) -> list[str]:
    """The operations of a kernel, which is run with parts of arrays of 5 and as it was before."""
    raised = raise_kernel(kernel, specialise_all(OPERATIONS, kernel))
    whole = expand(raised)
    check_kernel(whole, "expanded")
    for low, high in PARTS:
        sizes = {x: low if x in ("from", "begin", "from_") else high if x in ("to", "end") else 5 for x in kernel.sizes}
        assert_same(kernel, whole, make_values(kernel, sizes))
    assert all(isinstance(x, Apply) for x in raised.steps), raised.steps
    return [x.operation.name for x in raised.steps if isinstance(x, Apply)]


def read(text: str) -> Kernel:
    (function,) = read_c(Source("part.c", text)).functions
    (region,) = function.regions
    return region.kernel


BOUNDS = {"rows": ("from", "to", "0", "n", "0", "n"), "columns": ("0", "n", "from", "to", "0", "n"),
          "sum": ("0", "n", "0", "n", "from", "to"), "all": ("from", "to", "from", "to", "from", "to")}  # fmt: skip
SHAPES = {
    "rows and columns": ("double A[n][n], double B[n][n], double C[n][n]", "A[i][k] * B[k][j]", "C[i][j]"),
    "a line": ("const double *restrict A, double *restrict B, double *restrict C", "A[i*n+k] * B[j*n+k]", "C[i*n+j]"),
}
SUMS = {
    "in a variable": "double s = 0; for (int k = {2}; k < {3}; k++) s += {4}; {5} = s;",
    "in place": "{5} = 0; for (int k = {2}; k < {3}; k++) {5} += {4};",
    "added": "double s = 0; for (int k = {2}; k < {3}; k++) s += {4}; {5} += 2 * s;",
}


@pytest.mark.each_value(2)
@pytest.mark.parametrize("part", BOUNDS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("sum", SUMS)
def test_a_part_of_a_product_of_matrices(part: str, shape: str, sum: str) -> None:
    low, high, left, right, *inner = BOUNDS[part]
    arrays, term, target = SHAPES[shape]
    kernel = read(
        f"void f(int from, int to, int n, {arrays}) {{ for (int i = {low}; i < {high}; i++)"
        f" for (int j = {left}; j < {right}; j++) {{ {SUMS[sum].format(0, 0, *inner, term, target)} }} }}"
    )
    assert find(kernel)[-1] in ("contraction", "gemm", "gemm_scaled")


@pytest.mark.parametrize(("arrays", "nest", "operation"), [
    ("const double *restrict A, const double *restrict x, double *restrict y",
     "{ double s = 0; for (int j = 0; j < n; j++) s += A[i*n+j] * x[j]; y[i] = s; }", "contraction"),
    ("double A[n][n], double x[n], double y[n]",
     "{ double s = 1; for (int j = from; j < to; j++) s += A[j][i] * x[j]; y[i] = s; }", "gemv"),
    ("double A[n][n], double y[n]",
     "{ double s = 0; for (int j = 0; j < n; j++) s += A[i][j]; y[i] = s; }", "reduce_sum"),
    ("double A[n + 3], double w[3], double y[n]",
     "{ double s = 0; for (int k = 0; k < 3; k++) s += w[k] * A[i + k]; y[i] = s; }", "conv1d_signal"),
    ("double A[n][n][n], double B[n][n], double C[n][n][n]",
     "for (int j = 0; j < n; j++) for (int l = 0; l < n; l++) {"
     " double s = 0; for (int k = 0; k < n; k++) s += A[i][j][k] * B[k][l]; C[i][j][l] = s; }", "contraction"),
])  # fmt: skip
def test_a_part_of_another_sum(arrays: str, nest: str, operation: str) -> None:
    kernel = read(f"void f(int from, int to, int n, {arrays}) {{ for (int i = from; i < to; i++) {nest} }}")
    assert operation in find(kernel)


def test_backwards() -> None:
    kernel = read(
        "void f(int from, int to, int n, double A[n][n], double x[n], double y[n])"
        " { for (int i = to - 1; i >= from; i--)"
        "   { double s = 0; for (int j = 0; j < n; j++) s += A[i][j] * x[j]; y[i] = s; } }"
    )
    assert "contraction" in find(kernel)


def test_a_part_in_python() -> None:
    text = """from planish import f64, size
def part(begin: size, end: size, n: size, A: f64["n", "n"], B: f64["n", "n"], C: f64["n", "n"]):
    for i in range(begin, end):
        for j in range(n):
            s = 0.0
            for k in range(n):
                s += A[i, k] * B[k, j]
            C[i, j] = s
"""
    assert "contraction" in find(read_python_source(text, "part.py", None).kernel)
