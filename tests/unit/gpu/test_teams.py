"""Rows by teams of threads and transpositions by tiles compute the same as the loops, in every order of threads."""

from __future__ import annotations

import numpy as np
import pytest

from planish.core.diagnostic import PlanishError
from planish.gpu.columns import split_columns
from planish.gpu.elements import coarsen_threads, distance_to_aligned
from planish.gpu.mapping import map_kernel
from planish.gpu.rows import map_rows
from planish.gpu.spmd import make_launches
from planish.gpu.transpositions import tile_transposition
from planish.ir.index.evaluate import evaluate
from planish.ir.nest import Alloc, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.semantics.launches import backward, forward, shuffled
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import walk
from planish.schedule.program import Program
from planish.schedule.steps.split_reduction import SplitReduction
from planish.schedule.steps.teams import MapTeam

ROW_SUMS = parse_kernel(
    """kernel r(n, m; A: i32[n, m], s: i32[n]) {
  for i in 0 .. n { s[i] = 3:i32 for j in 0 .. m { s[i] += A[i, j] * A[i, j] } } }"""
)
NORMAL = parse_kernel(
    """kernel s(n, m; A: i64[n, m + 1], B: i64[n, m + 1]) {
  for i in 0 .. n {
    alloc top: i64[] alloc sum: i64[]
    top[] = A[i, 0]
    for j in 1 .. m { top[] max= A[i, j] }
    sum[] = 0
    for j in 0 .. m { B[i, j] = A[i, j] - top[] sum[] += B[i, j] }
    for j in 0 .. m { B[i, j] = B[i, j] * sum[] + i }
  } }"""
)
TRIANGLE = parse_kernel(
    """kernel t(n; A: i32[n, n], low: i32[n], all: i32[n]) {
  for i in 0 .. n {
    low[i] = A[i, i] all[i] = 0:i32
    for j in 0 .. i { low[i] min= A[i, j] all[i] ^= A[i, j] } } }"""
)
PLANES = parse_kernel(
    """kernel p(n, m, l; A: i32[n, m, l], P: i32[n], q: i32[n]) {
  for i in 0 .. n { P[i] = 1:i32
    for j in 0 .. m { for k in 0 .. l { P[i] *= A[i, j, k] } }
    if m > 2 { for j in 0 .. m { q[i] max= A[i, j, 0] } } } }"""
)
TURNED = parse_kernel(
    """kernel c(n, m, l; A: i32[n, m, l], B: i32[l, n, m]) {
  for i in 0 .. n { for j in 0 .. m { for k in 0 .. l { B[k, i, j] += A[i, j, k] * 2:i32 } } } }"""
)


def run(kernel: Kernel, sizes: dict[str, int], order: object = forward) -> list[np.ndarray]:
    generator = np.random.default_rng(5)
    arrays = {}
    for x in kernel.arrays:
        shape = tuple(evaluate(e, sizes) for e in x.shape if e is not None)
        arrays[x.name] = generator.integers(-9, 9, shape).astype(x.type.numpy)
    run_kernel(kernel, {**sizes, **arrays}, order)  # type: ignore[arg-type]
    return [arrays[x.name] for x in kernel.arrays]


def assert_alike(kernel: Kernel, mapped: Kernel, sizes: tuple[int, ...]) -> None:
    launched = make_launches(mapped)
    for size in sizes:
        given = {name: max(0, size - d) for d, name in enumerate(kernel.sizes)}
        expected = run(kernel, given)
        for order in (forward, backward, shuffled(3)):
            assert all(map(np.array_equal, expected, run(launched, given, order)))


@pytest.mark.parametrize("threads, rows", [(4, 1), (64, 1), (4, 2), (1, 4)])
@pytest.mark.parametrize("kernel", [ROW_SUMS, NORMAL, PLANES], ids=lambda x: x.name)
def test_rows_by_teams(kernel: Kernel, threads: int, rows: int) -> None:
    mapped = Program.of(kernel, "strict").apply(MapTeam("i", "t", threads, rows)).kernel
    assert_alike(kernel, mapped, (0, 1, 2, 7))


def test_rows_of_a_triangle_are_for_one_team_at_a_time() -> None:
    made = Program.of(TRIANGLE, "strict").apply(MapTeam("i", "t", 8)).kernel
    assert_alike(TRIANGLE, made, (0, 1, 2, 9))
    with pytest.raises(PlanishError, match="differs between threads"):
        Program.of(TRIANGLE, "strict").apply(MapTeam("i", "t", 8, 2))


