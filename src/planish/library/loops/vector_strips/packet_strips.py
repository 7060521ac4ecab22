"""Kernels in strips of vectors with the instructions that were selected for them, for those that schedule these: in
loops without conditions, whose strips are programs over registers.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> statement = "for i in 0 .. n { B[i] = u8(i32(A[i]) + i32(B[i]) + 1:i32 >> 1:i32) }"
>>> kernel = parse_kernel("kernel k(n; A: u8[n] distinct, B: u8[n] distinct) { %s }" % statement)
>>> (made,) = packet_strips(kernel, load_target("hexagon-hvx"))
>>> [len(x) for x in made.programs.values()], made.described
([1], 'strips of 128 lanes in instructions selected for hvx')
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from planish.core.cache import Cache
from planish.core.diagnostic import Remark
from planish.ir.expr import Expr
from planish.ir.nest import Alloc, Kernel
from planish.ir.traverse import map_block, with_stmts
from planish.isa.select.lane_values import NoCover
from planish.library.loops.vector_strips.selected_strips import (
    StripSelection,
    fitting_strips,
    lanes_of,
    rows_of,
)
from planish.library.loops.vector_strips.strip_nest import StripNest, counted_strips, enough
from planish.select.c_text import Store
from planish.select.instruction import SelectedProgram, extension_of
from planish.target.machine import Target


@dataclass(frozen=True, slots=True)
class StripProgram:
    """A kernel whose loops over lanes are named after programs, the stores of each of these, and what has to hold of
    its sizes (`needs`)."""

    kernel: Kernel
    programs: Mapping[str, tuple[Store, ...]]
    needs: tuple[Expr, ...]
    described: str


def packet_strips(kernel: Kernel, target: Target, cache: Cache | None = None) -> Iterator[StripProgram | Remark]:
    """A kernel in strips, with fewer and fewer rows at a time; a remark where no instructions are found."""
    registers = extension_of(target)
    nests = fitting_strips(kernel, registers)
    known: dict[str, SelectedProgram] = {}
    refused: dict[str, None] = {}
    most = max((rows_of(x) for x in nests), default=0)
    for limit in dict.fromkeys(min(most, x) for x in (16, 8, 4, 1)):
        try:
            if nests:
                yield _strips(kernel, nests, StripSelection(kernel, registers, known, cache), limit)
        except NoCover as error:
            refused[str(error)] = None
    for reason in refused:
        yield Remark("select-none", "note", f"no instructions are selected: {reason}", kernel.span)


def _strips(kernel: Kernel, nests: tuple[StripNest, ...], strips: StripSelection, limit: int) -> StripProgram:
    body = kernel.body
    needs: list[Expr] = []
    most = 1
    for x in nests:
        lanes, rows = lanes_of(x, kernel, strips.registers), min(rows_of(x), limit)
        body = with_stmts(body, x.stmt, counted_strips(x, lanes, rows, strips.give))
        needs.append(enough(x, lanes, rows))
        most = max(most, rows)
    gone = {y for x in nests for y in x.own}
    body = map_block(lambda x: () if isinstance(x, Alloc) and x.array.name in gone else x, body)
    programs = {x.instruction.name: x.stores for x in strips.known.values()}
    lanes = min(lanes_of(x, kernel, strips.registers) for x in nests)
    jammed = f", {most} rows at a time," if most > 1 else ""
    described = f"strips of {lanes} lanes{jammed} in instructions selected for {strips.registers.isa}"
    return StripProgram(replace(kernel, body=body), programs, tuple(dict.fromkeys(needs)), described)
