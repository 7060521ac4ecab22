"""Versions of nests of integers as strips of vectors whose instructions are selected from the machine's own.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.auto.plan import prepare
>>> from planish.target.load import load_target
>>> statement = "for i in 0 .. n { B[i] = u8(i32(A[i]) + i32(B[i]) + 1:i32 >> 1:i32) }"
>>> kernel = parse_kernel("kernel k(n; A: u8[n] distinct, B: u8[n] distinct) { %s }" % statement)
>>> (made,) = strip_versions(prepare(kernel), load_target("x86-avx2"))
>>> made.name, [x.name.split("_")[0] for x in made.catalogue.instructions.values()]
('vector-strips', ['select'])
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from planish.core.cache import Cache, key
from planish.core.diagnostic import Remark
from planish.core.fingerprint import stamp_program
from planish.core.pickles import read_pickle, write_pickle
from planish.ir.accesses import reads
from planish.ir.expr import Compare, Const, Expr, index
from planish.ir.index.polynomial import sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, Block, For, Kernel, Stmt
from planish.ir.passes.speculative_loads import speculate
from planish.ir.passes.unit_steps import count_by_one
from planish.ir.passes.vector_loops import long_enough, longest
from planish.ir.text.printer import print_kernel, print_stmt
from planish.ir.traverse import arrays_in, loads, map_block, stored_arrays, used_names, variables, walk, with_stmts
from planish.isa.instruction import Catalogue, Instruction
from planish.isa.select.lane_values import NoCover
from planish.isa.semantics.node import node
from planish.library.loops.coalesce.coalesced import coalesce
from planish.library.loops.vector_strips.accumulated_loops import AccumulatedLoop
from planish.library.loops.vector_strips.accumulators import reduce_strips
from planish.library.loops.vector_strips.channel_sizes import with_channel_sizes
from planish.library.loops.vector_strips.constant_cells import with_constant_cells
from planish.library.loops.vector_strips.contraction import contract
from planish.library.loops.vector_strips.masked_tails import MaskedTails, reads_sometimes
from planish.library.loops.vector_strips.narrow_elements import are_narrow, element_types, own_arrays
from planish.library.loops.vector_strips.padded_tails import TailPadding, has_masks
from planish.library.loops.vector_strips.read_ends import between_reads
from planish.library.loops.vector_strips.reduction_nests import ReductionNest, find_reductions
from planish.library.loops.vector_strips.reduction_strips import rows_of as reduction_rows
from planish.library.loops.vector_strips.reduction_strips import strip_reduction
from planish.library.loops.vector_strips.selected_accumulators import (
    SelectedAccumulation,
    find_narrow_accumulated,
    lanes_of_terms,
    select_accumulation,
)
from planish.library.loops.vector_strips.strip_arguments import CHAINS, MODELLED, StripShape
from planish.library.loops.vector_strips.strip_nest import Part, StripNest, find_nests, strip_nest
from planish.library.loops.vector_strips.table_lookups import (
    LANES,
    LookupNest,
    find_lookups,
    has_lookups,
    lookup_instruction,
    lookup_strips,
    with_copied_tables,
)
from planish.poly.match.matcher import MismatchError
from planish.poly.scop.certain_accesses import always_readable
from planish.schedule.auto.plan import Prepared, Version
from planish.schedule.auto.rewrites.register_promotion import forward
from planish.schedule.match_instruction import match_instruction
from planish.select.c_text import Store
from planish.select.instruction import SelectedProgram, VectorExtension, as_instruction, cover_strip, extension_of
from planish.select.jam import jam
from planish.select.plain_lanes import plain_cost
from planish.select.sharing import count_uses
from planish.select.strip import Strip, read_strip
from planish.target.machine import Target

NAME = "vector-strips"
"""What the versions are called."""
MOST_ROWS = 16
"""The most rows of a strip, where neighbouring ones share what they read."""
_MOST_AGAIN = 1.25
"""So many times as many rows as it makes may be read, and worked on, by a strip."""
_GROUPS = (4, 1)
"""The rows that instructions are selected for: the first that some are found for. Further rows are copies."""
_PLAINLY = 1.3
"""How many times the cycles of plain lanes a strip may take: what compilers make of a loop has moves that
are not counted (measured with gcc 12 and clang 19: conversions to three channels)."""
_LONG = 8
"""So many strips has a row at least whose last lanes are no strip."""
_REFUSED = b"refused: "
_Found = TypeVar("_Found")
_Group = tuple[Strip, tuple[Store, ...], float]
"""A group of rows, its stores, and what they cost."""
_PLACES = ("planish.ir.", "planish.isa.", "planish.core.", "planish.select.", "planish.library.loops.vector_strips.")
"""Where the classes are that a program and its instruction consist of."""


def in_strip_form(prepared: Prepared, target: Target, conditional: Container[str] = ()) -> Kernel:
    """The kernel with its rows of few columns, and its pixels of few channels, in loops that strips are made of; what
    is kept of an element for an inner loop is read there, so that its range is known."""
    kernel = count_by_one(speculate(prepared.kernel, always_readable(prepared.scop)))
    kernel = with_constant_cells(forward(kernel, widened=True))
    registers = extension_of(target)
    flat = coalesce(kernel, registers.widths[0])
    kernel = with_channel_sizes(kernel if flat is None else flat.kernel)
    return kernel if has_masks(registers) else between_reads(kernel, conditional)


def find_strips(kernel: Kernel) -> tuple[StripNest, ...]:
    """The nests of a kernel that strips may be made of: all that they touch are integers of at most 32 bits, some
    of them narrower (truths are bytes), and what they write are operands."""
    kinds, operands = element_types(kernel), {x.name for x in kernel.arrays}
    found = []
    for x in find_nests(kernel):
        if not all(y.array in operands for y in x.assigned):
            continue
        names = {y.array for y in x.assigned} | {z.array for y in x.body for z in loads(y.value)}
        if are_narrow([kinds.get(y) for y in names]):
            found.append(x)
    return tuple(found)


def find_reduced(kernel: Kernel) -> tuple[ReductionNest, ...]:
    """The same of the nests that reduce over inner loops."""
    kinds = element_types(kernel)
    found = []
    for x in find_reductions(kernel):
        names = set(arrays_in(x.loop)) - x.own
        if are_narrow([x.cells[y].type if y in x.cells else kinds.get(y) for y in names]):
            found.append(x)
    return tuple(found)


def lanes_of_reduction(nest: ReductionNest, kernel: Kernel, registers: VectorExtension) -> int:
    """The lanes of a strip: as many as the narrowest elements of which each lane reads its own fill a register with."""
    moving = {x.array for x in reads(nest.loop) if nest.loop.var in variables(x)}
    kinds = [x.type.bits for x in (*kernel.arrays, *nest.cells.values()) if x.name in moving]
    return registers.widths[0] // min(kinds)


def lanes_of(nest: StripNest, kernel: Kernel, registers: VectorExtension) -> int:
    """The lanes of a strip: as many as the narrowest elements that are stored fill a register with; where there are no
    halves of registers, but pairs, those that are read as well."""
    moving = {x.array for x in nest.assigned}
    if registers.pairs:
        moving |= {y.array for x in nest.body for y in loads(x.value) if nest.loop.var in variables(y)}
    return registers.widths[0] // min(x.type.bits for x in kernel.arrays if x.name in moving)


def rows_of(nest: StripNest) -> int:
    """The rows of a strip of a nest: enough that little is read, and worked on, again for the strip below; 1 where
    there are never as many."""
    if nest.rows is None or nest.window == 1 or not nest.again:
        return 1
    count = next((x for x in (4, 8) if x + nest.window - 1 <= _MOST_AGAIN * x), MOST_ROWS)
    return count if _may_have(nest.rows, count) else 1


def fitting_strips(kernel: Kernel, registers: VectorExtension) -> tuple[StripNest, ...]:
    """The nests of `find_strips` that may have as many iterations as a strip has lanes."""
    return tuple(x for x in find_strips(kernel) if _may_have(x.loop, lanes_of(x, kernel, registers)))


def _may_have(loop: For, count: int) -> bool:
    most = longest(loop)
    return most is None or most >= count


def lookups_of(kernel: Kernel, registers: VectorExtension) -> tuple[Kernel, tuple[LookupNest, ...]]:
    """The kernel with copies of the tables that its loops look up in, and these loops; none where the machine has no
    instructions for that."""
    if not has_lookups(registers):
        return kernel, ()
    copied = with_copied_tables(kernel)
    found = tuple(x for x in find_lookups(copied) if _may_have(x.loop, LANES))
    return (copied, found) if found else (kernel, ())


def fitting_reductions(kernel: Kernel, registers: VectorExtension) -> tuple[ReductionNest, ...]:
    """The nests of `find_reduced` that may have as many iterations as a strip has lanes."""
    found = find_reduced(kernel)
    return tuple(x for x in found if _may_have(x.loop, lanes_of_reduction(x, kernel, registers)))


def strip_versions(
    prepared: Prepared, target: Target, cache: Cache | None = None, conditional: Container[str] = (),
    computed: frozenset[str] = frozenset(), shape: StripShape = MODELLED,
) -> Iterator[Version | Remark]:  # fmt: skip
    """The versions of a kernel with its nests in strips: several rows at a time where these share what they read, and
    one, or those of a `shape`; a remark where no instructions are found. To arrays that are `conditional` strips store
    what is chosen instead of an element's own value, and nothing else; reductions, which store in any case, stay as
    they are. `computed`: sizes that are none of the function's parameters."""
    kernel, registers = in_strip_form(prepared, target, conditional), extension_of(target)
    copied, lookups = lookups_of(kernel, registers)
    tables = [_Sized(x, LANES, 1) for x in lookups if not any(y in conditional for y in stored_arrays(x.loop))]
    refused: dict[str, None] = {}
    if tables:
        whole = StripSelection(copied, registers, {}, cache, conditional=conditional, computed=computed, shape=shape)
        sums = find_narrow_accumulated(copied, registers)
        tables += [_Sized(x, lanes_of_terms(x, copied, registers), 1) for x in sums]
        made = _version(prepared, whole, tables, False, refused)
        if made is not None:
            yield made
            return
    nests = [_Sized(x, lanes_of(x, kernel, registers), rows_of(x)) for x in fitting_strips(kernel, registers)]
    for x in fitting_reductions(kernel, registers):
        lanes = lanes_of_reduction(x, kernel, registers)
        rows = reduction_rows(x, lanes, registers.widths[0], target.vector_registers)
        nests.append(_Sized(x, lanes, rows))
    nests += [_Sized(y, lanes_of_terms(y, kernel, registers), 1) for y in find_narrow_accumulated(kernel, registers)]
    masked = [x for x in nests if any(y in conditional for y in stored_arrays(x.nest.stmt))]
    nests = [x for x in nests if x not in masked or isinstance(x.nest, StripNest)]
    strips = StripSelection(kernel, registers, {}, cache, conditional=conditional, computed=computed, shape=shape)
    ways = (True, False) if any(x.rows > 1 for x in nests) else (False,)
    if shape.rows is not None:
        nests, ways = [replace(x, rows=shape.rows) if x.rows > 1 else x for x in nests], (True,)
    for several in ways:
        made = _version(prepared, strips, nests, several, refused)
        if made is not None:
            yield made if shape.rows is None else replace(made, name=NAME)
    for reason in refused:
        yield Remark("select-none", "note", f"no instructions are selected: {reason}", kernel.span)


