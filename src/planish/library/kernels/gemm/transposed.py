"""GEMM with transposed operands: packing transposes them, the tiles are those of any product.

>>> from planish.ir.types import F32
>>> from planish.library.kernels.vectors import find_vectors
>>> [x.name for x in list_transposed(find_vectors("avx512", F32), Blocking(14, 2, 384, 512, 2016), "nt")]
['small', 'packed']
"""

from __future__ import annotations

from collections.abc import Sequence

from planish.ir.nest import Kernel
from planish.isa.instruction import Catalogue, Instruction
from planish.library.kernels.as_instruction import make_callable
from planish.library.kernels.gemm.blocked import (
    Blocking,
    copy_panels,
    copy_rows,
    cut,
    define_product,
    give_to_tiles,
    share_buffers,
    share_panels,
)
from planish.library.kernels.gemm.microkernel import Layout, Tile
from planish.library.kernels.gemm.operands import GemmOperands, Op
from planish.library.kernels.gemm.whole import (
    BOTH,
    SMALL,
    Variant,
    list_layouts,
    list_loops,
    list_variants,
    make_choices,
    name_variant,
)
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.kernels.transpose import turn_squares
from planish.library.kernels.vectors import Vectors
from planish.schedule.combine import pack
from planish.schedule.program import Program
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.buffers import StageMem
from planish.schedule.steps.loops import Split
from planish.schedule.steps.storage import PadDim, ReorderDims
from planish.schedule.steps.values import FoldFactor


def make_transposed_products(
    name: str, vectors: Vectors, variants: Sequence[Variant], tiles: Catalogue, op: Op,
    maker: KernelCache | None = None,
    parts: Sequence[bool] = BOTH,
) -> list[Instruction]:  # fmt: skip
    """The kernels of all variants for operands of which one is transposed, and those that choose one of them."""
    maker = maker or KernelCache()
    made = [
        maker.make(name_variant(name, variant, first), _make_variant, name, vectors, variant, tiles, first, op)
        for variant, first in list_loops(variants, parts)
    ]
    return [*made, *make_choices(name, vectors, variants, tiles.with_instructions(made), op, parts)]


def _make_variant(
    name: str, vectors: Vectors, variant: Variant, tiles: Catalogue, first: bool, op: Op
) -> Instruction:
    """The kernel of one variant."""
    definition = define_product(name_variant(name, variant, first), vectors, first, op)
    program = make_transposed(definition, vectors, variant, tiles, first, op)
    return make_callable(definition, share_panels(program) if variant.shared else program)


def list_turned(vectors: Vectors, blocking: Blocking) -> list[Tile]:
    """The largest tiles for an A that lies transposed and is used where it is."""
    if "plain" not in list_layouts(vectors):
        return []
    return [blocking.tile(vectors, "turned", first) for first in (True, False)]


def list_transposed(vectors: Vectors, blocking: Blocking, op: Op) -> tuple[Variant, ...]:
    """The ways to run the loops: a small product copies nothing but a B that has to be transposed."""
    packed = Variant("packed", "", blocking, True)
    if "plain" not in list_layouts(vectors):
        return (packed,)
    if GemmOperands(op).transposed_b:
        return Variant("small", f"m * n * k <= {SMALL}", blocking), packed
    # There are no flat tiles for an A that lies transposed.
    largest = blocking.rows, blocking.vectors
    return tuple(x for x in list_variants(vectors, blocking) if (x.blocking.rows, x.blocking.vectors) == largest)


def make_transposed(
    definition: Kernel, vectors: Vectors, variant: Variant, tiles: Catalogue, first: bool, op: Op
) -> Program:
    """A product by blocks that are copied: both, or only a transposed B if the variant is not `packed`."""
    operands, blocking = GemmOperands(op), variant.blocking
    program = cut(Program.of(definition, catalogue=tiles), vectors, blocking, first)
    if operands.transposed_b:
        program = _turn_panels(program, vectors, blocking)
    elif variant.packed:
        program = copy_panels(program, vectors, blocking)
    layout: Layout = "turned" if operands.transposed_a else "plain"
    if variant.packed:
        program = (_turn_rows if operands.transposed_a else copy_rows)(program, vectors, blocking)
        layout = "rows"
    return give_to_tiles(share_buffers(program), vectors, blocking, layout, first, fetch=variant.fetch)


def _turn_panels(program: Program, vectors: Vectors, blocking: Blocking) -> Program:
    """A block of B, of which columns lie in memory one after the other, in panels as wide as a tile."""
    width, lanes = blocking.vectors * vectors.lanes, vectors.lanes
    program = pack(program, "ir", "B", "b", width, dimension=0).apply(
        Split("b_0", width, ("bq", "br"), "short"), Split("br", lanes, ("bv", "bl"), "short"),
        Split("b_1", lanes, ("by", "bm"), "short"), Reorder("bq", ("bq", "by", "bv", "bl", "bm")),
    )  # fmt: skip
    return turn_squares(program, vectors, ("bl", "bm"), "transpose")


def _turn_rows(program: Program, vectors: Vectors, blocking: Blocking) -> Program:
    """Rows of a block of A, which are columns in memory, one after the other, multiplied by alpha."""
    lanes = vectors.lanes
    program = program.apply(
        StageMem("jb", "A", "a", "scratch", clip=True), FoldFactor("a: _", "alpha"),
        ReorderDims("a: _", (1, 0)), PadDim("a: _", 1, blocking.stride - blocking.depth),
        Split("a_0", lanes, ("ay", "al"), "short"), Split("a_1", lanes, ("ax", "am"), "short"),
        # What is written stays in the first cache until its lines are whole.
        Reorder("ay", ("ax", "ay", "al", "am")),
    )  # fmt: skip
    return turn_squares(program, vectors, ("al", "am"), "scaled_transpose")
