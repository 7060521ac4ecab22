"""Contractions by tiles: blocks of a product in registers, their operands in shared memory, piece by piece.

The sums are made in the order of the source, so that no bit changes. Tiles at an edge are made like whole ones: places
beyond the edge hold elements at the edge, and nothing that is computed from them is stored.

>>> from planish.gpu.mapping import map_kernel
>>> from planish.ir.text.parser import parse_kernel
>>> loops = "for i in 0 .. n { for j in 0 .. m { for k in 0 .. l { C[i, j] += A[i, k] * B[k, j] } } }"
>>> kernel = parse_kernel(f"kernel g(n, m, l; A: f64[n, l], B: f64[l, m], C: f64[n, m]) {{ {loops} }}")
>>> map_kernel(kernel, techniques=(tile_contraction,)).nests[0].told
'`i`, `j` in tiles of 64 x 64, 4 x 4 a thread; `k` by 16: `A`, `B` in shared memory'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planish.core.names import take_name
from planish.gpu.mapping import Chain, cursor, order_loops
from planish.ir.expr import Load, type_of
from planish.ir.nest import Alloc, Assign, Block, For, If, Reduce
from planish.ir.text.printer import print_expr
from planish.ir.traverse import arrays_in, loads, used_names, variables
from planish.schedule.nodes import nodes
from planish.schedule.program import Cursor, Program
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.buffers import LiftAlloc
from planish.schedule.steps.control import GuardLoop, Specialise
from planish.schedule.steps.devices import MapBlocks, MapThreads, PromoteRegisters
from planish.schedule.steps.double_buffer import DoubleBuffer
from planish.schedule.steps.guards import DropGuard, SinkGuard
from planish.schedule.steps.kernels import Simplify
from planish.schedule.steps.loops import Coalesce, Fission, Split
from planish.schedule.steps.promote_tile import PromoteTile
from planish.schedule.steps.storage import SetMemory


@dataclass(frozen=True, slots=True)
class TileShape:
    """How a block makes a tile: `warps`, and the threads of one (`lanes`), along rows and columns; what a thread has,
    so many groups of so many neighbours (`groups`, `width`) both ways; `depth`, the products of a sum from one copy."""

    warps: tuple[int, int]
    lanes: tuple[int, int]
    groups: int
    width: int
    depth: int

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return self.warps[0] * self.warps[1] * self.lanes[0] * self.lanes[1]

    @property
    def own(self) -> int:
        """The elements of a thread, along rows and along columns."""
        return self.groups * self.width

    @property
    def extents(self) -> tuple[int, int]:
        """The rows and columns of a tile."""
        return self.warps[0] * self.lanes[0] * self.own, self.warps[1] * self.lanes[1] * self.own


SHAPES = {4: TileShape((4, 2), (4, 8), 2, 4, 16), 8: TileShape((4, 2), (4, 8), 2, 2, 16)}
"""By the bytes of an element: threads read 16 bytes of shared memory at once, without conflicts of banks."""


@dataclass(frozen=True, slots=True)
class Contraction:
    """Two independent loops around one that adds up products of what depends on the one and on the other."""

    outer: tuple[For, ...]
    row: For
    column: For
    sum: For
    update: Reduce
    operands: tuple[str, ...]


def find_contraction(chain: Chain) -> Contraction | None:
    """The contraction that a chain of loops is; None where it is none."""
    order = order_loops(chain)
    body = chain.body.body
    totals = [x for x in body if isinstance(x, For)]
    plain = all(isinstance(x, For | Alloc | Assign | Reduce) for x in body)
    if not 2 <= len(order) <= 3 or len(totals) != 1 or not plain:
        return None
    *outer, row, column = order
    total = totals[0]
    if len(total.body.body) != 1 or not isinstance(update := total.body.body[0], Reduce) or update.op != "add":
        return None
    around = {x.var for x in chain.loops}
    bounds = [x for loop in (*chain.loops, total) for x in (loop.lower, loop.upper)]
    if any(variables(x) & around or loads(x) for x in bounds) or any(x.step != 1 for x in (*chain.loops, total)):
        return None
    if any(total.var in variables(x) for x in update.index):
        return None
    met = [(x, _uses(x)) for x in loads(update.value) if total.var in _uses(x)]
    rows = {x.array for x, used in met if row.var in used and column.var not in used}
    columns = {x.array for x, used in met if column.var in used and row.var not in used}
    names = [x.array for x, _ in met]
    if not rows or not columns or rows & columns or len(set(names)) != len(names) or update.array in names:
        return None
    if {x.array for x in body if isinstance(x, Assign | Reduce)} & set(names):
        return None
    return Contraction(tuple(outer), row, column, total, update, tuple(sorted(rows | columns)))


def _uses(load: Load) -> set[str]:
    return {name for x in load.index for name in variables(x)}


def tile_contraction(program: Program, chain: Chain) -> tuple[Program, str] | None:
    """The contraction by tiles; None where the chain is none. PlanishError where a step is not legal."""
    found = find_contraction(chain)
    if found is None:
        return None
    shape = SHAPES[8 if type_of(found.update.value).size > 4 else 4]
    taken = set(used_names(program.kernel))

    def fresh(stem: str) -> str:
        return take_name(stem, taken)

    i, j, k = found.row.var, found.column.var, found.sum.var
    order = tuple(x.var for x in (*found.outer, found.row, found.column))
    if [x.var for x in chain.loops] != list(order):
        program = program.apply(Reorder(cursor(program, chain.loops[0]), order))
    program, own = _summed_apart(program, found, fresh)
    rows, columns = (_Names.of(x, fresh) for x in (i, j))
    program = _split(program, i, shape, 0, rows)
    program = _split(program, j, shape, 1, columns)
    threads = (rows.warp, columns.warp, rows.lane, columns.lane)
    each = (rows.group, rows.own, columns.group, columns.own)
    program = program.apply(
        Reorder(rows.block, (rows.block, columns.block, *threads, *each)),
        *(LiftAlloc(f"{x}: _", 8) for x in own), *(SetMemory(f"{x}: _", "register") for x in own), Simplify(),
    )  # fmt: skip
    program = _cut(program, k)
    pieces, inner = fresh(f"{k}_b"), fresh(f"{k}_in")
    program = program.apply(Split(k, shape.depth, (pieces, inner), tail="short"))
    band = _around(program, pieces)
    program = program.apply(Reorder(Cursor(program, band.label), (pieces, *threads, inner, *each)))
    for array in found.operands:
        program = _promote(program, found, shape, f"{pieces} / {rows.warp}", array, fresh(f"shared_{array}"))
    program = program.apply(DropGuard(f"{pieces} / {rows.warp} / if _: _"))
    # Whole pieces of the sum have constant bounds, so that their loops are unrolled.
    first, end = print_expr(found.sum.lower), print_expr(found.sum.upper)
    whole = f"{end} - {shape.depth} * {pieces} >= {shape.depth} + ({first})"
    program = program.apply(Specialise(f"{pieces} / {rows.warp}", whole), Simplify())
    program = program.apply(DoubleBuffer(pieces))
    for _ in [x for x in nodes(program.kernel.body) if isinstance(x, For) and x.var == rows.warp]:
        thread = fresh("thread")
        program = program.apply(Coalesce(rows.warp, 4, thread))
        program = program.apply(MapThreads(thread, "x"))
    program = program.apply(MapBlocks(rows.block, "y"), MapBlocks(columns.block, "x"))
    program = program.apply(*(MapBlocks(x.var, "z") for x in found.outer))
    shared = ", ".join(f"`{x}`" for x in found.operands)
    extents = " x ".join(map(str, shape.extents))
    tiles = f"`{i}`, `{j}` in tiles of {extents}, {shape.own} x {shape.own} a thread"
    return program, f"{tiles}; `{k}` by {shape.depth}: {shared} in shared memory"


@dataclass(frozen=True, slots=True)
class _Names:
    """The loops that one is split into: over blocks, warps, their threads, groups of a thread, and in these."""

    block: str
    warp: str
    lane: str
    group: str
    own: str
    inner: str
    rest: str
    middle: str

    @staticmethod
    def of(loop: str, fresh: Callable[[str], str]) -> _Names:
        """Names after that of the loop."""
        stems = ("b", "warp", "lane", "group", "own", "in", "rest", "middle")
        return _Names(*(fresh(f"{loop}_{x}") for x in stems))


def _summed_apart(program: Program, found: Contraction, fresh: Callable[[str], str]) -> tuple[Program, tuple[str, ...]]:
    """The program in which the sum is made in a scalar of its own, and the names of all scalars in the loops."""
    inside = program.loop(found.column.var).body.body
    local = [x.array.name for x in inside if isinstance(x, Alloc)]
    if found.update.array not in local:
        array, own = found.update.array, fresh(f"own_{found.update.array}")
        local.append(own)
        others = [x for x in inside if isinstance(x, Assign | Reduce)]
        if any(array in arrays_in(Block((x,))) for x in others):
            first = next(x for x in inside if not isinstance(x, Alloc))
            assert isinstance(first, For | Assign | Reduce)
            program = program.apply(PromoteRegisters(Cursor(program, first.label), array, own, rest=True))
        else:
            program = program.apply(GuardLoop(found.sum.var))
            program = program.apply(PromoteRegisters(found.sum.var, array, own))
            around = program.path(found.sum.var)[-2]
            if isinstance(around, If):
                program = program.apply(SinkGuard(Cursor(program, around.label)))
    return program, tuple(local)


def _split(program: Program, loop: str, shape: TileShape, axis: int, names: _Names) -> Program:
    """A loop split into blocks and what each thread has, with guards in the innermost place."""
    tile, lanes, width = shape.extents[axis], shape.lanes[axis], shape.width
    program = program.apply(Split(loop, tile, (names.block, names.inner), tail="guard"))
    for guard in [x for x in program.loop(names.inner).body.body if isinstance(x, If)][:1]:
        program = program.apply(SinkGuard(Cursor(program, guard.label)))
    return program.apply(
        Split(names.inner, tile // shape.groups, (names.group, names.rest), tail="perfect"),
        Split(names.rest, width, (names.middle, names.own), tail="perfect"),
        Split(names.middle, lanes, (names.warp, names.lane), tail="perfect"),
    )  # fmt: skip


def _cut(program: Program, total: str) -> Program:
    """What is before the sum, the sum, and what is behind it in bands of their own."""
    innermost = program.path(total)[-2]
    assert isinstance(innermost, For)
    body = innermost.body.body
    place = next(n for n, x in enumerate(body) if isinstance(x, For) and x.var == total)
    before = body[place - 1] if place else None
    if before is not None and not isinstance(before, Block):
        program = program.apply(Fission(Cursor(program, before.label), 8))
    return program.apply(Fission(total, 8)) if place + 1 < len(body) else program


def _around(program: Program, inner: str, depth: int = 8) -> For:
    """The loop so many loops around another one."""
    loop = [x for x in program.path(inner)[:-1] if isinstance(x, For)][-depth]
    return loop


def _promote(program: Program, found: Contraction, shape: TileShape, around: str, array: str, name: str) -> Program:
    """The program with an operand in shared memory: rows of it for each value of the sum's loop."""
    load = next(x for x in loads(found.update.value) if x.array == array)
    if found.sum.var in variables(load.index[-1]):
        # Threads take neighbours in memory, which are in different rows of the tile.
        return program.apply(PromoteTile(around, array, name, shape.threads, 8, (1, 0), 16 // load.type.size))
    return program.apply(PromoteTile(around, array, name, shape.threads, 32, (), 0, 1, 16 // load.type.size))
