"""Several elements a thread: their loads are under way at once, and rows that neighbours read stay in registers.

>>> from planish.gpu.mapping import map_kernel
>>> from planish.ir.text.parser import parse_kernel
>>> loops = "for i in 1 .. n { for j in 0 .. m { B[i, j] = A[i - 1, j] + A[i, j] } }"
>>> kernel = parse_kernel(f"kernel s(n, m; A: f32[n, m], B: f32[n, m]) {{ {loops} }}")
>>> map_kernel(kernel, plain=(coarsen_threads,)).nests[0].told
'`i`, `j` in blocks of 32 x 8 threads, each with 4 of `i`'
"""

from __future__ import annotations

from planish.core.names import take_name
from planish.gpu.mapping import Chain, check_spread, cursor, numbered, order_loops
from planish.ir.nest import For, If
from planish.ir.text.printer import print_expr
from planish.ir.traverse import used_names, variables, walk
from planish.schedule.program import Program
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.control import Specialise
from planish.schedule.steps.devices import Axis, MapBlocks, MapThreads
from planish.schedule.steps.kernels import Simplify
from planish.schedule.steps.loops import Split

OWN = 4
"""The elements of a thread."""
LINE, ROW, ROWS = 256, 32, 8
"""The threads of a block of one loop; those along x and y of a block of more."""


def coarsen_threads(program: Program, chain: Chain) -> tuple[Program, str] | None:
    """Up to three loops in blocks of threads with several iterations each: of the only loop those that lie a block
    apart, of more loops neighbouring ones of the last but one. Whole blocks have constant bounds. None where there are
    loops or conditions in the chain, whose iterations take longer. PlanishError where a step is not legal."""
    own = {x.var for x in chain.loops}
    bounds = [y for x in chain.loops for y in (x.lower, x.upper)]
    if len(chain.loops) > 3 or any(isinstance(x, For | If) for x in walk(chain.body)):
        return None
    if any(variables(x) & own for x in bounds) or any(x.step != 1 for x in chain.loops):
        return None
    order = order_loops(chain)
    if [x.var for x in chain.loops] != [x.var for x in order]:
        program = program.apply(Reorder(cursor(program, chain.loops[0]), tuple(x.var for x in order)))
    taken = set(used_names(program.kernel))
    if len(order) == 1:
        return _line(program, order[0], taken)
    *outer, row, line = order
    yb, yt, xb, xt = (take_name(f"{v.var}_{part}", taken) for v in (row, line) for part in ("b", "t"))
    tile = ROWS * OWN
    thread, each = take_name(f"{yt}_thread", taken), take_name(f"{yt}_own", taken)
    # Split as a whole, so that an edge is no loop of its own.
    program = program.apply(
        Split(row.var, tile, (yb, yt), tail="short"), Split(line.var, ROW, (xb, xt), tail="short"),
        Split(yt, OWN, (thread, each), tail="short"), Reorder(yb, (yb, xb, thread, xt, each)),
        Specialise(thread, f"{_whole(row, yb, tile)} && {_whole(line, xb, ROW)}"), Simplify(),
    )  # fmt: skip
    for number in (0, 1):
        program = program.apply(MapThreads(numbered(program, thread, number), "y", ROWS))
        program = program.apply(MapThreads(numbered(program, xt, number), "x", ROW))
    check_spread(program)
    axes: tuple[Axis, ...] = ("x", "y", "z")
    for name, axis in zip((xb, yb, *(x.var for x in reversed(outer))), axes, strict=False):
        program = program.apply(MapBlocks(name, axis))
    names = ", ".join(f"`{x.var}`" for x in order)
    return program, f"{names} in blocks of {ROW} x {ROWS} threads, each with {OWN} of `{row.var}`"


def _line(program: Program, loop: For, taken: set[str]) -> tuple[Program, str]:
    """The only loop of a chain."""
    xb, xt = (take_name(f"{loop.var}_{part}", taken) for part in ("b", "t"))
    tile = LINE * OWN
    program = program.apply(
        Split(loop.var, tile, (xb, xt), tail="short"), Specialise(xt, _whole(loop, xb, tile)), Simplify()
    )  # fmt: skip
    for tail in ("perfect", "short"):
        again = set(used_names(program.kernel))
        thread, each = take_name(f"{xt}_thread", again), take_name(f"{xt}_own", again)
        program = program.apply(Split(xt, LINE, (each, thread), tail="perfect" if tail == "perfect" else "short"))
        program = program.apply(Reorder(each, (thread, each)), MapThreads(thread, "x", LINE))
    check_spread(program)
    program = program.apply(MapBlocks(xb, "x"))
    return program, f"`{loop.var}` in blocks of {LINE} threads, each with {OWN}"


def _whole(loop: For, block: str, tile: int) -> str:
    """That a block of a loop is whole."""
    return f"{print_expr(loop.upper)} - {tile} * {block} >= {tile} + ({print_expr(loop.lower)})"
