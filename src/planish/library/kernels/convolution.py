"""Direct convolution without im2col: tiles of output positions by features, accumulated in registers.

A row of tiles is transposed on its way to the output, whose neighbours are places.

>>> from planish.ir.types import F32
>>> from planish.library.kernels.gemm.window import Window
>>> from planish.library.kernels.vectors import find_vectors
>>> from planish.target.load import load_target
>>> shape = choose_shape(find_vectors("avx512", F32), Window((3, 3)), load_target("x86-avx512"))
>>> shape.tile.rows, shape.tile.columns, shape.name
(14, 32, 'planish_conv_add_f32_3x3')
"""

from __future__ import annotations

from dataclasses import dataclass

from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_kernel
from planish.isa.instruction import Catalogue, Instruction
from planish.library.conv.conv_packed.vnni_operands import (
    PANELS,
    WOVEN_ROWS,
    left_of_features,
    make_weavers,
    weave_operands,
)
from planish.library.kernels.as_instruction import make_callable
from planish.library.kernels.gemm.edges import make_family, name_family
from planish.library.kernels.gemm.microkernel import Tile, choose_tile
from planish.library.kernels.gemm.operands import spell_number, spell_term
from planish.library.kernels.gemm.window import Window
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.kernels.transpose import turn_squares
from planish.library.kernels.vectors import Vectors
from planish.schedule.program import Program
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.buffers import LiftAlloc, StageMem
from planish.schedule.steps.control import Sink, Specialise
from planish.schedule.steps.facts import Parallelise, Vectorise
from planish.schedule.steps.instructions import Replace
from planish.schedule.steps.kernels import RenameLoop, Simplify
from planish.schedule.steps.loops import Fission, Split
from planish.schedule.steps.padding import Widen
from planish.schedule.steps.storage import ReorderDims
from planish.target.machine import Target

ROWS = 8
"""So many rows of places are the share of a thread: what it transposes has to be worth it."""
TILES = 8
"""So many tiles of a row are transposed together."""


@dataclass(frozen=True, slots=True)
class ConvShape:
    """How a convolution is cut: into tiles, for so many channels at a time that the weights of a tile's features stay
    in the second cache. `first`: it is stored, not added."""

    tile: Tile
    depth: int
    first: bool = False

    @property
    def window(self) -> Window:
        """The window that the tiles read."""
        return self.tile.window or Window()

    @property
    def name(self) -> str:
        """What the kernel is called."""
        return f"planish_conv_{'' if self.first else 'add_'}{self.tile.vectors_of.product.name}_{self.window.name}"


