"""Loops over blocks: the loops of a nest are split and reordered by the steps of the scheduling language, which check
that this is legal.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "C[i, j] = 0.0:f32 for k in 0 .. 64 { C[i, j] += A[i, k] * B[k, j] }"
>>> text = f"for i in 0 .. 8 {{ for j in 0 .. 40 {{ {text} }} }}"
>>> kernel = parse_kernel(f"kernel f(A: f32[8, 64], B: f32[64, 40], C: f32[8, 40]) {{ {text} }}")
>>> made = in_blocks(Program.of(kernel), BlockShape((("j", 32), ("k", 16))))
>>> print(print_stmt(made.kernel.body.body[0]))
for j_t in 0 .. 2 {
  for i in 0 .. 8 {
    for j in 0 .. min(40 - 32 * j_t, 32) {
      C[i, 32 * j_t + j] = 0.0:f32
    }
  }
  for k_t in 0 .. 4 {
    for i in 0 .. 8 {
      for j in 0 .. min(40 - 32 * j_t, 32) {
        for k in 0 .. 16 {
          C[i, 32 * j_t + j] += A[i, 16 * k_t + k] * B[16 * k_t + k, 32 * j_t + j]
        }
      }
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planish.ir.nest import Block, For, Kernel
from planish.ir.traverse import walk
from planish.schedule.program import Cursor, Program
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.loops import Fission, Split

_BLOCKS = "_t"


@dataclass(frozen=True, slots=True)
class BlockShape:
    """Which loops run over blocks, outer ones first, and how many of their iterations a block has. `overlap`: parts are
    moved while others are worked on, for which they have more than one buffer. `kept`: arrays of which a part stays
    near for all blocks inside of a loop, by its name, though it could be smaller further inside."""

    loops: tuple[tuple[str, int], ...]
    overlap: bool = True
    kept: tuple[tuple[str, str], ...] = ()

    def describe(self) -> str:
        """The shape in words.

        >>> BlockShape((("i", 96), ("j", 128))).describe()
        'blocks of 96 of i, 128 of j'
        """
        return "blocks of " + ", ".join(f"{size} of {var}" for var, size in self.loops) if self.loops else "one block"


@dataclass(frozen=True, slots=True)
class NestBands:
    """The loops of a nest that can run over blocks: those directly inside of each other from the outermost on, and for
    each loop in the innermost of them, those directly inside of each other from there on."""

    outer: tuple[For, ...]
    inner: tuple[tuple[For, ...], ...]

    @staticmethod
    def of(nest: For) -> NestBands:
        """The bands of a nest."""
        outer = band_of(nest)
        inner = tuple(band_of(x) for x in outer[-1].body.body if isinstance(x, For))
        return NestBands(outer, inner)

    def variables(self) -> tuple[str, ...]:
        """All of them by their names."""
        return tuple(x.var for band in (self.outer, *self.inner) for x in band)


def band_of(loop: For) -> tuple[For, ...]:
    """A loop and those directly inside of each other in it."""
    out = [loop]
    while len(loop.body.body) == 1 and isinstance(loop.body.body[0], For):
        loop = loop.body.body[0]
        out.append(loop)
    return tuple(out)


def nests_of(kernel: Kernel) -> tuple[For, ...]:
    """The loops that no others are around."""
    return tuple(x for x in kernel.body.body if isinstance(x, For))


def block_loop(var: str) -> str:
    """The name of the loop over blocks of a loop."""
    return f"{var}{_BLOCKS}"


def is_block_loop(loop: For, shape: BlockShape) -> bool:
    """Whether a loop runs over blocks."""
    return loop.var in {block_loop(var) for var, _ in shape.loops}


def in_blocks(program: Program, shape: BlockShape) -> Program:
    """The program with loops over blocks outside of those in a block; PlanishError where that is not legal."""
    sizes = dict(shape.loops)
    for nest in nests_of(program.kernel):
        bands = NestBands.of(nest)
        program = _in_blocks(program, bands.outer, shape)
        if any(x.var in sizes for band in bands.inner for x in band):
            program = _apart(program, bands)
            for band in bands.inner:
                program = _in_blocks(program, band, shape, bands.outer)
    return program


def _in_blocks(program: Program, band: Sequence[For], shape: BlockShape, around: Sequence[For] = ()) -> Program:
    """The loops of a band in blocks: those over blocks go outside of it, and of the loops in a block `around` it."""
    own = [x.var for x in band if x.var in dict(shape.loops)]
    if not own:
        return program
    for x in band:
        if x.var in own:
            program = program.apply(_split_one(program, x, shape))
    blocks = [block_loop(var) for var, _ in shape.loops if var in own]
    points = [x.var for x in (*around, *band)]
    top = block_loop(points[0]) if points[0] in own else points[0]
    label = _loop_around(program, band[-1].body, top).label
    return program.apply(Reorder(Cursor(program, label), (*blocks, *points)))


def _split_one(program: Program, loop: For, shape: BlockShape) -> Split:
    size = dict(shape.loops)[loop.var]
    return Split(Cursor(program, loop.label), size, (block_loop(loop.var), loop.var), tail="short")


def _loop_around(program: Program, body: Block, var: str) -> For:
    """The loop of a variable around what was a loop's body."""
    first = next(x for x in walk(body) if not isinstance(x, Block))
    return next(x for x in program.path(first.label) if isinstance(x, For) and x.var == var)


def _apart(program: Program, bands: NestBands) -> Program:
    """The loops in a block of the outer band around each part of what is in it by itself."""
    parts = [x for x in bands.outer[-1].body.body if not isinstance(x, Block)]
    for x in parts[:-1]:
        program = program.apply(Fission(Cursor(program, x.label), len(bands.outer)))
    return program
