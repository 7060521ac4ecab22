"""Rows by teams of threads: what is done to each row of an array is done by all threads of a block, or by a warp.

>>> from planish.gpu.mapping import map_kernel
>>> from planish.ir.text.parser import parse_kernel
>>> loops = "for i in 0 .. n { for j in 0 .. m { s[i] += A[i, j] } }"
>>> kernel = parse_kernel(f"kernel r(n, m; A: f32[n, m], s: f32[n]) {{ {loops} }}")
>>> map_kernel(kernel, techniques=(map_rows,)).nests[0].told
'each `i` by 256 threads; by 32 where rows have at most 1024 elements'
"""

from __future__ import annotations

from collections.abc import Iterator

from planish.core.names import take_name
from planish.gpu.mapping import Chain, boxed, cursor, numbered
from planish.ir.expr import Binary, Const
from planish.ir.index.simplify import simplify
from planish.ir.nest import Block, For, If
from planish.ir.text.printer import print_expr
from planish.ir.traverse import blocks_of, used_names, variables, walk
from planish.schedule.program import Program
from planish.schedule.steps.control import Specialise
from planish.schedule.steps.devices import MapBlocks
from planish.schedule.steps.teams import MapTeam, spread_loop
from planish.schedule.strides import accesses_of, coalescing

TEAM, WARP = 256, 32
"""The threads of a long row, and of a short one."""
LONG = 1024
"""A row with more elements is long."""
FEW = 16
"""So few elements are left to one thread."""


def map_rows(program: Program, chain: Chain) -> tuple[Program, str] | None:
    """Each iteration of the innermost of independent loops by a team; None where what is in it is no row, or where
    neighbouring iterations are neighbours in memory. PlanishError where a step is not legal."""
    rows = list(_rows(chain.body))
    if not rows or len(chain.loops) > 3 or not _is_read_along(chain, rows):
        return None
    program = boxed(program, chain)
    loop = program.path(chain.loops[-1].label)[-1]
    assert isinstance(loop, For)
    if loop.body.body and isinstance(loop.body.body[0], If) and len(chain.loops) > 1:
        return None
    name = take_name("lane", set(used_names(program.kernel)))
    longest, around = rows[0][-1], {x.var for x in chain.loops}
    length = simplify(Binary("sub", longest.upper, longest.lower))
    told = f"each `{loop.var}` by {TEAM} threads"
    outer = [x.var for x in chain.loops[:-1]]
    if isinstance(length, Const) or variables(length) & around:
        short = isinstance(length, Const) and int(length.value) <= LONG
        made = (MapTeam(loop.var, name, WARP, TEAM // WARP) if short else MapTeam(loop.var, name, TEAM),)
        told = f"each `{loop.var}` by {WARP if short else TEAM} threads"
        program = program.apply(*made, *_blocks(program, outer))
        return program, told
    first = cursor(program, chain.loops[0])
    program = program.apply(Specialise(first, f"{print_expr(length)} > {LONG}"))
    program = program.apply(MapTeam(numbered(program, loop.var, 0), name, TEAM))
    other = take_name("lane", set(used_names(program.kernel)))
    # The name of the first version is that of blocks, the second one has rows in them.
    program = program.apply(MapTeam(numbered(program, loop.var, 1), other, WARP, TEAM // WARP))
    for number in (0, 1):
        for var, axis in zip(reversed(outer), ("y", "z"), strict=False):
            program = program.apply(MapBlocks(numbered(program, var, number), "y" if axis == "y" else "z"))
    return program, f"{told}; by {WARP} where rows have at most {LONG} elements"


def _blocks(program: Program, outer: list[str]) -> list[MapBlocks]:
    axes = zip(reversed(outer), ("y", "z"), strict=False)
    return [MapBlocks(var, "y" if axis == "y" else "z") for var, axis in axes]


def _rows(block: Block) -> Iterator[tuple[For, ...]]:
    """The loops in a nest that would be spread over a team, each below those around it; short ones are not."""
    for stmt in block.body:
        if isinstance(stmt, For):
            found = spread_loop(stmt)
            length = simplify(Binary("sub", found[-1].upper, found[-1].lower))
            if not isinstance(length, Const) or int(length.value) > FEW:
                yield found
        elif isinstance(stmt, If):
            for part in blocks_of(stmt):
                yield from _rows(part)


def _is_read_along(chain: Chain, rows: list[tuple[For, ...]]) -> bool:
    """Whether some access is to another element in each iteration of all loops, and more accesses are to neighbouring
    elements from one element of a row to the next than from row to row."""
    around = {x.var for x in chain.loops}
    streamed = any(
        around | {row[-1].var} <= {v for x in at for v in variables(x)}
        for row in rows for stmt in walk(row[-1].body) for _, at in accesses_of(stmt)
    )  # fmt: skip
    along = sum(coalescing(row[-1].body, row[-1].var) for row in rows)
    across = max(sum(coalescing(row[-1].body, x.var) for row in rows) for x in chain.loops)
    return streamed and along > across
