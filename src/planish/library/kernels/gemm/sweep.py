"""A row of tiles over panels of B that are packed while they are multiplied for the first time.

Weaving waits for memory and products for the multipliers, so that one hides the other.

>>> from planish.library.kernels.vectors import PRODUCTS, find_vectors
>>> tile = Tile(find_vectors("avx512", PRODUCTS["bf16"]), 14, 2, layout="strided")
>>> name_sweep(tile, 384)
'sweep_avx512_bf16_14x32_strided_384'
"""

from __future__ import annotations

from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_kernel
from planish.isa.instruction import Instruction
from planish.library.kernels.as_instruction import make_callable
from planish.library.kernels.gemm.microkernel import STAGES, Tile
from planish.library.kernels.gemm.operands import spell_number, spell_term
from planish.schedule.program import Program
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.buffers import LiftAlloc
from planish.schedule.steps.control import Swap
from planish.schedule.steps.instructions import Replace
from planish.schedule.steps.kernels import PartialEval, RenameLoop
from planish.schedule.steps.loops import Fuse, Split, Unroll
from planish.schedule.steps.prefetch import Prefetch

AHEAD = 16
"""So many products ahead of their use rows of B are fetched."""


def name_sweep(tile: Tile, depth: int) -> str:
    """What the sweep of a tile over panels of a depth is called."""
    return f"{tile.name.replace('ukr', 'sweep', 1)}_{depth}"


def make_sweep(tile: Tile, depth: int) -> Instruction:
    """The kernel that packs rows of S into panels B of so many groups, and multiplies the tile's rows of A by them."""
    definition = define_sweep(tile, depth)
    return make_callable(definition, weave_and_multiply(definition, tile))


def define_sweep(tile: Tile, depth: int) -> Kernel:
    """Panel by panel: the copy of the rows, and the plain triple loop over it."""
    v, width, g = tile.vectors_of, tile.columns, tile.group
    left, right, t = v.product.left, v.product.right, v.type
    term = spell_term(v.product, f"i, {g} * p + q", "r, p, j, q", False)
    clear = f"C[i, {width} * r + j] = {spell_number(0, v.product)}" if tile.first else ""
    return parse_kernel(
        f"kernel {name_sweep(tile, depth)}(m, w, k, lda, lds, ldc;"
        f" A: {left}[m, lda], S: {right}[{g} * k, lds], B: {right}[w, {depth}, {width}, {g}] distinct,"
        f" C: {t}[m, ldc] distinct) assume m == {tile.rows} assume w >= 1 assume k >= 1 assume k <= {depth}"
        f" assume lda >= {g} * k assume lds >= {width} * w assume ldc >= {width} * w {{"
        f" for r in 0 .. w {{"
        f" for h in 0 .. k {{ for s in 0 .. {g} {{ for x in 0 .. {width} {{"
        f" B[r, h, x, s] = S[{g} * h + s, {width} * r + x] }} }} }}"
        f" for i in 0 .. m {{ for j in 0 .. {width} {{ {clear}"
        f" for p in 0 .. k {{ for q in 0 .. {g} {{ C[i, {width} * r + j] += {term} }} }} }} }} }} }}"
    )


def weave_and_multiply(definition: Kernel, tile: Tile) -> Program:
    """The tile in registers as for a micro-kernel; then the loop that packs, made one with the one that multiplies."""
    program = Program.of(definition).apply(PartialEval("m", tile.rows))
    program = STAGES[0](program, tile)
    program = program.apply(LiftAlloc("c: _", 1, expand=False))
    while program.cursor("h").next().node is not program.loop("p"):
        program = program.apply(Swap(program.cursor("h").next()))
    program = _weave(program.apply(Fuse("h"), RenameLoop("h", "p")), tile)
    for make in STAGES[2:]:
        program = make(program, tile)
    return program.apply(Unroll("y")) if program.has("y") else program


def _weave(program: Program, tile: Tile) -> Program:
    """A vector of groups at a time."""
    v = tile.vectors_of
    weave, fetch = (v.name(x, v.product.right) for x in ("weave", "prefetch"))
    program = program.apply(Split("x", v.lanes, ("y", "x"), "perfect"), Reorder("s", ("y", "x", "s")), Unroll("s"))
    program = program.apply(Replace("x", weave))
    return program.apply(Prefetch("x", "S", "x", "S_later", fetch, AHEAD, "p"))
