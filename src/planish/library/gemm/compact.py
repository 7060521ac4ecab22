"""A product for one drop-in: few kernels, so that making and compiling them takes seconds.

It only adds: what C begins with is set by loops in front of it. Blocks are copied, and tiles at the edge use a part of
their last vector; rows are few, since each number of rows has tiles of its own.

>>> from planish.ir.types import F64
>>> from planish.library.vectors import find_vectors
>>> choose_few(find_vectors("avx512", F64)), choose_few(find_vectors("avx2", F64))
((6, 4), (4, 3))
"""

from __future__ import annotations

from planish.isa.instruction import Catalogue, Instruction
from planish.library.gemm.blocked import FEWEST_ROWS, Blocking, choose_blocking
from planish.library.gemm.edges import count_family
from planish.library.gemm.microkernel import Layout, Tile, choose_tile
from planish.library.gemm.operands import Op, Operands
from planish.library.gemm.transposed import make_transposed_products
from planish.library.gemm.whole import SMALL, Variant, list_layouts, make_products, make_tiles, wide_blocks
from planish.library.maker import Maker
from planish.library.vectors import Vectors
from planish.target.machine import Target

_ENOUGH = 0.85
"""Of the sums that the largest tile keeps in registers, so many are enough to keep the arithmetic busy."""
_WIDEST = 4
"""The registers of a tile's row at most."""
NARROW = 128
"""A product of so many columns at most uses each element of A a few times only."""
ADDS = (False,)
"""The part of a product that there is: the one that adds."""


def choose_few(vectors: Vectors) -> tuple[int, int]:
    """The rows and registers of a tile that is about as good as the best, with the fewest kernels for its edges."""
    best = choose_tile(vectors)
    enough = _ENOUGH * best[0] * best[1]
    tiles = [
        Tile(vectors, rows, count, layout="rows") for count in range(1, _WIDEST + 1)
        for rows in range(FEWEST_ROWS, vectors.registers)
    ]  # fmt: skip
    fitting = [
        x for x in tiles
        if x.registers <= vectors.registers and x.loads < x.rows * x.vectors and x.rows * x.vectors >= enough
    ]  # fmt: skip
    chosen = min(fitting, key=lambda x: (count_family(x.rows, x.vectors), x.rows), default=Tile(vectors, *best))
    return chosen.rows, chosen.vectors


def choose_few_blocks(vectors: Vectors, target: Target) -> Blocking:
    """The blocks around such a tile for the caches of a machine."""
    return choose_blocking(vectors, *choose_few(vectors), target.cache(1).share, target.cache(2).share)


def make_compact(
    name: str, vectors: Vectors, target: Target, op: Op = "nn", maker: Maker | None = None
) -> tuple[Instruction, list[Instruction]]:
    """The kernel that adds a product of any size to C, and all that it calls, with itself."""
    blocking, maker = choose_few_blocks(vectors, target), maker or Maker()
    variants = list_few_variants(vectors, blocking, op)
    in_place: Layout = "turned" if Operands(op).transposed_a else "plain"
    kinds = [("rows" if x.packed else in_place, first, x.fetch) for x in variants for first in ADDS]
    largest = [blocking.tile(vectors, layout, first, fetch=fetch) for layout, first, fetch in kinds]
    made = make_tiles(largest, blocking, maker)
    own, tiles = Operands(op).name(name), Catalogue().with_instructions(made)
    if op == "nn":
        made += make_products(own, vectors, variants, tiles, maker, ADDS)
    else:
        made += make_transposed_products(own, vectors, variants, tiles, op, maker, ADDS)
    return made[-1], made


def list_few_variants(vectors: Vectors, blocking: Blocking, op: Op) -> tuple[Variant, ...]:
    """Copied blocks; where B does not lie transposed, small products and those of few columns, for which copying A
    would take longer than it saves, are summed where A and B lie."""
    packed = Variant("packed", "", blocking, True)
    if Operands(op).transposed_b or "plain" not in list_layouts(vectors):
        return (packed,)
    near = f"n <= {NARROW} || m * n * k <= {SMALL}"
    return Variant("plain", near, wide_blocks(vectors, blocking), fetch="along"), packed
