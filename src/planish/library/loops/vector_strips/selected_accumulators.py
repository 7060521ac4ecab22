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
from contextlib import suppress
from dataclasses import dataclass, replace

from planish.core.names import take_name
from planish.ir.expr import index
from planish.ir.nest import Array, Kernel
from planish.ir.passes.vector_loops import longest
from planish.ir.text.printer import print_expr
from planish.ir.traverse import loads
from planish.ir.types import BOOL, I32, U32, Type
from planish.isa.select.lane_values import NoCover
from planish.isa.semantics import build
from planish.isa.semantics.node import Node, const
from planish.library.loops.vector_strips.accumulated_loops import AccumulatedCell, AccumulatedLoop, find_accumulated
from planish.library.loops.vector_strips.accumulators import Accumulator, range_of
from planish.library.loops.vector_strips.grouped_sums import ACCUMULATED, ACCUMULATOR, GroupedSum, cover_sum
from planish.library.loops.vector_strips.narrow_elements import element_types
from planish.library.loops.vector_strips.padded_tails import require_match
from planish.library.loops.vector_strips.strip_arguments import CHAINS
from planish.schedule.accesses import arrays_of
from planish.select.instruction import Selected, VectorExtension, as_instruction, select, select_strip
from planish.select.jam import Renaming, find_renaming, renamed
from planish.select.program import RegisterProgram
from planish.select.proof import Proof, same
from planish.select.strip import Strip, read_strip

_NEIGHBOURS = (1, 2, 4)
"""So many neighbours a lane takes where sums of groups have no instructions: the number that costs least."""
_WIDEST, _NARROW = 32, 16
"""The widest integers that are read, and the narrowest that one of them has to have."""


@dataclass(frozen=True, slots=True)
class SelectedAccumulation:
    """The instructions of a reduction for its strips of so many lanes; `storing`: what a strip stores beside; `inside`:
    lanes are folded behind the loop itself, whatever is around it."""

    lanes: int
    updates: tuple[Accumulator, ...]
    programs: tuple[Selected, ...]
    storing: str
    inside: bool


def find_narrow_accumulated(kernel: Kernel, registers: VectorExtension) -> Iterator[AccumulatedLoop]:
    """The reductions of a kernel that strips may be made of: what they read and store are integers of at most 32 bits,
    some of them narrower, and there may be as many iterations as a strip has lanes."""
    for x in find_accumulated(kernel):
        widths = _widths(x, kernel)
        if not any(loads(y.value) for y in x.nest.body) or max(widths) > _WIDEST or min(widths) > _NARROW:
            continue
        most = longest(x.loop)
        if most is None or most >= lanes_of_terms(x, kernel, registers):
            yield x


def _widths(found: AccumulatedLoop, kernel: Kernel) -> list[int]:
    """The bits of the elements that an iteration reads, and stores beside its cells."""
    kinds = element_types(kernel)
    names = {y.array for x in found.nest.body for y in loads(x.value)} | found.stored
    return [x.bits if x.is_int or x == BOOL else _WIDEST + 1 for x in map(kinds.__getitem__, names)]


def lanes_of_terms(found: AccumulatedLoop, kernel: Kernel, registers: VectorExtension) -> int:
    """The lanes of a strip: as many as the narrowest elements fill a register with."""
    return registers.widths[0] // min(_widths(found, kernel))


