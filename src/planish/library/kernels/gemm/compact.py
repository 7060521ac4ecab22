"""A GEMM for one drop-in: few kernels, so that it is generated and compiled within seconds.

It only adds: what C begins with is set by loops in front of it. Blocks of B are copied, those of A only where A lies
transposed, and tiles at the edge use a part of their last vector; rows are few, since each number of rows has tiles of
its own.

>>> from planish.ir.types import F64
>>> from planish.library.kernels.vectors import find_vectors
>>> choose_few(find_vectors("avx512", F64)), choose_few(find_vectors("avx2", F64))
((6, 4), (4, 3))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from planish.isa.instruction import Catalogue, Instruction
from planish.library.kernels.gemm.blocked import FEWEST_ROWS, Blocking, choose_blocking
from planish.library.kernels.gemm.edges import count_family
from planish.library.kernels.gemm.microkernel import Fetch, Layout, Tile, choose_tile
from planish.library.kernels.gemm.operands import GemmOperands, Op
from planish.library.kernels.gemm.threads import make_shares
from planish.library.kernels.gemm.transposed import make_transposed_products
from planish.library.kernels.gemm.whole import (
    LARGE,
    SMALL,
    THIN_DEPTH,
    Variant,
    list_layouts,
    make_products,
    make_tiles,
    spread_rows,
    wide_blocks,
)
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.kernels.vectors import Vectors
from planish.schedule.arguments import (
    DEFAULTS,
    MODEL,
    Point,
    TuningArgument,
    TuningArguments,
    TuningConstraint,
    Value,
)
from planish.target.machine import Target

_ENOUGH = 0.85
"""Of the sums that the largest tile keeps in registers, so many are enough to keep the arithmetic busy."""
_WIDEST = 4
"""The registers of a tile's row at most."""
NARROW = 128
"""A product of so many columns at most uses each element of a transposed A a few times only; one of so many rows those
of B."""
MOST_ROWS = 1 << 20
"""The rows in a block, about, where none of A is copied: they hardly ever end."""
FETCH: Fetch = "ahead"
"""C is fetched at once: whatever else is to be begun in a step of k keeps the next products waiting."""
DEPTH = TuningArgument("depth", (50, 67, 100, 150, 200), 100, "per cent of the modelled depth of a product's blocks")
COLUMNS = TuningArgument("columns", (50, 67, 100, 150, 200), 100, "per cent of the modelled columns of packed blocks")
TILE_ROWS = TuningArgument("tile-rows", (4, 6, 8, 10, 12, 14), 6, "rows of a tile whose sums stay in registers")
TILE_VECTORS = TuningArgument("tile-vectors", (1, 2, 3, 4), 4, "registers of a row of a tile")
FETCHED = TuningArgument("fetch", ("ahead", "along", "not"), FETCH, "when C is fetched: before sums, between them, not")
PACKING = TuningArgument(
    "pack", (MODEL, "always", "never"), MODEL,
    "whether blocks of B are copied, not of a large one for few rows; the model looks at sizes",
)  # fmt: skip
_GRAIN = 32
"""Depths of blocks are multiples of it."""
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


def list_product_arguments(vectors: Vectors) -> TuningArguments:
    """What may be tuned of products: the tile as far as the registers have room for it, the blocks around it, when C is
    fetched, and whether blocks of B are copied."""
    chosen = choose_few(vectors)
    rows, count = (x.around(y) for x, y in zip((TILE_ROWS, TILE_VECTORS), chosen, strict=True))

    def fits(values: Mapping[str, Value]) -> bool:
        return _fits(vectors, *(int(values.get(x.name, x.default)) for x in (rows, count)))

    note = f"a tile, a row of B and an element of A fit in {vectors.registers} registers"
    constraint = TuningConstraint((rows.name, count.name), fits, note)
    return TuningArguments((DEPTH, COLUMNS, rows, count, FETCHED, PACKING), (constraint,))


def _fits(vectors: Vectors, rows: int, count: int) -> bool:
    tile = Tile(vectors, rows, count, layout="rows")
    return tile.registers <= vectors.registers and tile.loads < rows * count


def _tile_at(vectors: Vectors, point: Point) -> tuple[int, int]:
    """The rows and registers of a tile as a point has them, where the registers have room for it."""
    chosen = choose_few(vectors)
    rows, count = (x.around(y).number(point) for x, y in zip((TILE_ROWS, TILE_VECTORS), chosen, strict=True))
    return (rows, count) if _fits(vectors, rows, count) else chosen


