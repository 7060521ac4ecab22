"""Contractions by tiles: blocks of a product in registers, their operands in shared memory, piece by piece.

The sums are made in the order of the source, so that no bit changes. Whole tiles have constant extents; those at the
edge are made apart, from memory.

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
from planish.ir.expr import Binary, Load, index, type_of
from planish.ir.nest import For, Reduce
from planish.ir.text.printer import print_expr
from planish.ir.traverse import loads, used_names, variables, walk
from planish.schedule.program import Cursor, Program
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.control import GuardLoop, Specialise
from planish.schedule.steps.devices import MapBlocks, MapThreads, PromoteRegisters, PromoteShared
from planish.schedule.steps.kernels import Simplify
from planish.schedule.steps.loops import Split

THREADS = 16
"""The threads of a block along x, and along y."""
DEPTH = 16
"""Products of a sum that are made from one copy."""


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
    if not 2 <= len(order) <= 3 or len(body) != 1 or not isinstance(body[0], For):
        return None
    *outer, row, column = order
    total = body[0]
    if len(total.body.body) != 1 or not isinstance(update := total.body.body[0], Reduce) or update.op != "add":
        return None
    around = {x.var for x in chain.loops}
    bounds = [x for loop in (*chain.loops, total) for x in (loop.lower, loop.upper)]
    if any(variables(x) & around for x in bounds) or any(x.step != 1 for x in (*chain.loops, total)):
        return None
    if any(total.var in variables(x) for x in update.index):
        return None
    met = [(x, _uses(x)) for x in loads(update.value) if total.var in _uses(x)]
    rows = {x.array for x, used in met if row.var in used and column.var not in used}
    columns = {x.array for x, used in met if column.var in used and row.var not in used}
    names = [x.array for x, _ in met]
    if not rows or not columns or rows & columns or len(set(names)) != len(names) or update.array in names:
        return None
    return Contraction(tuple(outer), row, column, total, update, tuple(sorted(rows | columns)))


def _uses(load: Load) -> set[str]:
    return {name for x in load.index for name in variables(x)}


def tile_contraction(program: Program, chain: Chain) -> tuple[Program, str] | None:
    """The contraction by tiles; None where the chain is none. PlanishError where a step is not legal."""
    found = find_contraction(chain)
    if found is None:
        return None
    each = 8 if type_of(found.update.value).size <= 4 else 4
    tile = THREADS * each
    taken = set(used_names(program.kernel))

    def fresh(stem: str) -> str:
        return take_name(stem, taken)

    i, j, k = found.row.var, found.column.var, found.sum.var
    ib, it, ir, jb, jt, jr = (fresh(f"{x}_{y}") for x in (i, j) for y in ("b", "thread", "own"))
    names = _Names(ib, it, ir, jb, jt, jr, fresh(f"{k}_b"), fresh(f"{k}_in"))
    row, column = fresh(f"{i}_in"), fresh(f"{j}_in")
    whole = _at_least(found.row, names.ib, tile), _at_least(found.column, names.jb, tile)
    full = " && ".join((*whole, f"{print_expr(found.sum.upper)} > {print_expr(found.sum.lower)}"))
    if [x.var for x in chain.loops] != [x.var for x in (*found.outer, found.row, found.column)]:
        order = tuple(x.var for x in (*found.outer, found.row, found.column))
        program = program.apply(Reorder(cursor(program, chain.loops[0]), order))
    program = program.apply(
        Split(i, tile, (names.ib, row), tail="short"), Split(j, tile, (names.jb, column), tail="short"),
        Split(k, DEPTH, (names.kb, names.kk), tail="short"),
        Split(row, THREADS, (names.ir, names.it), tail="short"),
        Split(column, THREADS, (names.jr, names.jt), tail="short"),
    )  # fmt: skip
    program = program.apply(
        Reorder(names.ib, (names.ib, names.jb, names.it, names.jt, names.ir, names.jr, names.kb, names.kk)),
        Specialise(names.it, full), Simplify(),
    )  # fmt: skip
    program = _edge(program, names, fresh)
    program = _whole(program, found, names, fresh)
    program = program.apply(MapBlocks(names.ib, "y"), MapBlocks(names.jb, "x"))
    program = program.apply(*(MapBlocks(x.var, "z") for x in found.outer))
    shared = ", ".join(f"`{x}`" for x in found.operands)
    tiles = f"`{i}`, `{j}` in tiles of {tile} x {tile}, {each} x {each} a thread"
    return program, f"{tiles}; `{k}` by {DEPTH}: {shared} in shared memory"


@dataclass(frozen=True, slots=True)
class _Names:
    """The loops of tiles: over blocks, over threads, over what a thread has of its own; pieces of the sum, and in
    these."""

    ib: str
    it: str
    ir: str
    jb: str
    jt: str
    jr: str
    kb: str
    kk: str


def _at_least(loop: For, block: str, tile: int) -> str:
    """That a block of a loop is whole."""
    return f"{print_expr(loop.upper)} - {print_expr(Binary('mul', index(tile), index(block)))} >= {tile} + {_low(loop)}"


def _low(loop: For) -> str:
    return f"({print_expr(loop.lower)})"


def _named(program: Program, name: str, number: int) -> Cursor:
    """A cursor to one of the loops of a name, in the order of the text."""
    found = [x.label for x in walk(program.kernel.body) if isinstance(x, For) and x.var == name]
    return Cursor(program, found[number])


def _edge(program: Program, names: _Names, fresh: Callable[[str], str]) -> Program:
    """The second version, for tiles at an edge: each thread makes its elements one after the other."""
    update = next(x for x in walk(_named(program, names.it, 1).node) if isinstance(x, Reduce))
    program = program.apply(GuardLoop(_named(program, names.kb, 1)))
    program = program.apply(PromoteRegisters(_named(program, names.kb, 1), update.array, fresh("edge")))
    program = program.apply(MapThreads(_named(program, names.it, 1), "y", THREADS))
    return program.apply(MapThreads(_named(program, names.jt, 1), "x", THREADS))


def _whole(program: Program, found: Contraction, names: _Names, fresh: Callable[[str], str]) -> Program:
    """The first version, for whole tiles: each thread keeps its elements of the tile in registers."""
    it, jt, ir, jr, kb, kk = names.it, names.jt, names.ir, names.jr, names.kb, names.kk
    program = program.apply(Reorder(_named(program, it, 0), (kb, it, jt, kk, ir, jr)))
    for array in found.operands:
        step = PromoteShared(
            _named(program, it, 0), array, fresh(f"shared_{array}"), (THREADS, THREADS), clip=True
        )  # fmt: skip
        program = program.apply(step)
    own = fresh(f"own_{found.update.array}")
    program = program.apply(PromoteRegisters(_named(program, kb, 0), found.update.array, own, (THREADS, THREADS)))
    # Whole pieces of the sum have constant bounds, so that their loops are unrolled.
    whole = _at_least(found.sum, kb, DEPTH)
    program = program.apply(Specialise(_named(program, it, 0), whole), Simplify())
    for number in (0, 1):
        program = program.apply(MapThreads(_named(program, it, number), "y"))
        program = program.apply(MapThreads(_named(program, jt, number), "x"))
    return program
