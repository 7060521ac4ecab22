"""Reductions of narrow integers in strips whose instructions are selected: sums by groups, extrema lane by lane.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.library.loops.vector_strips.accumulated_loops import find_accumulated
>>> from planish.select.instruction import extension_of
>>> from planish.target.load import load_target
>>> text = "kernel k(n; A: u8[n], m: u8[] distinct) { for x in 0 .. n { m[] max= A[x] } }"
>>> kernel = parse_kernel(text)
>>> made = select_accumulation(next(find_accumulated(kernel)), kernel, extension_of(load_target("x86-avx2")))
>>> made.lanes, [(x.lanes, x.array.type.bits, len(x.arrays)) for x in made.updates]
(32, [(32, 8, 4)])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from planish.core.names import take_name
from planish.ir.expr import Var, index
from planish.ir.index.polynomial import add
from planish.ir.nest import Array, Assign, Block, For, Kernel
from planish.ir.passes.vector_loops import longest
from planish.ir.traverse import loads
from planish.ir.types import I32, INDEX, U32, Type
from planish.isa.instruction import Instruction
from planish.isa.select.lane_values import NoCover
from planish.isa.semantics import build
from planish.isa.semantics.node import Node, const
from planish.library.loops.vector_strips.accumulated_loops import AccumulatedCell, AccumulatedLoop, find_accumulated
from planish.library.loops.vector_strips.accumulators import Accumulator, range_of
from planish.library.loops.vector_strips.grouped_sums import ACCUMULATED, ACCUMULATOR, GroupedSum, cover_sum
from planish.library.loops.vector_strips.strip_nest import copies
from planish.poly.match.matcher import MismatchError
from planish.schedule.match_instruction import match_instruction
from planish.select.instruction import SelectedProgram, VectorExtension, as_instruction, cover_strip
from planish.select.jam import Renaming, find_renaming, renamed
from planish.select.program import RegisterProgram
from planish.select.proof import Proof, same
from planish.select.strip import Strip, read_strip

_JAMMED = {1: 4, 2: 2}
"""How many strips are on their way at once, by the cells that are updated: latencies of sums, times units."""
_WIDEST, _NARROW = 32, 16
"""The widest integers that are read, and the narrowest that one of them has to have."""


@dataclass(frozen=True, slots=True)
class SelectedAccumulation:
    """A reduction with the instructions for its strips of so many lanes."""

    found: AccumulatedLoop
    lanes: int
    updates: tuple[Accumulator, ...]
    programs: tuple[SelectedProgram, ...]


def find_narrow_accumulated(kernel: Kernel, registers: VectorExtension) -> Iterator[AccumulatedLoop]:
    """The reductions of a kernel that strips may be made of: what they read are integers of at most 32 bits, some of
    them narrower, and there may be as many iterations as a strip has lanes."""
    kinds = {x.name: x.type for x in kernel.arrays}
    for x in find_accumulated(kernel):
        names = {z.array for y in x.nest.body for z in loads(y.value)}
        widths = [kinds[y].bits if y in kinds and kinds[y].is_int else _WIDEST + 1 for y in names]
        if not widths or max(widths) > _WIDEST or min(widths) > _NARROW:
            continue
        most = longest(x.loop)
        if most is None or most >= registers.widths[0] // min(widths):
            yield x


def lanes_of_terms(found: AccumulatedLoop, kernel: Kernel, registers: VectorExtension) -> int:
    """The lanes of a strip: as many as the narrowest elements that are read fill a register with."""
    read = {y.array for x in found.nest.body for y in loads(x.value)}
    return registers.widths[0] // min(x.type.bits for x in kernel.arrays if x.name in read)


def select_accumulation(found: AccumulatedLoop, kernel: Kernel, registers: VectorExtension) -> SelectedAccumulation:
    """The instructions for the strips of a reduction; NoCover where there are none."""
    arrays = {x.name: x for x in kernel.arrays}
    lanes = lanes_of_terms(found, kernel, registers)
    chosen: list[Accumulator] = []
    made: list[SelectedProgram] = []
    for x in found.updates:
        update, programs = _Selection(found, x, arrays, registers, lanes).made()
        chosen.append(update)
        made += programs
    if any(x.array.type != x.update.type for x in chosen if x.update.op != "add"):
        # Lanes that are narrower than the cell begin with what changes nothing: they are folded where strips were run.
        found = replace(found, around=found.origin)
    return SelectedAccumulation(found, lanes, tuple(chosen), tuple(made))


@dataclass(frozen=True, slots=True)
class _Selection:
    found: AccumulatedLoop
    update: AccumulatedCell
    arrays: Mapping[str, Array]
    registers: VectorExtension
    lanes: int

    def made(self) -> tuple[Accumulator, tuple[SelectedProgram, ...]]:
        strip = read_strip(self.plain(), {**self.arrays, self.update.terms.name: self.update.terms})
        (output,) = strip.body.outputs
        if self.update.op == "add":
            summed, term = cover_sum(strip, self.registers), _signed(output.value, self.update.type)
            update = self.accumulator(_sum_type(term, self.update), self.registers.widths[0] // ACCUMULATED)
            update = replace(update, groups=summed.groups)
            update = replace(update, most=_most(term, update), row=self.row(term))
            return self.named(update, self.summed(update, strip, summed))
        type = _type_of(output.value, self.update.type)
        update = replace(self.accumulator(type, self.lanes), groups=((0,),))
        whole = self.read(update)
        return self.named(update, self.covered(whole))

    def plain(self) -> For:
        """The loop over the lanes of a strip that stores what the cell is updated with."""
        nest, loop = self.found.nest, self.found.loop
        lane = nest.fresh(f"{loop.var}_lane")
        own = self.update.terms.name
        made = copies(nest, [{loop.var: add(loop.lower, Var(lane, INDEX))}])
        body = [x for x in made if not isinstance(x, Assign) or x.array == own]
        return For(lane, index(0), index(self.lanes), 1, Block(tuple(body)))

    def accumulator(self, type: Type, lanes: int) -> Accumulator:
        """Accumulators of a type, so many for a strip."""
        taken = {*self.found.nest.taken}
        arrays = [
            Array(take_name(f"{self.update.array}_lanes", taken), type, (index(lanes),), memory="stack")
            for _ in range(_JAMMED.get(len(self.found.updates), 1))
        ]
        return Accumulator(self.update, tuple(arrays), ((0,),))

    def row(self, term: Node) -> int:
        """How many terms the cell that a row of them was added to can hold; 0 where there is none, or it is as wide."""
        if not self.found.locals:
            return 0
        type = self.found.locals[self.found.updates.index(self.update)].type
        if type.bits >= self.update.type.bits:
            return 0
        most = range_of(type)[1] // max(abs(term.low), abs(term.high), 1)
        if not most:
            raise NoCover("what is added up does not fit the cell of a row")
        return most

    def read(self, update: Accumulator) -> Strip:
        """The strip that updates the first accumulators."""
        loop = update.strip(self.found, self.found.loop.lower, 0)
        return read_strip(loop, {**self.arrays, update.array.name: update.array})

    def summed(self, update: Accumulator, strip: Strip, found: GroupedSum) -> SelectedProgram:
        """The instruction that adds the terms of a strip to accumulators."""
        whole = self.read(update)
        (output,) = whole.body.outputs
        renaming = find_renaming(strip, whole)
        renaming = replace(renaming, rows={**renaming.rows, ACCUMULATOR: (output.row, 0)})
        self.check(update, strip, whole, renaming)
        stores = tuple(renamed([(found.value, ACCUMULATOR, 0)], renaming, RegisterProgram()))
        return SelectedProgram(as_instruction(whole, stores, self.registers), stores, found.cost)

    def check(self, update: Accumulator, part: Strip, whole: Strip, renaming: Renaming) -> None:
        """That what is proven for the terms of a strip is what the accumulators are to get."""
        (output,), (wanted,) = part.body.outputs, whole.body.outputs
        of_part, of_whole = Proof(part.body, self.registers.isa), Proof(whole.body, self.registers.isa)
        for lane in range(update.lanes):
            places = [len(group) * lane + x for group in update.groups for x in group]
            terms = [renaming.term(of_part.at(output.value, x)) for x in places]
            before = build.bits(wanted.row, const(wanted.offset + lane * ACCUMULATED), ACCUMULATED)
            if not same(build.add(before, *terms), of_whole.at(wanted.value, lane), ACCUMULATED):
                raise NoCover("accumulators do not get what is added up")

    def covered(self, strip: Strip) -> SelectedProgram:
        """The program of a strip that stores each lane where it was loaded from."""
        stores, cost = cover_strip(strip, self.registers)
        return SelectedProgram(as_instruction(strip, stores, self.registers), stores, cost)

    def named(self, update: Accumulator, program: SelectedProgram) -> tuple[Accumulator, tuple[SelectedProgram, ...]]:
        """The accumulators with the names of the instructions; NoCover where a loop is another."""
        arrays = {**self.arrays, **{x.name: x for x in update.arrays}}
        _expect(program.instruction, update.strip(self.found, self.found.loop.lower, 0), arrays)
        update = replace(update, instruction=program.instruction.name)
        if len(update.arrays) == 1:
            return update, (program,)
        loop = update.join(self.found.nest.fresh(f"{self.found.loop.var}_lane"))
        joining = self.covered(read_strip(loop, arrays))
        _expect(joining.instruction, loop, arrays)
        return replace(update, joining=joining.instruction.name), (program, joining)


def _expect(instruction: Instruction, loop: For, arrays: Mapping[str, Array]) -> None:
    try:
        match_instruction(instruction, loop, arrays, {})
    except MismatchError as error:
        raise NoCover(error.reason) from error


def _sum_type(term: Node, update: AccumulatedCell) -> Type:
    """What sums are accumulated in: modulo 2^32, or what is added to 64 bits before it wraps around."""
    return U32 if update.type.bits == ACCUMULATED or term.low >= 0 else I32


def _most(term: Node, update: Accumulator) -> int:
    """How many strips a lane may add up before it wraps around; 0 where it may. NoCover where that is none."""
    if update.update.type.bits == ACCUMULATED:
        return 0
    each = max(abs(term.low), abs(term.high), 1) * sum(map(len, update.groups))
    most = (1 << ACCUMULATED - (update.array.type == I32)) // (each + 1)
    if not most:
        raise NoCover("what is added up does not fit the lanes that it is accumulated in")
    return most


def _signed(term: Node, type: Type) -> Node:
    """What is added to a cell modulo its bits: less than nothing where only a type without a sign cuts that off."""
    while term.op == "wrap" and int(term.attr[0]) >= type.bits:
        term = term.args[0]
    return term


def _type_of(term: Node, cell: Type) -> Type:
    """The narrowest integers that hold a term; those of the cell where these are as narrow."""
    for bits in (8, 16, 32):
        for type in sorted((Type("uint", bits), Type("int", bits)), key=lambda x: x != cell):
            low, high = range_of(type)
            if low <= term.low and term.high <= high:
                return type
    raise NoCover("extrema of more than 32 bits")
