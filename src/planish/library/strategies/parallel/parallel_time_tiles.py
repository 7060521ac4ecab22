"""Time tiles on threads: tiles of rows and repetitions of a stencil, those of a wave at once.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> sweeps = "for i in 1 .. n - 1 { B[i] = A[i - 1] + A[i + 1] } for i in 1 .. n - 1 { A[i] = B[i] }"
>>> kernel = parse_kernel(f"kernel k(s, n; A: f64[n], B: f64[n]) {{ for t in 0 .. s {{ {sweeps} }} }}")
>>> target = load_target("x86-avx512")
>>> [x.tiles.starts_at_once for x in PARALLEL_TIME_TILES.match(Context.of(kernel, target, threads=4))]
[True]
>>> PARALLEL_TIME_TILES.match(Context.of(kernel, target))
()
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from planish.core.diagnostic import Remark
from planish.library.parallel.time_tile_sizes import LEAST_COLUMNS, TileSizes, choose_sizes, shape_of
from planish.library.strategy import Context, Made, Strategy, cost_of_cycles, share
from planish.poly.isl.op_budget import OverBudgetError, within
from planish.poly.scop.dependence import movable_updates
from planish.schedule.arguments import Point, TuningArgument, TuningArguments
from planish.schedule.auto.cost.estimate import CostModel
from planish.schedule.auto.parallel_time_tiles import ParallelTimeTiles, find_time_tiles
from planish.schedule.auto.plan import ScheduleDraft, draft_version, lower_draft
from planish.schedule.auto.policies import Policy
from planish.schedule.auto.tiling.tile_sizes import room_for_sweeps

POLICY = Policy("parallel-time-tiles", "time tiles: threads share tiles of rows and repetitions, wave by wave")

LINES = 0.29
"""What tiles of a line cost that is swept over again and again from memory: before a segment for each lane, which one
thread sweeps over."""


@dataclass(frozen=True, slots=True, eq=False)
class SharedTiles:
    """Tiles, their sizes, and the version that has them. `leaves_cache`: whether it is a line that is swept over, of
    which the second cache holds a part."""

    tiles: ParallelTimeTiles
    sizes: TileSizes
    draft: ScheduleDraft
    leaves_cache: bool
    redraft: Callable[[TileSizes], ScheduleDraft]


def _match(cx: Context) -> tuple[SharedTiles, ...]:
    if cx.threads == 1:
        return ()
    prepared = cx.prepared
    movable = movable_updates(prepared.scop, prepared.dependences, cx.reassociate)
    kept = prepared.dependences.order.subtract(movable)
    model = CostModel(prepared.scop, cx.target, cx.sizes)
    try:
        found = within(partial(find_time_tiles, prepared.scop, kept))
        if found is None:
            return ()
        shape = shape_of(found, model.sizes)
        known = {*prepared.kernel.sizes} <= {*cx.sizes}
        room = room_for_sweeps(cx.target)
        sizes = choose_sizes(shape, found.slopes, found.starts_at_once, cx.threads, room, always=not known)

        def draft(sizes: TileSizes) -> ScheduleDraft:
            schedule = found.cut(sizes.rows, sizes.repetitions, sizes.columns)
            return within(partial(
                draft_version, prepared, cx.target, POLICY, schedule, movable, ordered=not cx.reassociate, model=model
            ))  # fmt: skip

        made = draft(sizes)
    except OverBudgetError:
        return ()
    leaves_cache = found.strips is None and shape.columns == 1 and shape.rows * shape.row_bytes > room
    return (SharedTiles(found, sizes, made, leaves_cache, draft),)


def _apply(cx: Context, found: SharedTiles) -> Made:
    tiles, sizes = found.tiles, _sizes_at(found, cx.point)
    draft = found.draft if sizes == found.sizes else found.redraft(sizes)
    made = lower_draft(cx.prepared, draft, cx.threads, cx.reassociate)
    if made is None:
        return ()
    kind = "diamonds" if tiles.starts_at_once else "a pipeline of tiles"
    height = 2 * sizes.rows // sum(tiles.slopes) if tiles.starts_at_once else sizes.repetitions
    strips = f", in strips of {sizes.columns} columns" if tiles.strips and sizes.columns else ""
    message = f"{kind} of {sizes.rows} rows and {height} repetitions{strips}"
    return (replace(made, remarks=(*made.remarks, Remark("parallel-time-tiles", "done", message, cx.kernel.span))),)


def _arguments(cx: Context, found: SharedTiles, version: str) -> TuningArguments:
    return TuningArguments(_tuned(found))


def _tuned(found: SharedTiles) -> tuple[TuningArgument, ...]:
    """The sizes around those of the model; of diamonds the rows say how many repetitions they have."""
    sizes, tiles = found.sizes, found.tiles
    out = [_around("rows", sizes.rows, 4, "rows of a tile")]
    if not tiles.starts_at_once:
        out.append(_around("repetitions", sizes.repetitions, 1, "repetitions of a tile"))
    if tiles.strips and sizes.columns:
        out.append(_around("columns", sizes.columns, LEAST_COLUMNS, "columns of a strip of a tile"))
    return tuple(out)


def _around(name: str, modelled: int, least: int, note: str) -> TuningArgument:
    """An argument with values from a quarter of the modelled one to four times it."""
    tried = (max(least, modelled * x // 4) for x in (1, 2, 3, 4, 6, 8, 16))
    return TuningArgument(name, tuple(sorted({*tried})), modelled, note)


def _sizes_at(found: SharedTiles, point: Point) -> TileSizes:
    """The sizes as a point has them."""
    sizes = replace(found.sizes, **{x.name: x.number(point) for x in _tuned(found)})
    if found.tiles.starts_at_once and sizes.rows != found.sizes.rows:
        return replace(sizes, repetitions=max(1, sizes.rows // sum(found.tiles.slopes)))
    return sizes


def _cost(cx: Context, found: SharedTiles) -> float:
    if found.leaves_cache:
        return LINES
    return cost_of_cycles(found.draft.cost / found.sizes.speedup)


PARALLEL_TIME_TILES = Strategy(
    "parallel-time-tiles", "time tiles on threads: diamonds of rows and repetitions that start at once, or a pipeline",
    _match, _apply, share(LINES), _cost, _arguments,
)  # fmt: skip
