"""Sweeps follow each other where the rows that one needs were left by the one before, and stay apart elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from planish.ir.nest import Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.poly.isl.schedule_tree import Kind, find_paths, kind_of
from planish.poly.scop.dependence import find_order
from planish.poly.scop.extraction import Scop, extract_scop
from planish.poly.scop.legality import find_violation, schedule_map
from planish.schedule.auto.lower import lower
from planish.schedule.auto.time_skewing import follow_sweeps

HEAD = "kernel k(s, n; A: f64[n, n], B: f64[n, n], c: f64[s])"
JACOBI = (
    "for i in 1 .. n - 1 { for j in 1 .. n - 1 { B[i, j] = A[i, j - 1] + 0.5 * A[i - 1, j] - A[i + 1, j] } }",
    "for i in 1 .. n - 1 { for j in 1 .. n - 1 { A[i, j] = B[i, j] - B[i + 1, j + 1] } }",
)
SEIDEL = ("for i in 1 .. n - 1 { for j in 1 .. n - 1 { A[i, j] = A[i - 1, j + 1] + A[i, j - 1] - A[i + 1, j] } }",)
EDGES = (
    "for j in 0 .. n { B[0, j] = c[t] }",
    "for i in 1 .. n { for j in 0 .. n { B[i, j] += 0.5 * (A[i, j] - A[i - 1, j]) } }",
    "for i in 0 .. n - 1 { for j in 0 .. n { A[i, j] += 0.5 * (B[i + 1, j] - B[i, j]) } }",
)
FAR = ("for i in 2 .. n - 2 { for j in 0 .. n { A[i, j] = A[i + 2, j] + A[i - 2, j] } }",)
WHOLE = ("for i in 0 .. n { for j in 0 .. n { A[i, j] = A[n - 1 - i, j] * 0.5 } }",)
OTHERS = ("for i in 0 .. n { for j in 0 .. n { B[t, j] += A[i, j] } }",)
NEVER = ("for i in 5 .. 3 { for j in 0 .. n { A[i, j] = A[i, j] * 0.5 } }",)
SHALLOW = ("for i in 1 .. n { c[t] += A[0, i] }",)
ROOM = 1 << 20


def scop_of(sweeps: tuple[str, ...]) -> Scop:
    return extract_scop(parse_kernel(f"{HEAD} {{ for t in 0 .. s {{ {' '.join(sweeps)} }} }}"))


def run(kernel: Kernel, s: int, n: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(n)
    values = {"A": random.random((n, n)), "B": random.random((n, n)), "c": random.random(s)}
    run_kernel(kernel, {"s": s, "n": n, **values})
    return values


@pytest.mark.parametrize("sweeps", [JACOBI, SEIDEL, EDGES, FAR], ids=["jacobi", "seidel", "edges", "far"])
def test_sweeps_follow_each_other(sweeps: tuple[str, ...]) -> None:
    scop = scop_of(sweeps)
    order = find_order(scop)
    schedule = follow_sweeps(scop, order, ROOM)
    assert schedule is not None and find_violation(schedule_map(schedule), order) is None
    assert schedule.get_domain().is_equal(scop.domain)
    bands = find_paths(schedule.get_root(), lambda x: kind_of(x) == Kind.band)
    assert len(bands) == 3 + len(sweeps)
    kernel = lower(scop, schedule, scop.locals)
    for s, n in ((0, 5), (1, 1), (1, 6), (3, 2), (40, 5), (33, 9)):
        before, after = run(scop.kernel, s, n), run(kernel, s, n)
        for name, value in before.items():
            assert np.array_equal(after[name], value), (name, s, n)


@pytest.mark.parametrize("sweeps", [WHOLE, OTHERS, SHALLOW, NEVER], ids=["whole", "others", "shallow", "never"])
def test_sweeps_that_stay_apart(sweeps: tuple[str, ...]) -> None:
    scop = scop_of(sweeps)
    assert follow_sweeps(scop, find_order(scop), ROOM) is None


def test_rows_have_to_fit() -> None:
    scop = scop_of(JACOBI)
    order = find_order(scop)
    counts = []
    for room in (64 * 1024, 256 * 1024, ROOM, 1 << 30):
        schedule = follow_sweeps(scop, order, room)
        text = "" if schedule is None else str(schedule)
        counts.append(next((x for x in range(2, 33) if f"(t) mod {x})" in text), 0))
    assert counts == [0, 3, 15, 32]
