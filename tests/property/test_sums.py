"""Nests of sums in any order: every version means the same, and lanes are independent wherever that is said."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.property.checks import run_check
from tests.property.programs import Program
from tests.property.sampling import one_in
from tests.property.sums import make_sums

from planish.ir.nest import For, Reduce
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import walk

NESTS, STEP = 120, 10

LANES = {
    "diagonal": "for i in 0 .. n { for j in 0 .. n { A[i + 1, j + 1] = A[i, j] + B[j] } }",
    "difference": "for i in 0 .. n { for j in 0 .. n { S[i - j + 24] += B[i] * C[j] } }",
    "sum": "for i in 0 .. n { for j in 0 .. n { S[i + j] += B[i] * C[j] } }",
    "half": "for j in 0 .. n { S[j // 2] += B[j] }",
    "two updates": "for i in 0 .. n { for j in 0 .. n { S[i] += A[i, j]  S[j] += A[j, i] * B[i] } }",
    "read between": "for i in 0 .. n { for j in 0 .. n { S[0] += A[i, j]  B[j] = S[0] } }",
    "greatest": "for i in 0 .. n { for j in 0 .. n { for k in 0 .. n { S[i] max= A[i + j, i + k] } } }",
    "other cells": "for i in 0 .. n { for j in 0 .. n { for k in 0 .. n { S[i] += S[j + 1] * A[j, k] } } }",
}
HEAD = "kernel k(n; A: i32[50, 50], B: i32[50], C: i32[50], S: i32[50])"


@pytest.mark.parametrize("first", one_in(12, range(0, NESTS, STEP)))
def test_sums_in_any_order_are_the_same(first: int) -> None:
    count: Counter[str] = Counter()
    for seed in range(first, first + STEP):
        fault = run_check("sums", make_sums(seed), count)
        assert fault is None, fault
    assert count["candidates"] > STEP and count["abreast"] > 0


def test_nests_have_sums_over_several_loops() -> None:
    deep = 0
    for seed in range(NESTS):
        nodes = list(walk(make_sums(seed).kernel.body))
        deep += sum(isinstance(x, For) for x in nodes) > 2 and any(isinstance(x, Reduce) for x in nodes)
    assert deep > NESTS // 3


@pytest.mark.parametrize("type", ["i32", "f64"])
@pytest.mark.parametrize("nest", LANES.values(), ids=LANES.keys())
def test_lanes_do_not_wait_for_each_other(nest: str, type: str) -> None:
    kernel = parse_kernel(f"{HEAD} {{ {nest} }}".replace("i32", type))
    count: Counter[str] = Counter()
    fault = run_check("sums", Program(0, kernel, ({"n": 24}, {"n": 1}, {"n": 7})), count)
    assert fault is None, fault
    assert count["candidates"] > 0