def choose_shape(vectors: Vectors, window: Window, target: Target, first: bool = False) -> ConvShape:
    """The largest tile, and as many channels as leave half of the second cache to the image; where these are packed in
    groups, as many as fit with a block of the image in three quarters of it."""
    rows, count = choose_tile(vectors)
    tile = Tile(vectors, rows, count, layout="window", fetch="not", window=window)
    room, word = target.cache(2).share // 2, vectors.product.right.size * tile.group
    weights = window.size * tile.columns * word
    if tile.group == 1:
        depth = room // weights
    else:
        block = window.seen_by(WOVEN_ROWS, 0) * window.seen_by(TILES * rows, 1) * word
        depth = room * 3 // 2 // (PANELS * weights + block)
    return ConvShape(tile, max(1, depth // vectors.lanes) * vectors.lanes, first)


def make_convolution(shape: ConvShape, maker: KernelCache, threads: int = 1) -> tuple[Instruction, list[Instruction]]:
    """The convolution of any image by any features, and its callees, itself included; several `threads` share the
    features or rows."""
    made = make_family(shape.tile, maker=maker)
    if shape.tile.group > 1:
        made += make_weavers(shape.tile, maker)
        groups = define_groups(f"{shape.name}_groups", shape)
        made.append(maker.make(groups.name, _make_whole, groups, shape, Catalogue().with_instructions(made)))
        made.append(maker.make(shape.name, _make_sums, shape, Catalogue().with_instructions(made[-1:])))
    else:
        whole = define_convolution(shape.name, shape)
        made.append(maker.make(shape.name, _make_whole, whole, shape, Catalogue().with_instructions(made)))
    if threads > 1:
        name = f"{shape.name}_threads"
        made.append(maker.make(name, _make_shares, name, shape, Catalogue().with_instructions(made[-1:])))
    return made[-1], made


def define_convolution(name: str, shape: ConvShape) -> Kernel:
    """The plain nest: features f, places y and x, channels p, elements r and s of the window. Rows of the image are as
    long as it is wide; the weights of a feature lie one after the other."""
    return _define(name, shape, 1, _spell_update(shape, "p"))


def define_groups(name: str, shape: ConvShape) -> Kernel:
    """The nest for whole groups of channels, which k counts."""
    g = shape.tile.group
    return _define(name, shape, g, f"for q in 0 .. {g} {{ {_spell_update(shape, f'{g} * p + q')} }}")


def _spell_update(shape: ConvShape, channel: str) -> str:
    w, factors = shape.window, shape.tile.vectors_of.product
    return f"C[f, y, x] += {spell_term(factors, w.seen('y', 'x', channel), f'f, {w.place(channel)}', scaled=False)}"


def _define(name: str, shape: ConvShape, group: int, update: str) -> Kernel:
    """The nest around an `update` of each group of so many channels."""
    w, factors = shape.window, shape.tile.vectors_of.product
    known = (
        "nf >= 1", "k >= 1", "oh >= 1", "ow >= 1", f"ih >= {w.reach('oh', 0)}", f"iw >= {w.reach('ow', 1)}",
        f"ldw >= {w.size * group} * k", "ho >= oh", "wo >= ow",
    )  # fmt: skip
    clear = f"C[f, y, x] = {spell_number(0, factors)} " if shape.first else ""
    return parse_kernel(
        f"kernel {name}(nf, k, oh, ow, ih, iw, ldw, ho, wo;"
        f" A: {factors.left}[{group} * k, ih, iw], B: {factors.right}[nf, ldw], C: {factors.sum}[nf, ho, wo] distinct)"
        f" {' '.join(f'assume {x}' for x in known)}"
        f" {{ for f in 0 .. nf {{ for y in 0 .. oh {{ for x in 0 .. ow {{ {clear} {w.around(update)} }} }} }} }}"
    )


def _make_whole(definition: Kernel, shape: ConvShape, tiles: Catalogue) -> Instruction:
    return make_callable(definition, cut_convolution(definition, shape, tiles))


def _make_sums(shape: ConvShape, known: Catalogue) -> Instruction:
    """The kernel for any number of channels: whole groups by the one for these, then what is left by plain loops."""
    definition, g = define_convolution(shape.name, shape), shape.tile.group
    program = Program.of(definition, catalogue=known).apply(Specialise("f", f"k >= {g}"), Simplify())
    program = program.apply(Split("p", g, ("pg", "q"), "cut"), Fission("pg", 3), Reorder("pg", ("pg", "r", "s", "q")))
    program = program.apply(Replace("f", f"{shape.name}_groups"))
    program = program.apply(Specialise("f #2", f"k % {g} > 0"), Simplify())
    return make_callable(definition, program.apply(Reorder("f #2", ("f", "y", "q", "r", "s", "x")), Vectorise("x #2")))


def _make_shares(name: str, shape: ConvShape, known: Catalogue) -> Instruction:
    definition, columns = define_convolution(name, shape), shape.tile.columns
    program = Program.of(definition, catalogue=known)
    loop = program.find("f")
    # What shares pack of the image is the less, the more features they have.
    shares = (columns,) if shape.tile.group == 1 else (PANELS * columns, columns)
    for n, share in enumerate(shares):
        program = program.apply(Specialise(loop, f"nf > {share}"))
        rest = program.cursor(loop).parent().body()[-1]
        outer, inner = f"ft{n}", f"fs{n}"
        program = program.apply(Split(loop, share, (outer, inner), "short"), Replace(inner, shape.name))
        program, loop = program.apply(Parallelise(outer)), rest
    # All features are those of one tile.
    program = program.apply(
        Split(f"y #{len(shares) + 1}", ROWS, ("yt", "ys"), "short"), Reorder("f", ("yt", "f", "ys")),
        Replace("f", shape.name), Parallelise("yt"),
    )  # fmt: skip
    return make_callable(definition, program)


def cut_convolution(definition: Kernel, shape: ConvShape, tiles: Catalogue) -> Program:
    """The nest by blocks of channels and features, whose weights are transposed once, and by rows of tiles."""
    tile = shape.tile
    program = Program.of(definition, catalogue=tiles).apply(Split("p", shape.depth, ("pb", "p"), "short"))
    program = program.apply(Sink("C[_] = _")) if shape.first else program
    program = program.apply(
        Split("x", TILES * tile.rows, ("xb", "xc"), "short"), Split("xc", tile.rows, ("xr", "ii"), "short")
    )
    program = (_turn_weights if tile.group == 1 else weave_operands)(program, tile, shape.first)
    if shape.first:
        program = program.apply(Specialise("y", "pb == 0"), Simplify())
        program = _stage_row(program, tile, "u", " #2", False)
    program = _stage_row(program, tile, "t", "", shape.first)
    for buffer in ("a: _", "b: _", "t: _", "u: _"):
        while program.has(buffer) and len(program.path(buffer)) > 1:
            program = program.apply(LiftAlloc(buffer, 1, expand=False))
    return program.apply(Simplify())


def _turn_weights(program: Program, tile: Tile, first: bool) -> Program:
    """Tiles of features in their order, with the weights of one as a panel."""
    order = ("pb", "fb", "y", "xb", "xr", "ii", "jj")
    program = program.apply(
        Split("f", tile.columns, ("fb", "jj"), "short"), Reorder("fb", order if first else (*order, "p", "r", "s")),
        StageMem("y", "B", "b", "scratch", clip=True), ReorderDims("b: _", (1, 0)),
        RenameLoop("b_0", "wf"), RenameLoop("b_1", "wp"), Widen("wf", tile.columns, zero=True),
    )  # fmt: skip
    return _turn(program, tile, ("wf", "wp"), 0)


def _stage_row(program: Program, tile: Tile, name: str, which: str, first: bool) -> Program:
    """The part of a row of places that some tiles write, in a buffer with features as neighbours, transposed where it
    comes and goes. `which`: of the loops of a name; `first`: nothing comes, the buffer is cleared."""
    program = program.apply(StageMem(f"xr{which}", "C", name, "scratch", clip=True), ReorderDims(f"{name}: _", (1, 0)))
    going, coming = (f"{name}of", f"{name}ox"), (f"{name}if", f"{name}ix")
    for loops in (going,) if first else (coming, going):
        program = program.apply(RenameLoop(f"{name}_0", loops[0]), RenameLoop(f"{name}_2", loops[1]))
    # What the last features leave of a tile is zeros.
    if first:
        program = program.apply(
            Fission(f"{name}[_] = _", 3), RenameLoop("xr", "zr"), RenameLoop("ii", "zi"), RenameLoop("jj", "zj"),
            Widen("zj", tile.columns), Vectorise("zj"),
        )  # fmt: skip
    else:
        program = program.apply(Widen(coming[0], tile.columns, zero=True))
    program = program.apply(Widen(f"jj{which}", tile.columns), Replace(f"ii{which}", name_family(tile)))
    program = program if first else _turn(program, tile, coming, 0)
    return _turn(program, tile, going, 1)


def _turn(program: Program, tile: Tile, loops: tuple[str, str], inner: int) -> Program:
    """Copy by squares what lies transposed, where there are all features of a tile; `inner`: which of the loops, over
    features and others, goes along what is written."""
    columns, lanes = tile.columns, tile.vectors_of.lanes
    program = program.apply(Specialise(loops[0], f"{left_of_features(tile)} >= {columns}"), Simplify())
    outer = [f"{x}b" for x in loops]
    for loop, block in zip(loops, outer, strict=True):
        program = program.apply(Split(loop, lanes, (block, loop), "short"))
    slow, fast = loops[inner], loops[1 - inner]
    program = program.apply(Reorder(outer[0], (*(outer if inner else reversed(outer)), slow, fast)))
    return turn_squares(program, tile.vectors_of, (slow, fast), "transpose")