def select_accumulation(
    found: AccumulatedLoop, kernel: Kernel, registers: VectorExtension, chains: int = CHAINS
) -> SelectedAccumulation:  # fmt: skip
    """The instructions for the strips of a reduction, whose accumulators take so many registers at least; NoCover where
    there are none."""
    arrays = arrays_of(kernel)
    lanes = lanes_of_terms(found, kernel, registers)
    updating = [_Selection(found, x, arrays, registers, lanes) for x in found.updates]
    chosen, made = map(list, zip(*(x.made() for x in updating), strict=True))
    count = max(1, chains // sum(x.registers_of(y) for x, y in zip(updating, chosen, strict=True)))
    for at, (x, y) in enumerate(zip(updating, chosen, strict=True)):
        chosen[at], joining = x.joined(y, count)
        chosen[at], halving = x.halved(chosen[at])
        made += (*joining, *halving)
    storing = ""
    if found.stored:
        loop = found.lane_loop(found.stored, found.loop.lower, lanes)
        made.append(select_strip(loop, arrays, registers))
        storing = made[-1].instruction.name
        require_match(made[-1].instruction, loop, arrays)
    # Lanes that are narrower than the cell begin with what changes nothing: they are folded where strips were run.
    inside = any(x.array.type != x.update.type for x in chosen if x.update.op != "add")
    return SelectedAccumulation(lanes, tuple(chosen), tuple(made), storing, inside)


@dataclass(frozen=True, slots=True)
class _Selection:
    found: AccumulatedLoop
    update: AccumulatedCell
    arrays: Mapping[str, Array]
    registers: VectorExtension
    lanes: int

    def made(self) -> tuple[Accumulator, Selected]:
        """The accumulators of a strip, and the instruction that updates them."""
        terms = self.update.terms
        strip = read_strip(self.found.lane_loop({terms.name}, self.found.loop.lower, self.lanes),
                           {**self.arrays, terms.name: terms})  # fmt: skip
        (output,) = strip.body.outputs
        if self.update.op != "add":
            type = _type_of(output.value, self.update.type)
            return self.named(*self.covered(self.accumulator(type, self.lanes)))
        term = _signed(output.value, self.update.type)
        try:
            summed = cover_sum(strip, self.registers)
        except NoCover:
            if self.update.type.bits > ACCUMULATED:
                raise
            update, whole = self.neighbours()
            return self.named(replace(update, row=self.row(term)), whole)
        if self.update.type.bits <= ACCUMULATED and all(len(x) == 1 for x in summed.groups):
            # Words that are added up one by one are no groups: narrower lanes and pairs of these may cost less.
            with suppress(NoCover):
                update, whole = self.neighbours()
                if whole.cost < summed.cost:
                    return self.named(replace(update, row=self.row(term)), whole)
        update = self.accumulator(_sum_type(term, self.update), self.registers.widths[0] // ACCUMULATED)
        update = replace(update, groups=summed.groups)
        update = replace(update, most=_most(term, update), row=self.row(term))
        return self.named(update, self.summed(update, strip, summed))

    def neighbours(self) -> tuple[Accumulator, Selected]:
        """Accumulators as wide as the cell, each of which takes as many neighbours as cost least."""
        found: list[tuple[Accumulator, Selected]] = []
        type = Type("uint", self.update.type.bits)
        for count in _NEIGHBOURS:
            update = replace(self.accumulator(type, self.lanes // count), groups=(tuple(range(count)),))
            try:
                found.append(self.covered(update))
            except NoCover as error:
                reason = error
        if not found:
            raise reason
        return min(found, key=lambda x: x[1].cost)

    def accumulator(self, type: Type, lanes: int) -> Accumulator:
        """Accumulators of a type, so many for a strip."""
        alone = sum(x.array == self.update.array for x in self.found.updates) == 1
        stem = self.update.array if alone else "_".join((self.update.array, *map(print_expr, self.update.index)))
        name = take_name(f"{stem}_lanes", {*self.found.nest.taken})
        return Accumulator(self.update, (Array(name, type, (index(lanes),), memory="stack"),), ((0,),))

    def registers_of(self, update: Accumulator) -> int:
        """How many registers the accumulators of a strip take."""
        return -(-update.lanes * update.array.type.bits // self.registers.widths[0])

    def row(self, term: Node) -> int:
        """How many terms the cell that a row of them was added to can hold; 0 where there is none, or it is as wide."""
        if not self.found.locals:
            return 0
        cell = self.found.locals[self.found.updates.index(self.update)]
        if cell is None or cell.type.bits >= self.update.type.bits:
            return 0
        most = range_of(cell.type)[1] // max(abs(term.low), abs(term.high), 1)
        if not most:
            raise NoCover("what is added up does not fit the cell of a row")
        return most

    def read(self, update: Accumulator, covered: bool = True) -> Strip:
        """The strip that updates the first accumulators."""
        loop = update.strip(self.found, self.found.loop.lower, 0)
        return read_strip(loop, {**self.arrays, update.array.name: update.array}, covered=covered)

    def summed(self, update: Accumulator, strip: Strip, found: GroupedSum) -> Selected:
        """The instruction that adds the terms of a strip to accumulators."""
        whole = self.read(update, covered=False)
        (output,) = whole.body.outputs
        renaming = find_renaming(strip, whole)
        renaming = replace(renaming, rows={**renaming.rows, ACCUMULATOR: (output.row, 0)})
        self.check(update, strip, whole, renaming)
        stores = tuple(renamed([(found.value, ACCUMULATOR, 0)], renaming, RegisterProgram()))
        return Selected(as_instruction(whole, stores, self.registers), whole, stores, found.cost)

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

    def covered(self, update: Accumulator) -> tuple[Accumulator, Selected]:
        """The accumulators, and the program that stores each lane where it was loaded from."""
        return update, select(self.read(update), self.registers)

    def named(self, update: Accumulator, program: Selected) -> tuple[Accumulator, Selected]:
        """The accumulators with the name of the instruction; NoCover where the loop is another."""
        loop = update.strip(self.found, self.found.loop.lower, 0)
        require_match(program.instruction, loop, {**self.arrays, update.array.name: update.array})
        return replace(update, instruction=program.instruction.name), program

    def joined(self, update: Accumulator, count: int) -> tuple[Accumulator, tuple[Selected, ...]]:
        """So many arrays of accumulators, and the instruction that makes one of them."""
        if count == 1:
            return update, ()
        taken = {*self.found.nest.taken, update.array.name}
        more = (replace(update.array, name=take_name(update.array.name, taken)) for _ in range(count - 1))
        update = replace(update, arrays=(update.array, *more))
        arrays = {x.name: x for x in update.arrays}
        loop = update.join(self.found.nest.fresh(f"{self.found.loop.var}_lane"))
        joining = select_strip(loop, arrays, self.registers)
        require_match(joining.instruction, loop, arrays)
        return replace(update, joining=joining.instruction.name), (joining,)

    def halved(self, update: Accumulator) -> tuple[Accumulator, tuple[Selected, ...]]:
        """The accumulators with the instructions that fold their lanes, as long as there are registers as narrow."""
        made: list[Selected] = []
        halving: list[tuple[Array, str]] = []
        lane, whole = self.found.nest.fresh(f"{self.found.loop.var}_lane"), update.array
        taken = {*self.found.nest.taken, *(x.name for x in update.arrays)}
        with suppress(NoCover):
            while (lanes := update.lanes >> (len(made) + 1)) * whole.type.bits >= min(self.registers.widths):
                half = replace(whole, name=take_name(f"{update.array.name}_half", taken), shape=(index(lanes),))
                loop, arrays = update.halve(lane, whole, half), {x.name: x for x in (whole, half)}
                made.append(select_strip(loop, arrays, self.registers))
                require_match(made[-1].instruction, loop, arrays)
                halving.append((half, made[-1].instruction.name))
                whole = half
        return replace(update, halving=tuple(halving)), tuple(made[: len(halving)])


def _sum_type(term: Node, update: AccumulatedCell) -> Type:
    """What sums are accumulated in: modulo 2^32, or what is added to 64 bits before it wraps around."""
    return U32 if update.type.bits <= ACCUMULATED or term.low >= 0 else I32


def _most(term: Node, update: Accumulator) -> int:
    """How many strips a lane may add up before it wraps around; 0 where it may. NoCover where that is none."""
    if update.update.type.bits <= ACCUMULATED:
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
