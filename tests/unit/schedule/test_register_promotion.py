"""Values of one iteration stay in registers, tables are copied: the same results, and loops as memory asks for."""

from __future__ import annotations

import numpy as np
import pytest

from planish.ir.checker import check_kernel
from planish.ir.nest import Alloc, For, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import walk
from planish.schedule.auto.plan import Version, prepare
from planish.schedule.auto.rewrites.packing import copy_tables
from planish.schedule.auto.rewrites.register_promotion import cell_versions, find_cells, forward
from planish.target.load import load_target

BUTTERFLY = """kernel k(m, n, s; w: f32[?, s] distinct, A: f32[?, n] distinct) assume s >= 1 {
  for j in 0 .. n {
    alloc c: f32[]  c[] = w[j, 0]
    for t in 0 .. m {
      alloc a: f32[]  alloc b: f32[]
      a[] = A[2 * t, j] + A[2 * t + 1, j]
      b[] = A[2 * t, j] - A[2 * t + 1, j]
      A[2 * t, j] = a[]
      A[2 * t + 1, j] = b[] * c[]
    }
  }
}"""
SUMS = """kernel k(m, n; A: f32[m, n] distinct, B: f32[m, n] distinct) {
  for j in 0 .. n { for t in 0 .. m {
    alloc a: f32[]  a[] = A[t, j] * 2.0:f32  A[t, j] = a[] + 1.0:f32  B[t, j] = a[] } }
}"""
PASSED_ON = """kernel k(m, n; A: f32[m, n] distinct) {
  alloc last: f32[]  last[] = 0.0:f32
  for j in 0 .. n { for t in 0 .. m { A[t, j] = A[t, j] + last[]  last[] = A[t, j] } }
}"""


def versions(text: str) -> tuple[Version, ...]:
    return cell_versions(prepare(parse_kernel(text)), load_target("x86-avx512"), reassociate=False)


def loops_of(kernel: Kernel) -> list[str]:
    return [x.var for x in walk(kernel.body) if isinstance(x, For)]


@pytest.mark.parametrize("sizes", [(0, 3, 1), (3, 0, 1), (1, 1, 1), (5, 7, 2), (40, 33, 3)])
@pytest.mark.parametrize("text", [BUTTERFLY, SUMS])
def test_versions_give_the_same(text: str, sizes: tuple[int, int, int]) -> None:
    kernel = parse_kernel(text)
    m, n, s = sizes
    for made in versions(text):
        check_kernel(made.kernel, "cells")
        found = []
        for each in (kernel, made.kernel):
            random = np.random.default_rng(m)
            values = {"w": random.random((n, s), np.float32), "A": random.random((2 * m, n), np.float32)}
            values["B"] = np.zeros((m, n), np.float32)
            values["A"] = values["A"] if "w" in {x.name for x in kernel.arrays} else values["A"][:m].copy()
            values = {x.name: values[x.name] for x in kernel.arrays}
            run_kernel(each, {x: y for x, y in zip("mns", sizes, strict=True) if x in kernel.sizes} | values)
            found.append(values["A"])
        np.testing.assert_array_equal(*found)


def test_lanes_go_along_rows_and_hold_the_values() -> None:
    made = {x.name: x.kernel for x in versions(BUTTERFLY)}
    assert [*made] == ["original, register-promote", "original, register-promote, pack"]
    for kernel in made.values():
        lanes = [x for x in walk(kernel.body) if isinstance(x, For) and x.facts.simd]
        held = {x.array.name for x in walk(lanes[-1].body) if isinstance(x, Alloc)}
        assert lanes[-1].var.startswith("j") and held == {"b"}
    packed = made["original, register-promote, pack"]
    assert [x.array.name for x in packed.body.body if isinstance(x, Alloc)] == ["w_table"]


def test_what_another_iteration_uses_is_no_cell() -> None:
    assert not find_cells(forward(prepare(parse_kernel(PASSED_ON)).kernel))
    assert not versions(PASSED_ON)


def test_values_of_arrays_that_change_are_not_read_later() -> None:
    loops = "for i in 0 .. n { c[i] = A[i] A[i] = 0.0:f32 for j in 0 .. n { B[i, j] = c[i] } }"
    kernel = parse_kernel(f"kernel k(n; A: f32[n], B: f32[n, n]) {{ alloc c: f32[n] {loops} }}")
    assert forward(kernel) == kernel


@pytest.mark.parametrize(
    "loops",
    [
        "for t in 0 .. m { for j in 0 .. n { x[t, j] *= w[0, j] } }",
        "for t in 0 .. m { for j in 0 .. n { w[j, 0] = x[t, j] + w[j, 0] } }",
        "for j in 0 .. n { x[0, j] *= w[j, 0] }",
        "for t in 0 .. m { for j in 0 .. n { if x[t, j] > 0.0:f32 { x[t, j] = w[j, 0] } } }",
        "for t in 0 .. m { for j in t .. n { x[t, j] *= w[j, 0] } }",
        "for t in 0 .. m { for j in 0 .. n { x[t, j] += select(j < s, w[j, 0], 0.0:f32) } }",
    ],
    ids=["in order", "changed", "once", "perhaps", "from elsewhere", "not all of it"],
)
def test_tables_that_are_not_copied(loops: str) -> None:
    kernel = parse_kernel(f"kernel k(m, n, s; w: f32[?, s], x: f32[m, n]) {{ {loops} }}")
    assert copy_tables(kernel) == kernel
