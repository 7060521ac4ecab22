"""Reductions of cells that are no plain sums, by blocks in lanes: extrema with their place, last matches, hashes.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> loop = "for i in 0 .. n { k[] = select(x[i] > m[], i32(i), k[]) m[] = select(x[i] > m[], x[i], m[]) }"
>>> text = "kernel f(n; x: f32[n] distinct, m: f32[] distinct, k: i32[] distinct) { %s }" % loop
>>> cx = Context.of(parse_kernel(text), load_target("x86-avx512"))
>>> [x.remarks[0].message for x in CELL_REDUCTION.apply(cx, CELL_REDUCTION.match(cx)[0])]
['k, m: blocks of 2048 iterations are searched in lanes for the place of an extremum']
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import assert_never

from planish.core.diagnostic import Remark
from planish.ir.accesses import reads
from planish.ir.index.simplify import simplify_block
from planish.ir.nest import For, Kernel, Stmt
from planish.ir.passes.vector_loops import long_enough
from planish.ir.traverse import used_names, variables, walk, with_stmts
from planish.library.loops.cell_reduction.blocks import BLOCK, in_blocks
from planish.library.loops.cell_reduction.cell_update import (
    LANES,
    Affine,
    CellUpdate,
    Location,
    Match,
    Unrolled,
    find_update,
    in_cells,
    scratch_cells,
)
from planish.library.strategy import BEHIND, Context, Made, Strategy, share
from planish.schedule.arguments import NO_ARGUMENTS, TuningArgument, TuningArguments
from planish.schedule.auto.plan import Version

NAME = "cell-reduction"
BLOCK_SIZE = TuningArgument("block", (256, 512, 1024, 2048, 4096, 8192, 16384), BLOCK, "iterations of a block")

LONG, LONG_MATCH = 48, 128
"""The iterations from which on blocks take less time, and those of a search, which gcc makes lanes of as well."""


def _match(cx: Context) -> tuple[Kernel, ...]:
    """The kernel in its own order, where a loop of it is such a reduction."""
    kernel = in_cells(cx.as_written, () if cx.region is None else cx.region.guarded)
    return (kernel,) if any(_found(x, kernel, cx.reassociate) for x in walk(kernel.body)) else ()


def _found(stmt: Stmt, kernel: Kernel, reassociate: bool) -> CellUpdate | None:
    """What floats are compared or multiplied with may be looked at in another order only where that is allowed."""
    found = find_update(stmt, scratch_cells(kernel, stmt)) if isinstance(stmt, For) else None
    match found:
        case None | Match():
            return found
        case Location(cell=cell) | Affine(cell=cell) | Unrolled(cell=cell):
            return found if cell.type.is_int or reassociate else None
        case _:
            assert_never(found)


def _apply(cx: Context, kernel: Kernel) -> Made:
    taken, body, block = {*used_names(kernel)}, kernel.body, BLOCK_SIZE.number(cx.point)
    remarks, kinds = list[Remark](), list[CellUpdate]()
    for loop in walk(kernel.body):
        found = _found(loop, kernel, cx.reassociate)
        if found is not None:
            kinds.append(found)
            body = with_stmts(body, loop, tuple(in_blocks(found, taken, block)))
            remarks.append(Remark(NAME, "done", _describe(found, block), found.loop.span or kernel.span))
    body = simplify_block(body, assumptions=kernel.assumptions)
    schedule = cx.prepared.scop.schedule
    least = max((LONG_MATCH if isinstance(x, Match) else LONG for x in kinds), default=LONG)
    asked = (*kernel.assumptions, *long_enough(kernel, least))
    return (Version(NAME, schedule, replace(kernel, body=body, assumptions=asked), tuple(remarks), 0.0),)


def _describe(found: CellUpdate, block: int) -> str:
    match found:
        case Location(values=values):
            cells = ", ".join(values)
            return f"{cells}: blocks of {block} iterations are searched in lanes for the place of an extremum"
        case Match(values=values) if found.is_of_any:
            return f"{', '.join(values)}: whether any iteration counts is found in lanes"
        case Match(values=values):
            cells = ", ".join(values)
            return f"{cells}: blocks of {block} iterations are searched in lanes for the last one that counts"
        case Affine(cell=cell):
            return f"{cell.array}: an affine recurrence of which {LANES} lanes have every {LANES}th term"
        case Unrolled(cell=cell, loop=loop):
            return f"{cell.array}: a sum that is unrolled by {loop.step} is rerolled, and made in lanes"
        case _:
            assert_never(found)


def _cost(cx: Context, kernel: Kernel) -> float:
    """Beside inner loops of another kind, which may have lanes of their own, and where lanes would have to gather, it
    is tried behind their schedules."""
    loops = [x for x in walk(kernel.body) if isinstance(x, For)]
    inner = [x for x in loops if not any(isinstance(y, For) for y in walk(x.body))]
    counters = frozenset(x.var for x in loops)
    fits = all(_found(x, kernel, cx.reassociate) is not None and not _gathers(x, counters) for x in inner)
    return 0.5 if fits else BEHIND


def _gathers(loop: For, counters: Collection[str]) -> bool:
    """Whether iterations go down a column of a matrix that other loops choose."""
    columns = (x for x in reads(loop.body) if x.index and not variables(x.index[-1]).isdisjoint(counters))
    return any(loop.var in variables(i) for x in columns for i in x.index[:-1])


def _arguments(cx: Context, kernel: Kernel, version: str) -> TuningArguments:
    """Only what searches goes by blocks."""
    found = (_found(x, kernel, cx.reassociate) for x in walk(kernel.body))
    searched = any(isinstance(x, Location) or (isinstance(x, Match) and not x.is_of_any) for x in found)
    return TuningArguments((BLOCK_SIZE,)) if searched else NO_ARGUMENTS


CELL_REDUCTION = Strategy(
    NAME, "finds the place of an extremum, or the last match, by blocks; splits affine recurrences; rerolls sums",
    _match, _apply, share(0.5), _cost, _arguments,
)  # fmt: skip
