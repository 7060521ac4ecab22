"""GEMM micro-kernels: a tile of C in registers, updated by rank-one products of A's columns and B's rows.

Each is made from the plain triple loop by the steps of a script; tiles at the edge by the same script for other sizes.

>>> from planish.ir.types import F32
>>> from planish.library.kernels.vectors import find_vectors
>>> from planish.schedule.script import print_script
>>> tile = Tile(find_vectors("avx512", F32), 14, 2)
>>> tile.name, tile.columns
('ukr_avx512_f32_14x32', 32)
>>> print(print_script(make_micro(tile).steps).splitlines()[2])
stage_mem("i", "C", "c", accumulate=True)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_kernel
from planish.library.kernels.gemm.operands import GemmOperands, spell_number, spell_term
from planish.library.kernels.gemm.window import Window
from planish.library.kernels.vectors import Vectors
from planish.schedule.program import Program
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.buffers import LiftAlloc, StageMem
from planish.schedule.steps.instructions import Replace
from planish.schedule.steps.kernels import PartialEval, RenameLoop
from planish.schedule.steps.loops import Fission, Peel, Split, Unroll
from planish.schedule.steps.padding import Widen
from planish.schedule.steps.prefetch import Prefetch
from planish.schedule.steps.storage import SetMemory, SplitDim
from planish.schedule.steps.values import FactorOut

Layout = Literal["columns", "rows", "strided", "plain", "turned", "window"]
Fetch = Literal["ahead", "along", "not"]
"""When C is fetched: all of a tile before the sums, or a row after the other while they are made, which memory keeps up
with; or not at all, where C is near."""
EVERY = 8
"""So many products are summed while a row of C is fetched."""


@dataclass(frozen=True, slots=True)
class Panel:
    """How panels are laid out: as many rows of A and columns of B, and the length of A's rows in elements."""

    rows: int
    columns: int
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile of `rows` by `vectors` registers of C.

    `masked`: the last vector is only used in part, how much of it is known when it runs. `first`: the product is
    stored, not added. `layout` says how A lies: in "columns" one after the other, each of as many elements as a panel
    has rows; in "rows" of a constant length; "strided" or "plain", row-major with any distance between rows; "turned":
    transposed, with any distance; "window": row i is what a `window` sees at place i of a row of an image, and k counts
    the channels. B lies in rows of a panel's length, or is row-major with any distance where A lies
    "plain" or "turned". Where an instruction sums groups of products, a group of a column of B lies together, and k
    counts groups. `scaled`: the sums are multiplied by alpha in the end, as they are where A and B are used in place.
    `parts`: each sum is made in so many parts, of which k is a multiple: few sums would wait for each other. `fetch`:
    when C is fetched by a tile of whole vectors. `window`: that of the layout of this name.
    """

    vectors_of: Vectors
    rows: int
    vectors: int
    masked: bool = False
    first: bool = False
    layout: Layout = "columns"
    scaled: bool = False
    parts: int = 1
    fetch: Fetch = "ahead"
    window: Window | None = None

    @property
    def columns(self) -> int:
        """The columns of C at most."""
        return self.vectors * self.vectors_of.lanes

    @property
    def name(self) -> str:
        """What the kernel is called."""
        v = self.vectors_of
        words = ["ukr", v.extension, v.product.name, f"{self.rows}x{self.columns}"]
        words += ["masked"] * self.masked + ["first"] * self.first + ["scaled"] * self.scaled
        words += [self.layout] * (self.layout != "columns") + [f"{self.parts}parts"] * (self.parts > 1)
        words += [f"fetch_{self.fetch}"] * (self.fetch != "ahead" and not self.masked)
        words += [self.window.name] if self.window is not None else []
        return "_".join(words)

    @property
    def whole(self) -> int:
        """The columns whose vectors are always used as a whole."""
        return self.columns - self.vectors_of.lanes * self.masked

    @property
    def in_place(self) -> bool:
        """Whether A and B are used where they lie."""
        return self.layout in ("plain", "turned")

    @property
    def group(self) -> int:
        """How many products an instruction adds to a sum."""
        return self.vectors_of.product.group

    @property
    def is_scaled(self) -> bool:
        """Whether the sums are multiplied by alpha in the end."""
        return self.in_place or self.scaled

    @property
    def by_lane(self) -> bool:
        """Whether an instruction multiplies by one lane of a register, so that columns of A are loaded as vectors."""
        whole = self.layout == "columns" and self.rows % self.vectors_of.lanes == 0
        return whole and self.vectors_of.has("fmadd_lane")

    @property
    def by_stack(self) -> bool:
        """Whether a part of a vector leaves by way of the stack, since no instruction stores one."""
        return self.masked and not self.vectors_of.has("masked_store")

    @property
    def loads(self) -> int:
        """The registers that are loaded for each step of k."""
        return self.vectors + (self.rows // self.vectors_of.lanes if self.by_lane else self.rows)

    @property
    def registers(self) -> int:
        """The registers that are in use at once: the tile, a row of B, an element of A or a column."""
        others = self.rows // self.vectors_of.lanes if self.by_lane else 1
        return self.rows * self.vectors * self.parts + self.vectors + others


def choose_tile(vectors: Vectors) -> tuple[int, int]:
    """The rows and registers of the largest tile that fits and does more products than it loads registers; of alike
    ones that with the fewest loads, then the widest, for which B is read in order."""
    tiles = [Tile(vectors, rows, count) for count in range(1, 5) for rows in range(1, vectors.registers)]
    by_lane = any(x.by_lane for x in tiles)
    fitting = [
        x for x in tiles
        if x.registers <= vectors.registers and x.loads < x.rows * x.vectors and x.by_lane == by_lane
    ]  # fmt: skip
    best = max(fitting, key=lambda x: (x.rows * x.vectors, -x.loads, x.vectors))
    return best.rows, best.vectors


def define_micro(tile: Tile, panel: Panel | None = None) -> Kernel:
    """The definition of a micro-kernel: the plain triple loop. `panel`: that of the tile where None; PlanishError E0641
    for a tile that does not fit the registers."""
    v = tile.vectors_of
    if tile.rows < 1 or tile.vectors < 1 or tile.registers > v.registers:
        message = f"a tile of {tile.rows} x {tile.columns} takes {tile.registers} registers of {v.memory}"
        raise PlanishError(Diagnostic("E0641", message, help=f"there are {v.registers}: choose a smaller one"))
    if tile.by_stack and tile.in_place:
        message = f"`{v.extension}` has no instruction that loads a part of a vector"
        raise PlanishError(Diagnostic("E0640", message, help='choose whole vectors, or the layout "columns"'))
    if tile.group > 1 and tile.layout not in ("strided", "window"):
        message = f"products of {v.product.name} are not made of the layout `{tile.layout}`"
        raise PlanishError(Diagnostic("E0641", message, help="choose the layout `strided`"))
    columns = [f"n > {tile.columns - v.lanes}", f"n <= {tile.columns}"] if tile.masked else [f"n == {tile.columns}"]
    return define_tile(tile, tile.name, [f"m == {tile.rows}", *columns], panel)


def define_tile(tile: Tile, name: str, known: Sequence[str], panel: Panel | None = None) -> Kernel:
    """The triple loop over a tile of m rows and n columns, of which some conditions are known."""
    v, panel = tile.vectors_of, panel or Panel(tile.rows, tile.columns)
    left, right, t, g = v.product.left, v.product.right, v.type, tile.group
    sizes, row, column, b = "m, n, k, ldc", "i, p", "p, j", f"B: {right}[k, {panel.columns}] distinct"
    match tile.layout:
        case "columns":
            a, row = f"A: {left}[k, {panel.rows}] distinct", "p, i"
        case "rows":
            a = f"A: {left}[m, {panel.depth}] distinct"
            known = [f"k <= {panel.depth}", *known]
        case "strided":
            sizes, a, known = "m, n, k, lda, ldc", f"A: {left}[m, lda]", [f"lda >= {g} * k", *known]
            if g > 1:
                row, column, b = f"i, {g} * p + q", "p, j, q", f"B: {right}[k, {panel.columns}, {g}] distinct"
        case "plain" | "turned":
            operands = GemmOperands("nn" if tile.layout == "plain" else "tn")
            sizes, row, known = "m, n, k, lda, ldb, ldc", operands.at_a, [*operands.known, *known]
            a, b = f"A: {left}[{operands.rows_a}, lda]", f"B: {right}[k, ldb]"
        case "window":
            window = tile.window or Window()
            sizes, row, column = "m, n, k, ih, iw, ldc", window.seen("0", "i"), f"{window.place()}, j"
            known = [f"ih >= {window.reach('1', 0)}", f"iw >= {window.reach('m', 1)}", *known]
            a, b = f"A: {left}[k, ih, iw]", f"B: {right}[{window.size} * k, {panel.columns}] distinct"
            if g > 1:
                row, column = f"{row}, q", f"p, {window.element}, j, q"
                a, b = f"A: {left}[k, ih, iw, {g}]", f"B: {right}[k, {window.size}, {panel.columns}, {g}] distinct"
        case _:
            assert_never(tile.layout)
    update = f"C[i, j] += {spell_term(v.product, row, column, tile.is_scaled)}"
    update = update if g == 1 else f"for q in 0 .. {g} {{ {update} }}"
    update = f"for p in 0 .. k {{ {update} }}" if tile.window is None else tile.window.around(update)
    clear = f"C[i, j] = {spell_number(0, v.product)}" if tile.first else ""
    nest = f"for i in 0 .. m {{ for j in 0 .. n {{ {clear} {update} }} }}"
    known = [*([f"k % {tile.parts} == 0"] if tile.parts > 1 else []), *known]
    assumed = " ".join(f"assume {x}" for x in ("k >= 1", "ldc >= n", *known))
    scalars = f"alpha: {t};" * tile.is_scaled
    return parse_kernel(f"kernel {name}({sizes}; {scalars} {a}, {b}, C: {t}[m, ldc] distinct) {assumed} {{ {nest} }}")


def make_micro(tile: Tile, panel: Panel | None = None) -> Program:
    """A micro-kernel; PlanishError E0641 for a tile that does not fit the registers."""
    program = Program.of(define_micro(tile, panel)).apply(PartialEval("m", tile.rows))
    if not tile.masked:
        program = program.apply(PartialEval("n", tile.columns))
    for make in STAGES:
        program = make(program, tile)
    return program


def _keep_tile(program: Program, tile: Tile) -> Program:
    """The tile of C in a buffer `c`: loops zi, zj clear it, p, i, j add to it, oi, oj bring it back."""
    if tile.first:
        program = program.apply(StageMem("i", "C", "c", clip=tile.masked), Fission("c[_] = _", 2))
        names = [("i", "zi"), ("j", "zj")]
    else:
        program = program.apply(StageMem("i", "C", "c", accumulate=True, clip=tile.masked))
        names = [("c_0", "zi")] * (tile.rows > 1) + [("c_1", "zj")]
    names += [("c_0", "oi")] * (tile.rows > 1) + [("c_1", "oj")]
    for old, new in names:
        program = program.apply(RenameLoop(old, new))
    if tile.is_scaled:
        program = program.apply(FactorOut("c: _", "alpha"))
    depth = ("p",) if tile.window is None else ("p", "r", "s")
    return program.apply(Reorder("i", (*depth, "i", "j", *(["q"] if tile.group > 1 else []))))


def _split_sums(program: Program, tile: Tile) -> Program:
    """Sums in parts, in a buffer `d`: loops zh clear it, h add to it in a step of p, xh add it to the tile."""
    if tile.parts == 1:
        return program
    inner = ["i", "j"] if tile.rows > 1 else ["j"]
    program = program.apply(Split("p", tile.parts, ("p", "h"), "perfect"), Reorder("p", ("h", "p", *inner)))
    program = program.apply(StageMem("p", "c", "d", accumulate=True, clip=tile.masked), LiftAlloc("d: _", 1))
    around = int(tile.rows > 1)
    for row, column in (("yi", "yj"), ("xi", "xj")):
        program = program.apply(RenameLoop(f"d_{around}", column))
        program = program.apply(RenameLoop("d_0", row)) if around else program
    first = "yi" if around else "yj"
    program = program.apply(Fission(first, 1), RenameLoop("h", "zh"), Fission("p", 1), RenameLoop("h #2", "xh"))
    return program.apply(Reorder("h", ("p", "h", *inner)))


def _fetch_operands(program: Program, tile: Tile) -> Program:
    """The part of a row of B in a buffer `b`, and where instructions multiply by one lane of a register, the part of a
    column of A in a buffer `a`: loops bj and ai load them."""
    inner = "i" if tile.rows > 1 else "j"
    column = len(program.kernel.array("B").shape) - (1 if tile.group == 1 else 2)
    program = program.apply(StageMem(inner, "B", "b", clip=tile.masked), RenameLoop(f"b_{column}", "bj"))
    if tile.by_lane:
        program = program.apply(StageMem("i", "A", "a"), RenameLoop("a_1", "ai"))
    return program


def _fill_vectors(program: Program, tile: Tile) -> Program:
    """Loops over columns run over whole vectors, but the one that brings C back; buffers are registers."""
    v, whole, dimension = tile.vectors_of, tile.whole, int(tile.rows > 1)
    parts = ["zj", "j", "bj", *(["yj", "xj"] if tile.parts > 1 else [])]
    if tile.masked:
        if whole:
            program = program.apply(Peel("bj", whole), RenameLoop("bj #2", "dj"))
            parts.append("dj")
        # First those that write what the others would read.
        program = program.apply(Widen("dj" if whole else "bj", tile.columns, zero=tile.in_place))
        for widened in (x for x in ("zj", "yj", "j", "xj") if x in parts):
            program = program.apply(Widen(widened, tile.columns))
    if tile.by_stack:
        program = program.apply(StageMem("oi" if dimension else "oj", "c", "s"), RenameLoop(f"s_{dimension}", "sj"))
        parts.append("sj")
    elif whole:
        program = program.apply(Peel("oj", whole)) if tile.masked else program
        parts.append("oj")
    for loop in parts:
        program = program.apply(Split(loop, v.lanes, (f"{loop[:-1]}v", f"{loop[:-1]}l"), "perfect"))
    program = program.apply(SplitDim("c: _", dimension, v.lanes), SplitDim("b: _", 0, v.lanes))
    if tile.parts > 1:
        program = program.apply(SplitDim("d: _", 1 + dimension, v.lanes), SetMemory("d: _", v.memory))
    if tile.by_lane:
        program = program.apply(Split("ai", v.lanes, ("av", "al"), "perfect"), SplitDim("a: _", 0, v.lanes))
        program = program.apply(Split("i", v.lanes, ("iv", "il"), "perfect"), SetMemory("a: _", v.memory))
    return program.apply(SetMemory("c: _", v.memory), SetMemory("b: _", v.memory))


def _give_to_instructions(program: Program, tile: Tile) -> Program:
    """Every loop over lanes becomes an instruction."""
    v = tile.vectors_of
    back = "scaled_" * tile.is_scaled + ("store" if tile.first else "add_to")
    load = v.name("load") if tile.group == 1 else v.name("load_words", v.product.right)
    padded = v.name("masked_load") if tile.masked and tile.in_place else load
    multiply = v.name("fmadd_lane") if tile.by_lane else v.multiply
    loops = {"zl": v.name("set"), "l": multiply, "bl": load if tile.whole else padded}
    loops |= {"al": load} if tile.by_lane else {}
    loops |= {"yl": v.name("set"), "xl": v.name("accumulate")} if tile.parts > 1 else {}
    loops |= {"dl": padded} if tile.masked and tile.whole else {}
    if tile.by_stack:
        loops |= {"sl": v.name("store")}
    else:
        loops |= {"ol": v.name(back)} if tile.whole else {}
        loops |= {"oj": v.name(f"masked_{back}")} if tile.masked else {}
    for loop, instruction in loops.items():
        program = program.apply(Replace(loop, instruction))
    return program


def _prefetch_tile(program: Program, tile: Tile) -> Program:
    """The rows of C are on their way while the products are summed; an edge that is not whole is left to itself."""
    columns = 64 // tile.vectors_of.type.size
    if tile.masked or tile.fetch == "not" or tile.columns % columns or not tile.vectors_of.has("prefetch"):
        return program
    back, every = ("oi", EVERY * (tile.fetch == "along")) if tile.rows > 1 else ("ov", 0)
    return program.apply(Prefetch(back, "C", "p", "pf", tile.vectors_of.name("prefetch"), every=every))


def _write_out(program: Program, tile: Tile) -> Program:
    """All loops but the one over p are written out: registers have numbers."""
    loops = ["zv", "zi", "yv", "yi", "zh", "pf_0", "bv", "dv", "av", "v", "il", "iv", "i", "h", "xv", "xi", "xh"]
    loops += ["sv", "s_0", "ov"]
    loops += ["oi"] * (not tile.by_stack)
    for loop in loops:
        while program.has(loop):
            program = program.apply(Unroll(loop))
    # Neighbours see much of the same: a compiler that has several steps before it would keep that, and spill the tile.
    return program if tile.window is None else program.apply(Unroll("s", 1))


STAGES = (
    _keep_tile, _split_sums, _fetch_operands, _fill_vectors, _give_to_instructions, _prefetch_tile, _write_out,
)  # fmt: skip
"""What is done to a tile's loops, in this order."""
