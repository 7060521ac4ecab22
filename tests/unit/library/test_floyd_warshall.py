"""Least distances by blocks of stops, interpreted beside the loops of Floyd and Warshall."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.property.sampling import slow

from planish.ir.expr import index
from planish.ir.nest import For, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_expr, parse_kernel
from planish.library.dense import floyd_warshall
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.raise_operations import raise_version
from planish.raising.raised import Apply
from planish.raising.raised import whole as whole_view
from planish.raising.tdl.reader import tactics_by_name
from planish.schedule.auto.plan import Version, prepare
from planish.schedule.legality import check_parallel
from planish.schedule.nodes import label_kernel, nodes, path_to
from planish.target.load import load_target

NEST = "for k in 0 .. n { for i in 0 .. n { for j in 0 .. n { D[i, j] min= D[i, k] + D[k, j] } } }"


def plain(type: str) -> Kernel:
    return parse_kernel(f"kernel paths(n; D: {type}[n, n]) {{ {NEST} }}")


@cache
def by_blocks(kernel: Kernel, fp: str = "reassociate") -> Version | None:
    prepared = prepare(kernel)
    return raise_version(kernel, prepared, (), load_target("x86-avx512"), fp, KernelCache())[0]  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planish.library.lowering.WIDTH", 4)
    monkeypatch.setattr(floyd_warshall, "WIDTH", 4)


def distances(type: str, n: int, low: int, high: int) -> np.ndarray:
    rng = np.random.default_rng(n)
    found = rng.integers(low, high, (n, n), endpoint=True)
    # Many pairs have no way but one of several stops.
    found[rng.random((n, n)) < 0.7] = high
    return found.astype({"i": "int", "f": "float"}[type[0]] + type[1:])


@pytest.mark.each_value
@pytest.mark.parametrize("type", ["i16", slow("i32"), slow("i64"), "f32", slow("f64")])
@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 8, 13])
def test_blocks_find_what_the_loops_find(type: str, n: int) -> None:
    kernel = plain(type)
    version = by_blocks(kernel)
    assert version is not None
    for low, high in ((0, 9), (0, 4000), (1, 60), (-3, 20)):
        one = distances(type, n, low, high)
        two = one.copy()
        run_kernel(kernel, {"n": n, "D": one})
        run_kernel(version.kernel, {"n": n, "D": two})
        assert (one == two).all()


@pytest.mark.parametrize("value", [1 << 30, (1 << 31) - 1, -1])
def test_what_might_be_too_long_for_a_sum_is_left_to_the_loops(value: int) -> None:
    version = by_blocks(plain("i32"))
    assert version is not None
    one = distances("i32", 9, 0, 50)
    one[3, 7] = value
    two = one.copy()
    with np.errstate(over="ignore"):
        run_kernel(plain("i32"), {"n": 9, "D": one})
        run_kernel(version.kernel, {"n": 9, "D": two})
    assert (one == two).all()


def test_what_is_no_number_is_left_to_the_loops() -> None:
    version = by_blocks(plain("f64"))
    assert version is not None
    one = distances("f64", 9, 0, 50)
    one[2, 5], one[4, 4] = np.nan, np.inf
    two = one.copy()
    run_kernel(plain("f64"), {"n": 9, "D": one})
    run_kernel(version.kernel, {"n": 9, "D": two})
    assert np.array_equal(one, two, equal_nan=True)


def test_integers_have_blocks_however_floats_are_treated() -> None:
    assert by_blocks(plain("i32"), "strict") is not None
    assert by_blocks(plain("f32"), "strict") is None


def test_a_part_of_a_matrix_has_blocks() -> None:
    nest = NEST.replace("D[i, j]", "D[i + 1, j + 2]").replace("D[i, k]", "D[i + 1, k + 2]")
    nest = nest.replace("D[k, j]", "D[k + 1, j + 2]")
    kernel = parse_kernel(f"kernel part(n; D: i32[n + 1, n + 5]) {{ {nest} }}")
    version = by_blocks(kernel)
    assert version is not None
    one = np.random.default_rng(1).integers(0, 99, (11, 15)).astype("int32")
    two = one.copy()
    run_kernel(kernel, {"n": 10, "D": one})
    run_kernel(version.kernel, {"n": 10, "D": two})
    assert (one == two).all()


def test_loops_over_unsigned_numbers_stay() -> None:
    assert by_blocks(plain("u32")) is None


def test_floats_beside_integers_keep_their_order() -> None:
    sums = "for u in 0 .. n { for w in 0 .. n { s[0] += M[w, u] } }"
    kernel = parse_kernel(f"kernel both(n; D: i32[n, n], s: f32[1], M: f32[n, n]) {{ {NEST} {sums} }}")
    assert by_blocks(kernel, "strict") is None


def test_a_part_that_grows_is_left_to_the_loops() -> None:
    nest = NEST.replace("D[", "D[t, ").replace(".. n", ".. t")
    kernel = parse_kernel(f"kernel grow(b, n; D: i32[b, n, n]) {{ for t in 0 .. b {{ {nest} }} }}")
    assert by_blocks(kernel) is None


def test_what_threads_and_lanes_do_is_apart() -> None:
    whole = parse_kernel("kernel whole(n; D: i32[n, n]) { }")
    operation = tactics_by_name()[floyd_warshall.NAME].operation
    step = Apply(operation, {"D": whole_view(whole.arrays[0])}, {"n": index("n")})
    cut = floyd_warshall.cut_paths(step, {"D": whole.arrays[0]}, {"D", "n"})
    for part in cut.stops:
        known = (parse_expr("first >= 0"), parse_expr("first < n"))
        kernel = Kernel("part", ("n", "first"), (), (whole.arrays[0], *cut.buffers), part, known)
        kernel = label_kernel(kernel)
        loops = [x for x in nodes(kernel.body) if isinstance(x, For)]
        marked = [x for x in loops if x.facts.parallel or x.facts.simd]
        assert marked
        for loop in marked:
            check_parallel(kernel, path_to(kernel.body, loop.label))
