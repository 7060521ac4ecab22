"""Elements are compared by their places in variables only where what is called computes a number, and no more."""

from __future__ import annotations

import pytest
from pycparser.c_parser import CParser

from planish.frontend.c.analysis.scope import bind_file, bind_function
from planish.frontend.c.idioms.named_extrema import find_named


def found(call: str, before: str = "") -> int:
    test = f"for (int i = 1; i < n; i++) if ({call}(x[i]) < {call}(x[at])) at = i;"
    tree = CParser().parse(f"{before} void f(int n, float *x, int at) {{ {test} }}")
    bound = bind_function(tree.ext[-1], bind_file(tree))
    return len(find_named(bound.function.body.block_items[0], bound))


@pytest.mark.parametrize("call", ["fabsf", "__builtin_fabs", "exp", "cabsf"])
def test_functions_of_the_library(call: str) -> None:
    assert found(call) == 1


@pytest.mark.parametrize(
    ("call", "before"), [("fabsf", "int k; float fabsf(float x) { k++; return x; }"), ("read", ""), ("(*abs)", "")]
)
def test_others(call: str, before: str) -> None:
    assert found(call, before) == 0
