"""Several elements a thread: their loads are under way at once, and rows that neighbours read stay in registers.

>>> from planish.gpu.mapping import map_kernel
>>> from planish.ir.text.parser import parse_kernel
>>> loops = "for i in 1 .. n { for j in 0 .. m { B[i, j] = A[i - 1, j] + A[i, j] } }"
>>> kernel = parse_kernel(f"kernel s(n, m; A: f32[n, m], B: f32[n, m]) {{ {loops} }}")
>>> map_kernel(kernel, plain=(coarsen_threads,)).nests[0].told
'`i`, `j` in blocks of 64 x 4 threads, each with 8 of `i`'
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from planish.core.names import take_name
from planish.gpu.mapping import Chain, check_spread, copies, cursor, numbered, order_loops
from planish.ir.accesses import reads
from planish.ir.expr import Binary, Const
from planish.ir.index.polynomial import constant, normal, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Assign, Block, For, If, Reduce
from planish.ir.text.printer import print_expr
from planish.ir.traverse import substitute, used_names, variables, walk
from planish.schedule.program import Program
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.control import Specialise
from planish.schedule.steps.devices import Axis, MapBlocks, MapThreads
from planish.schedule.steps.kernels import Simplify
from planish.schedule.steps.loops import BeginEarly, Split
from planish.schedule.strides import stride


@dataclass(frozen=True, slots=True)
class ThreadShape:
    """The threads of a block along x and y, and so many elements of each."""

    x: int
    y: int
    own: int


LINE = ThreadShape(256, 1, 4)
"""For one loop: the elements of a thread lie a block apart."""
PLAIN = ThreadShape(32, 8, 4)
"""For more loops, each of whose iterations reads elements of its own."""
REUSING = ThreadShape(64, 4, 8)
"""For those whose neighbours read the same elements: rims of large blocks are small beside what is in them."""
ALIGNED = 32
"""Tiles begin at multiples of so many elements of a row, as sectors and lines of caches do."""


def coarsen_threads(program: Program, chain: Chain) -> tuple[Program, str] | None:
    """Up to three loops in blocks of threads with several iterations each: of the only loop those that lie a block
    apart, of more loops neighbouring ones of the last but one, or of the first of three, where neighbours along that
    one use the same elements. Whole blocks have constant bounds. None where there are loops or conditions in the chain,
    whose iterations take longer. PlanishError where a step is not legal."""
    own = {x.var for x in chain.loops}
    bounds = [y for x in chain.loops for y in (x.lower, x.upper)]
    if len(chain.loops) > 3 or any(isinstance(x, For | If) for x in walk(chain.body)):
        return None
    if any(variables(x) & own for x in bounds) or any(x.step != 1 for x in chain.loops):
        return None
    order = order_loops(chain)
    if [x.var for x in chain.loops] != [x.var for x in order]:
        program = program.apply(Reorder(cursor(program, chain.loops[0]), tuple(x.var for x in order)))
    early = distance_to_aligned(order[-1])
    if early:
        program = program.apply(BeginEarly(order[-1].var, early))
        order[-1] = program.loop(order[-1].var)
    taken = set(used_names(program.kernel))
    if len(order) == 1:
        return _line(program, order[0], taken)
    *outer, row, line = order
    reused = [x for x in (*outer, row) if reuse(chain.body, x.var)]
    length = simplify(Binary("sub", line.upper, line.lower))
    narrow = isinstance(length, Const) and int(length.value) <= PLAIN.x
    shape, blocks = REUSING if reused and not narrow else PLAIN, tuple[str, ...]()
    yb, yt, xb, xt = (take_name(f"{v.var}_{part}", taken) for v in (row, line) for part in ("b", "t"))
    if outer and reused and reused[0] is outer[0]:
        many, tile, blocks = outer[0], shape.y, (take_name(f"{outer[0].var}_b", taken), yb, xb)
        thread, each = yt, take_name(f"{outer[0].var}_own", taken)
        program = program.apply(Split(many.var, shape.own, (blocks[0], each), tail="short"))
        whole = [_whole(many, blocks[0], shape.own)]
    else:
        many, tile, blocks = row, shape.y * shape.own, (*(x.var for x in outer), yb, xb)
        thread, each = take_name(f"{yt}_thread", taken), take_name(f"{yt}_own", taken)
        whole = []
    whole += [_whole(row, yb, tile), _whole(line, xb, shape.x, early)]
    # Split as a whole, so that an edge is no loop of its own.
    program = program.apply(Split(row.var, tile, (yb, yt), tail="short"))
    program = program.apply(Split(line.var, shape.x, (xb, xt), tail="short"))
    if thread != yt:
        program = program.apply(Split(yt, shape.own, (thread, each), tail="short"))
    first = next(x for x in blocks if x not in {y.var for y in outer})
    inside = blocks[blocks.index(first) :]
    program = program.apply(Reorder(first, (*inside, thread, xt, each)))
    program = program.apply(Specialise(thread, " && ".join(whole)), Simplify())
    for number in copies(program, thread):
        program = program.apply(MapThreads(numbered(program, thread, number), "y", shape.y))
        program = program.apply(MapThreads(numbered(program, xt, number), "x", shape.x))
    check_spread(program)
    axes: tuple[Axis, ...] = ("x", "y", "z")
    for name, axis in zip(reversed(blocks), axes, strict=False):
        # Of constant sizes there may be one block along an axis, and no loop.
        program = program.apply(MapBlocks(name, axis)) if program.has(name) else program
    names = ", ".join(f"`{x.var}`" for x in order)
    return program, f"{names} in blocks of {shape.x} x {shape.y} threads, each with {shape.own} of `{many.var}`"


def distance_to_aligned(loop: For) -> int:
    """By how many iterations a loop has to begin earlier so that the first element that it stores to is one from which
    lines of memory begin, in rows of whole lines; 0 where that is not known."""
    places = {
        constant(normal(simplify(substitute(x.index[-1], {loop.var: loop.lower}))))
        for x in walk(loop.body) if isinstance(x, Assign | Reduce) and x.index and stride(x.index, loop.var) == 1
    }  # fmt: skip
    (place,) = places if len(places) == 1 else (None,)
    return place % ALIGNED if place is not None else 0


def reuse(body: Block, var: str) -> int:
    """How far apart the elements are that an iteration reads of one array along a loop, at constant distances: so many
    more iterations use the same ones.

    >>> from planish.ir.text.parser import parse_kernel
    >>> text = "for i in 1 .. n { for j in 0 .. n { B[i, j] = A[i - 1, j] + A[i, j] + C[j, i] } }"
    >>> loop = parse_kernel(f"kernel k(n; A: f32[n, n], B: f32[n, n], C: f32[n, n]) {{ {text} }}").body.body[0]
    >>> reuse(loop.body.body[0].body, "i"), reuse(loop.body.body[0].body, "j")
    (1, 0)
    """
    read = dict.fromkeys(reads(body))
    most = 0
    for one, other in combinations(read, 2):
        if one.array == other.array and len(one.index) == len(other.index):
            for a, b in zip(one.index, other.index, strict=True):
                apart = constant(sub(a, b)) if var in variables(a) else None
                most = max(most, abs(apart or 0))
    return most


def _line(program: Program, loop: For, taken: set[str]) -> tuple[Program, str]:
    """The only loop of a chain."""
    xb, xt = (take_name(f"{loop.var}_{part}", taken) for part in ("b", "t"))
    tile = LINE.x * LINE.own
    program = program.apply(
        Split(loop.var, tile, (xb, xt), tail="short"), Specialise(xt, _whole(loop, xb, tile)), Simplify()
    )  # fmt: skip
    for tail in ("perfect", "short")[: len(copies(program, xt))]:
        again = set(used_names(program.kernel))
        thread, each = take_name(f"{xt}_thread", again), take_name(f"{xt}_own", again)
        program = program.apply(Split(xt, LINE.x, (each, thread), tail="perfect" if tail == "perfect" else "short"))
        program = program.apply(Reorder(each, (thread, each)), MapThreads(thread, "x", LINE.x))
    check_spread(program)
    program = program.apply(MapBlocks(xb, "x"))
    return program, f"`{loop.var}` in blocks of {LINE.x} threads, each with {LINE.own}"


def _whole(loop: For, block: str, tile: int, early: int = 0) -> str:
    """That a block of a loop is whole; the first one is not where the loop begins early."""
    first = f" && {block} >= 1" if early else ""
    return f"{print_expr(loop.upper)} - {tile} * {block} >= {tile} + ({print_expr(loop.lower)}){first}"
