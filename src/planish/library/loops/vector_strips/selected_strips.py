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

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from planish.core.cache import Cache, key
from planish.core.diagnostic import Remark
from planish.core.fingerprint import stamp_program
from planish.core.pickles import read_pickle, write_pickle
from planish.ir.nest import Alloc, Array, For, Kernel
from planish.ir.passes.vector_loops import longest
from planish.ir.text.printer import print_kernel, print_stmt
from planish.ir.traverse import loads, map_block, with_stmts
from planish.isa.instruction import Catalogue, Instruction
from planish.isa.select.lane_values import NoCover
from planish.library.loops.vector_strips.strip_nest import Part, StripNest, find_nests, strip_nest
from planish.poly.match.matcher import MismatchError
from planish.schedule.auto.plan import Prepared, Version
from planish.schedule.match_instruction import match_instruction
from planish.select.instruction import VectorExtension, as_instruction, cover_strip, extension_of
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
_WIDEST, _NARROW = 32, 16
"""The widest integers that strips are made of, and the narrowest that one of them has to have: wider ones gain nothing
by other instructions than a C compiler takes."""
_REFUSED = b"refused: "
_PLACES = ("planish.ir.", "planish.isa.", "planish.core.")
"""Where the classes are that an instruction consists of."""


def find_strips(kernel: Kernel) -> tuple[StripNest, ...]:
    """The nests of a kernel that strips may be made of: all that they touch are integers of at most 32 bits, some of
    them narrower."""
    kinds = {x.name: x.type for x in kernel.arrays}
    found = []
    for x in find_nests(kernel):
        names = {y.array for y in x.assigned} | {z.array for y in x.body for z in loads(y.value)}
        widths = [kinds[y].bits if y in kinds and kinds[y].is_int else _WIDEST + 1 for y in names]
        if max(widths) <= _WIDEST and min(widths) <= _NARROW:
            found.append(x)
    return tuple(found)


def lanes_of(nest: StripNest, kernel: Kernel, registers: VectorExtension) -> int:
    """The lanes of a strip: as many as the narrowest elements that are stored fill a register with."""
    written = {x.array for x in nest.assigned}
    return registers.widths[0] // min(x.type.bits for x in kernel.arrays if x.name in written)


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


def strip_versions(prepared: Prepared, target: Target, cache: Cache | None = None) -> Iterator[Version | Remark]:
    """The versions of a kernel with its nests in strips: several rows at a time where these share what they read, and
    one; a remark where no instructions are found."""
    kernel = prepared.kernel
    nests = fitting_strips(kernel, extension_of(target))
    known: dict[str, Instruction] = {}
    refused: dict[str, None] = {}
    for several in (True, False) if any(rows_of(x) > 1 for x in nests) else (False,):
        # What is too much for several rows may still be selected for one.
        try:
            yield _version(prepared, _Strips(kernel, extension_of(target), known, cache), nests, several)
        except NoCover as error:
            refused[str(error)] = None
    for reason in refused:
        yield Remark("select-none", "note", f"no instructions are selected: {reason}", kernel.span)


def _version(prepared: Prepared, strips: _Strips, nests: tuple[StripNest, ...], several: bool) -> Version:
    kernel = prepared.kernel
    body = kernel.body
    remarks = []
    most = 1
    for x in nests:
        lanes, rows = lanes_of(x, kernel, strips.registers), rows_of(x) if several else 1
        body = with_stmts(body, x.stmt, strip_nest(x, lanes, rows, strips.give))
        jammed = f", {rows} rows at a time" if rows > 1 else ""
        message = f"strips of {lanes} lanes{jammed}, in instructions selected for {strips.registers.isa}"
        remarks.append(Remark(NAME, "done", message, x.stmt.span or kernel.span))
        most = max(most, rows)
    gone = {y for x in nests for y in x.own}
    body = map_block(lambda x: () if isinstance(x, Alloc) and x.array.name in gone else x, body)
    name = NAME if most == 1 else f"{NAME}, {most} rows"
    catalogue = Catalogue().with_instructions(strips.known.values())
    return Version(name, prepared.scop.schedule, replace(kernel, body=body), tuple(remarks), 0.0, catalogue)


@dataclass(slots=True)
class _Strips:
    """Gives loops over lanes to instructions; what was selected once is kept in a cache, and what was not."""

    kernel: Kernel
    registers: VectorExtension
    known: dict[str, Instruction]
    cache: Cache | None = None
    arrays: dict[str, Array] = field(init=False)

    def __post_init__(self) -> None:
        self.arrays = {x.name: x for x in self.kernel.arrays}

    def give(self, part: Part, rows: int) -> str:
        """The name of the instruction for a strip; NoCover where there is none, or the loop is another. That no
        operand leaves its row, which a match asks for, holds since the loop itself stays in bounds."""
        loop = part(0, rows)
        text = print_stmt(loop)
        if text not in self.known:
            made = self.selected(part, rows)
            try:
                match_instruction(made, loop, self.arrays, {})
            except MismatchError as error:
                raise NoCover(error.reason) from error
            self.known[text] = made
        return self.known[text].name

    def selected(self, part: Part, rows: int) -> Instruction:
        """The instruction for a strip, from the cache if it is there."""
        strip = self.read(part, 0, rows)
        if self.cache is None:
            return self.jammed(strip, part, rows)
        address = key("selection", stamp_program(), print_kernel(strip.kernel), self.registers)
        kept = self.cache.get(address)
        if kept is not None and kept.startswith(_REFUSED):
            raise NoCover(kept.removeprefix(_REFUSED).decode())
        known = None if kept is None else read_pickle(kept, _PLACES)
        if isinstance(known, Instruction):
            return known
        try:
            made = self.jammed(strip, part, rows)
        except NoCover as error:
            self.cache.put(address, _REFUSED + str(error).encode())
            raise
        self.cache.put(address, write_pickle(made))
        return made

    def read(self, part: Part, first: int, last: int) -> Strip:
        return read_strip(part(first, last), self.arrays)

    def shares(self, part: Part, rows: int) -> bool:
        """Whether rows compute something for each other; what they read is had once in any case."""
        return bool(count_uses([x.value for x in self.read(part, 0, rows).body.outputs]))

    def jammed(self, strip: Strip, part: Part, rows: int) -> Instruction:
        """The instruction for a strip, made of copies of what is selected for the largest group of rows for which there
        is something."""
        reasons = []
        for group in (x for x in _GROUPS if rows % x == 0):
            if 1 < group < rows and not self.shares(part, group):
                continue
            parts = [self.read(part, at, at + group) for at in range(0, rows, group)]
            try:
                stores, cost = cover_strip(parts[0], self.registers)
                plain = plain_cost(parts[0].body, self.registers.widths[0])
                if cost > plain:
                    raise NoCover(f"instructions of {cost:.3g} cycles, while lanes of 32 bits take {plain:.3g}")
                made = jam(strip, parts, stores) if len(parts) > 1 else stores
                return as_instruction(strip, made, self.registers)
            except NoCover as error:
                reasons.append(str(error))
        raise NoCover(reasons[0])
