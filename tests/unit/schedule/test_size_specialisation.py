"""Loops over small sizes that are given are written out, for calls with these; other calls get the same results."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from planish.ir.checker import check_kernel
from planish.ir.nest import Alloc, For, If
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import walk
from planish.schedule.auto.plan import Prepared, Version, plan, prepare
from planish.schedule.auto.policies import POLICIES
from planish.schedule.auto.rewrites.size_specialisation import given_versions
from planish.target.load import load_target

WINDOW = """kernel k(m, n, k; A: f32[m + k, n + k], w: f32[k, k], B: f32[m, n] distinct) {
  for y in 0 .. m { for x in 0 .. n {
    alloc s: f32[]  s[] = 0.0:f32
    for i in 0 .. k { for j in 0 .. k { s[] += A[y + i, x + j] * w[i, j] } }
    B[y, x] = s[]
  } }
}"""


@cache
def planned() -> tuple[Prepared, tuple[Version, ...]]:
    prepared = prepare(parse_kernel(WINDOW))
    written = [x for x in POLICIES if x.name == "original"]
    return prepared, plan(prepared, load_target("x86-avx512"), reassociate=False, policies=written)


def versions(**sizes: int) -> tuple[Version, ...]:
    prepared, known = planned()
    return given_versions(prepared, load_target("x86-avx512"), known, sizes, reassociate=False)


@cache
def for_three() -> Version:
    (made,) = versions(k=3, m=900, n=800)
    return made


@pytest.mark.parametrize("k", [0, 1, 3, 4])
@pytest.mark.parametrize(("m", "n"), [(0, 4), (1, 1), (5, 37)])
def test_all_sizes_give_the_same(m: int, n: int, k: int) -> None:
    made = for_three()
    check_kernel(made.kernel, "given")
    found = []
    for kernel in (parse_kernel(WINDOW), made.kernel):
        random = np.random.default_rng(k)
        values = {"A": random.random((m + k, n + k), np.float32), "w": random.random((k, k), np.float32)}
        values["B"] = np.zeros((m, n), np.float32)
        run_kernel(kernel, {"m": m, "n": n, "k": k, **values})
        found.append(values["B"])
    np.testing.assert_array_equal(*found)


def test_no_loop_is_left_around_the_products() -> None:
    (choice,) = (x for x in for_three().kernel.body.body if isinstance(x, If))
    lanes = [x for x in walk(choice.then) if isinstance(x, For) and x.facts.simd]
    assert [isinstance(x, Alloc) for x in lanes[0].body.body].count(True) == 1
    assert len(lanes[0].body.body) == 1 + 1 + 9 + 1


@pytest.mark.parametrize("sizes", [{}, {"k": 40}, {"k": 9}, {"m": 3}, {"k": 0}], ids=str)
def test_sizes_for_which_there_is_no_version(sizes: dict[str, int]) -> None:
    assert not versions(**sizes)