@dataclass(frozen=True, slots=True)
class _Sized:
    """A nest with the lanes of a strip, and the rows that are done together."""

    nest: StripNest | ReductionNest | AccumulatedLoop | LookupNest
    lanes: int
    rows: int


def _version(
    prepared: Prepared, strips: StripSelection, nests: Sequence[_Sized], several: bool, refused: dict[str, None]
) -> Version | None:  # fmt: skip
    """The kernel with those nests in strips that are covered; None where none is."""
    kernel = strips.kernel
    body = kernel.body
    remarks = []
    most = 0
    covered: set[int] = set()
    failed: list[tuple[int, str]] = []
    for x in nests:
        rows, stmt = x.rows if several else 1, x.nest.stmt
        if id(stmt) in covered:
            continue
        try:
            match x.nest:
                case AccumulatedLoop():
                    body = accumulated(x.nest, strips, body)
                case StripNest():
                    masked = any(y in strips.conditional for y in stored_arrays(stmt))
                    tails = strips.masked_tails() if masked else strips.tails()
                    made_strips = strip_nest(x.nest, x.lanes, rows, strips.give, tails)
                    if masked:
                        made_strips = map_block(_masked, Block(made_strips)).body
                    body = with_stmts(body, stmt, made_strips)
                case LookupNest():
                    body = with_stmts(body, stmt, lookup_strips(x.nest, strips.piece))
                    strips.use([lookup_instruction(strips.registers.header)])
                case ReductionNest():
                    unroll = strips.shape.unroll
                    made_strips = strip_reduction(x.nest, x.lanes, rows, strips.choose, refused, unroll)
                    body = with_stmts(body, stmt, made_strips)
        except NoCover as error:
            failed.append((id(stmt), str(error)))
            if isinstance(x.nest, LookupNest):
                break  # copies of tables are for these alone
            continue
        covered |= {id(y) for y in walk(stmt)}
        jammed = f", {rows} rows at a time" if rows > 1 else ""
        message = f"strips of {x.lanes} lanes{jammed}, in instructions selected for {strips.registers.isa}"
        remarks.append(Remark(NAME, "done", message, stmt.span or kernel.span))
        most = max(most, rows)
        if isinstance(x.nest, AccumulatedLoop | LookupNest):
            continue
        gone = {*x.nest.own, *(x.nest.cells if isinstance(x.nest, ReductionNest) else ())} - _used(body)
        body = map_block(partial(_without, gone), body)
    # Of a nest that may be made in two ways, one may have been.
    refused |= dict.fromkeys(reason for at, reason in failed if at not in covered)
    if not most or any(isinstance(x.nest, LookupNest) and id(x.nest.stmt) not in covered for x in nests):
        return None
    for nest in find_nests(kernel):
        left = id(nest.loop) not in covered and any(x is nest.loop for x in walk(body))
        if left and not nest.own and not any(y in strips.conditional for y in stored_arrays(nest.loop)):
            body = with_stmts(body, nest.loop, (replace(nest.loop, facts=replace(nest.loop.facts, simd=True)),))
    name = NAME if most == 1 else f"{NAME}, {most} rows"
    catalogue = Catalogue().with_instructions(x.instruction for x in strips.known.values())
    made_of = [x for x in nests if id(x.nest.stmt) in covered]
    lanes = max(x.lanes for x in nests)
    # Before a loop that looks values up, copies are made of its tables.
    long = [*long_enough(kernel, lanes)] or [*long_enough(prepared.kernel, lanes)]
    asked = (*kernel.assumptions, *long, *_full_rows(strips, made_of))
    reductions = [x for x in nests if isinstance(x.nest, AccumulatedLoop) and id(x.nest.stmt) in covered]
    least = 1 if has_masks(strips.registers) else _LONG
    asked = (*asked, *(y for x in reductions for y in _long_rows(kernel, x.nest.stmt, x.lanes, least)))
    made = replace(kernel, body=contract(body), assumptions=asked)
    return Version(name, prepared.scop.schedule, made, tuple(remarks), 0.0, catalogue)


