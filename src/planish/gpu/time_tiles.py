"""Time loops in overlapped tiles: launches that make several sweeps each, and the loop as it was for what is left.

    plan = choose_plan(found)
    tiles = make_time_tiles(found, plan, names) if plan is not None else None
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import lcm, prod

from planish.core.names import take_name
from planish.gpu.overlap import BlockTile, SweepPipeline, stream_sweeps
from planish.gpu.sweeps import GridSweep, RepeatedSweeps
from planish.ir.expr import Binary, Expr, index, type_of
from planish.ir.index.simplify import simplify
from planish.ir.nest import Block, For, Let, Stmt
from planish.ir.traverse import count_work

TILES: dict[int, tuple[BlockTile, ...]] = {
    2: (BlockTile((256,)), BlockTile((128,))),
    3: (BlockTile((16, 32), 2), BlockTile((16, 32)), BlockTile((8, 32), 2)),
}
"""The shapes of blocks that are compared, by the rank of arrays."""
MOST_SWEEPS = 11
SHARED_BYTES = 48 * 1024
REGISTERS = 65536
"""Those of a multiprocessor; two blocks at least are to fit."""
BLOCKS = 1056
"""The blocks wanted: several for each multiprocessor of large devices."""
ROWS = (32, 512)
"""The fewest and most rows that a block streams over."""
BYTES_A_NANOSECOND, WORK_A_NANOSECOND = 2840.0, 14000.0
"""What a device copies in both directions together, and the instructions of threads that it runs in kernels with
barriers: about those of an H100; only their ratio matters."""
LEAST_GAIN = 1.15


@dataclass(frozen=True, slots=True)
class OverlapPlan:
    """So many sweeps a launch, in blocks of a shape; the expected time of one sweep over so much of a nanosecond a
    cell, and that of a sweep alone."""

    sweeps: int
    tile: BlockTile
    time: float
    alone: float


def choose_plan(found: RepeatedSweeps) -> OverlapPlan | None:
    """The plan with the least expected time; None where none is much faster than one sweep a launch."""
    size = type_of(found.sweeps[0].value).size
    alone = 2 * size / (0.73 * BYTES_A_NANOSECOND)
    best: OverlapPlan | None = None
    for tile in TILES.get(found.rank, ()):
        for count in range(2, MOST_SWEEPS + 1):
            if count % len(found.sweeps) == 0:
                continue
            pipeline = SweepPipeline.of(tuple(_from(found, 0, count)))
            time = _time(pipeline, tile, size)
            if time is not None and (best is None or time < best.time):
                best = OverlapPlan(count, tile, time, alone)
    return best if best is not None and best.time * LEAST_GAIN < alone else None


def _time(pipeline: SweepPipeline, tile: BlockTile, size: int) -> float | None:
    """Nanoseconds of a device for one sweep's cell; None where a block does not fit."""
    useful = pipeline.useful(tile)
    threads, count = prod(tile.threads), len(pipeline.sweeps)
    own = tile.cells * (count * pipeline.copies + 2) * max(1, size // 4) + 32
    if min(useful) < 4 or pipeline.shared_bytes(tile) > SHARED_BYTES or own * threads * 2 > REGISTERS or own > 200:
        return None
    rows = ROWS[1] / 2
    over = prod(tile.extents) / prod(useful) * (rows + sum(pipeline.rims[0]) + count) / rows
    work = [count_work(x.value) + len(x.offsets) + 8 for x in pipeline.sweeps]
    computed = over * sum(work) / count * max(1, size // 4) / WORK_A_NANOSECOND
    copied = (1 + over) * size / count / BYTES_A_NANOSECOND
    return max(computed, copied) + 0.3 * min(computed, copied)


def _from(found: RepeatedSweeps, start: int, count: int) -> Iterator[GridSweep]:
    """So many sweeps, from one on."""
    for number in range(count):
        yield found.sweeps[(start + number) % len(found.sweeps)]


@dataclass(frozen=True, slots=True)
class TimeTiles:
    """What runs before a time loop, which then begins at the name `begin`; and what was done."""

    before: tuple[Stmt, ...]
    begin: str
    told: str


def make_time_tiles(found: RepeatedSweeps, plan: OverlapPlan, taken: set[str]) -> TimeTiles:
    """The launches of a time loop: as many as bring all arrays where whole iterations of it do, again and again; at
    least one iteration is left, which makes all arrays what they are to be at the end."""

    def fresh(stem: str) -> str:
        return take_name(stem, taken)

    loop, period = found.loop, len(found.sweeps)
    together = lcm(plan.sweeps, period)
    iterations, launches = together // period, together // plan.sweeps
    begin, tiles = fresh(f"{loop.var}_rest"), fresh(f"{loop.var}_tiles")
    steps = Binary("sub", Binary("sub", loop.upper, loop.lower), index(1))
    count = simplify(Binary("max", Binary("floordiv", steps, index(iterations)), index(0)))
    body: list[Stmt] = []
    for number in range(launches):
        pipeline = SweepPipeline.of(tuple(_from(found, number * plan.sweeps, plan.sweeps)))
        chunk = fresh("chunk")
        body.append(Let(chunk, _rows(pipeline, plan.tile)))
        body.append(stream_sweeps(pipeline, plan.tile, chunk, fresh, loop.span))
    whole = For(fresh(loop.var), index(0), index(tiles), 1, Block(tuple(body)), span=loop.span)
    rest = simplify(Binary("add", loop.lower, Binary("mul", index(iterations), index(tiles))))
    return TimeTiles((Let(tiles, count), whole, Let(begin, rest)), begin, _told(found, plan))


def _rows(pipeline: SweepPipeline, tile: BlockTile) -> Expr:
    """The rows that a block streams over: few enough that there are blocks for all multiprocessors."""
    last = pipeline.sweeps[-1]
    total: Expr = Binary("sub", last.upper[0], last.lower[0])
    for d, n in enumerate(pipeline.useful(tile)):
        length = Binary("sub", last.upper[d + 1], last.lower[d + 1])
        total = Binary("mul", total, Binary("floordiv", Binary("add", length, index(n - 1)), index(n)))
    wanted = Binary("floordiv", total, index(BLOCKS))
    return Binary("max", index(ROWS[0]), Binary("min", index(ROWS[1]), wanted))


def _told(found: RepeatedSweeps, plan: OverlapPlan) -> str:
    useful = SweepPipeline.of(tuple(_from(found, 0, plan.sweeps))).useful(plan.tile)
    cells = " x ".join(str(x) for x in reversed(useful))
    threads = " x ".join(str(x) for x in reversed(plan.tile.threads))
    what = "row" if len(useful) == 1 else "plane"
    return (
        f"`{found.loop.var}`: {plan.sweeps} sweeps a launch in overlapped tiles of {cells} cells of a {what}, "
        f"blocks of {threads} threads; the first dimension is streamed"
    )
