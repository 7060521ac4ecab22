"""Elements that are stored to under conditions on data are no cells while a loop runs: nothing may read them before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.library.strategies.nests.cell_reduction import CELL_REDUCTION
from planish.library.strategy import Context
from planish.target.load import load_target


@pytest.mark.parametrize(
    ("body", "is_reduction"),
    [
        ("if (x[i] == v) t[0] = i;", False),
        ("t[0] = x[i] == v ? i : t[0];", True),
        ("if (x[i] > t[0]) { t[0] = x[i]; k[0] = i; }", False),
    ],
)
def test_what_is_stored_in_some_iterations_is_no_cell(body: str, is_reduction: bool) -> None:
    head = "void f(int n, const int *restrict x, int v, int *restrict t, int *restrict k)"
    (region,) = read_c(Source("f.c", f"{head} {{ for (int i = 0; i < n; i++) {{ {body} }} }}")).functions[0].regions
    cx = replace(Context.of(region.kernel, load_target("x86-avx512")), region=region)
    assert bool(CELL_REDUCTION.match(cx)) == is_reduction
