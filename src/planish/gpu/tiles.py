"""Contractions by tiles: blocks of a product in registers, their operands in shared memory, piece by piece.

The sums are made in the order of the source, so that no bit changes. Tiles at an edge are made like whole ones: places
beyond the edge hold elements at the edge, and nothing that is computed from them is stored.

>>> from planish.gpu.mapping import map_kernel
>>> from planish.ir.text.parser import parse_kernel
>>> loops = "for i in 0 .. n { for j in 0 .. m { for k in 0 .. l { C[i, j] += A[i, k] * B[k, j] } } }"
>>> kernel = parse_kernel(f"kernel g(n, m, l; A: f64[n, l], B: f64[l, m], C: f64[n, m]) {{ {loops} }}")
>>> map_kernel(kernel, techniques=(tile_contraction,)).nests[0].told
'`i`, `j` in tiles of 64 x 64, 4 x 4 a thread or 32 x 32, 4 x 4 a thread; `k` by 16: `A`, `B` in shared memory'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.names import take_name
from planish.gpu.dispatch import choose_by_sizes
from planish.gpu.mapping import Chain, cursor, order_loops
from planish.gpu.tile_shapes import ANY_ROOM, DeviceRoom, TileShape, choose_tiles
from planish.ir.expr import Binary, Load, index, type_of
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Assign, Block, For, If, Reduce
from planish.ir.text.printer import print_expr
from planish.ir.traverse import arrays_in, loads, used_names, variables
from planish.schedule.nodes import nodes
from planish.schedule.program import Cursor, Program
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.buffers import LiftAlloc
from planish.schedule.steps.control import GuardLoop, Specialise
from planish.schedule.steps.devices import Axis, MapBlocks, MapThreads, PromoteRegisters
from planish.schedule.steps.double_buffer import DoubleBuffer
from planish.schedule.steps.guards import DropGuard, SinkGuard
from planish.schedule.steps.kernels import Simplify
from planish.schedule.steps.loops import Coalesce, Fission, Split
from planish.schedule.steps.promote_tile import PromoteTile
from planish.schedule.steps.storage import SetMemory


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


def tile_contraction(
    program: Program, chain: Chain, room: DeviceRoom = ANY_ROOM
) -> tuple[Program, str] | None:  # fmt: skip
    """The contraction by tiles, of several shapes where its sizes are known when it runs, double buffered where there
    is room for that; None where the chain is none. PlanishError where a step is not legal."""
    found = find_contraction(chain)
    if found is None:
        return None
    rows, columns, *outer = (simplify(Binary("sub", x.upper, x.lower)) for x in (found.row, found.column, *found.outer))
    choices = choose_tiles(rows, columns, outer, type_of(found.update.value).size, room)
    order = tuple(x.var for x in (*found.outer, found.row, found.column))
    if tuple(x.var for x in chain.loops) != order:
        program = program.apply(Reorder(cursor(program, chain.loops[0]), order))
    made = [(x.where, _tiled(program, found, x.shape, room.stages > 1)) for x in choices]
    shared = ", ".join(f"`{x}`" for x in found.operands)
    told = f"`{found.row.var}`, `{found.column.var}` in tiles of {' or '.join(str(x.shape) for x in choices)}"
    depths = " or ".join(dict.fromkeys(str(x.shape.depth) for x in choices))
    return choose_by_sizes(made), f"{told}; `{found.sum.var}` by {depths}: {shared} in shared memory"


def _tiled(program: Program, found: Contraction, shape: TileShape, staged: bool) -> Program:
    """The program with the contraction in tiles, double buffered where that is asked for (`staged`)."""
    taken = set(used_names(program.kernel))

    def fresh(stem: str) -> str:
        return take_name(stem, taken)

    i, j, k = found.row.var, found.column.var, found.sum.var
    program, own = _summed_apart(program, found, fresh)
    program, rows = _split(program, i, shape, 0, fresh)
    program, columns = _split(program, j, shape, 1, fresh)
    threads = (*rows.warp, *columns.warp, rows.lane, columns.lane)
    each = (*rows.group, rows.own, *columns.group, columns.own)
    inside, outside = len(threads) + len(each), [x for x in (rows.block, columns.block) if program.has(x)]
    program = program.apply(
        Reorder((*outside, *threads)[0], (*outside, *threads, *each)),
        *(LiftAlloc(f"{x}: _", inside) for x in own), *(SetMemory(f"{x}: _", "register") for x in own), Simplify(),
    )  # fmt: skip
    program = _cut(program, k, inside)
    pieces, inner = fresh(f"{k}_b"), fresh(f"{k}_in")
    program = program.apply(Split(k, shape.depth, (pieces, inner), tail="short"))
    band = [x for x in program.path(pieces)[:-1] if isinstance(x, For)][-inside]
    program = program.apply(Reorder(Cursor(program, band.label), (pieces, *threads, inner, *each)))
    for array in found.operands:
        around, name = f"{pieces} / {threads[0]}", fresh(f"shared_{array}")
        program = _promote(program, found, shape, around, array, name, staged)
    # Constant sizes may be multiples of tiles: there are no guards then, nor loops over blocks of which there is one.
    guard = f"{pieces} / {threads[0]} / if _: _"
    program = program.apply(DropGuard(guard)) if program.has(guard) else program
    # Whole pieces of the sum have constant bounds, so that their loops are unrolled.
    first, end = print_expr(found.sum.lower), print_expr(found.sum.upper)
    whole = f"{end} - {shape.depth} * {pieces} >= {shape.depth} + ({first})"
    program = program.apply(Specialise(f"{pieces} / {threads[0]}", whole), Simplify())
    program = program.apply(DoubleBuffer(pieces)) if staged else program
    for _ in [x for x in nodes(program.kernel.body) if isinstance(x, For) and x.var == threads[0]]:
        thread = fresh("thread")
        program = program.apply(Coalesce(threads[0], len(threads), thread), MapThreads(thread, "x"))
    axes: tuple[tuple[str, Axis], ...] = ((rows.block, "y"), (columns.block, "x"))
    blocks = [(x, axis) for x, axis in axes if program.has(x)]
    if not blocks and not found.outer:
        message = f"`{i}` and `{j}` are one tile, which one block would make"
        raise PlanishError(Diagnostic("E0604", message, found.row.span, help="give each element a thread"))
    program = program.apply(*(MapBlocks(x, axis) for x, axis in blocks))
    return program.apply(*(MapBlocks(x.var, "z") for x in found.outer))


@dataclass(frozen=True, slots=True)
class _Digits:
    """The loops that one is split into: over blocks, warps, their threads, groups of a thread, and in these; none over
    warps and groups of which there is one."""

    block: str
    warp: tuple[str, ...]
    lane: str
    group: tuple[str, ...]
    own: str


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


def _split(
    program: Program, loop: str, shape: TileShape, axis: int, fresh: Callable[[str], str]
) -> tuple[Program, _Digits]:  # fmt: skip
    """A loop split into blocks and what each thread has, with guards in the innermost place."""
    tile, lanes, groups, warps = (x[axis] for x in (shape.extents, shape.lanes, shape.groups, shape.warps))
    block, rest = fresh(f"{loop}_b"), fresh(f"{loop}_in")
    program = program.apply(Split(loop, tile, (block, rest), tail="guard"))
    for guard in [x for x in program.loop(rest).body.body if isinstance(x, If)][:1]:
        program = program.apply(SinkGuard(Cursor(program, guard.label)))
    group: tuple[str, ...] = ()
    warp: tuple[str, ...] = ()
    if groups > 1:
        group, whole, rest = (fresh(f"{loop}_group"),), rest, fresh(f"{loop}_rest")
        program = program.apply(Split(whole, tile // groups, (*group, rest), tail="perfect"))
    lane, own = fresh(f"{loop}_lane"), fresh(f"{loop}_own")
    if warps > 1:
        warp, middle = (fresh(f"{loop}_warp"),), fresh(f"{loop}_middle")
        program = program.apply(Split(rest, shape.width, (middle, own), tail="perfect"))
        program = program.apply(Split(middle, lanes, (*warp, lane), tail="perfect"))
    else:
        program = program.apply(Split(rest, shape.width, (lane, own), tail="perfect"))
    return program, _Digits(block, warp, lane, group, own)


def _cut(program: Program, total: str, depth: int) -> Program:
    """What is before the sum, the sum, and what is behind it in bands of their own, of so many loops."""
    innermost = program.path(total)[-2]
    assert isinstance(innermost, For)
    body = innermost.body.body
    place = next(n for n, x in enumerate(body) if isinstance(x, For) and x.var == total)
    before = body[place - 1] if place else None
    if before is not None and not isinstance(before, Block):
        program = program.apply(Fission(Cursor(program, before.label), depth))
    return program.apply(Fission(total, depth)) if place + 1 < len(body) else program


def _promote(
    program: Program, found: Contraction, shape: TileShape, around: str, array: str, name: str, wide: bool
) -> Program:  # fmt: skip
    """The program with an operand in shared memory: rows of it for each value of the sum's loop, several elements at
    once where that may be (`wide`)."""
    load = next(x for x in loads(found.update.value) if x.array == array)
    if found.sum.var in variables(load.index[-1]):
        # Threads take neighbours in memory, which are in different rows of the tile.
        return program.apply(PromoteTile(around, array, name, shape.threads, 8, (1, 0), 16 // load.type.size))
    count = 16 // load.type.size if wide and _has_rows(program, load) else 0
    return program.apply(PromoteTile(around, array, name, shape.threads, 32, (), 0, 1, count))


def _has_rows(program: Program, load: Load) -> bool:
    """Whether the last subscript of an array goes along a row in memory, also where it is derived."""
    views = {x.name: x for x in program.kernel.derived}
    while load.array in views:
        view = views[load.array]
        *outer, last = view.value.index if isinstance(view.value, Load) else (view.value,)
        if last != index(view.index[-1]) or any(view.index[-1] in variables(x) for x in outer):
            return False
        assert isinstance(view.value, Load)
        load = view.value
    return True
