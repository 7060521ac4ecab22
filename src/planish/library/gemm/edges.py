"""A tile of any size up to the largest: a kernel that calls the micro-kernel for the rows and vectors that there are.

>>> family = make_family(Tile(find_vectors("avx512", F32), 2, 1))
>>> [x.name for x in family]
['ukr_avx512_f32_2x16', 'ukr_avx512_f32_2x16_masked', 'ukr_avx512_f32_1x16_masked', 'tile_avx512_f32_2x16']
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from planish.isa.instruction import Instruction
from planish.library.calls import catalogue_of, make_callable
from planish.library.gemm.microkernel import Panel, Tile, define_micro, define_tile, make_micro
from planish.library.vectors import F32, find_vectors
from planish.schedule.program import Program
from planish.schedule.steps.control import Specialise
from planish.schedule.steps.instructions import Replace

__all__ = ["F32", "find_vectors", "make_family", "name_family"]

Tell = Callable[[str], None]


def _quiet(message: str) -> None:
    pass


def make_family(largest: Tile, depth: int = 0, tell: Tell = _quiet) -> list[Instruction]:
    """The micro-kernels of all tiles up to the largest, and the last: the kernel that chooses one of them. `depth`: the
    length of A's rows in the layout "rows". `tell` hears what is being made."""
    panel = Panel(largest.rows, largest.columns, depth)
    made: list[Instruction] = []
    for tile in _tiles(largest):
        tell(tile.name)
        made.append(make_callable(define_micro(tile, panel), make_micro(tile, panel)))
    name = name_family(largest)
    known = [f"m >= 1 && m <= {largest.rows}", f"n >= 1 && n <= {largest.columns}"]
    definition = define_tile(largest, name, known, panel)
    program = Program.of(definition, catalogue=catalogue_of(made))
    tell(name)
    for number, tile in enumerate(_tiles(largest), 1):
        if number < len(made):
            program = program.apply(Specialise(f"i #{number}", _condition(tile)))
        program = program.apply(Replace(f"i #{number}", tile.name))
    return [*made, make_callable(definition, program)]


def name_family(largest: Tile) -> str:
    """What the kernel for a tile of any size up to the largest is called."""
    return largest.name.replace("ukr", "tile", 1)


def _tiles(largest: Tile) -> Iterator[Tile]:
    """The whole tile first, then those of fewer rows and vectors, the largest first."""
    yield largest
    for vectors in range(largest.vectors, 0, -1):
        for rows in range(largest.rows, 0, -1):
            yield replace(largest, rows=rows, vectors=vectors, masked=True)


def _condition(tile: Tile) -> str:
    """When a tile is the one, given that those before it are not."""
    if not tile.masked:
        return f"m == {tile.rows} && n == {tile.columns}"
    return f"m == {tile.rows} && n > {tile.whole}" if tile.whole else f"m == {tile.rows}"
