"""The GEMM loop nest around a tile: cache blocking, with operands packed or used in place.

>>> from planish.ir.types import F32
>>> from planish.library.kernels.vectors import find_vectors
>>> v = find_vectors("avx512", F32)
>>> choose_blocking(v, 14, 2, level1=48 << 10, level2=1 << 20)
Blocking(rows=14, vectors=2, depth=384, columns=512, height=2128, step=0, pitch=0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import lcm

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.nest import For, Kernel
from planish.ir.text.parser import parse_kernel
from planish.isa.instruction import Catalogue
from planish.library.kernels.gemm.edges import name_family
from planish.library.kernels.gemm.microkernel import Fetch, Layout, Tile
from planish.library.kernels.gemm.operands import GemmOperands, Op, spell_number, spell_term
from planish.library.kernels.vectors import Vectors
from planish.schedule.combine import pack
from planish.schedule.program import Program
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.buffers import LiftAlloc, StageMem
from planish.schedule.steps.control import Sink, Specialise
from planish.schedule.steps.facts import Parallelise, Vectorise
from planish.schedule.steps.instructions import Replace
from planish.schedule.steps.kernels import Simplify
from planish.schedule.steps.loops import Split, Unroll
from planish.schedule.steps.prefetch import Prefetch
from planish.schedule.steps.storage import PadDim
from planish.schedule.steps.values import FoldFactor

FEWEST_ROWS = 2
"""A tile of one row has no loop over rows."""
LINE = 64
"""Bytes of a line of the caches."""
WHOLE = 32
"""Depths are multiples of so many elements: of all vectors' lanes."""
AHEAD = 4
"""So many rows ahead of what is copied are fetched: they begin in other pages, which no processor foresees."""
HEIGHT = 2128
"""The rows of A in a block, at most: a block has its place in the last cache."""