def test_what_teams_refuse() -> None:
    floats = parse_kernel(
        "kernel f(n; A: f32[n, n], s: f32[n]) {"
        " for i in 0 .. n { for j in 0 .. n { s[i] += A[i, j] } } }"
    )
    with pytest.raises(PlanishError, match="E0606"):
        Program.of(floats, "strict").apply(MapTeam("i", "t"))
    with pytest.raises(PlanishError, match="E0604"):
        Program.of(floats).apply(MapTeam("i", "t", 3))
    with pytest.raises(PlanishError, match="E0604"):
        Program.of(floats).apply(MapTeam("i", "t", 1024, 2))
    with pytest.raises(PlanishError, match="E0613"):
        Program.of(floats).apply(MapTeam("j", "t"))
    scan = parse_kernel(
        "kernel c(n; A: i32[n, n + 1]) { for i in 0 .. n { for j in 0 .. n { A[i, j + 1] += A[i, j] } } }"
    )
    with pytest.raises(PlanishError, match="E0613"):
        Program.of(scan).apply(MapTeam("i", "t"))
    # What is read in between is no sum of the loop alone.
    prefix = parse_kernel(
        "kernel p(n; A: i32[n, n], s: i32[n]) {"
        " for i in 0 .. n { for j in 0 .. n { s[i] += A[i, j] A[i, j] = s[i] } } }"
    )
    with pytest.raises(PlanishError, match="E0613"):
        Program.of(prefix).apply(MapTeam("i", "t"))


def test_rows_are_found_by_their_accesses() -> None:
    assert map_kernel(ROW_SUMS, "strict", (map_rows,)).nests[0].special
    columns = parse_kernel(
        "kernel c(n; A: i32[n, n], s: i32[n]) {"
        " for i in 0 .. n { for j in 0 .. n { s[i] += A[j, i] } } }"
    )
    assert not map_kernel(columns, "strict", (map_rows,)).nests[0].special
    few = parse_kernel(
        "kernel w(n; A: i32[n, 3], s: i32[n]) {"
        " for i in 0 .. n { for j in 0 .. 3 { s[i] += A[i, j] } } }"
    )
    assert not map_kernel(few, "strict", (map_rows,)).nests[0].special
    # Both arrays are used again by other threads.
    reused = parse_kernel(
        "kernel g(n; A: i32[n, n], C: i32[n, n]) {"
        " for i in 0 .. n { for j in 0 .. n { for k in 0 .. n { C[i, j] += A[i, k] * A[j, k] } } } }"
    )
    assert not map_kernel(reused, "strict", (map_rows,)).nests[0].special


def test_tiles_turn_an_array_in_shared_memory() -> None:
    mapped = map_kernel(TURNED, "strict", (tile_transposition,))
    assert mapped.nests[0].special
    shared = [x.array for x in walk(mapped.kernel.body) if isinstance(x, Alloc)]
    assert shared and all(x.memory == "shared" and x.shape[-1].value % 2 == 1 for x in shared)  # type: ignore[union-attr]
    assert_alike(TURNED, mapped.kernel, (0, 1, 5, 35))
    alike = parse_kernel(
        "kernel s(n; A: f32[n, n], B: f32[n, n]) {"
        " for i in 0 .. n { for j in 0 .. n { B[i, j] = A[i, j] } } }"
    )
    assert not map_kernel(alike, "strict", (tile_transposition,)).nests[0].special


COLUMNS = parse_kernel(
    """kernel k(n, m; A: i32[n, m], s: i32[m]) {
  for j in 0 .. m { alloc t: i32[] t[] = 2:i32 for i in 0 .. n { t[] += A[i, j] } s[j] = t[] } }"""
)
CARRIED = parse_kernel(
    """kernel c(n, m; A: i32[n, m], x: i32[n], s: i32[m]) {
  for i in 0 .. n { for j in 0 .. m { s[j] += A[i, j] * x[i] } } }"""
)
EXTREMA = parse_kernel(
    """kernel e(n, m; A: f32[n, m], s: f32[n]) {
  for i in 0 .. n { s[i] = 0.0:f32 for j in 0 .. m { s[i] = fmax(A[i, j], s[i]) } } }"""
)


AVERAGE = parse_kernel(
    """kernel a(n, m; A: i32[n, m + 1], B: i32[n, m + 1]) {
  for i in 1 .. n - 1 { for j in 0 .. m { B[i, j] = A[i - 1, j] + A[i + 1, j] - 2:i32 * A[i, j + 1] } } }"""
)
SCALED = parse_kernel("kernel s(n; A: i32[32 * n], B: i32[32 * n]) { for i in 2 .. 32 * n { A[i] += B[i] * 3:i32 } }")
LOWER = parse_kernel("kernel l(n; A: i32[n, n]) { for i in 0 .. n { for j in 0 .. i { A[i, j] = 0:i32 } } }")


