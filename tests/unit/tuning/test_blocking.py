"""Blocks by measurement: which are tried, which is taken, and a race on this machine."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from planish.core.cache import Cache
from planish.core.diagnostic import PlanishError
from planish.ir.types import F32, F64
from planish.library.kernels.gemm.blocked import Blocking, choose_blocking
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.kernels.vectors import PRODUCTS, choose_vectors, find_vectors
from planish.run.toolchains.toolchain import choose_compiler
from planish.target.load import load_target
from planish.tuning.blocking import (
    BlockingTrial,
    Track,
    list_columns,
    list_depths,
    list_heights,
    refine_blocking,
    remark_on,
)

VECTORS = find_vectors("avx512", F32)
NATIVE = replace(load_target("x86-avx512"), name="native")
START = choose_blocking(VECTORS, 14, 2, 48 << 10, 1 << 20)


def race_by(speed: Callable[[Blocking], float]) -> Callable[[Sequence[Blocking]], list[BlockingTrial]]:
    """A race whose outcome is known."""
    return lambda blockings: [BlockingTrial(x, (512, 1536), (speed(x), 2 * speed(x))) for x in blockings]


@pytest.mark.parametrize(("extension", "type", "rows", "count"), [
    ("avx512", F32, 14, 2), ("avx512", F64, 14, 2), ("avx2", F32, 6, 2), ("avx2", F64, 4, 3), ("neon", F32, 8, 3),
])  # fmt: skip
def test_candidates_are_made_of_whole_tiles(extension: str, type: type, rows: int, count: int) -> None:
    vectors = find_vectors(extension, type)
    start = choose_blocking(vectors, rows, count, 32 << 10, 256 << 10)
    for listed in (list_depths, list_columns, list_heights):
        candidates = listed(vectors, start)
        assert candidates[0] == start and len(candidates) == len(set(candidates)) >= 2
        assert all(x.depth % 64 == 0 and x.columns % (count * vectors.lanes) == 0 for x in candidates)
        assert all(x.height % rows == 0 for x in candidates)
    # Squares that are turned round have to be whole.
    assert all(x.height % vectors.lanes == 0 for x in list_heights(vectors, start)[1:])


def test_the_fastest_is_taken() -> None:
    chosen, tried = refine_blocking(VECTORS, START, NATIVE, KernelCache(), race_by(lambda x: 1e6 / x.depth + x.height))
    assert (chosen.depth, chosen.height) == (192, 4256)
    assert max(tried, key=lambda x: x.score).blocking == chosen
    told = remark_on(chosen, tried).render()
    assert told.startswith("done[gemm-refine]: ") and f"taken: depth 192, columns {chosen.columns}, height 4256" in told
    assert told.count("GFLOPS") == len(tried)


def test_what_was_only_luck_is_not_taken() -> None:
    raced: list[Sequence[Blocking]] = []

    def race(blockings: Sequence[Blocking]) -> list[BlockingTrial]:
        raced.append(blockings)
        lucky = 2.0 * (len(raced) < 4)
        return [BlockingTrial(x, (512,), (100 + lucky * (x.depth != START.depth),)) for x in blockings]

    chosen, tried = refine_blocking(VECTORS, START, NATIVE, KernelCache(), race)
    assert chosen == START and len(raced) == 4 and raced[-1][0] == START
    assert len(tried) == sum(map(len, raced))


def test_what_may_be_noise_changes_nothing() -> None:
    chosen, _ = refine_blocking(VECTORS, START, NATIVE, KernelCache(), race_by(lambda x: 100 + 0.9 * (x != START)))
    assert chosen == START


@pytest.mark.parametrize(("name", "product"), [("x86-avx512", "f32"), ("native", "u8s8")])
def test_what_cannot_be_timed_is_refused(name: str, product: str) -> None:
    vectors = find_vectors("avx512", PRODUCTS[product])
    with pytest.raises(PlanishError, match="E0643"):
        refine_blocking(vectors, START, replace(NATIVE, name=name), KernelCache(), race_by(lambda x: 1.0))


def test_a_race_is_run_here(tmp_path: Path) -> None:
    if shutil.which("gcc") is None and shutil.which("clang") is None:
        pytest.skip("no C compiler here")
    machine = load_target("native")
    try:
        vectors = choose_vectors(machine, F64)
    except PlanishError as error:
        pytest.skip(str(error))
    blockings, told = [Blocking(2, 1, 64, 64, height) for height in (16, 32)], list[str]()
    for compiled in (True, False):
        maker = KernelCache(Cache(tmp_path), told.append)
        trials = Track(vectors, machine, choose_compiler(None), maker, (24, 40), 0.02).race(blockings)
        assert [x.blocking for x in trials] == blockings
        assert all(len(x.gflops) == 2 and min(x.gflops) > 0 for x in trials)
        assert (maker.made > 0) == compiled
    assert told.count("timing products of 40 x 40 x 40") == 2
