"""The plan for a band: lanes along contiguous data, strips where an operand stays, tiles that fit in a cache."""

from __future__ import annotations

from math import prod

import pytest
from bands import PRODUCT, RANK_K, STENCIL, SUM, TRANSPOSE, find_band

from planish.schedule.auto.tiling.band import Band
from planish.schedule.auto.tiling.tile_sizes import BandPlan, choose, tile_candidates
from planish.target.load import load_target
from planish.target.machine import Target

WIDE, GENERIC = load_target("x86-avx512"), load_target("generic")


def plan(text: str, target: Target = WIDE, reassociate: bool = True) -> tuple[Band, BandPlan]:
    found = find_band(text, reassociate)
    return found.band, choose(found.band, target, found.arrays)


@pytest.mark.parametrize("target", [WIDE, GENERIC])
@pytest.mark.parametrize("reassociate", [True, False])
def test_a_product_runs_along_its_rows(target: Target, reassociate: bool) -> None:
    _, choice = plan(PRODUCT, target, reassociate)
    assert choice.lanes_member == 1
    assert [g.lanes for g in choice.groups] == ["parallel"]


def test_a_product_is_jammed_along_the_other_two() -> None:
    assert [m for m, _ in plan(PRODUCT)[1].jam] == [0, 2]


def test_a_product_with_its_transpose_sums_in_lanes_where_that_is_allowed() -> None:
    _, choice = plan(RANK_K)
    assert (choice.lanes_member, [g.lanes for g in choice.groups]) == (2, ["reduction"])
    _, exact = plan(RANK_K, reassociate=False)
    assert all(g.lanes != "reduction" for g in exact.groups)


def test_a_transposed_access_costs_more_than_a_product() -> None:
    assert plan(TRANSPOSE)[1].cost > plan(PRODUCT)[1].cost


def test_what_carries_a_dependence_has_no_lanes() -> None:
    _, choice = plan(STENCIL)
    assert not choice.has_lanes
    assert choice.jam == ()


def test_a_sum_has_lanes_only_where_it_may_be_reordered() -> None:
    assert plan(SUM)[1].has_lanes
    assert not plan(SUM, reassociate=False)[1].has_lanes


@pytest.mark.parametrize("text", [PRODUCT, RANK_K, TRANSPOSE])
@pytest.mark.parametrize("target", [WIDE, GENERIC])
def test_tiles_fit_in_the_second_cache(text: str, target: Target) -> None:
    band, choice = plan(text, target)
    assert len(choice.tiles) == len(band.members)
    assert any(choice.tiles)
    if not all(choice.tiles):
        return
    touched: dict[tuple[str, tuple[tuple[int, ...], ...]], int] = {}
    for motion in band.motions:
        spans = [
            1 + sum(abs(motion.steps[m][d]) * (t - 1) for m, t in enumerate(choice.tiles))
            for d in range(len(motion.access.index))
        ]
        touched[motion.access.array, motion.steps] = 8 * prod(spans)
    assert sum(touched.values()) <= target.cache(2).share // 2


def test_tiles_do_not_exceed_what_arrays_bound() -> None:
    small = PRODUCT.replace("C: f64[n, m], A: f64[n, l], B: f64[l, m]", "C: f64[12, 20], A: f64[12, 9], B: f64[9, 20]")
    band, choice = plan(small)
    assert band.extents == (12, 20, 9)
    assert all(t <= e for t, e in zip(choice.tiles, (12, 20, 9), strict=True))


def test_lanes_come_in_whole_vectors() -> None:
    assert all(t[1] % 8 == 0 for t in tile_candidates(2, 1, 8))
    assert len(set(tile_candidates(2, 1, 8))) == 7 * 6


IMAGES = """kernel k(n, f, c, h, w; out: f32[n, f, h, w], x: f32[n, c, h + 2, w + 2], k: f32[f, c, 3, 3]) {
  for i in 0 .. n { for o in 0 .. f { for y in 0 .. h { for z in 0 .. w { for c2 in 0 .. c {
    for r in 0 .. 3 { for s in 0 .. 3 { out[i, o, y, z] += x[i, c2, y + r, z + s] * k[o, c2, r, s] } } } } } } }
}"""


def test_a_convolution_runs_along_its_rows_and_is_jammed_along_channels() -> None:
    band, choice = plan(IMAGES)
    assert len(band.members) == 7 and band.extents[5:] == (3, 3)
    assert (choice.lanes_member, [g.lanes for g in choice.groups]) == (3, ["parallel"])
    assert [m for m, _ in choice.jam] == [1, 4]


def test_few_of_many_loops_are_tiled_and_none_that_is_short() -> None:
    _, choice = plan(IMAGES)
    assert choice.tiles[5] in (0, 1) and choice.tiles[6] in (0, 1)
    assert sum(t > 1 for t in choice.tiles) <= 4


def test_sums_that_keep_their_order_are_no_band() -> None:
    assert len(plan(IMAGES, reassociate=False)[0].members) < 7
    assert len(plan(IMAGES.replace("f32", "i32"), reassociate=False)[0].members) == 7


def test_a_sum_of_few_iterations_does_not_fill_lanes() -> None:
    nest = "for i in 0 .. n { for j in 0 .. 3 { y[i] += x[i + j] * k[j] } }"
    _, choice = plan(f"kernel k(n; y: f32[n], x: f32[n + 2], k: f32[3]) {{ {nest} }}")
    assert choice.lanes_member == 0


def test_a_copy_without_reuse_is_not_tiled() -> None:
    nest = "for i in 0 .. n { for j in 0 .. m { B[i, j] = A[i, j] } }"
    _, choice = plan(f"kernel k(n, m; A: f64[n, m], B: f64[n, m]) {{ {nest} }}")
    assert choice.tiles == (0, 0)