def _full_rows(strips: StripSelection, nests: Iterable[_Sized]) -> Iterator[Expr]:
    """That rows fill a strip: of shorter ones all is a rest, which takes as long as a whole strip, or longer. Not asked
    of sizes that are computed, such as channels times pixels: few calls of a check would come to the strips."""
    for x in nests:
        if isinstance(x.nest, StripNest | ReductionNest) and x.nest.loop not in strips.kernel.body.body:
            few = simplify(Compare("ge", sub(x.nest.loop.upper, x.nest.loop.lower), index(x.lanes)))
            if not isinstance(few, Const) and variables(few) <= {*strips.kernel.sizes} - strips.computed:
                yield few


def _long_rows(kernel: Kernel, row: For, lanes: int, strips: int) -> Iterator[Expr]:
    """That rows which read under conditions have so many strips: as many as what is left of them costs."""
    if reads_sometimes(row) and row not in kernel.body.body:
        count = sub(row.upper, row.lower)
        if variables(count) <= {*kernel.sizes}:
            yield simplify(Compare("ge", count, index(strips * lanes)))


def accumulated(loop: AccumulatedLoop, strips: StripSelection, body: Block, counted: bool = False) -> Block:
    """The body with a loop whose sums, or extrema, are made in lanes (`reduce_strips`); NoCover where there
    are no instructions."""
    made = strips.accumulation(loop)
    found = replace(loop, around=loop.origin) if made.inside else loop
    if not any(x is found.around for x in walk(body)):
        # What surrounds the loop is another one by now.
        if found.gone:
            raise NoCover("what is around a sum of rows is another loop by now")
        found = replace(found, around=found.origin)
    tails = strips.masked_tails() if reads_sometimes(loop.loop) else strips.tails()
    strip = reduce_strips(found, made.lanes, made.updates, made.storing, counted, None if counted else tails)
    body = with_stmts(body, found.around, strip)
    gone = {x.array for x in found.gone if isinstance(x, Assign)} - _used(body)
    return map_block(partial(_without, gone), body)


