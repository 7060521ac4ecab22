"""A GEMM of one small size known at compile time: tiles that fit it, summed by rows of B or along k.

Whole registers of columns are summed row by row of B. The few columns that are left would fill one in part only; where
it pays they are summed along k instead, each sum in the lanes of a register.

>>> from planish.library.kernels.vectors import PRODUCTS, find_vectors
>>> size = GemmSize(find_vectors("avx512", PRODUCTS["f32"]), 33, 17, 256)
>>> size.name, choose_pieces(size)
('33x17x256', (ColumnBlock(start=0, width=16, dots=False), ColumnBlock(start=16, width=1, dots=True)))
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_kernel
from planish.isa.instruction import Catalogue, Instruction
from planish.library.kernels.as_instruction import make_callable
from planish.library.kernels.gemm.dot import AT_ONCE, DotTile, define_dot, make_dot
from planish.library.kernels.gemm.microkernel import Tile, define_micro, make_micro
from planish.library.kernels.gemm.operands import spell_number, spell_term
from planish.library.kernels.vectors import Vectors
from planish.schedule.program import Program
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.buffers import StageMem
from planish.schedule.steps.instructions import Replace
from planish.schedule.steps.kernels import RenameLoop
from planish.schedule.steps.loops import Fission, Peel, Split, Unroll
from planish.schedule.steps.storage import ReorderDims

WIDEST = 3
"""The registers in a row of a tile, at most: wider ones have too few rows."""
ENOUGH = 8
"""So many sums at a time do not wait for each other: two are begun in a cycle, and one takes four."""
TURNS = ((4, "turn", 0.25), (2, "turn_two", 0.35), (1, "gather", 0.7))
"""The instructions that turn columns of B round: how many they do at a time, and cycles for each element (on Zen 5)."""
TOGETHER, ALONE = 1.6, 4.0
"""Cycles to add up the lanes of a sum, with others or by itself (on Zen 5)."""
OVERHEAD = 30.0
"""Cycles that a tile takes besides."""


@dataclass(frozen=True, slots=True)
class GemmSize:
    """The sizes of a product, and the distances of rows (as many as there are elements where 0). `first`: the product
    is stored, not added."""

    vectors: Vectors
    m: int
    n: int
    k: int
    lda: int = 0
    ldb: int = 0
    ldc: int = 0
    first: bool = True

    @property
    def name(self) -> str:
        """What the sizes are called in names of kernels."""
        apart = () if self.distances == (self.k, self.n, self.n) else self.distances
        return "_".join((f"{self.m}x{self.n}x{self.k}", *map(str, apart)))

    @property
    def distances(self) -> tuple[int, int, int]:
        """The distances of rows of A, B and C."""
        return self.lda or self.k, self.ldb or self.n, self.ldc or self.n

    @property
    def is_vector(self) -> bool:
        """Whether B is one column without gaps."""
        return self.n == 1 and self.distances[1] == 1 and choose_pieces(self)[0].dots


@dataclass(frozen=True, slots=True)
class ColumnBlock:
    """Columns of C from `start` on, summed row by row of B, or along k (`dots`)."""

    start: int
    width: int
    dots: bool


def choose_pieces(size: GemmSize) -> tuple[ColumnBlock, ...]:
    """The columns in pieces: whole registers, and what is left over as that takes the least time."""
    lanes = size.vectors.lanes
    whole = size.n // lanes * lanes
    dots = tuple(_cut_dots(whole, size.n))
    able = dots and size.k % lanes == 0 and size.vectors.has("scaled_sum_to")
    if able and sum(_time_dots(size, x.width) for x in dots) < _time_rows(size, bool(whole)):
        return (*_cut_rows(0, whole, lanes), *dots)
    return tuple(_cut_rows(0, size.n, lanes))


def _time_rows(size: GemmSize, others: bool) -> float:
    """Cycles for one more register of columns, used in part; `others`: beside others."""
    return size.m * size.k / 2 if others else max(size.m, 2) * size.k / 2 + OVERHEAD


def _time_dots(size: GemmSize, columns: int) -> float:
    """Cycles for some columns along k."""
    sums, lanes = size.m * columns, size.vectors.lanes
    alone = 0 if columns % AT_ONCE == 0 else size.m % AT_ONCE * columns
    turned = next(cycles for count, _, cycles in TURNS if count <= columns) * columns * size.k
    if size.n == 1 and size.distances[1] == 1:
        turned = 0.0
    added = TOGETHER * (sums - alone) + ALONE * alone
    tiles = -(-size.m // _most_rows(size, columns))
    return max(sums, ENOUGH) * size.k / lanes * 0.55 + added + turned + OVERHEAD * tiles


def _most_rows(size: GemmSize, columns: int) -> int:
    """The rows of a tile along k, at most: for all of them and for their sums there have to be registers, and they are
    added up so many at once."""
    rows = (size.vectors.registers - 2) // (columns + 1)
    return rows if columns % AT_ONCE == 0 else rows // AT_ONCE * AT_ONCE


def _cut_dots(start: int, end: int) -> Iterator[ColumnBlock]:
    """Pieces of as many columns as are added up at once, and one of what is left over."""
    while start < end:
        width = min(AT_ONCE, end - start)
        yield ColumnBlock(start, width, True)
        start += width


def _cut_rows(start: int, end: int, lanes: int) -> Iterator[ColumnBlock]:
    """Pieces of few registers, as even as can be."""
    left = -(-(end - start) // lanes)
    while left:
        count = -(-left // -(-left // WIDEST))
        width = min(count * lanes, end - start)
        yield ColumnBlock(start, width, False)
        start, left = start + width, left - count


def list_tiles(size: GemmSize, piece: ColumnBlock) -> list[Tile | DotTile]:
    """The tiles of a piece from the top on: the one that is repeated, and what is left over, if anything is."""
    v = size.vectors
    count = -(-piece.width // v.lanes)
    most = _most_rows(size, piece.width) if piece.dots else (v.registers - count - 1) // count
    rows = -(-size.m // -(-size.m // most))
    if piece.dots and piece.width % AT_ONCE and rows < size.m:
        rows = -(-rows // AT_ONCE) * AT_ONCE
    heights = [rows, *([size.m % rows] if size.m % rows else [])]
    if piece.dots:
        return [DotTile(v, x, piece.width, size.distances[2], size.first) for x in heights]
    return [_with_parts(Tile(v, x, count, piece.width % v.lanes != 0, size.first, "plain"), size.k) for x in heights]


def _with_parts(tile: Tile, depth: int) -> Tile:
    """The tile with its sums in as many parts as keep the processor busy."""
    parts = 1
    while tile.rows * tile.vectors * parts < ENOUGH and depth % (2 * parts) == 0:
        parts *= 2
    return replace(tile, parts=parts)


def define_small(name: str, size: GemmSize) -> Kernel:
    """The plain triple loop of constant sizes."""
    product, (lda, ldb, ldc) = size.vectors.product, size.distances
    at, b = ("p", f"{size.k}") if size.is_vector else ("p, j", f"{size.k}, {ldb}")
    clear = f"C[i, j] = {spell_number(0, product)}" if size.first else ""
    return parse_kernel(
        f"kernel {name}(alpha: {product.sum}; A: {product.left}[{size.m}, {lda}], B: {product.right}[{b}],"
        f" C: {product.sum}[{size.m}, {ldc}] distinct) {{ for i in 0 .. {size.m} {{ for j in 0 .. {size.n} {{ {clear}"
        f" for p in 0 .. {size.k} {{ C[i, j] += {spell_term(product, 'i, p', at)} }} }} }} }}"
    )


def make_small(name: str, size: GemmSize, known: dict[str, Instruction]) -> Program:
    """The product of one size; the kernels of its tiles are `known`, or made and added."""
    pieces = choose_pieces(size)
    for tile in (x for piece in pieces for x in list_tiles(size, piece)):
        if tile.name not in known:
            known[tile.name] = _make_tile(tile)
    program = Program.of(define_small(name, size), catalogue=Catalogue().with_instructions(known.values()))
    for place, piece in enumerate(pieces[:-1]):
        loop = _nth("j", place)
        program = program.apply(Peel(loop, piece.width), Fission(loop, 1))
    for place, piece in reversed(list(enumerate(pieces))):
        program = _tile_rows(program, size, piece, place)
    return program


def _make_tile(tile: Tile | DotTile) -> Instruction:
    if isinstance(tile, DotTile):
        return make_callable(define_dot(tile), make_dot(tile))
    return make_callable(define_micro(tile), make_micro(tile))


def _nth(loop: str, place: int) -> str:
    return f"{loop} #{place + 1}" if place else loop


def _tile_rows(program: Program, size: GemmSize, piece: ColumnBlock, place: int) -> Program:
    """The rows of a piece, the loops of which are in that place, given to its tiles."""
    tiles, loop, inner = list_tiles(size, piece), _nth("i", place), f"i{place}"
    if piece.dots and not size.is_vector:
        program = _turn(program, size, piece, place)
    if tiles[0].rows == size.m:
        return program.apply(Replace(loop, tiles[0].name))
    program = program.apply(Split(loop, tiles[0].rows, (f"t{place}", inner), "cut"), Replace(inner, tiles[0].name))
    return program.apply(Replace(f"{inner} #2", tiles[1].name)) if len(tiles) > 1 else program


def _turn(program: Program, size: GemmSize, piece: ColumnBlock, place: int) -> Program:
    """The columns of B as rows: as many at a time as instructions transpose."""
    v, b = size.vectors, f"b{place}"
    program = program.apply(StageMem(_nth("i", place), "B", b))
    if piece.width > 1:
        program = program.apply(ReorderDims(f"{b}: _", (1, 0)))
    rows, columns, left = f"{b}_0", f"{b}_1", piece.width
    for count, operation, _ in TURNS:
        if left < count:
            continue
        inner, outer, lane, several = (f"{b}{word}{count}" for word in ("i", "o", "l", "s"))
        if count > 1:
            program = program.apply(Split(columns, count, (several, inner), "cut"))
            if left > count:
                further = f"{b}r{count}", f"{b}c{count}"
                program = program.apply(Fission(several, 1), RenameLoop(f"{rows} #2", further[0]))
                program = program.apply(RenameLoop(f"{inner} #2", further[1]))
            program = program.apply(Reorder(rows, (several, rows, inner)), Unroll(inner))
        elif piece.width > 1:
            program = program.apply(Reorder(rows, (columns, rows)))
        program = program.apply(Split(rows, v.lanes, (outer, lane), "perfect"), Replace(lane, v.name(operation)))
        rows, columns, left = f"{b}r{count}", f"{b}c{count}", left - count
    return program
