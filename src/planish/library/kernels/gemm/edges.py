"""Edge tiles: one kernel that dispatches to the micro-kernel of the rows and vectors that are left.

>>> from planish.ir.types import F32
>>> from planish.library.kernels.vectors import find_vectors
>>> family = make_family(Tile(find_vectors("avx512", F32), 2, 1))
>>> [x.name for x in family[2:]]
['ukr_avx512_f32_1x16_masked', 'ukr_avx512_f32_2x16_masked', 'tile_avx512_f32_2x16']
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from planish.isa.instruction import Catalogue, Instruction
from planish.library.kernels.as_instruction import make_callable
from planish.library.kernels.gemm.microkernel import Panel, Tile, define_micro, define_tile, make_micro
from planish.library.kernels.kernel_cache import KernelCache
from planish.schedule.program import Cursor, Program
from planish.schedule.steps.control import Specialise
from planish.schedule.steps.facts import Vectorise
from planish.schedule.steps.instructions import Replace
from planish.schedule.steps.loops import Fission


def make_family(largest: Tile, depth: int = 0, maker: KernelCache | None = None) -> list[Instruction]:
    """The micro-kernels of all tiles up to the largest, and the last: the kernel that chooses one of them. `depth`: the
    length of A's rows in the layout "rows"."""
    # In other layouts nothing depends on the length, and one family does for all of them.
    depth = depth if largest.layout == "rows" else 0
    panel, maker = Panel(largest.rows, largest.columns, depth), maker or KernelCache()
    tiles = (x for tiles in _rows_of_tiles(largest) for x in tiles)
    made = [maker.make(tile.name, _make_tile, tile, panel) for tile in tiles]
    known = Catalogue().with_instructions(made)
    return [*made, maker.make(name_family(largest), _make_chooser, largest, panel, known)]


def make_storing(largest: Tile, family: Sequence[Instruction], maker: KernelCache | None = None) -> list[Instruction]:
    """The micro-kernel that stores the largest tile, and the kernel that stores any one up to that: zeros where it is
    smaller, to which the last of a `family` of tiles adds. Few kernels do for what is mostly whole."""
    panel, maker = Panel(largest.rows, largest.columns, 0), maker or KernelCache()
    whole = maker.make(largest.name, _make_tile, largest, panel)
    known = Catalogue().with_instructions([*family, whole])
    return [whole, maker.make(name_family(largest), _make_mostly_whole, largest, panel, family[-1].name, known)]


def _make_mostly_whole(largest: Tile, panel: Panel, add: str, tiles: Catalogue) -> Instruction:
    known = [f"m >= 1 && m <= {largest.rows}", f"n >= 1 && n <= {largest.columns}"]
    definition = define_tile(largest, name_family(largest), known, panel)
    program = Program.of(definition, catalogue=tiles)
    program = program.apply(Specialise("i", f"m == {largest.rows} && n == {largest.columns}"))
    program = program.apply(Replace("i", largest.name), Fission("C[_] = _ #2", 2), Vectorise("j #2"))
    return make_callable(definition, program.apply(Replace("i #3", add)))


def _make_tile(tile: Tile, panel: Panel) -> Instruction:
    """The micro-kernel of one tile."""
    return make_callable(define_micro(tile, panel), make_micro(tile, panel))


def _make_chooser(largest: Tile, panel: Panel, tiles: Catalogue) -> Instruction:
    """The kernel that calls that of the tile with as many rows and vectors as there are."""
    columns = f"n >= 1 && n <= {largest.columns}" if largest.window is None else f"n == {largest.columns}"
    known = [f"m >= 1 && m <= {largest.rows}", columns]
    definition = define_tile(largest, name_family(largest), known, panel)
    program = Program.of(definition, catalogue=tiles)
    loop = program.find("i")
    for row in _rows_of_tiles(largest):
        rest = loop
        condition = f"n > {row[0].whole}" if row[0].masked else f"n == {largest.columns}"
        if condition != "n > 0" and largest.window is None:
            program = program.apply(Specialise(loop, condition))
            rest = program.cursor(loop).parent().body()[-1]
        program = _choose(program, loop, row)
        loop = rest
    return make_callable(definition, program)


def _choose(program: Program, loop: Cursor, tiles: Sequence[Tile]) -> Program:
    """Give a loop to the kernel of the tile with as many rows as there are, found by halves."""
    if len(tiles) == 1:
        return program.apply(Replace(loop, tiles[0].name))
    middle = len(tiles) // 2
    program = program.apply(Specialise(loop, f"m <= {tiles[middle - 1].rows}"))
    rest = program.cursor(loop).parent().body()[-1]
    return _choose(_choose(program, loop, tiles[:middle]), rest, tiles[middle:])


def name_family(largest: Tile) -> str:
    """The name of the kernel for a tile of any size up to the largest."""
    return largest.name.replace("ukr", "tile", 1)


def _rows_of_tiles(largest: Tile) -> Iterator[list[Tile]]:
    """The tiles of one to all rows: of whole vectors, then with a part of the last vector, the widest first. Those that
    see a window write to buffers, so that all of their vectors are whole."""
    yield [replace(largest, rows=rows) for rows in range(1, largest.rows + 1)]
    for count in range(largest.vectors if largest.window is None else 0, 0, -1):
        # What fetches nothing is the same however C is fetched.
        edge = replace(largest, vectors=count, masked=True, fetch="ahead")
        yield [replace(edge, rows=rows) for rows in range(1, largest.rows + 1)]


def count_family(rows: int, vectors: int) -> int:
    """How many kernels a family has, with the one that chooses."""
    return rows * (vectors + 1) + 1