def _used(body: Block) -> set[str]:
    return {y for x in walk(body) if not isinstance(x, Alloc) for y in arrays_in(x)}


def _masked(x: Stmt) -> Stmt:
    return replace(x, facts=replace(x.facts, masked=True)) if isinstance(x, For) and x.facts.instruction else x


def _without(gone: Container[str], x: Stmt) -> Stmt | tuple[Stmt, ...]:
    return () if isinstance(x, Alloc) and x.array.name in gone else x


@dataclass(slots=True)
class StripSelection:
    """Gives loops over lanes to instructions; what was selected once is kept in a cache, and what was not."""

    kernel: Kernel
    registers: VectorExtension
    known: dict[str, SelectedProgram]
    cache: Cache | None = None
    accumulations: dict[int, SelectedAccumulation] = field(default_factory=dict)
    conditional: Container[str] = ()
    computed: frozenset[str] = frozenset()
    shape: StripShape = MODELLED
    groups: dict[tuple[object, ...], _Group] = field(default_factory=dict)

    def accumulation(self, loop: AccumulatedLoop) -> SelectedAccumulation:
        """The instructions for a loop that accumulates; NoCover where there are none."""
        if id(loop) not in self.accumulations:
            text = print_stmt(replace(loop.loop, body=Block(loop.nest.body)))
            made = self.accumulations[id(loop)] = self.kept(
                (text, print_kernel(self.kernel), loop.updates, loop.locals, *self._chains()), SelectedAccumulation,
                lambda: select_accumulation(loop, self.kernel, self.registers, self.shape.chains),
            )  # fmt: skip
            for x in made.programs:
                self.known[x.instruction.name] = SelectedProgram(x.instruction, x.stores, x.cost)
        return self.accumulations[id(loop)]

    def _chains(self) -> tuple[int, ...]:
        return () if self.shape.chains == CHAINS else (self.shape.chains,)

    def tails(self) -> TailPadding | None:
        """What makes strips of what is left of rows; None where the machine has no masks."""
        if not has_masks(self.registers):
            return None
        return TailPadding(self.arrays(()), {*used_names(self.kernel)}, self.registers.header, self.named, self.use)

    def masked_tails(self) -> MaskedTails | None:
        """The same for strips that read or store under conditions."""
        if not has_masks(self.registers):
            return None
        arrays, taken = self.arrays(()), {*used_names(self.kernel)}
        return MaskedTails(arrays, self.conditional, taken, self.registers, self.program, self.use)

    def program(self, name: str) -> SelectedProgram:
        """What was selected under the name of an instruction."""
        return next(x for x in self.known.values() if x.instruction.name == name)

    def named(self, name: str) -> Instruction:
        """The instruction of a name that was selected."""
        return self.program(name).instruction

    def use(self, instructions: Iterable[Instruction]) -> None:
        """Notes instructions that were not selected."""
        self.known |= {x.name: SelectedProgram(x, (), 0.0) for x in instructions}

    def arrays(self, locals: Iterable[Array]) -> dict[str, Array]:
        """All arrays that a loop over lanes may touch."""
        return {x.name: x for x in (*self.kernel.arrays, *own_arrays(self.kernel), *locals)}

    def choose(self, part: Part, rows: int, locals: Sequence[Array] = ()) -> tuple[str, float]:
        """The name of the instruction for a strip, and its cycles of throughput; NoCover where there is none, or the
        loop is another. `locals`: arrays that are no operands of the kernel, where the loop is a piece of a nest that
        compilers have no lanes for. That no operand leaves its row, which a
        match asks for, holds since the loop itself stays in bounds."""
        loop = part(0, rows)
        text = print_stmt(loop)
        if text not in self.known:
            made = self.selected(part, rows, self.arrays(locals), not locals)
            try:
                match_instruction(made.instruction, loop, self.arrays(locals), {})
            except MismatchError as error:
                raise NoCover(error.reason) from error
            self.known[text] = made
        found = self.known[text]
        return found.instruction.name, found.cost

    def give(self, part: Part, rows: int) -> str:
        """The name of the instruction for a strip of the kernel's own arrays."""
        return self.choose(part, rows)[0]

    def piece(self, part: Part, locals: Sequence[Array]) -> str:
        """The name of the instruction for a strip that is a piece of a nest, of one row."""
        return self.choose(part, 1, locals)[0]

    def selected(self, part: Part, rows: int, arrays: Mapping[str, Array], rival: bool) -> SelectedProgram:
        """The instruction for a strip, from the cache if it is there."""

        def read(first: int, last: int) -> Strip:
            return read_strip(part(first, last), arrays, self.conditional)

        strip = read(0, rows)
        parts = self.parts_of(strip, rival)
        return self.kept(parts, SelectedProgram, lambda: self.jammed(strip, read, rows, rival))

    def parts_of(self, strip: Strip, rival: bool) -> tuple[object, ...]:
        """All that is selected for a strip depends on."""
        guarded = tuple(x.row for x in strip.body.outputs if x.guard is not None)
        cells = tuple(sorted(strip.body.cells)) if self.registers.pairs else ()
        return print_kernel(strip.kernel), rival, guarded, cells

    def kept(self, parts: tuple[object, ...], kind: type[_Found], make: Callable[[], _Found]) -> _Found:
        """What is made, or refused, of some parts: from the cache if it is there."""
        if self.cache is None:
            return make()
        address = key("selection", stamp_program(), self.registers, *parts)
        content = self.cache.get(address)
        if content is not None and content.startswith(_REFUSED):
            raise NoCover(content.removeprefix(_REFUSED).decode())
        known = None if content is None else read_pickle(content, _PLACES, (node,))
        if isinstance(known, kind):
            return known
        try:
            made = make()
        except NoCover as error:
            self.cache.put(address, _REFUSED + str(error).encode())
            raise
        self.cache.put(address, write_pickle(made))
        return made

    def jammed(self, strip: Strip, read: Callable[[int, int], Strip], rows: int, rival: bool) -> SelectedProgram:
        """The instruction for a strip, made of copies of what is selected for the largest group of rows for which there
        is something. `rival`: where it takes no more cycles than plain lanes of 32 bits."""
        reasons = []
        for group in (x for x in _GROUPS if rows % x == 0):
            if 1 < group < rows and not _shares(read(0, group)):
                continue
            parts = [read(at, at + group) for at in range(0, rows, group)]
            try:
                parts[0], stores, cost = self.group(parts[0], rival)
                made = jam(strip, parts, stores) if len(parts) > 1 else stores
                return SelectedProgram(as_instruction(strip, made, self.registers), made, cost * len(parts))
            except NoCover as error:
                reasons.append(str(error))
        raise NoCover(reasons[0])

    def group(self, strip: Strip, rival: bool) -> _Group:
        """What is selected for a group of rows, whatever strip has it; NoCover where there is nothing."""
        address = self.parts_of(strip, rival)
        if address not in self.groups:
            stores, cost = cover_strip(strip, self.registers)
            plain = plain_cost(strip.body, self.registers.widths[0])
            if rival and cost > _PLAINLY * plain:
                raise NoCover(f"instructions of {cost:.3g} cycles, while lanes of 32 bits take {plain:.3g}")
            self.groups[address] = strip, stores, cost
        return self.groups[address]


def _shares(strip: Strip) -> bool:
    """Whether rows compute something for each other; what they read is had once in any case."""
    return bool(count_uses([x.value for x in strip.body.outputs]))