def test_columns_in_parts() -> None:
    split = Program.of(COLUMNS, "strict").apply(SplitReduction("j", "i", "p", 4)).kernel
    for size in (0, 1, 3, 9):
        assert all(map(np.array_equal, run(COLUMNS, {"n": size, "m": 5}), run(split, {"n": size, "m": 5})))
    for kernel in (COLUMNS, CARRIED):
        mapped = map_kernel(kernel, "strict", (split_columns,))
        assert mapped.nests[0].special and not mapped.serial
        assert_alike(kernel, mapped.kernel, (0, 1, 5))
        launched = make_launches(mapped.kernel)
        given = {"n": 530, "m": 3}
        assert all(map(np.array_equal, run(kernel, given), run(launched, given)))


SPACE = parse_kernel(
    """kernel s(n, m, l; A: i32[n, m, l + 1], B: i32[n, m, l + 2]) { for i in 1 .. n - 1 { for j in 0 .. m {
  for k in 0 .. l { B[i, j, k + 2] = A[i - 1, j, k] + A[i + 1, j, k + 1] - 2:i32 * A[i, j, k] } } } }"""
)


@pytest.mark.parametrize(
    "kernel, own, sizes",
    [
        (AVERAGE, "8 of `i`", (0, 1, 3, 38)), (SCALED, "4", (0, 1, 38)), (TURNED, "4 of", (0, 1, 5)),
        (SPACE, "8 of `i`", (2, 11)),
    ],
    ids=lambda x: x.name if isinstance(x, Kernel) else "",
)  # fmt: skip
def test_elements_by_few_threads(kernel: Kernel, own: str, sizes: tuple[int, ...]) -> None:
    mapped = map_kernel(kernel, "strict", (), (coarsen_threads,))
    assert not mapped.nests[0].special and f"each with {own}" in mapped.nests[0].told
    assert_alike(kernel, mapped.kernel, sizes)


@pytest.mark.parametrize(
    "lower, stores, early",
    [("1", "A[j]", 1), ("0", "A[j + 2]", 2), ("33", "A[j]", 1), ("m", "A[j]", 0), ("1", "A[2 * j]", 0),
     ("1", "A[j] = 0:i32 B[j + 1]", 0), ("1", "A[j] = 0:i32 B[j]", 1)],
)  # fmt: skip
def test_blocks_begin_at_aligned_elements(lower: str, stores: str, early: int) -> None:
    text = f"kernel k(n, m; A: i32[n], B: i32[n]) {{ for j in {lower} .. n {{ {stores} = 1:i32 }} }}"
    assert distance_to_aligned(Program.of(parse_kernel(text)).loop("j")) == early


def test_elements_with_loops_or_triangles_are_one_a_thread() -> None:
    for kernel in (COLUMNS, LOWER):
        assert "each with" not in map_kernel(kernel, "strict", (), (coarsen_threads,)).nests[0].told


def test_what_is_not_split() -> None:
    floats = parse_kernel(
        "kernel f(n, m; A: f32[n, m], s: f32[m]) { for j in 0 .. m { for i in 0 .. n { s[j] += A[i, j] } } }"
    )
    with pytest.raises(PlanishError, match="E0606"):
        Program.of(floats, "strict").apply(SplitReduction("j", "i", "p"))
    extremum = parse_kernel(
        "kernel f(n, m; A: i32[n, m], s: i32[m]) { for j in 0 .. m { for i in 0 .. n { s[j] max= A[i, j] } } }"
    )
    made = parse_kernel(
        "kernel f(n; A: i32[n, n], s: i32[n], u: i32[n]) {"
        " for j in 0 .. n { u[j] = 1:i32 for i in 0 .. n { s[j] += A[i, j] * u[j] } } }"
    )
    for kernel in (extremum, made):
        with pytest.raises(PlanishError, match="E0604"):
            Program.of(kernel).apply(SplitReduction("j", "i", "p"))


def test_extrema_by_calls_stay_calls() -> None:
    mapped = Program.of(EXTREMA).apply(MapTeam("i", "t", 8))
    assert "max=" not in mapped.show() and "fmax" in mapped.show()
    assert_alike(EXTREMA, mapped.kernel, (0, 1, 9))
