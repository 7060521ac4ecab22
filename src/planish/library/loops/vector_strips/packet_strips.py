"""Kernels in strips of vectors with the instructions that were selected for them, for those that schedule these: in
loops without conditions, whose strips are programs over registers, and accumulators in registers.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> statement = "for i in 0 .. n { B[i] = u8(i32(A[i]) + i32(B[i]) + 1:i32 >> 1:i32) }"
>>> kernel = parse_kernel("kernel k(n; A: u8[n] distinct, B: u8[n] distinct) { %s }" % statement)
>>> (made,) = packet_strips(kernel, load_target("hexagon-hvx"))
>>> [len(x) for x in made.programs.values()], made.described
([1], 'strips of 128 lanes in instructions selected for hvx')
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from planish.core.cache import Cache
from planish.core.diagnostic import Remark
from planish.ir.expr import Expr
from planish.ir.nest import Alloc, Block, Kernel, Stmt
from planish.ir.traverse import map_block, walk, with_stmts
from planish.isa.select.lane_values import NoCover
from planish.library.loops.vector_strips.accumulated_loops import AccumulatedLoop
from planish.library.loops.vector_strips.accumulators import few_enough
from planish.library.loops.vector_strips.reduction_nests import ReductionNest
from planish.library.loops.vector_strips.reduction_strips import counted_reduction, whole_blocks
from planish.library.loops.vector_strips.reduction_strips import rows_of as reduction_rows
from planish.library.loops.vector_strips.selected_accumulators import find_narrow_accumulated, lanes_of_terms
from planish.library.loops.vector_strips.selected_strips import (
    MOST_ROWS,
    StripSelection,
    accumulated,
    fitting_reductions,
    fitting_strips,
    lanes_of,
    lanes_of_reduction,
    rows_of,
)
from planish.library.loops.vector_strips.strip_nest import StripNest, counted_strips, enough
from planish.select.c_text import Store
from planish.select.instruction import VectorExtension, extension_of
from planish.target.machine import Target
from planish.vliw.streams.placement import LANES

MOST_SUMMED = 2
"""The most rows of sums that are made together: a pipelined loop keeps values of several iterations beside these."""

_FIRST = 8
"""Rows of the first form: where these take all registers, more of them do, too."""


@dataclass(frozen=True, slots=True)
class StripProgram:
    """A kernel whose loops over lanes are named after programs, the stores of each of these, and what has to hold of
    its sizes (`needs`)."""

    kernel: Kernel
    programs: Mapping[str, tuple[Store, ...]]
    needs: tuple[Expr, ...]
    described: str


@dataclass(frozen=True, slots=True)
class _PacketNest:
    """A nest of a kernel, the lanes of a strip, and the most rows that are done together."""

    nest: StripNest | ReductionNest | AccumulatedLoop
    lanes: int
    rows: int


def packet_strips(
    kernel: Kernel, target: Target, cache: Cache | None = None, is_wanted: Callable[[int], bool] = lambda _: True
) -> Iterator[StripProgram | Remark]:  # fmt: skip
    """A kernel in strips: with some rows at a time, with more and with fewer of them, last (0) with no loop unrolled,
    which takes fewer registers; a remark where no instructions are found. `is_wanted`: asked about so many rows before
    instructions are selected for them."""
    registers = extension_of(target)
    nests = _nests(kernel, registers, target.vector_registers)
    # What is selected for a form is there for the next ones.
    strips = StripSelection(kernel, registers, {}, cache)
    refused: dict[str, None] = {}
    most = max((x.rows for x in nests), default=0)
    limits = dict.fromkeys(min(most, x) for x in (_FIRST, MOST_ROWS, 4, 1))
    forms: list[tuple[int, int | None]] = [(x, None) for x in limits]
    forms += [(1, 1)] if any(isinstance(x.nest, ReductionNest) for x in nests) else []
    for limit, unroll in forms:
        try:
            if nests and is_wanted(limit if unroll is None else 0):
                yield _strips(kernel, nests, strips, limit, unroll)
        except NoCover as error:
            refused[str(error)] = None
    for reason in refused:
        yield Remark("select-none", "note", f"no instructions are selected: {reason}", kernel.span)


def _nests(kernel: Kernel, registers: VectorExtension, count: int) -> list[_PacketNest]:
    """The nests that strips are made of; the machine has so many vector registers."""
    made = [_PacketNest(x, lanes_of(x, kernel, registers), rows_of(x)) for x in fitting_strips(kernel, registers)]
    for y in fitting_reductions(kernel, registers):
        lanes = lanes_of_reduction(y, kernel, registers)
        rows = min(MOST_SUMMED, reduction_rows(y, lanes, registers.widths[0], count))
        made.append(_PacketNest(y, lanes, rows))
    found = find_narrow_accumulated(kernel, registers)
    return made + [_PacketNest(z, lanes_of_terms(z, kernel, registers), 1) for z in found]


def _strips(
    kernel: Kernel, nests: Sequence[_PacketNest], strips: StripSelection, limit: int, unroll: int | None
) -> StripProgram:  # fmt: skip
    """The kernel with strips of no more than so many rows; NoCover where a nest has none."""
    body = kernel.body
    needs: list[Expr] = []
    done: set[int] = set()
    taken: list[_PacketNest] = []
    for x in nests:
        rows = min(x.rows, limit)
        stmt = x.nest.origin if isinstance(x.nest, AccumulatedLoop) else x.nest.stmt
        if id(stmt) in done:
            continue
        match x.nest:
            case StripNest() as nest:
                body = with_stmts(body, stmt, counted_strips(nest, x.lanes, rows, strips.give))
                needs.append(enough(nest, x.lanes, rows))
            case ReductionNest() as nest:
                body = with_stmts(body, stmt, counted_reduction(nest, x.lanes, rows, strips.choose, unroll))
                needs.append(whole_blocks(nest, x.lanes, rows))
            case AccumulatedLoop() as nest:
                body = accumulated(nest, strips, body, counted=True)
                few = few_enough(nest, x.lanes, strips.accumulation(nest).updates)
                needs += [] if few is None else [few]
        done |= {id(y) for y in walk(stmt)}
        taken.append(replace(x, rows=rows))
    body = map_block(_in_registers, _without_unused(body, nests))
    programs = {x.instruction.name: x.stores for x in strips.known.values()}
    lanes, most = min(x.lanes for x in taken), max(x.rows for x in taken)
    jammed = f", {most} rows at a time," if most > 1 else ""
    described = f"strips of {lanes} lanes{jammed} in instructions selected for {strips.registers.isa}"
    return StripProgram(replace(kernel, body=body), programs, tuple(dict.fromkeys(needs)), described)


def _without_unused(body: Block, nests: Sequence[_PacketNest]) -> Block:
    """Without the arrays whose elements are values of strips now."""
    gone = {x for y in nests if not isinstance(y.nest, AccumulatedLoop) for x in y.nest.own}
    gone |= {x for y in nests if isinstance(y.nest, ReductionNest) for x in y.nest.cells}
    return map_block(lambda x: () if isinstance(x, Alloc) and x.array.name in gone else x, body)


def _in_registers(x: Stmt) -> Stmt:
    """Arrays of lanes are registers."""
    if isinstance(x, Alloc) and x.array.memory == "stack":
        return replace(x, array=replace(x.array, memory=LANES))
    return x
