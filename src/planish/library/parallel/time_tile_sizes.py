"""Sizes of time tiles for so many threads: all of them busy, few barriers, few lines from memory.

>>> shape = GridShape(repetitions=100, rows=1000, row_bytes=16000, columns=1000)
>>> chosen = choose_sizes(shape, (2, 2), True, threads=16, room=1 << 20)
>>> chosen.rows, chosen.repetitions, chosen.columns, round(chosen.speedup, 1)
(78, 19, 840, 11.1)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, prod

import islpy as isl

from planish.poly.scop.extents import fix_sizes
from planish.schedule.auto.parallel_time_tiles import ParallelTimeTiles

MOST_ROWS = 1 << 14
"""The rows of the largest tiles."""
LEAST_COLUMNS = 8
"""The columns of the narrowest strips."""
BARRIER = 20_000.0
"""Cycles in which threads wait for each other and start anew."""
POINT = 2.0
"""Cycles for a point of the grid whose data are in the second cache, and for each eight bytes that come from memory."""
MEMORY_THREADS = 4
"""So many threads take all that memory gives."""


@dataclass(frozen=True, slots=True)
class GridShape:
    """What is swept over: how often, how many rows, the bytes of a row of all arrays, the columns of a row."""

    repetitions: int
    rows: int
    row_bytes: int
    columns: int


@dataclass(frozen=True, slots=True)
class TileSizes:
    """The rows of a tile, its repetitions, the columns of its strips, 0 without strips; and how many times as fast as
    by one thread all threads are expected to be."""

    rows: int
    repetitions: int
    columns: int
    speedup: float


def shape_of(found: ParallelTimeTiles, sizes: Mapping[str, int]) -> GridShape:
    """What is swept over, for some sizes."""
    inside = [x for x in found.scop.statements if x.name in found.places]
    deepest = max(inside, key=lambda x: len(x.iterators))
    domain = fix_sizes(deepest.domain, sizes)
    repetitions, rows, *others = (_extent(domain, x) for x in range(len(deepest.iterators)))
    written = {x.write.array for x in inside}
    arrays = [x for x in (*found.scop.kernel.arrays, *found.scop.locals) if x.name in written and x.shape]
    cells = prod(others)
    return GridShape(repetitions, rows, cells * sum(x.type.size for x in arrays), others[0] if others else 1)


def _extent(domain: isl.Set, place: int) -> int:
    first, last = domain.dim_min_val(place), domain.dim_max_val(place)
    return int(last.to_python() - first.to_python()) + 1 if first.is_int() and last.is_int() else 1000


def choose_sizes(
    shape: GridShape, slopes: tuple[int, int], at_once: bool, threads: int, room: int, always: bool = False
) -> TileSizes:
    """The sizes with the least cycles. `slopes`: the rows by which the sides of a tile move in one repetition;
    `at_once`: whether all tiles of a wave start together; `room`: the bytes that a strip of a tile may fill;
    `always`: rows may be longer, so that there are to be strips."""
    tried = [*_sizes(slopes, at_once)]
    width = max(1, shape.row_bytes // max(shape.columns, 1))
    # Tiles of which no strip fits are swept from the third cache.
    fit = [x for x in tried if x[0] * width * LEAST_COLUMNS <= room] or tried[:1]
    cycles, rows, times = min((_cycles(shape, slopes, at_once, x, y, threads), x, y) for x, y in fit)
    alone = min(_cycles(shape, slopes, at_once, x, y, 1) for x, y in fit)
    columns = max(LEAST_COLUMNS, room // (rows * width) // LEAST_COLUMNS * LEAST_COLUMNS)
    if columns >= shape.columns and not always:
        columns = 0
    return TileSizes(rows, times, columns, alone / cycles)


def _sizes(slopes: tuple[int, int], at_once: bool) -> Iterator[tuple[int, int]]:
    """Rows and repetitions of tiles."""
    rows = 4
    while rows <= MOST_ROWS:
        if at_once:
            yield rows, max(1, rows // sum(slopes))
        else:
            yield from ((rows, times) for times in (2, 4, 8, 16, 32))
        rows = rows * 5 // 4 if rows > 8 else rows + 2


def _cycles(
    shape: GridShape, slopes: tuple[int, int], at_once: bool, rows: int, repetitions: int, threads: int
) -> float:
    """The cycles of all waves."""
    points = rows * repetitions * shape.row_bytes / 8
    steps = max(1.0, shape.repetitions / repetitions)
    bytes = shape.row_bytes * shape.rows * steps / min(threads, MEMORY_THREADS)
    if at_once:
        # Half a tile at each end of a wave; two waves for each height of a tile.
        count = shape.rows / rows + 1
        rounds = ceil(count / threads) if threads > 1 else count - 1
        return steps * (rounds * points * POINT + BARRIER) + bytes / 8 * POINT
    waves = rounds = 0.0
    across = (shape.rows + slopes[0] * repetitions) / rows
    most, shift = min(steps, across), slopes[0] * repetitions / rows
    waves = across + steps * (1 + shift)
    mean = steps * across / waves
    rounds = steps * across if threads == 1 else waves * max(1.0, min(mean, most) / threads + 0.5)
    return rounds * points * POINT + waves * BARRIER + bytes / 8 * POINT
