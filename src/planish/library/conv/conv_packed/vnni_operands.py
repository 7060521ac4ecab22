"""VNNI packing of bf16 and byte convolution operands: groups of neighbouring channels lie together, in the image and in
the weights.

>>> from planish.library.kernels.gemm.window import Window
>>> from planish.library.kernels.vectors import PRODUCTS, find_vectors
>>> tile = Tile(find_vectors("avx512", PRODUCTS["bf16"]), 14, 2, layout="window", fetch="not", window=Window((3, 3)))
>>> [x.name for x in make_weavers(tile, KernelCache())]
['planish_weave_weights_bf16_3x3_32', 'planish_weave_image_bf16']
"""

from __future__ import annotations

from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_kernel
from planish.isa.instruction import Instruction
from planish.library.kernels.as_instruction import make_callable
from planish.library.kernels.gemm.microkernel import Tile
from planish.library.kernels.gemm.window import Window
from planish.library.kernels.kernel_cache import KernelCache
from planish.schedule.program import Program
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.buffers import StageMem
from planish.schedule.steps.control import Specialise
from planish.schedule.steps.instructions import Replace
from planish.schedule.steps.kernels import Simplify
from planish.schedule.steps.loops import Split, Unroll
from planish.schedule.steps.padding import Widen
from planish.schedule.steps.storage import ReorderDims, SplitDim

PANELS = 2
"""So many tiles of features read what was packed of the image."""
WOVEN_ROWS = 8
"""So many rows of places read what was packed of the image."""
SQUARE = 8
"""So many weights of a feature are packed together."""


def weave_operands(program: Program, tile: Tile, first: bool) -> Program:
    """Blocks of features, of rows of places and of tiles along these, each of which packs its part of the image."""
    order = ("pb", "fg", "yb", "xb", "fb", "y", "xr", "ii", "jj")
    size, group, columns = _size(tile), tile.group, tile.columns
    program = program.apply(
        Split("f", PANELS * columns, ("fg", "fi"), "short"), Split("fi", columns, ("fb", "jj"), "short"),
        Split("y", WOVEN_ROWS, ("yb", "y"), "short"), Reorder("fg", order if first else (*order, "p", "r", "s", "q")),
        StageMem("yb", "B", "b", "scratch", clip=True), StageMem("fb", "A", "a", "scratch", clip=True),
    )  # fmt: skip
    program = program.apply(
        Split("b_0", columns, ("bf", "bj"), "short"), SplitDim("b: _", 1, size), SplitDim("b: _", 1, group),
        SplitDim("b: _", 0, columns), ReorderDims("b: _", (0, 2, 4, 1, 3)), Widen("bj", columns, zero=True),
        Split("b_1", size * group, ("bp", "be"), "perfect"), Split("be", size, ("bq", "bs"), "perfect"), Simplify(),
        Replace("bj", _name_weights(tile)),
    )  # fmt: skip
    return program.apply(
        SplitDim("a: _", 0, group), ReorderDims("a: _", (0, 2, 3, 1)), Split("a_0", group, ("ap", "aq"), "perfect"),
        Reorder("ap", ("ap", "a_1", "a_2", "aq")), Simplify(), Replace("ap", _name_image(tile)),
    )  # fmt: skip


def left_of_features(tile: Tile) -> str:
    """How many features there are from a tile's first one on."""
    block = f"{PANELS * tile.columns} * fg - " * (tile.group > 1)
    return f"nf - {block}{tile.columns} * fb"


def make_weavers(tile: Tile, maker: KernelCache) -> list[Instruction]:
    """The kernels that pack the weights of a tile's features, and an image."""
    weights, image = _name_weights(tile), _name_image(tile)
    return [maker.make(weights, _make_weights, weights, tile), maker.make(image, _make_image, image, tile)]


def _name_weights(tile: Tile) -> str:
    window = (tile.window or Window()).name.partition("s")[0]
    return f"planish_weave_weights_{tile.vectors_of.product.name}_{window}_{tile.columns}"


def _name_image(tile: Tile) -> str:
    return f"planish_weave_image_{tile.vectors_of.product.name}"


def _size(tile: Tile) -> int:
    return (tile.window or Window()).size


def _make_weights(name: str, tile: Tile) -> Instruction:
    definition = define_weights(name, tile)
    return make_callable(definition, _weave_weights(Program.of(definition), tile))


def define_weights(name: str, tile: Tile) -> Kernel:
    """Weights of features j, groups of channels p, of which they are q, and elements e of the window; zeros where there
    are no more features."""
    factors, size, group = tile.vectors_of.product, _size(tile), tile.group
    zero = f"0{'.0' * factors.right.is_float}:{factors.right}"
    value = f"select(j < nf, B[j, {size * group} * p + {size} * q + e], {zero})"
    known = f"nf >= 1 assume nf <= {tile.columns} assume k >= 1 assume ldw >= {size * group} * k"
    return parse_kernel(
        f"kernel {name}(nf, k, ldw; B: {factors.right}[nf, ldw], W: {factors.right}[k, {size}, {tile.columns}, {group}]"
        f" distinct) assume {known} {{ for j in 0 .. {tile.columns} {{ for p in 0 .. k {{ for q in 0 .. {group} {{"
        f" for e in 0 .. {size} {{ W[p, e, j, q] = {value} }} }} }} }} }}"
    )


def _weave_weights(program: Program, tile: Tile) -> Program:
    """Where there are all features, by squares of what lies transposed."""
    v, columns = tile.vectors_of, tile.columns
    program = program.apply(Reorder("j", ("p", "e", "j", "q")))
    weave = v.name("weave_columns", v.product.right)
    if v.has("weave_columns", v.product.right) and _size(tile) >= SQUARE:
        program = program.apply(
            Specialise("p", f"nf == {columns}"), Simplify(), Split("e", SQUARE, ("eb", "e"), "cut"),
            Split("j", v.lanes, ("jb", "j"), "perfect"), Reorder("eb", ("eb", "jb", "j", "e", "q")), Unroll("q"),
            Replace("j", weave), Unroll("q"),
        )  # fmt: skip
    return program.apply(Unroll("q"))


def _make_image(name: str, tile: Tile) -> Instruction:
    definition = define_image(name, tile)
    v = tile.vectors_of
    program = Program.of(definition).apply(Unroll("q"), Split("x", v.lanes, ("xv", "x"), "cut"))
    return make_callable(definition, program.apply(Replace("x", v.name("weave", v.product.left))))


def define_image(name: str, tile: Tile) -> Kernel:
    """Rows y and columns x of groups of channels p, of which they are q."""
    t, group = tile.vectors_of.product.left, tile.group
    known = "k >= 1 assume h >= 1 assume w >= 1 assume ih >= h assume iw >= w assume hw >= h assume ww >= w"
    return parse_kernel(
        f"kernel {name}(k, h, w, ih, iw, hw, ww; A: {t}[{group} * k, ih, iw], W: {t}[k, hw, ww, {group}] distinct)"
        f" assume {known} {{ for p in 0 .. k {{ for y in 0 .. h {{ for x in 0 .. w {{ for q in 0 .. {group} {{"
        f" W[p, y, x, q] = A[{group} * p + q, y, x] }} }} }} }} }}"
    )
