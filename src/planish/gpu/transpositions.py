"""Transpositions by tiles: where one access wants neighbouring threads along one loop, and another along another one.

What lies across the threads is copied to shared memory row by row, and used from there column by column. Found by the
accesses alone, so that any permutation of dimensions is, and what is computed beside it.

>>> from planish.gpu.mapping import map_kernel
>>> from planish.ir.text.parser import parse_kernel
>>> loops = "for i in 0 .. n { for j in 0 .. m { B[j, i] = 2.0:f32 * A[i, j] } }"
>>> kernel = parse_kernel(f"kernel t(n, m; A: f32[n, m], B: f32[m, n]) {{ {loops} }}")
>>> map_kernel(kernel, techniques=(tile_transposition,)).nests[0].told
'`j`, `i` in tiles of 32 x 32: `B` turned in shared memory'
"""

from __future__ import annotations

from dataclasses import dataclass

from planish.core.names import take_name
from planish.gpu.mapping import Chain, check_spread, copies, cursor, numbered, order_loops
from planish.ir.nest import For
from planish.ir.text.printer import print_expr
from planish.ir.traverse import used_names, variables, walk
from planish.schedule.program import Program
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.control import Specialise
from planish.schedule.steps.devices import MapBlocks, MapThreads, PromoteShared
from planish.schedule.steps.kernels import Simplify
from planish.schedule.steps.loops import Split
from planish.schedule.strides import accesses_of, stride

TILE, ROWS = 32, 8
"""The elements of a tile along both of its loops, and the rows of threads that make them."""


@dataclass(frozen=True, slots=True)
class TurnedTiles:
    """Independent loops, of which the last two are in tiles: neighbouring threads are along the last one, and the
    `turned` arrays have their neighbours along the other one."""

    outer: tuple[For, ...]
    other: For
    along: For
    turned: tuple[str, ...]


def find_transposition(chain: Chain) -> TurnedTiles | None:
    """The transposition that a chain of loops is; None where it is none."""
    own = {x.var for x in chain.loops}
    bounds = [y for x in chain.loops for y in (x.lower, x.upper)]
    if len(chain.loops) < 2 or any(isinstance(x, For) for x in walk(chain.body)):
        return None
    if any(variables(x) & own for x in bounds) or any(x.step != 1 for x in chain.loops):
        return None
    *rest, along = order_loops(chain)
    met = [x for stmt in walk(chain.body) for x in accesses_of(stmt)]
    for other in reversed(rest):
        turned = [name for name, at in met if stride(at, along.var) < 0 and stride(at, other.var) > 0]
        if turned:
            outer = tuple(x for x in rest if x is not other)
            return TurnedTiles(outer, other, along, tuple(dict.fromkeys(turned)))
    return None


def tile_transposition(program: Program, chain: Chain) -> tuple[Program, str] | None:
    """The transposition by tiles; None where the chain is none. PlanishError where a step is not legal."""
    found = find_transposition(chain)
    if found is None:
        return None
    taken = set(used_names(program.kernel))
    y, x = found.other.var, found.along.var
    yb, yt, xb, xt = (take_name(f"{v}_{part}", taken) for v in (y, x) for part in ("b", "t"))
    whole = " && ".join(
        f"{print_expr(loop.upper)} - {TILE} * {block} >= {TILE} + ({print_expr(loop.lower)})"
        for loop, block in ((found.other, yb), (found.along, xb))
    )
    order = [v.var for v in found.outer]
    first, rest = order[:1], order[1:]
    program = program.apply(Reorder(cursor(program, chain.loops[0]), (*first, y, x, *rest)))
    row, own = take_name(f"{yt}_thread", taken), take_name(f"{yt}_own", taken)
    # Split as a whole, so that an edge is no loop of its own.
    program = program.apply(
        Split(y, TILE, (yb, yt), tail="short"), Split(x, TILE, (xb, xt), tail="short"),
        Split(yt, TILE // ROWS, (row, own), tail="short"), Reorder(yb, (yb, xb, *rest, row, xt, own)),
        Specialise(row, whole), Simplify(),
    )  # fmt: skip
    for number in copies(program, row):
        for array in found.turned:
            name = take_name(f"shared_{array}", set(used_names(program.kernel)))
            at = numbered(program, row, number)
            program = program.apply(PromoteShared(at, array, name, (TILE, ROWS), pad=1, clip=True))
        program = program.apply(MapThreads(numbered(program, row, number), "y", ROWS))
        program = program.apply(MapThreads(numbered(program, xt, number), "x", TILE))
    check_spread(program)
    program = program.apply(MapBlocks(yb, "y"), MapBlocks(xb, "x"), *(MapBlocks(v, "z") for v in first))
    arrays = ", ".join(f"`{v}`" for v in found.turned)
    return program, f"`{x}`, `{y}` in tiles of {TILE} x {TILE}: {arrays} turned in shared memory"
