"""Packets of a nest whose arrays do not fit near: loops over blocks, with transfers between memories.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.description import load_machine
>>> kernel = parse_kernel("kernel f(A: f32[96], B: f32[96]) { for i in 0 .. 96 { B[i] = A[i] } }")
>>> made = plan_blocks(kernel, load_machine("ftmatrix"), BlockShape((("i", 64),)))
>>> made.planned.described
'blocks of 64 of i; i in 32 lanes, 1 vectors'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod

from planish.core.diagnostic import PlanishError
from planish.ir.index.polynomial import constant
from planish.ir.nest import Alloc, Kernel
from planish.ir.traverse import walk
from planish.ir.types import Floats
from planish.poly.canonical.scalar_promotion import settle
from planish.poly.isl.affine import NotAffineError
from planish.schedule.program import Program
from planish.vliw.machine import VliwMachine
from planish.vliw.pack.packing import pack
from planish.vliw.pack.reports import PackOptions
from planish.vliw.streams.cost import Amount
from planish.vliw.streams.lower import lower, patterns_of
from planish.vliw.streams.plan import Grid, Planned, estimate
from planish.vliw.streams.shapes import with_own_names
from planish.vliw.streams.stream import RefusedError
from planish.vliw.streams.tiles import loops_of
from planish.vliw.tiling.bands import BlockShape, NestBands, in_blocks, nests_of
from planish.vliw.tiling.bound import least_traffic
from planish.vliw.tiling.compose import Composer, SplitArrayError, near_name
from planish.vliw.tiling.footprints import footprints_of, trips_of
from planish.vliw.tiling.reuse import Round, select_by_reuse
from planish.vliw.tiling.search import BlockProblem, ChosenBlocks, Cycles, search
from planish.vliw.tiling.staging import stage
from planish.vliw.tiling.workers import PartPlanner, PlannedPart, length_of

SHORT_LOOP = 16
"""Loops that run no more often are not cut, unless they are around all else."""

MOST_ROUNDS = 4
"""So often blocks are chosen anew for what their packets turn out to take."""


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """Packets of a nest in blocks, how it is cut, and what it was chosen by (None: it was asked for); `rounds`: those
    of the choice by ratios of reuse; `least`: the bytes that have to be moved at least."""

    planned: Planned
    shape: BlockShape
    chosen: ChosenBlocks | None = None
    rounds: tuple[Round, ...] = ()
    least: float = 0.0

    def describe(self) -> Iterator[str]:
        """What is moved, what has to be, and how the blocks were chosen."""
        chosen = self.chosen
        if chosen is None:
            return
        traffic = chosen.traffic
        yield (
            f"traffic {traffic.bytes:.0f} bytes in {traffic.transfers} transfers; bound {self.least:.0f} bytes, "
            f"of which that is {traffic.bytes / max(1.0, self.least):.2f}x"
        )
        yield (
            f"the best of {chosen.looked_at} blocks: about {chosen.cycles:.0f} cycles, {chosen.work:.0f} of packets, "
            f"{chosen.moving:.0f} of transfers{' beside them' if self.shape.overlap else ''}"
        )
        for number, x in enumerate(self.rounds, 1):
            yield f"by reuse, round {number}: {x.describe()}"


def far_memory(machine: VliwMachine) -> str:
    """The largest memory from which transfers go; RefusedError where there is none."""
    sources = {x.definition.array("s").memory for x in machine.operations if x.transfer == "start"}
    found = [x for x in machine.memories if x.name in sources]
    if not found:
        raise RefusedError("the machine has no block transfers")
    return max(found, key=lambda x: x.bytes).name


@dataclass(frozen=True, slots=True)
class CutNest:
    """A nest in blocks of a shape, with transfers, and how its parts are done."""

    kernel: Kernel
    shape: BlockShape
    parts: tuple[PlannedPart, ...]
    near: Mapping[str, tuple[str, ...]]

    def tiles(self) -> dict[str, int]:
        """How many iterations of loops run at once in the part that takes most."""
        heaviest = max(self.parts, key=lambda x: x.planned.estimate)
        out: dict[str, int] = {}
        for x in heaviest.planned.tiles:
            names = {y.label: y.var for y in loops_of(heaviest.planned.source)}
            out[names[x.lane]] = x.lanes * x.vectors
            out |= {names[label]: count for label, count in x.rows}
        return out

    def describe(self) -> str:
        """The blocks, and in which tiles they are worked on."""
        return "; ".join(dict.fromkeys((self.shape.describe(), *(x.planned.described for x in self.parts))))


@dataclass(slots=True)
class BlockPlanner:
    """Cuts a nest into blocks. `sizes`: what sizes are taken to be."""

    kernel: Kernel
    machine: VliwMachine
    sizes: Mapping[str, int] = field(default_factory=dict)
    contract: bool = True
    reassociate: bool = True
    options: PackOptions = field(default_factory=PackOptions)
    known: dict[Kernel, Planned] = field(default_factory=dict)
    grid: Grid = ()

    @property
    def lanes(self) -> int:
        """The most lanes that vectors have."""
        return max((1, *patterns_of(self.machine).lane_counts))

    def named(self, shape: BlockShape | None = None) -> Kernel:
        """The kernel in the form that is cut: sums are in memory where their loops are."""
        named = with_own_names(self.kernel)
        wanted = None if shape is None else {var for var, _ in shape.loops}
        inner = [x.var for nest in nests_of(named) for band in NestBands.of(nest).inner for x in band]
        if wanted is None or wanted & set(inner):
            return settle(named, self.reassociate, everywhere=True)
        return named

    def trips(self) -> dict[str, int]:
        """How often the loops run that can be cut."""
        kernel = self.named()
        found = trips_of(kernel, self.sizes)
        bands = [NestBands.of(x) for x in nests_of(kernel)]
        outer = {x.var for y in bands for x in y.outer}
        inner = {x.var for y in bands for band in y.inner for x in band if found[x.var] > SHORT_LOOP}
        return {v: n for v, n in found.items() if v in outer | inner}

    def cut(self, shape: BlockShape) -> CutNest:
        """The nest in blocks of a shape; RefusedError where that is not possible."""
        fp: Floats = "reassociate" if self.reassociate else "contract" if self.contract else "strict"
        try:
            program = in_blocks(Program.of(self.named(shape), fp), shape)
            nodes = stage(program, shape)
        except PlanishError as error:
            raise RefusedError(error.diagnostic.message, self.kernel.span) from error
        except NotAffineError as error:
            raise RefusedError(error.reason, self.kernel.span) from error
        told: dict[str, str] = {}
        while True:
            parts = PartPlanner(
                program.kernel, self.machine, self.trips(), self.sizes, self.contract, self.reassociate, self.options,
                told, self.known, self.grid,
            )  # fmt: skip
            composer = Composer(program.kernel, self.machine, far_memory(self.machine), self.lanes, shape.overlap)
            try:
                made = composer.composed(nodes, parts.work)
            except SplitArrayError as error:
                # What is stored to lies in one memory: the one that suits what takes most.
                if error.array in told:
                    raise
                told = {**told, error.array: _heaviest_user(parts.parts, error.array)}
                continue
            return CutNest(made, shape, tuple(parts.parts), composer.near)

    def packed(self, cut: CutNest) -> Planned:
        """The packets of a nest in blocks; RefusedError where its buffers have no room, or there are none."""
        _check_room(cut.kernel, self.machine)
        lowered = lower(cut.kernel, self.machine, self.contract)
        try:
            packed = pack(lowered.program, self.machine, self.options)
        except PlanishError as error:
            raise RefusedError(error.diagnostic.message, self.kernel.span) from error
        return Planned(cut.kernel, lowered, packed, (), 0.0, cut.describe())

    def problem(
        self, cycles: Cycles, memories: Mapping[str, tuple[str, ...]], tiles: Mapping[str, int] | None = None
    ) -> BlockProblem:  # fmt: skip
        """What the choice of blocks depends on; `tiles`: how many iterations of loops run at once."""
        kernel = self.named()
        nests = nests_of(kernel)
        if len(nests) != 1:
            raise RefusedError("several nests one after the other are not cut into blocks", self.kernel.span)
        bands = NestBands.of(nests[0])
        trips, cut = trips_of(kernel, self.sizes), self.trips()
        lanes = self.lanes
        units = {x: lanes if trips[x] >= lanes and not tiles else 1 for x in bands.variables()} | dict(tiles or {})
        inner = tuple(x.var for band in bands.inner for x in band if x.var in cut)
        outer = tuple(x.var for x in bands.outer)
        arrays = footprints_of(kernel, self.sizes)
        return BlockProblem(self.machine, outer, inner, trips, units, arrays, memories, cycles, lanes)

    def choose(self, first: Planned) -> tuple[CutNest, ChosenBlocks]:
        """The blocks that take the fewest cycles, for what their packets take; `first`: packets of the nest as it is,
        which do not fit. RefusedError where no blocks fit."""
        far_memory(self.machine)
        memories = _memories(first)
        trips = trips_of(self.named(), self.sizes)
        total = max(1, prod(trips.values()))

        def guessed(lengths: Mapping[str, Amount]) -> Amount:
            return first.estimate / total * prod(lengths.get(v, n) for v, n in trips.items())

        found = search(self.problem(guessed, memories))
        if found is None:
            raise RefusedError("no blocks of it fit the memories near", self.kernel.span)
        cuts: dict[BlockShape, CutNest] = {}
        while found.shape not in cuts and len(cuts) < MOST_ROUNDS:
            cut = cuts[found.shape] = self.cut(found.shape)
            again = search(self.problem(partial(self.cycles, cut), {**memories, **cut.near}, cut.tiles()))
            found = again or found
        return cuts.get(found.shape) or self.cut(found.shape), found

    def rounds(self, first: Planned, near: Mapping[str, tuple[str, ...]]) -> tuple[Round, ...]:
        """What the choice by ratios of reuse does, with the feedback of packets."""

        def tried(shape: BlockShape) -> tuple[BlockProblem, Planned]:
            cut = self.cut(shape)
            heaviest = max(cut.parts, key=lambda x: x.planned.estimate)
            return self.problem(partial(self.cycles, cut), {**near, **cut.near}, cut.tiles()), heaviest.planned

        start = self.problem(lambda lengths: first.estimate, near)
        try:
            return select_by_reuse(self.named(), start, tried)
        except RefusedError:
            return ()

    def cycles(self, cut: CutNest, lengths: Mapping[str, Amount]) -> Amount:
        """What one block of some lengths takes, by the intervals of its loops."""
        return sum(_part_cycles(x, self.machine, lengths, self.sizes) for x in cut.parts)


def _part_cycles(
    part: PlannedPart, machine: VliwMachine, lengths: Mapping[str, Amount], around: Mapping[str, int]
) -> Amount:  # fmt: skip
    sizes = {**around, **{length_of(v): n for v, n in lengths.items()}}
    return estimate(part.planned.packed, part.planned.lowered, sizes)


def _memories(planned: Planned) -> dict[str, tuple[str, ...]]:
    """Where the packets of a nest want its arrays."""
    out: dict[str, tuple[str, ...]] = {}
    for x in planned.lowered.given:
        if x.array is not None:
            out[x.array.name] = (*out.get(x.array.name, ()), x.parameter.memory)
    return out


def plan_blocks(
    kernel: Kernel, machine: VliwMachine, shape: BlockShape, sizes: Mapping[str, int] | None = None,
    contract: bool = True, reassociate: bool = True, options: PackOptions | None = None,
) -> BlockPlan:  # fmt: skip
    """The packets of a nest in blocks of a shape; RefusedError where that is not possible."""
    planner = BlockPlanner(kernel, machine, sizes or {}, contract, reassociate, options or PackOptions())
    return BlockPlan(planner.packed(planner.cut(shape)), shape)


def plan_best_blocks(
    first: Planned, kernel: Kernel, machine: VliwMachine, sizes: Mapping[str, int] | None = None,
    contract: bool = True, reassociate: bool = True, options: PackOptions | None = None,
) -> BlockPlan:  # fmt: skip
    """The packets of a nest in the blocks that take the fewest cycles; `first`: its packets, which do not fit."""
    planner = BlockPlanner(kernel, machine, sizes or {}, contract, reassociate, options or PackOptions())
    # The tiles of the nest as it is are those of its blocks, in which loops run as they do in it.
    shapes = [(next((n for _, n in x.rows), 1), x.vectors) for x in first.tiles]
    planner.grid = tuple(dict.fromkeys((*shapes, (1, 4), (1, 1))))
    cut, chosen = planner.choose(first)
    made = replace(planner.packed(cut), estimate=chosen.cycles, program=first.program)
    named = planner.named()
    arrays, trips = footprints_of(named, planner.sizes), trips_of(named, planner.sizes)
    near = {y for x in cut.near.values() for y in x}
    least = least_traffic(arrays, trips, sum(machine.memory(x).bytes for x in near))
    return BlockPlan(made, cut.shape, chosen, planner.rounds(first, {**_memories(first), **cut.near}), least)


def _heaviest_user(parts: Sequence[PlannedPart], name: str) -> str:
    """The memory in which the part that takes most wants an array."""
    found = [
        (x.planned.estimate, given.parameter.memory) for x in parts for given in x.planned.lowered.given
        if given.array is not None and given.array.name == near_name(name)
    ]  # fmt: skip
    return max(found)[1]


def _check_room(kernel: Kernel, machine: VliwMachine) -> None:
    """RefusedError where buffers do not fit."""
    taken: dict[str, int] = {}
    for x in walk(kernel.body):
        if isinstance(x, Alloc) and x.array.shape:
            for memory in x.array.memory.split("+"):
                known = [n for e in x.array.shape if e is not None and (n := constant(e)) is not None]
                if len(known) < len(x.array.shape):
                    raise RefusedError(f"the size of a part of `{x.array.name}` is not known", kernel.span)
                taken[memory] = taken.get(memory, 0) + prod(known, start=x.array.type.size)
    for name, count in taken.items():
        room = machine.memory(name).bytes if name in {x.name for x in machine.memories} else count
        if count > room:
            raise RefusedError(f"parts in {name} take {count} bytes, which has {room}", kernel.span)
