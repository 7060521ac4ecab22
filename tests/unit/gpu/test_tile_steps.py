"""Steps that make tiles of contractions: each means the same, at several sizes, and what would not is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planish.core.diagnostic import PlanishError
from planish.gpu.mapping import map_kernel
from planish.gpu.spmd import make_launches
from planish.gpu.tiles import tile_contraction
from planish.ir.index.evaluate import evaluate
from planish.ir.nest import Block, Kernel, Launch
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import walk
from planish.schedule.program import Program, Step
from planish.schedule.steps.devices import PromoteRegisters
from planish.schedule.steps.double_buffer import DoubleBuffer
from planish.schedule.steps.guards import DropGuard, SinkGuard
from planish.schedule.steps.loops import Coalesce
from planish.schedule.steps.promote_tile import PromoteTile

SIZES = (0, 1, 3, 8, 11, 16)
BLOCKS = """kernel k(n, m; A: f32[n, m], B: f32[m, n]) { for ib in 0 .. (n + 7) // 8 { for jb in 0 .. (m + 7) // 8 {
  for i in 0 .. min(8, n - 8 * ib) { for j in 0 .. min(8, m - 8 * jb) {
    B[8 * jb + j, 8 * ib + i] = A[8 * ib + i, 8 * jb + j] } } } } }"""
GUARDED = """kernel g(n, m; A: f32[n], B: f32[n]) { for ib in 0 .. (n + 7) // 8 {
  alloc t: f32[8] stack
  for i in 0 .. 8 { if 8 * ib + i < n { t[i] = 0.0:f32 } }
  for k in 0 .. m { for i in 0 .. 8 { if 8 * ib + i < n { t[i] += 2.0:f32 } } }
  for i in 0 .. 8 { if 8 * ib + i < n { B[8 * ib + i] = t[i] + A[8 * ib + i] } } } }"""
STAGED = """kernel p(n, m; A: f32[n], B: f32[m], W: f32[n]) { for p in 0 .. (n + 3) // 4 {
  alloc s: f32[4] shared
  if n > 4 { for t in 0 .. 4 on thread_x { s[t] = A[min(4 * p + t, n - 1)] } }
  else { for t in 0 .. 4 on thread_x { s[t] = A[min(4 * p + t, n - 1)] + 1.0:f32 } }
  alloc w: f32[4] shared
  for t in 0 .. 4 on thread_x { w[t] = W[min(4 * p + t, n - 1)] }
  for j in 0 .. m { for k in 0 .. min(4, n - 4 * p) { B[j] += s[k] * w[k] } } } }"""
NEST = """kernel s(n, m; A: f32[n], B: f32[n]) { if n > m { for i in 0 .. n { A[i] = 1.0:f32
  if i > 2 { B[i] = 2.0:f32 } for j in 0 .. m { B[i] += A[i] } } } }"""
DIGITS = """kernel d(n; M: f32[4, 24, n]) {
  for i in 0 .. 4 { for j in 0 .. 24 { for p in 0 .. n { M[i, j, p] += 1.0:f32 } } } }"""


EMPTY = "kernel e(A: f32[9]) {{ A[8] = 5.0:f32 for i in 0 .. {} {{ for j in 0 .. {} {{ A[i + j + 2] = 1.0:f32 }} }} }}"


def values_of(kernel: Kernel, size: int) -> dict[str, int | np.ndarray]:
    sizes = {name: max(0, size - d) for d, name in enumerate(kernel.sizes)}
    generator = np.random.default_rng(size)
    values: dict[str, int | np.ndarray] = dict(sizes)
    for array in kernel.arrays:
        shape = tuple(evaluate(x, sizes) for x in array.shape if x is not None)
        values[array.name] = generator.integers(-9, 9, shape).astype(array.type.numpy)
    return values


def assert_same(before: Kernel, after: Kernel, sizes: tuple[int, ...] = SIZES) -> None:
    for size in sizes:
        expected, got = values_of(before, size), values_of(before, size)
        with np.errstate(all="ignore"):
            run_kernel(before, expected)
            run_kernel(after, got)
        for array in before.arrays:
            np.testing.assert_array_equal(got[array.name], expected[array.name])


STEPS: tuple[tuple[str, tuple[Step, ...]], ...] = (
    (BLOCKS, (PromoteTile("i", "A", "a", 16, 4, (1, 0), 1),)),
    (BLOCKS, (PromoteTile("i", "A", "a", 32, 2, (), 0, 2),)),
    (BLOCKS, (PromoteTile("i", "A", "a", 16, 4, (), 0, 1, 4),)),
    (GUARDED, (DropGuard("if _: _ #2"),)),
    (GUARDED, (PromoteRegisters("i #2", "t", "own", rest=True),)),
    (STAGED, (DoubleBuffer("p"),)),
    (STAGED.replace("0 .. (n + 3) // 4", "m .. n // 4"), (DoubleBuffer("p"),)),
    (NEST, (SinkGuard("if _: _"),)),
    (DIGITS, (Coalesce("i", 2, "t"),)),
    *((EMPTY.format(*x), (Coalesce("i", 2, "t"),)) for x in ((-1, -1), (-2, 3), (3, -2), (0, 4), (4, 0))),
)


@pytest.mark.parametrize("number", range(len(STEPS)))
def test_steps_mean_the_same(number: int) -> None:
    text, steps = STEPS[number]
    kernel = parse_kernel(text)
    assert_same(kernel, Program.of(kernel).apply(*steps).kernel)


WRONG: tuple[tuple[str, Step, str], ...] = (
    # A cell beyond the edge is that of another place: what is dropped would change it.
    ("alloc t: f32[8] stack for i in 0 .. 8 { if i < n { t[0] = A[0] } } B[0] = t[0]", DropGuard("if _: _"), "E0617"),
    ("for i in 0 .. 8 { if i < n { A[i] = 1.0:f32 } }", DropGuard("if _: _"), "E0617"),
    ("alloc t: f32[4] stack for i in 0 .. 8 { if i < 4 { t[i] = 1.0:f32 } }", DropGuard("if _: _"), "E0617"),
    ("alloc t: f32[8] stack for i in 0 .. 8 { if i < n { t[i] = A[i] } } B[0] = t[0]", DropGuard("if _: _"), "E0617"),
    ("alloc t: f32[8] stack for i in 0 .. 8 { t[i] = 2.0:f32 } for i in 0 .. 8 { if i < n { t[i] = 1.0:f32 } } "
     "if n > 0 { B[0] = t[7] }", DropGuard("if _: _"), "E0617"),
    ("for i in 0 .. n { A[i] = 1.0:f32 }", DropGuard("i"), "E0604"),
    ("if A[0] > 0.0:f32 { A[0] = 1.0:f32 B[0] = 2.0:f32 }", SinkGuard("if _: _"), "E0604"),
    ("if m > 0 { for i in 0 .. n // m { A[i] = 1.0:f32 } }", SinkGuard("if _: _"), "E0604"),
    ("for i in 0 .. n { for j in 0 .. 4 { M[i, j] = 1.0:f32 } }", Coalesce("i", 2, "t"), "E0604"),
    ("for i in 0 .. 8 { A[i] = 1.0:f32 }", PromoteTile("i", "A", "a", 8, 8), "E0606"),
    ("for i in 0 .. 8 { B[i] = A[i] }", PromoteTile("i", "A", "a", 9, 3), "E0606"),
    ("for i in 0 .. 8 { B[i] = A[i] }", PromoteTile("i", "A", "a", 8, 8, (1, 0)), "E0606"),
    ("for i in 0 .. n { B[i] = A[i] }", PromoteTile("i", "A", "a", 8, 8), "E0606"),
    ("for i in 0 .. 4 { for j in 0 .. 4 { M[j, i] = M[i, j] } }", DoubleBuffer("i"), "E0604"),
    *(
        (f"for i in 0 .. 4 {{ alloc s: f32[4] shared for t in 0 .. 4 on thread_x {{ s[t] = M[i, t] }} {use} }}",
         DoubleBuffer("i"), code)
        for use, code in (("", "E0604"), ("M[i, 0] = s[0]", "E0606"), ("s[0] = 2.0:f32 A[i] = s[0]", "E0606"))
    ),
)  # fmt: skip


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_would_change_something_is_refused(number: int) -> None:
    text, step, code = WRONG[number]
    head = "kernel f(n, m; A: f32[n], B: f32[n], M: f32[n, 4]) assume n <= 8 && m <= 4"
    with pytest.raises(PlanishError) as found:
        Program.of(parse_kernel(f"{head} {{ {text} }}")).apply(step)
    assert found.value.diagnostic.code == code, found.value


CONTRACTIONS = {
    "transposed": "C: f32[40, 33], A: f32[l, 40], B: f32[33, l]) { for i in 0 .. 40 { for j in 0 .. 33 { "
    "for k in 0 .. l { C[i, j] += A[k, i] * B[j, k] } } } }",
    "epilogue": "C: f64[33, 32], A: f64[33, l], B: f64[l, 32], b: f64[32]) { for i in 0 .. 33 { for j in 0 .. 32 { "
    "C[i, j] = C[i, j] * 2.0 for k in 0 .. l { C[i, j] += A[i, k] * B[k, j] } C[i, j] = max(C[i, j] + b[j], 0.0) } } }",
    "batched": "C: i32[3, n, m], A: i32[3, n, l], B: i32[3, m, l]) { for s in 0 .. 3 { for i in 0 .. n { "
    "for j in 0 .. m { for k in 0 .. l { C[s, i, j] += A[s, i, k] * B[s, j, k] } } } } }",
}
"""Of the last one sizes are not known, so that it has all shapes."""


@pytest.mark.parametrize("name", CONTRACTIONS)
def test_contractions_become_a_launch_of_each_shape(name: str) -> None:
    kernel = parse_kernel(f"kernel c(n, m, l; {CONTRACTIONS[name]}")
    mapped = map_kernel(kernel, "strict", (tile_contraction,))
    assert [x.special for x in mapped.nests] == [True], mapped.remarks
    launched = make_launches(mapped.kernel)
    shapes = [x for x in walk(launched.body) if isinstance(x, Launch)]
    assert len(shapes) == (3 if name == "batched" else 1)
    for shape in shapes:
        assert_same(kernel, replace(launched, body=Block((shape,))), (1,))


@pytest.mark.parametrize("size, tiled", [(32, True), (64, True), (48, True), (31, False)])
def test_small_products_of_constant_sizes(size: int, tiled: bool) -> None:
    body = f"for k in 0 .. {size} {{ C[s, i, j] += A[s, i, k] * B[s, k, j] }}"
    arrays = ", ".join(f"{x}: f32[c, {size}, {size}]" for x in "ABC")
    loops = f"for s in 0 .. c {{ for i in 0 .. {size} {{ for j in 0 .. {size} {{ {body} }} }} }}"
    mapped = map_kernel(parse_kernel(f"kernel p(c; {arrays}) {{ {loops} }}"), "strict", (tile_contraction,))
    assert mapped.nests[0].special == tiled
    launched = make_launches(mapped.kernel)
    assert len([x for x in walk(launched.body) if isinstance(x, Launch)]) == (2 if size == 64 else 1)


def test_one_tile_is_for_no_block() -> None:
    loops = "for i in 0 .. 32 { for j in 0 .. 32 { for k in 0 .. l { C[i, j] += A[i, k] * B[k, j] } } }"
    kernel = parse_kernel(f"kernel o(l; A: f32[32, l], B: f32[l, 32], C: f32[32, 32]) {{ {loops} }}")
    mapped = map_kernel(kernel, "strict", (tile_contraction,))
    assert not mapped.nests[0].special and "one tile" in mapped.remarks[0].message
