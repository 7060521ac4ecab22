"""What is filled from itself, in square blocks: the same results, blocks of a diagonal independent, products first."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from planish.ir.nest import For
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import walk
from planish.schedule.auto.plan import Version, plan, prepare
from planish.schedule.auto.policies import POLICIES
from planish.target.load import load_target

CHAIN = """kernel k(n; p: i32[n + 1], A: i32[n, n] distinct) {
  for r in 1 .. n { for j in n - r .. n {
    A[n - r - 1, j] = 1000000:i32
    for k in n - r - 1 .. j { A[n - r - 1, j] min= A[n - r - 1, k] + A[k + 1, j] + p[n - r - 1] * p[k + 1] * p[j + 1] }
  } }
}"""
"""The cheapest order of a chain of products."""
PAIRS = """kernel k(n; A: i32[n, n] distinct) {
  for r in 1 .. n { for j in n - r .. n {
    A[n - r - 1, j] max= A[n - r - 1, j - 1]
    A[n - r - 1, j] max= A[n - r, j]
    for k in n - r .. j { A[n - r - 1, j] max= A[n - r - 1, k] + A[k + 1, j] }
  } }
}"""
"""The most pairs in a line, as Nussinov counts them."""
LONGEST = """kernel k(n; w: f64[n], A: f64[n, n] distinct) {
  for i in 0 .. n { for r in 0 .. i + 1 {
    A[i, i - r] = w[i]
    for k in i - r .. i { A[i, i - r] max= A[k, i - r] + A[i, k + 1] }
  } }
}"""
"""Below the main diagonal, and rows downwards."""
WIDE = load_target("x86-avx512")


@cache
def planned(text: str, threads: int) -> Version | None:
    chosen = [x for x in POLICIES if x.name == "block-wavefront"]
    made = plan(prepare(parse_kernel(text)), WIDE, reassociate=False, threads=threads, policies=chosen)
    return made[0] if made else None


@pytest.mark.each_value
@pytest.mark.parametrize("n", [0, 1, 2, 63, 64, 65, 200])
@pytest.mark.parametrize(
    ("text", "threads"),
    [(PAIRS, 1), (PAIRS, 2), (CHAIN, 1), (LONGEST, 1)],
    ids=["pairs", "on two", "chain", "below"],
)
def test_blocks_give_the_same(text: str, threads: int, n: int) -> None:
    made, original = planned(text, threads), parse_kernel(text)
    assert made is not None
    found = []
    for kernel in (original, made.kernel):
        random = np.random.default_rng(n)
        values = {"A": random.integers(0, 2, (n, n)), "p": random.integers(1, 9, n + 1), "w": random.random(n)}
        values = {x.name: values[x.name].astype(x.type.numpy) for x in original.arrays}
        run_kernel(kernel, {"n": n, **values})
        found.append(values["A"])
    np.testing.assert_array_equal(*found)


def test_blocks_of_a_diagonal_are_shared_out_and_sums_stay_in_registers() -> None:
    made = planned(PAIRS, 2)
    assert made is not None
    shared = [x for x in walk(made.kernel.body) if isinstance(x, For) and x.facts.parallel]
    assert len(shared) == 1 and any("registers 4 of" in x.message for x in made.remarks)


def test_a_strip_begins_with_what_it_makes_of_others_and_goes_on_one_by_one() -> None:
    made = planned(PAIRS, 1)
    assert made is not None
    (strips,) = [x for x in walk(made.kernel.body) if isinstance(x, For) and x.step == 16]
    *others, values = strips.body.body
    lanes = [x.facts.simd for x in walk(values) if isinstance(x, For)]
    assert others and not any(lanes)
    assert any(x.facts.simd for other in others for x in walk(other) if isinstance(x, For))


@pytest.mark.parametrize(
    "nest",
    [
        "for i in 0 .. n { for j in 0 .. n { for k in 0 .. n { C[i, j] += A[i, k] * A[k, j] } } }",
        "for t in 0 .. n { for i in 1 .. n - 1 { for j in 1 .. n - 1 { C[i, j] = C[i - 1, j] + C[i, j + 1] } } }",
    ],
    ids=["a product", "sweeps"],
)
def test_what_has_no_such_order(nest: str) -> None:
    assert planned(f"kernel k(n; A: f32[n, n] distinct, C: f32[n, n] distinct) {{ {nest} }}", 1) is None
