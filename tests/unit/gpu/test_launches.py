"""Mapped nests and launches compute the same in every order of blocks and threads; without barriers they do not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from planish.core.diagnostic import PlanishError
from planish.gpu.mapping import map_kernel
from planish.gpu.spmd import UnmappedError, make_launches
from planish.ir.checker import check_kernel
from planish.ir.index.evaluate import evaluate
from planish.ir.nest import Barrier, Block, Kernel, Launch
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.semantics.launches import Phases, backward, forward, shuffled
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_kernel
from planish.ir.traverse import map_block, walk
from planish.schedule.program import Program
from planish.schedule.script import parse_script
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.devices import BoundingBox, MapBlocks, MapThreads, PromoteRegisters, PromoteShared
from planish.schedule.steps.loops import Split
from planish.schedule.steps.tree_reduction import TreeReduction

ORDERS: tuple[Phases, ...] = (forward, backward, shuffled(3))

REVERSED = "kernel k(n; A: f32[n], B: f32[n]) { for i in 0 .. n { B[i] = A[n - 1 - i] } }"
STENCIL = "kernel s(n; u: f64[n + 2], v: f64[n]) { for i in 0 .. n { v[i] = u[i] + 2.0 * u[i + 1] - u[i + 2] } }"
TURNED = "kernel t(n, m; A: f32[n, m], B: f32[m, n]) { for i in 0 .. n { for j in 0 .. m { B[j, i] = A[i, j] } } }"
PRODUCT = """kernel g(n, m, l; a: f32[n, l], b: f32[l, m], c: f32[n, m]) {
  for i in 0 .. n { for j in 0 .. m { for k in 0 .. l { c[i, j] += a[i, k] * b[k, j] } } } }"""
TRIANGLE = "kernel u(n; M: i32[n, n]) { for i in 0 .. n { for j in i + 1 .. n { M[i, j] = M[j, i] + 1:i32 } } }"
CUBE = """kernel q(n, m, l; a: f32[n, m, l], b: f32[n, m, l]) {
  for i in 0 .. n { for j in 0 .. m { for k in 0 .. l { b[i, j, k] = a[i, j, k] * 2.0:f32 } } } }"""
TIME = """kernel w(n, steps; a: f64[n], b: f64[n]) { for t in 0 .. steps {
  for i in 1 .. n - 1 { b[i] = a[i - 1] + a[i + 1] } for i in 1 .. n - 1 { a[i] = b[i] } } }"""


def draw(kernel: Kernel, size: int) -> dict[str, object]:
    """Values for all parameters, all sizes near one."""
    sizes = {name: max(0, size + d) for d, name in enumerate(kernel.sizes)}
    generator = np.random.default_rng(size)
    values: dict[str, object] = dict(sizes)
    for array in kernel.arrays:
        shape = tuple(evaluate(x, sizes) for x in array.shape if x is not None)
        values[array.name] = (generator.integers(-9, 9, shape)).astype(array.type.numpy)
    return values


def outcome(kernel: Kernel, size: int, phases: Phases = forward) -> dict[str, np.ndarray]:
    values = draw(kernel, size)
    with np.errstate(all="ignore"):
        run_kernel(kernel, values, phases)  # type: ignore[arg-type]
    return {x.name: values[x.name] for x in kernel.arrays}  # type: ignore[misc]


def assert_same(kernel: Kernel, launched: Kernel, sizes: tuple[int, ...]) -> None:
    check_kernel(launched, "launches")
    assert parse_kernel(print_kernel(launched)) == launched
    for size in sizes:
        wanted = outcome(kernel, size)
        for phases in ORDERS:
            made = outcome(launched, size, phases)
            assert all(np.array_equal(wanted[x], made[x], equal_nan=True) for x in wanted), (size, phases)


@pytest.mark.parametrize("text", [REVERSED, STENCIL, TURNED, PRODUCT, TRIANGLE, CUBE, TIME])
def test_mapped_nests_compute_the_same_in_every_order(text: str) -> None:
    kernel = parse_kernel(text)
    mapped = map_kernel(kernel)
    assert mapped.nests and not mapped.serial
    assert_same(kernel, mapped.kernel, (0, 1, 5))
    assert_same(kernel, make_launches(mapped.kernel), (0, 1, 5))


def staged_reversal() -> Program:
    """Blocks of eight elements, each reversed by way of shared memory."""
    nest = "for b in 0 .. n { for t in 0 .. 8 { B[8 * b + t] = A[8 * b + 7 - t] } }"
    program = Program.of(parse_kernel(f"kernel k(n; A: f32[8 * n], B: f32[8 * n]) {{ {nest} }}"))
    return program.apply(PromoteShared("t", "A", "a", (8,)), MapBlocks("b", "x"), MapThreads("t", "x"))


def product_tiles(threads: int = 4) -> Program:
    """A product by tiles of shared memory and sums in registers."""
    text = PRODUCT.replace(
        "kernel g(n, m, l; a: f32[n, l], b: f32[l, m], c: f32[n, m])",
        "kernel g(n, m, l; a: f32[8 * n, 4 * l], b: f32[4 * l, 8 * m], c: f32[8 * n, 8 * m])",
    )
    text = text.replace("0 .. n", "0 .. 8 * n").replace("0 .. m", "0 .. 8 * m").replace("0 .. l", "0 .. 4 * l")
    program = Program.of(parse_kernel(text)).apply(
        Split("i", 8, ("ib", "ii")), Split("j", 8, ("jb", "jj")), Split("k", 4, ("kb", "kk")),
        Split("ii", threads, ("ir", "it")), Split("jj", threads, ("jr", "jt")),
        Reorder("ib", ("ib", "jb", "kb", "it", "jt", "kk", "ir", "jr")),
    )  # fmt: skip
    return program.apply(
        PromoteShared("it", "a", "sa", (threads, threads)), PromoteShared("it", "b", "sb", (threads, threads)),
        PromoteRegisters("kb", "c", "own", (threads, threads)),
        MapBlocks("ib", "y"), MapBlocks("jb", "x"), MapThreads("it", "y"), MapThreads("jt", "x"),
    )  # fmt: skip


@pytest.mark.parametrize("make", [staged_reversal, product_tiles])
def test_promoted_arrays_are_shared_or_own(make: object) -> None:
    program = make()  # type: ignore[operator]
    original = program.kernel
    launched = make_launches(original)
    assert_same(original, launched, (0, 1, 3))
    assert any(isinstance(x, Barrier) for x in walk(launched.body))


def without_barriers(kernel: Kernel) -> Iterator[Kernel]:
    """The kernel without one of its barriers."""
    count = sum(isinstance(x, Barrier) for x in walk(kernel.body))
    for left_out in range(count):
        met = iter(range(count))
        body = map_block(
            lambda x, met=met, n=left_out: () if isinstance(x, Barrier) and next(met) == n else x, kernel.body
        )
        yield Kernel(kernel.name, kernel.sizes, kernel.scalars, kernel.arrays, body, kernel.assumptions)


@pytest.mark.parametrize("make", [staged_reversal, product_tiles])
def test_a_removed_barrier_is_found(make: object) -> None:
    program = make()  # type: ignore[operator]
    wanted = outcome(program.kernel, 3)
    for broken in without_barriers(make_launches(program.kernel)):
        made = [outcome(broken, 3, phases) for phases in ORDERS]
        assert any(not np.array_equal(wanted[x], y[x], equal_nan=True) for y in made for x in wanted)


def test_no_barrier_where_threads_use_their_own_cells() -> None:
    text = "for t in 0 .. 8 on thread_x { A[t] = 1.0:f32 } for u in 0 .. 8 on thread_x { A[u] += 2.0:f32 }"
    launched = make_launches(parse_kernel(f"kernel k(A: f32[8]) {{ {text} }}"))
    # Both stand on the host, in launches of their own; in one block they need no barrier either.
    assert not any(isinstance(x, Barrier) for x in walk(launched.body))
    inside = make_launches(parse_kernel(f"kernel k(n; A: f32[8]) {{ for b in 0 .. 1 on block_x {{ {text} }} }}"))
    assert not any(isinstance(x, Barrier) for x in walk(inside.body))


def test_threads_that_depend_on_each_other_are_refused_with_an_example() -> None:
    chain = parse_kernel("kernel k(n; A: f32[n + 1]) { for i in 0 .. n { A[i + 1] = A[i] } }")
    with pytest.raises(PlanishError, match=r"E0613.*use the same cell of `A`"):
        Program.of(chain).apply(MapBlocks("i", "x"))
    split = Program.of(chain).apply(Split("i", 8, ("o", "t"), tail="short"))
    with pytest.raises(PlanishError, match="E0613"):
        split.apply(MapThreads("t", "x", 8))
    free = Program.of(parse_kernel(REVERSED)).apply(Split("i", 8, ("o", "t"), tail="short"))
    with pytest.raises(PlanishError, match="E0611"):
        free.apply(MapThreads("t", "x", 4))
    with pytest.raises(PlanishError, match="E0604"):
        free.apply(MapThreads("t", "x"))
    with pytest.raises(PlanishError, match="E0604"):
        free.apply(MapThreads("t", "x", 8), MapBlocks("t", "y"))


def test_a_step_that_breaks_independence_takes_the_axis_away() -> None:
    program = staged_reversal()
    assert sum(bool(x.facts.axis) for x in walk(program.kernel.body) if hasattr(x, "facts")) == 3
    assert parse_script("".join(f"{x}\n" for x in ('map_blocks("i", "x")', 'map_threads("j", "y", 8)')))
    assert parse_script('promote_shared("i", "A", "a", (8, 4), pad=1)')[0] == PromoteShared("i", "A", "a", (8, 4), 1)


def test_sums_by_trees_are_those_of_the_loop() -> None:
    kernel = parse_kernel("kernel s(n; A: i64[n], B: i64[1]) { for i in 0 .. n { B[0] += A[i] * i } }")
    summed = Program.of(kernel, "strict").apply(TreeReduction("i", "s", 2, 4)).kernel
    assert_same(kernel, summed, (0, 1, 5, 19))
    assert_same(kernel, make_launches(summed), (0, 1, 5, 19))
    floats = parse_kernel("kernel s(n; A: f32[n], B: f32[1]) { for i in 0 .. n { B[0] += A[i] } }")
    with pytest.raises(PlanishError, match="E0606"):
        Program.of(floats, "strict").apply(TreeReduction("i", "s"))
    with pytest.raises(PlanishError, match="E0604"):
        Program.of(floats).apply(TreeReduction("i", "s", 3))
    chain = parse_kernel("kernel c(n; A: f32[n + 1]) { for i in 0 .. n { A[0] += A[i] } }")
    with pytest.raises(PlanishError, match="E0604"):
        Program.of(chain).apply(TreeReduction("i", "s"))


@pytest.mark.parametrize(("type", "update"), [
    ("i32", "B[0] max= A[i]"), ("f32", "B[0] min= A[i]"), ("f32", "B[0] = fmax(B[0], A[i])"), ("u32", "B[0] ^= A[i]"),
    ("i32", "B[0] *= A[i]"), ("u8", "B[0] &= A[i]"), ("f64", "B[0] max= select(A[i] > 2.0, A[i], 0.0)"),
    ("i16", "for j in i .. n - 2 { B[0] += A[j] }"),
])  # fmt: skip
def test_reductions_by_trees_use_what_the_loop_uses(type: str, update: str) -> None:
    # Where no iteration updates it, the element is not there.
    room = "max(0, min(n - 2, 1))" if "for j" in update else "min(n, 1)"
    kernel = parse_kernel(f"kernel s(n; A: {type}[n], B: {type}[{room}]) {{ for i in 0 .. n {{ {update} }} }}")
    summed = Program.of(kernel).apply(TreeReduction("i", "s", 2, 4)).kernel
    assert_same(kernel, summed, (0, 1, 2, 5, 19))
    assert_same(kernel, make_launches(summed), (0, 1, 2, 5, 19))


def test_reductions_by_trees_pass_over_nan_as_the_loop_does() -> None:
    for update in ("B[0] max= A[i]", "B[0] = fmax(B[0], A[i])"):
        kernel = parse_kernel(f"kernel s(n; A: f32[n], B: f32[1]) {{ for i in 0 .. n {{ {update} }} }}")
        summed = make_launches(Program.of(kernel).apply(TreeReduction("i", "s", 2, 4)).kernel)
        for first, values in ((1.0, (np.nan, 3.0)), (np.nan, (np.nan, 3.0)), (np.nan, (np.nan, np.nan))):
            runs = []
            for each in (kernel, summed):
                arrays = {"A": np.array(values * 5, np.float32), "B": np.array([first], np.float32)}
                run_kernel(each, {"n": 10, **arrays})
                runs.append(arrays["B"])
            np.testing.assert_array_equal(*runs)


def test_bounding_boxes_of_triangles() -> None:
    kernel = parse_kernel(TRIANGLE)
    boxed = Program.of(kernel).apply(BoundingBox("j"))
    assert_same(kernel, boxed.kernel, (0, 1, 6))
    data = parse_kernel("kernel d(n; r: i64[n + 1], A: f32[n]) { for i in 0 .. n { A[i] = 1.0:f32 } }")
    assert Program.of(data).apply(BoundingBox("i")).kernel.body == Program.of(data).kernel.body


def test_divergent_barriers_are_errors() -> None:
    text = "launch (b: 1) of (t: 4) { if t < 2 { barrier } A[t] = 1.0:f32 }"
    with pytest.raises(ArithmeticError, match="wait at a barrier"):
        run_kernel(parse_kernel(f"kernel k(A: f32[4]) {{ {text} }}"), {"A": np.zeros(4, "float32")})


def test_what_cannot_be_launched_says_why() -> None:
    text = "for b in 0 .. n on block_x { alloc s: f32[m] for t in 0 .. 8 on thread_x { s[0] = 1.0:f32 } }"
    with pytest.raises(UnmappedError, match="no constant extents"):
        make_launches(parse_kernel(f"kernel k(n, m; A: f32[n]) {{ {text} }}"))
    inner = "for u in 0 .. 4 on thread_y { A[u] = 2.0:f32 }"
    text = f"for b in 0 .. n on block_x {{ for t in 0 .. 8 on thread_x {{ A[t] = 1.0:f32 {inner} }} }}"
    with pytest.raises(UnmappedError, match="between loops over threads"):
        make_launches(parse_kernel(f"kernel k(n; A: f32[n]) {{ {text} }}"))


def test_launches_print_and_parse() -> None:
    launched = make_launches(product_tiles().kernel)
    (launch,) = (x for x in walk(launched.body) if isinstance(x, Launch))
    assert [n for _, n in launch.block] == [4, 4] and len(launch.grid) == 2
    assert isinstance(launch.body, Block)
