"""Rows that teams of threads keep in registers: the same results in every order, and what is no such row."""

from __future__ import annotations

import numpy as np
import pytest

from planish.core.diagnostic import PlanishError
from planish.gpu.dispatch import sizes_of_versions
from planish.gpu.mapping import map_kernel
from planish.gpu.rows import map_rows
from planish.gpu.spmd import make_launches
from planish.ir.index.evaluate import evaluate
from planish.ir.nest import Alloc, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.semantics.launches import backward, forward, shuffled
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import walk
from planish.schedule.program import Program
from planish.schedule.steps.promote_row import PromoteRow
from planish.schedule.steps.teams import MapTeam

NORMAL = parse_kernel(
    """kernel s(n, m; A: i64[n, m + 1], B: i64[n, m + 1]) assume m <= 16 {
  for i in 0 .. n {
    alloc top: i64[] alloc sum: i64[]
    top[] = A[i, 0]
    for j in 1 .. m { top[] max= A[i, j] }
    sum[] = 0
    for j in 0 .. m { B[i, j] = A[i, j] - top[] sum[] += B[i, j] }
    for j in 0 .. m { B[i, j] = B[i, j] * sum[] + i }
  } }"""
)
CENTRED = parse_kernel(
    """kernel c(m, n; C: i32[n, m + 2], g: i32[m]) assume m <= 14 {
  for r in 0 .. n {
    alloc mean: i32[]
    mean[] = C[r, m + 1]
    for q in 2 .. m + 2 { mean[] += C[r, q] }
    for q in 0 .. m { C[r, q + 2] += g[q] * mean[] }
    for q in 0 .. m { if q % 2 == 0 { mean[] ^= C[r, q + 2] } C[r, q + 2] = C[r, q + 2] * 2:i32 }
  } }"""
)
PLANES = parse_kernel(
    """kernel p(n, m, l; A: i32[n, m], B: i32[n, l + 1, m], s: i32[n]) assume m <= 8 {
  for i in 0 .. n {
    for k in 0 .. l { for j in 0 .. m { B[i, k, j] = A[i, j] * 3:i32 } }
    for j in 0 .. m { s[i] += A[i, j] }
    for j in 0 .. m { B[i, 0, j] += A[i, j] + A[0, j] }
  } }"""
)


def run(kernel: Kernel, sizes: dict[str, int], order: object = forward) -> list[np.ndarray]:
    generator = np.random.default_rng(7)
    arrays = {}
    for x in kernel.arrays:
        shape = tuple(evaluate(e, sizes) for e in x.shape if e is not None)
        arrays[x.name] = generator.integers(-9, 9, shape).astype(x.type.numpy)
    run_kernel(kernel, {**sizes, **arrays}, order)  # type: ignore[arg-type]
    return [arrays[x.name] for x in kernel.arrays]


@pytest.mark.parametrize("threads, rows", [(4, 1), (1, 2), (2, 4)])
@pytest.mark.parametrize(
    "kernel, loop, names", [(NORMAL, "i", "AB"), (CENTRED, "r", "C"), (PLANES, "i", "A")], ids=lambda x: str(x)[:1]
)
def test_kept_rows_compute_the_same(kernel: Kernel, loop: str, names: str, threads: int, rows: int) -> None:
    program = Program.of(kernel, "strict")
    for name in names:
        program = program.apply(PromoteRow(loop, name, f"row_{name}", 16))
    mapped = make_launches(program.apply(MapTeam(loop, "t", threads, rows)).kernel)
    kept = [x.array for x in walk(mapped.body) if isinstance(x, Alloc) and x.array.name.startswith("row_")]
    assert {str(x.memory) for x in kept} == {"register"} and len(kept) == len(names)
    for size in (0, 1, 2, 7):
        given = {name: max(0, size - d) for d, name in enumerate(kernel.sizes)}
        expected = run(kernel, given)
        assert all(map(np.array_equal, expected, run(program.kernel, given)))
        for order in (forward, backward, shuffled(3)):
            assert all(map(np.array_equal, expected, run(mapped, given, order)))


