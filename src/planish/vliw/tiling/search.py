"""Which blocks a nest is cut into: all sizes of blocks and orders of loops over them, with what they cost.

What a block takes is what its packets take, by their intervals; transfers take what the machine says, beside that or
not.

>>> found = Traffic(loads=1000.0, stores=500.0, transfers=12)
>>> found.bytes
1500.0
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations, product
from math import ceil, prod
from typing import Any

import numpy as np

from planish.vliw.machine import VliwMachine
from planish.vliw.tiling.bands import BlockShape
from planish.vliw.tiling.footprints import ArrayFootprint

Numbers = Any
"""A number for each shape that is looked at."""

ROOM = 2048
"""Bytes of each memory that are left free, and for each buffer."""

BLOCK_CONTROL = 60.0
"""Cycles that the control of a loop over blocks takes each time."""

MOST_SIZES = 12
"""So many sizes of blocks are looked at for each loop."""

Cycles = Callable[[Mapping[str, Numbers]], Numbers]
"""What a block takes when its loops run so often."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """What is moved: bytes from far memory and to it, in so many transfers."""

    loads: Numbers
    stores: Numbers
    transfers: Numbers

    @property
    def bytes(self) -> Numbers:
        """All that is moved."""
        return self.loads + self.stores


@dataclass(frozen=True, slots=True)
class BlockProblem:
    """What the choice depends on. `outer`, `inner`: loops that can run over blocks, the latter inside of blocks of all
    of the former; `trips`: how often all loops run; `units`: what sizes of blocks are multiples of; `memories`: where
    buffers lie; `cycles`: what one block takes."""

    machine: VliwMachine
    outer: tuple[str, ...]
    inner: tuple[str, ...]
    trips: Mapping[str, int]
    units: Mapping[str, int]
    arrays: tuple[ArrayFootprint, ...]
    memories: Mapping[str, tuple[str, ...]]
    cycles: Cycles
    lanes: int

    @property
    def loops(self) -> tuple[str, ...]:
        """All loops that can run over blocks."""
        return (*self.outer, *self.inner)


@dataclass(frozen=True, slots=True)
class ChosenBlocks:
    """A shape, with what it is thought to take: cycles in all, those of the packets, those of transfers."""

    shape: BlockShape
    cycles: float
    work: float
    moving: float
    traffic: Traffic
    looked_at: int


def sizes_of(trip: int, unit: int) -> tuple[int, ...]:
    """The sizes of blocks that are looked at for a loop: parts of equal size, and multiples of a unit, all of it last.

    >>> sizes_of(512, 32)
    (32, 64, 96, 128, 192, 256, 512)
    """
    found = {min(trip, ceil(trip / (n * unit)) * unit) for n in range(1, 17)} | {trip}
    found |= {x for x in (unit << n for n in range(12)) if x < trip}
    ordered = sorted(found)
    while len(ordered) > MOST_SIZES:
        gaps = [(b / a, n) for n, (a, b) in enumerate(pairwise(ordered)) if n]
        del ordered[min(gaps)[1]]
    return tuple(ordered)


def search(problem: BlockProblem) -> ChosenBlocks | None:
    """The shape that takes the fewest cycles of all; None where none fits."""
    loops = problem.loops
    grid = list(product(*(sizes_of(problem.trips[v], problem.units.get(v, 1)) for v in loops)))
    table = np.array(grid, dtype=np.int64)
    sizes = {v: table[:, n] for n, v in enumerate(loops)}
    fits = np.zeros(len(grid), dtype=bool)
    options = list(_options(problem))
    for order, overlap, kept in options:
        fits |= Scored.of(problem, sizes, BlockShape(tuple((v, 0) for v in order), overlap, kept)).fits
    work = np.where(fits, work_of(problem, sizes), np.inf)
    best: tuple[float, int, Scored] | None = None
    for order, overlap, kept in options:
        scored = Scored.of(problem, sizes, BlockShape(tuple((v, 0) for v in order), overlap, kept))
        total = scored.total(work)
        n = int(np.argmin(total))
        if np.isfinite(total[n]) and (best is None or total[n] < best[0]):
            best = float(total[n]), n, scored
    if best is None:
        return None
    least, n, scored = best
    return scored.chosen(n, dict(zip(loops, grid[n], strict=True)), least, float(work[n]), len(grid) * len(options))


def work_of(problem: BlockProblem, sizes: Mapping[str, Numbers]) -> Numbers:
    """What all blocks take: those that are whole, and the last ones of each loop, which are smaller."""
    total: Numbers = 0.0
    for rests in product((False, True), repeat=len(problem.loops)):
        lengths: dict[str, Numbers] = {}
        count: Numbers = 1
        for v, is_rest in zip(problem.loops, rests, strict=True):
            whole, rest = np.divmod(problem.trips[v], sizes[v])
            lengths[v] = rest if is_rest else sizes[v]
            count = count * (np.minimum(rest, 1) if is_rest else whole)
        if np.any(count):
            total = total + np.where(count > 0, (problem.cycles(lengths) + BLOCK_CONTROL) * count, 0.0)
    return total


def _options(problem: BlockProblem) -> Iterator[tuple[tuple[str, ...], bool, tuple[tuple[str, str], ...]]]:
    """The orders of loops over blocks, transfers beside the packets or not, and which array stays near longer."""
    for outer in permutations(problem.outer):
        for inner in permutations(problem.inner):
            order = (*outer, *inner)
            yield order, True, ()
            yield order, False, ()
            for x in problem.arrays:
                level = _level(x, order, ())
                for v in order[: max(0, level)]:
                    yield order, True, ((x.name, v),)


def _level(array: ArrayFootprint, order: Sequence[str], kept: tuple[tuple[str, str], ...]) -> int:
    """The place of the loop at which a part is brought near; -1: outside of all."""
    wanted = dict(kept).get(array.name)
    if wanted is not None:
        return list(order).index(wanted)
    return max((n for n, v in enumerate(order) if v in array.loops), default=-1)


@dataclass(frozen=True, slots=True)
class Scored:
    """Shapes of one order with what they take. `fits`: whether all buffers do; `moving`: cycles of transfers; `waits`:
    those of them in which nothing is computed."""

    problem: BlockProblem
    shape: BlockShape
    fits: Numbers
    moving: Numbers
    waits: Numbers
    traffic: Traffic

    @staticmethod
    def of(problem: BlockProblem, sizes: Mapping[str, Numbers], shape: BlockShape) -> Scored:
        """Score the sizes of one order of loops; a shape's own sizes do not matter."""
        order = [v for v, _ in shape.loops]
        machine, trips = problem.machine, problem.trips
        counts = {v: -(-trips[v] // sizes[v]) for v in order}
        one = np.ones_like(next(iter(sizes.values()))) if sizes else np.ones(1, dtype=np.int64)
        taken: dict[str, Numbers] = {}
        loads, stores, transfers = 0.0 * one, 0.0 * one, 0.0 * one
        waits = 0.0 * one
        fits = one > 0
        channels = 1
        for x in sorted(problem.arrays, key=lambda x: _level(x, order, shape.kept)):
            level = _level(x, order, shape.kept)
            lengths = {**trips, **{v: sizes[v] for v in order[: level + 1]}}
            extents = [np.asarray(e) * one for e in x.extents(lengths)]
            rows = [*extents[:-1], -(-extents[-1] // problem.lanes) * problem.lanes]
            events = prod((counts[v] for v in order[: level + 1]), start=one)
            # What is only read is fetched across the end of the loop around, too.
            around = max(0, level - (0 if x.writes else 1))
            entries = prod((counts[v] for v in order[:around]), start=one) if level >= 0 else one
            wanted = int(x.reads) + int(x.writes)
            late = shape.overlap and level >= 0 and channels + wanted <= machine.transfers.channels
            apart = not x.writes or _is_apart(x, order[level] if level >= 0 else "", sizes)
            phases = np.where(apart, 1 + wanted if x.writes else 2, 1) if late else one
            channels += wanted if late else 0
            means = {v: _mean(v, order[: level + 1], trips, counts) for v in x.loops}
            mean = [np.asarray(s.extent(means)) for s in x.subscripts]
            moved = prod((np.minimum(m, e) for m, e in zip(mean, extents, strict=True)), start=1.0 * one) * x.size
            times = len(problem.memories.get(x.name, ("",)))
            loads = loads + (events * moved * times if x.reads else 0)
            stores = stores + (events * moved if x.writes else 0)
            transfers = transfers + events * (times * int(x.reads) + int(x.writes))
            cost = machine.transfers.startup + moved / machine.transfers.bytes_per_cycle
            exposed = np.where(phases > 1, entries, events)
            waits = waits + exposed * cost * wanted
            for memory in problem.memories.get(x.name, ()):
                own = prod(rows, start=one) * x.size * phases + ROOM
                taken[memory] = taken.get(memory, 0) + own
        for memory, own in taken.items():
            fits = fits & (own + ROOM <= machine.memory(memory).bytes)
        moving = transfers * machine.transfers.startup + (loads + stores) / machine.transfers.bytes_per_cycle
        return Scored(problem, shape, fits, moving, waits, Traffic(loads, stores, transfers))

    def total(self, work: Numbers) -> Numbers:
        """All cycles, given those of the packets."""
        return np.where(self.fits, np.maximum(work + self.waits, self.moving), np.inf)

    def chosen(self, n: int, sizes: Mapping[str, int], total: float, work: float, looked_at: int) -> ChosenBlocks:
        """One of the shapes: loops of which one block has all are not cut."""
        trips = self.problem.trips
        loops = tuple((v, int(sizes[v])) for v, _ in self.shape.loops if sizes[v] < trips[v])
        names = {v for v, _ in loops}
        kept = tuple((a, v) for a, v in self.shape.kept if v in names)
        traffic = Traffic(float(self.traffic.loads[n]), float(self.traffic.stores[n]), int(self.traffic.transfers[n]))
        shape = BlockShape(loops, self.shape.overlap, kept)
        return ChosenBlocks(shape, total, work, float(self.moving[n]), traffic, looked_at)


def _mean(var: str, cut: Sequence[str], trips: Mapping[str, int], counts: Mapping[str, Numbers]) -> Numbers:
    """How often a loop runs in a block on average."""
    return trips[var] / counts[var] if var in cut else trips[var]


def _is_apart(array: ArrayFootprint, var: str, sizes: Mapping[str, Numbers]) -> Numbers:
    """Whether parts for different blocks of a loop have no element in common."""
    out: Numbers = np.asarray(False)
    for x in array.subscripts:
        factor = abs(x.factors.get(var, 0))
        others = x.span + sum(abs(f) * (sizes[v] - 1) for v, f in x.factors.items() if v != var and v in sizes)
        out = out | ((factor > 0) & (others <= factor) if factor else np.asarray(False))
    return out