def choose_few_blocks(vectors: Vectors, target: Target, point: Point = DEFAULTS) -> Blocking:
    """The blocks around such a tile for the caches of a machine, by parts of those of the model as a point has them."""
    blocks = choose_blocking(vectors, *_tile_at(vectors, point), target.cache(1).share, target.cache(2).share)
    depth, columns = (x.number(point) for x in (DEPTH, COLUMNS))
    if (depth, columns) == (100, 100):
        return blocks
    width = blocks.vectors * vectors.lanes
    deep = max(_GRAIN, blocks.depth * depth // 100 // _GRAIN * _GRAIN)
    return replace(blocks, depth=deep, columns=max(width, blocks.columns * columns // 100 // width * width))


def make_compact(
    name: str, vectors: Vectors, target: Target, op: Op = "nn", maker: KernelCache | None = None, threads: int = 1
) -> tuple[Instruction, list[Instruction]]:
    """The kernel that adds a product of any size to C, and its callees, itself included; several `threads` share the
    rows or columns."""
    maker = maker or KernelCache()
    blocking = choose_few_blocks(vectors, target, maker.point)
    variants = list_few_variants(vectors, blocking, op, maker.point)
    made = make_tiles(list_few_tiles(vectors, blocking, op, maker.point), blocking, maker)
    own, tiles = GemmOperands(op).name(name), Catalogue().with_instructions(made)

    def add(name: str, variants: Sequence[Variant]) -> str:
        """Make the kernels that choose one of some variants; returns the name of the last one."""
        if op == "nn":
            made.extend(make_products(name, vectors, variants, tiles, maker, ADDS))
        else:
            made.extend(make_transposed_products(name, vectors, variants, tiles, op, maker, ADDS))
        return made[-1].name

    add(own, variants)
    if threads > 1:
        panels = [replace(x, shared=True) for x in variants if x.panels]
        tall = add(f"{own}_shared", panels) if panels else ""
        known = Catalogue().with_instructions(made)
        made += make_shares(f"{own}_threads", own, vectors, blocking, known, op, first=False, tall=tall)
    return made[-1], made


def list_few_tiles(vectors: Vectors, blocking: Blocking, op: Op, point: Point = DEFAULTS) -> list[Tile]:
    """The largest tile of each family of micro-kernels that the variants call."""
    in_place: Layout = "turned" if GemmOperands(op).transposed_a else "plain"
    variants = list_few_variants(vectors, blocking, op, point)
    layouts: dict[Layout, None] = dict.fromkeys("rows" if x.packed else in_place for x in variants)
    fetch = variants[0].fetch
    return [blocking.tile(vectors, layout, first, fetch=fetch) for layout in layouts for first in ADDS]


def list_few_variants(
    vectors: Vectors, blocking: Blocking, op: Op, point: Point = DEFAULTS
) -> tuple[Variant, ...]:  # fmt: skip
    """The kernels for products of some sizes, the last for all others; a point may have all of them copy B, but
    where few rows meet a large one, or none."""
    variants = tuple(replace(x, fetch=_fetch_at(point)) for x in _variants(vectors, blocking, op))
    lies = [x for x in variants if not (x.packed or x.panels) and x.name != "thin"]
    match PACKING.value(point):
        case "always":
            return (*(x for x in variants if x not in lies),)
        case "never" if lies:
            return (*(x for x in variants if x.name == "thin"), replace(lies[0], condition=""))
        case _:
            return variants


def _fetch_at(point: Point) -> Fetch:
    given = FETCHED.value(point)
    fetches: tuple[Fetch, ...] = ("ahead", "along", "not")
    return next((x for x in fetches if x == given), FETCH)


def _variants(vectors: Vectors, blocking: Blocking, op: Op) -> tuple[Variant, ...]:
    """Copied blocks, of A only where it lies transposed, or no part of a vector can be loaded; where B does not lie
    transposed, products for which copying would take longer than it saves are summed where A and B lie."""
    operands = GemmOperands(op)
    packed = Variant("packed", "", blocking, packed=True, fetch=FETCH)
    if "plain" not in list_layouts(vectors):
        return (packed,)
    tall = replace(blocking, height=MOST_ROWS // blocking.rows * blocking.rows)
    copied = packed if operands.transposed_a else Variant("panels", "", tall, panels=True, fetch=FETCH)
    if operands.transposed_b:
        return (copied,)
    wide = wide_blocks(vectors, blocking)
    if operands.transposed_a:
        near = f"m * n * k <= {SMALL} && {spread_rows(vectors)}"
        return Variant("plain", f"n <= {NARROW} || {near}", wide, fetch=FETCH), copied
    thin = Variant("thin", f"m <= {2 * blocking.rows} && n * k > {LARGE}", replace(wide, depth=THIN_DEPTH), fetch=FETCH)
    near = f"(m <= {NARROW} || m * n * k <= {SMALL}) && {spread_rows(vectors)}"
    return thin, Variant("plain", near, blocking, fetch=FETCH), copied