LOOPS = "kernel k(n, m; A: i32[n, m], B: i32[n, m], s: i32[n]) assume m <= 8 {{ for i in 0 .. n {{ {} }} }}"
TWICE = "for j in 0 .. m {{ s[i] += A[i, j] }} for j in {} .. m {{ {} }}"


@pytest.mark.parametrize(
    "body, why",
    [
        (TWICE.format(0, "s[i] += A[0, j] A[i, j] = 0:i32"), "other ways"),
        (TWICE.format(1, "A[i, j] = 0:i32"), "other ways"),
        (TWICE.format(0, "if j > 1 { A[i, j] = 0:i32 }"), "other ways"),
        ("for j in 0 .. m { if j > 1 { s[i] += A[i, j] } }", "in any case"),
        ("if n > 3 { for j in 0 .. m { s[i] += A[i, j] } }", "in any case"),
        ("for j in 0 .. m { for i2 in 0 .. n { s[i] += A[i2, j] } }", "in any case"),
        ("for j in 0 .. m { s[i] += select(j > 1, A[i, j], 0:i32) }", "in any case"),
        ("for j in 0 .. m { A[i, j] = s[i] } A[i, 0] = 1:i32", "other ways"),
        ("for j in 0 .. m { A[i, j] = s[i] } s[i] = A[i, 0]", "other ways"),
    ],
)
def test_what_is_no_row(body: str, why: str) -> None:
    with pytest.raises(PlanishError, match=why):
        Program.of(parse_kernel(LOOPS.format(body))).apply(PromoteRow("i", "A", "row", 8))


def test_rows_that_may_be_longer_or_have_other_threads_are_refused() -> None:
    program = Program.of(NORMAL, "strict")
    with pytest.raises(PlanishError, match="more than 8"):
        program.apply(PromoteRow("i", "A", "row", 8))
    with pytest.raises(PlanishError, match="divided by 32"):
        program.apply(PromoteRow("i", "A", "row", 16), MapTeam("i", "t", 32))
    # Each thread would need what its neighbour has.
    body = "for j in 0 .. m { s[i] += A[i, j] } for j in 1 .. m { B[i, j] = A[i, j - 1] + A[i, j] }"
    shifted = parse_kernel(LOOPS.format(body))
    with pytest.raises(PlanishError, match="from one element to the next"):
        Program.of(shifted).apply(PromoteRow("i", "A", "row", 8), MapTeam("i", "t", 2))


def kept_of(kernel: Kernel) -> list[int]:
    """The ranks of the buffers of registers that hold rows."""
    made = [x.array for x in walk(kernel.body) if isinstance(x, Alloc) and x.array.name.startswith("row")]
    assert all(x.memory == "register" for x in made)
    return [len(x.shape) for x in made]


def test_two_versions_keep_rows_of_any_length() -> None:
    walk_twice = "for j in 0 .. m { s[i] += A[i, j] } for j in 0 .. m { A[i, j] = s[i] }"
    text = f"kernel v(n, m; A: f64[n, m], s: f64[n]) {{ for i in 0 .. n {{ {walk_twice} }} }}"
    mapped = map_kernel(parse_kernel(text), techniques=(map_rows,))
    assert sizes_of_versions(make_launches(mapped.kernel)) == [{"m": 4099}, {"m": 515}, {"m": 3}]
    assert kept_of(mapped.kernel) == [2, 3]
    fixed = map_kernel(parse_kernel(text.replace(", m]", ", 700]").replace(".. m", ".. 700")), techniques=(map_rows,))
    assert kept_of(fixed.kernel) == [2] and "`A` in registers" in fixed.nests[0].told
    bytes = map_kernel(parse_kernel(text.replace("f64", "i8")), techniques=(map_rows,))
    assert sizes_of_versions(make_launches(bytes.kernel)) == [{"m": 8195}, {"m": 1027}, {"m": 3}]
