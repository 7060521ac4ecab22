"""Blocks by ratios of reuse, with feedback: the tile size selection of the FT-Matrix kernel generator, Algorithm 1.

The sizes of a block are inverse to how often each loop's elements are used again, as large as the memories allow. The
nest is made into packets then; what these say of the reuse, and what they cost, chooses the sizes anew until the cost
does not change any more.

>>> print(Round({"i": 1.0, "k": 2.0, "j": 1.0}, {"i": 96, "k": 48, "j": 96}, 1200000.0).describe())
R i:k:j = 1:2:1, blocks of 96, 48, 96: 1200000 cycles
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from planish.ir.accesses import reads
from planish.ir.nest import For, Kernel
from planish.ir.traverse import expressions, loads, stored_arrays, variables, walk
from planish.vliw.streams.plan import Planned
from planish.vliw.streams.tiles import loops_of
from planish.vliw.tiling.bands import BlockShape
from planish.vliw.tiling.search import BlockProblem, Scored, work_of

MOST_ROUNDS = 6
"""So often sizes are chosen at most."""

Tried = Callable[[BlockShape], "tuple[BlockProblem, Planned]"]
"""What blocks of a shape are worked on with: the problem with the cost of their packets, and the packets of the part
that takes most."""


@dataclass(frozen=True, slots=True)
class Round:
    """One choice: the ratios of reuse, the sizes of blocks, and the cycles that they cost."""

    ratios: Mapping[str, float]
    sizes: Mapping[str, int]
    cycles: float

    def describe(self) -> str:
        """The round in a line of a trace."""
        ratios = ":".join(f"{x:g}" for x in self.ratios.values())
        sizes = ", ".join(str(x) for x in self.sizes.values())
        return f"R {':'.join(self.ratios)} = {ratios}, blocks of {sizes}: {self.cycles:.0f} cycles"


def first_ratios(kernel: Kernel, loops: tuple[str, ...]) -> dict[str, float]:
    """How often what a loop moves with is used: the arrays that are only read and whose subscripts name it.

    >>> from planish.ir.text.parser import parse_kernel
    >>> text = "for i in 0 .. 8 { for k in 0 .. 8 { for j in 0 .. 8 { C[i, j] += A[i, k] * B[k, j] } } }"
    >>> first_ratios(parse_kernel(f"kernel f(A: f32[8, 8], B: f32[8, 8], C: f32[8, 8]) {{ {text} }}"), ("i", "k", "j"))
    {'i': 1.0, 'k': 2.0, 'j': 1.0}
    """
    stored = stored_arrays(kernel.body)
    read = {x for x in reads(kernel.body) if x.array not in stored}
    named = [{v for y in x.index for v in variables(y)} for x in read]
    return {v: float(max(1, sum(v in x for x in named))) for v in loops}


def ratios_in_lanes(planned: Planned, ratios: Mapping[str, float]) -> dict[str, float]:
    """The ratios once a nest runs in lanes: an element that is the same in all lanes, and for all vectors of a tile, is
    used that often by one load; it counts for the loop that its last subscript moves with."""
    found = dict(ratios)
    names = {x.label: x.var for x in loops_of(planned.source)}
    for tile in planned.tiles:
        lane = names[tile.lane]
        for stmt in (y for x in walk(planned.source.body) if isinstance(x, For) and x.var == lane for y in walk(x)):
            for load in (x for e in expressions(stmt) for x in loads(e) if x.index):
                moving = {v for y in load.index for v in variables(y)}
                last = variables(load.index[-1]) & found.keys()
                if lane not in moving:
                    for v in last:
                        found[v] = max(found[v], float(tile.lanes * tile.vectors))
    return found


def sizes_by_ratios(
    problem: BlockProblem, ratios: Mapping[str, float], order: tuple[str, ...]
) -> dict[str, int] | None:  # fmt: skip
    """The largest sizes inverse to ratios whose buffers fit; None where no sizes do."""
    best: dict[str, int] | None = None
    for scale in (2.0 ** (n / 4) for n in range(72)):
        sizes = {v: _rounded(scale / ratios[v], problem.units.get(v, 1), problem.trips[v]) for v in problem.loops}
        shape = BlockShape(tuple((v, 0) for v in order))
        scored = Scored.of(problem, {v: np.array([n]) for v, n in sizes.items()}, shape)
        if scored.fits[0]:
            best = sizes
    return best


def _rounded(wanted: float, unit: int, trip: int) -> int:
    return min(trip, max(1, round(wanted / unit)) * unit)


def select_by_reuse(kernel: Kernel, problem: BlockProblem, tried: Tried) -> tuple[Round, ...]:
    """The rounds of the algorithm, the last one of which changes nothing any more; none where no blocks fit."""
    order = problem.loops
    ratios = first_ratios(kernel, order)
    rounds: list[Round] = []
    while len(rounds) < MOST_ROUNDS:
        sizes = sizes_by_ratios(problem, ratios, order)
        if sizes is None:
            break
        shape = BlockShape(tuple((v, sizes[v]) for v in order if sizes[v] < problem.trips[v]))
        problem, planned = tried(shape)
        vectors = {v: np.array([n]) for v, n in sizes.items()}
        scored = Scored.of(problem, vectors, BlockShape(tuple((v, 0) for v in order)))
        cycles = float(scored.total(work_of(problem, vectors))[0])
        rounds.append(Round(ratios, sizes, cycles))
        ratios = ratios_in_lanes(planned, first_ratios(kernel, order))
        if len(rounds) > 1 and rounds[-1].ratios == ratios and rounds[-1].cycles == rounds[-2].cycles:
            break
    return tuple(rounds)