@dataclass(frozen=True, slots=True)
class Blocking:
    """The largest tile (`rows` by `vectors` registers), and the block around it: `depth` products are summed in a tile
    before C is touched, for `columns` of B and `height` rows of A. `step`: the rows of the tiles in use, where they are
    fewer. `pitch` is the distance of two rows of a block of A where it is not that of its depth. Groups of products
    are counted as one."""

    rows: int
    vectors: int
    depth: int
    columns: int
    height: int
    step: int = 0
    pitch: int = 0

    @property
    def tile_rows(self) -> int:
        """The rows of the tiles in use, at most those of the largest."""
        return self.step or self.rows

    def tile(
        self, vectors: Vectors, layout: Layout, first: bool, scaled: bool = False, fetch: Fetch | None = None
    ) -> Tile:
        """The largest tile; of matrices that lie in place where C is near, of blocks where it may be far."""
        fetch = fetch or ("not" if layout in ("plain", "turned") else "along")
        return Tile(vectors, self.rows, self.vectors, first=first, layout=layout, scaled=scaled, fetch=fetch)

    @property
    def fits(self) -> str:
        """The condition on m under which what is left over of the rows is half a tile at least: less takes as long."""
        return f"(m + {self.tile_rows - 1}) % {self.tile_rows} >= {self.tile_rows // 2}"

    def shallower(self, width: int) -> Blocking:
        """Blocks of about two thirds of the depth for the same tiles, with more columns, a multiple of `width`."""
        columns = self.columns * 3 // 2 // width * width
        return replace(self, depth=max(1, self.depth * 2 // 3 // WHOLE) * WHOLE, columns=columns, pitch=self.stride)

    @property
    def stride(self) -> int:
        """The distance of two rows of a block of A: not a power of two, which would map all to one set."""
        return self.pitch or self.depth + 4


def choose_blocking(vectors: Vectors, rows: int, count: int, level1: int, level2: int) -> Blocking:
    """The blocking for a tile of `rows` (two or more, PlanishError E0641) by `count` registers, and caches of so many
    bytes: the tile's rows of A take a bit less than half of the first one, where they stay while B's rows pass by; a
    block of B takes three quarters of the second one (the analytical model of BLIS with the two matrices exchanged)."""
    if rows < FEWEST_ROWS:
        message = f"the whole product is not made of tiles of {rows} row"
        raise PlanishError(Diagnostic("E0641", message, help=f"choose tiles of {FEWEST_ROWS} rows and more: --mr"))
    size, width = vectors.product.left.size * vectors.product.group, count * vectors.lanes
    depth = max(64, int(0.45 * level1) // (rows * size) // 64 * 64)
    columns = max(width, int(0.75 * level2) // (depth * size) // width * width)
    # Squares are transposed, which are as high as a vector is long.
    unit = lcm(rows, vectors.lanes)
    return Blocking(rows, count, depth, columns, max(1, HEIGHT // unit) * unit)


def define_product(
    name: str, vectors: Vectors, first: bool, op: Op = "nn", empty: bool = False, scaled: bool = True
) -> Kernel:
    """The plain triple loop: C += alpha A B, or C = alpha A B (`first`), or without alpha (not `scaled`), with any
    distance between rows. `empty`: sizes may be zero."""
    operands = GemmOperands(op)
    known = ([] if empty else ["m >= 1", "n >= 1", f"k >= {vectors.product.group}"]) + [*operands.known, "ldc >= n"]
    update = f"C[i, j] += {spell_term(vectors.product, operands.at_a, operands.at_b, scaled)}"
    return define_loops(name, vectors, first, scaled, operands.declare(vectors.product), known, update)


def define_loops(
    name: str, vectors: Vectors, first: bool, scaled: bool, operands: str, known: Sequence[str], update: str
) -> Kernel:
    """The triple loop around an `update`, with the declaration of the operands and what is known of the sizes."""
    t = vectors.type
    clear = f"C[i, j] = {spell_number(0, vectors.product)}" if first else ""
    assumed = " ".join(f"assume {x}" for x in known)
    return parse_kernel(
        f"kernel {name}(m, n, k, lda, ldb, ldc; {f'alpha: {t};' * scaled} {operands}, C: {t}[m, ldc] distinct)"
        f" {assumed} {{ for i in 0 .. m {{ for j in 0 .. n {{ {clear} for p in 0 .. k {{ {update} }} }} }} }}"
    )


def cut(program: Program, vectors: Vectors, blocking: Blocking, first: bool) -> Program:
    """Blocks and tiles of all three loops: pb, pi over k; ib, ir, ii over rows; jb, jr, jj over columns."""
    width = blocking.vectors * vectors.lanes
    program = program.apply(Split("p", blocking.depth, ("pb", "pi"), "short"))
    if first:
        program = program.apply(Sink("C[_] = _"))
    height = blocking.height // blocking.tile_rows * blocking.tile_rows
    for loop, size, step in (("i", height, blocking.tile_rows), ("j", blocking.columns, width)):
        program = program.apply(Split(loop, size, (f"{loop}b", f"{loop}c"), "short"))
        program = program.apply(Split(f"{loop}c", step, (f"{loop}r", f"{loop}{loop}"), "short"))
    order = ("pb", "ib", "jb", "ir", "jr", "ii", "jj")
    return program.apply(Reorder("ib", order if first else (*order, "pi")))


def make_packed(
    definition: Kernel, vectors: Vectors, blocking: Blocking, tiles: Catalogue, first: bool, fetch: Fetch | None = None
) -> Program:
    """The product by blocks that are copied: rows of A one after the other, multiplied by alpha, and rows of B in
    panels as wide as a tile. `tiles`: the kernels that do a tile."""
    program = cut(Program.of(definition, catalogue=tiles), vectors, blocking, first)
    program = copy_rows(copy_panels(program, vectors, blocking), vectors, blocking)
    return give_to_tiles(share_buffers(program), vectors, blocking, "rows", first, fetch=fetch)


def make_panels(
    definition: Kernel, vectors: Vectors, blocking: Blocking, tiles: Catalogue, first: bool, fetch: Fetch | None = None
) -> Program:
    """The product by blocks of B that are copied in panels as wide as a tile; A is used where it lies."""
    program = cut(Program.of(definition, catalogue=tiles), vectors, blocking, first)
    program = share_buffers(copy_panels(program, vectors, blocking))
    return give_to_tiles(program, vectors, blocking, "plain", first, fetch=fetch)


def share_panels(program: Program) -> Program:
    """The copies of a block of B by all threads, each of which then does some rows of tiles."""
    return program.apply(Parallelise("bq"), Parallelise("ir"))


def copy_panels(program: Program, vectors: Vectors, blocking: Blocking) -> Program:
    """A block of B in panels as wide as a tile, copied by vectors."""
    width = blocking.vectors * vectors.lanes
    program = pack(program, "ir", "B", "b", width).apply(
        Split("b_1", width, ("bq", "br"), "short"),
        Specialise("br", f"n - {width} * bq - {blocking.columns} * jb >= {width}"), Simplify(),
        Split("br", vectors.lanes, ("bv", "bl"), "perfect"), Replace("bl", vectors.name("copy")),
    )  # fmt: skip
    return _fetch_ahead(program, vectors, "bl", "B", "b_0").apply(Unroll("bv"), Vectorise("br"))


def copy_rows(program: Program, vectors: Vectors, blocking: Blocking) -> Program:
    """Rows of a block of A one after the other, multiplied by alpha, copied by vectors."""
    program = program.apply(
        StageMem("jb", "A", "a", "scratch", clip=True), FoldFactor("a: _", "alpha"),
        PadDim("a: _", 1, blocking.stride - blocking.depth),
        Split("a_1", vectors.lanes, ("av", "al"), "cut"),
        Replace("al", vectors.name("scaled_copy")), Vectorise("al #2"),
    )  # fmt: skip
    return _fetch_ahead(program, vectors, "al", "A", "a_0")


def share_buffers(program: Program) -> Program:
    """The blocks' memory made once, outside of all loops."""
    for buffer in ("a: _", "b: _"):
        while program.has(buffer) and len(program.path(buffer)) > 1:
            around = sum(isinstance(x, For) for x in program.path(buffer))
            program = program.apply(LiftAlloc(buffer, around, expand=False))
    return program


def _fetch_ahead(program: Program, vectors: Vectors, copy: str, array: str, rows: str) -> Program:
    """Fetch what a loop over rows will copy later, where a vector is a line of the cache."""
    if vectors.width < LINE:
        return program
    return program.apply(Prefetch(copy, array, copy, f"{array}_later", vectors.name("prefetch"), AHEAD, rows))


def make_plain(
    definition: Kernel, vectors: Vectors, blocking: Blocking, tiles: Catalogue, first: bool, fetch: Fetch | None = None
) -> Program:
    """The product where A and B lie: nothing is copied. `tiles`: the kernels that do a tile."""
    program = cut(Program.of(definition, catalogue=tiles), vectors, blocking, first)
    return give_to_tiles(program, vectors, blocking, "plain", first, fetch=fetch)


def give_to_tiles(
    program: Program, vectors: Vectors, blocking: Blocking, layout: Layout, first: bool, scaled: bool = False,
    fetch: Fetch | None = None,
) -> Program:  # fmt: skip
    """The loops of a tile become calls; in the first block of k, of the kernel that stores."""
    add, store = (name_family(blocking.tile(vectors, layout, x, scaled, fetch)) for x in (False, True))
    if not first:
        return program.apply(Replace("ii", add))
    program = program.apply(Specialise("ii", "pb == 0"), Simplify())
    return program.apply(Replace("ii", store), Replace("ii #2", add))
