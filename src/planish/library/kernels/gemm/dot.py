"""Inner-product tiles: lanes hold partial sums along k, which are reduced at the end.

That is for few columns, where a row of B does not fill a register. B lies transposed, so that k runs along its rows.

>>> from planish.library.kernels.vectors import PRODUCTS, find_vectors
>>> DotTile(find_vectors("avx512", PRODUCTS["f32"]), 4, 3, 17).name
'dot_avx512_f32_4x3of17'
"""

from __future__ import annotations

from dataclasses import dataclass

from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_kernel
from planish.library.kernels.gemm.operands import spell_number, spell_term
from planish.library.kernels.vectors import Vectors
from planish.schedule.program import Program
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.buffers import LiftAlloc, StageMem
from planish.schedule.steps.instructions import Replace
from planish.schedule.steps.kernels import RenameLoop
from planish.schedule.steps.loops import Fission, Split, Unroll
from planish.schedule.steps.storage import ReorderDims, SetMemory
from planish.schedule.steps.values import FactorOut

AT_ONCE = 4
"""So many sums of lanes are made by one instruction."""


@dataclass(frozen=True, slots=True)
class DotTile:
    """A tile of `rows` by `columns` elements of C, whose rows have a known `distance`. `first`: the product is stored,
    not added."""

    vectors_of: Vectors
    rows: int
    columns: int
    distance: int
    first: bool = False

    @property
    def name(self) -> str:
        """What the kernel is called."""
        v = self.vectors_of
        size = f"{self.rows}x{self.columns}of{self.distance}"
        return f"dot_{v.extension}_{v.product.name}_{size}{'_first' * self.first}"


def define_dot(tile: DotTile) -> Kernel:
    """The definition of an inner-product tile: the plain triple loop, for a k that is a multiple of the lanes."""
    v, (m, n) = tile.vectors_of, (tile.rows, tile.columns)
    t, lanes = v.type, v.lanes
    clear = f"C[i, j] = {spell_number(0, v.product)}" if tile.first else ""
    # No distance is known of a row by itself.
    sizes, at, b, apart = ("k, lda, ldb", "j, p", f"B: {t}[{n}, ldb]", " assume ldb >= k")
    if n == 1:
        sizes, at, b, apart = "k, lda", "p", f"B: {t}[k]", ""
    update = f"C[i, j] += {spell_term(v.product, 'i, p', at)}"
    known = f"assume k >= 1 assume k % {lanes} == 0 assume lda >= k{apart}"
    return parse_kernel(
        f"kernel {tile.name}({sizes}; alpha: {t};"
        f" A: {t}[{m}, lda], {b}, C: {t}[{m}, {tile.distance}] distinct)"
        f" {known} {{ for i in 0 .. {m} {{ for j in 0 .. {n} {{ {clear} for p in 0 .. k {{ {update} }} }} }} }}"
    )


def make_dot(tile: DotTile) -> Program:
    """The inner-product tile, vectorised along k."""
    program = Program.of(define_dot(tile))
    if tile.first:
        program = program.apply(Fission("C[_] = _", 2), RenameLoop("i", "zi"), RenameLoop("j", "zj"))
    for make in (_keep_lanes, _fetch_operands, _give_to_instructions, _write_out):
        program = make(program, tile)
    return program


def _keep_lanes(program: Program, tile: DotTile) -> Program:
    """Sums in a buffer `c` with a lane for each part: loops yl clear it, p, l add to it, ol adds up the lanes."""
    v = tile.vectors_of
    program = program.apply(Split("p", v.lanes, ("p", "l"), "perfect"), Reorder("i", ("l", "p", "i", "j")))
    program = program.apply(StageMem("p", "C", "c", accumulate=True), FactorOut("c: _", "alpha"), LiftAlloc("c: _", 1))
    kept = [x for x, count in (("i", tile.rows), ("j", tile.columns)) if count > 1]
    for word in ("y", "o"):
        for name in kept:
            program = program.apply(RenameLoop(f"c_{'ij'.index(name)}", f"{word}{name}"))
    rank = len(kept)
    program = program.apply(ReorderDims("c: _", (*range(1, rank + 1), 0)))
    program = program.apply(Fission("c[_] = _", rank + 1) if not kept else Fission(f"y{kept[0]}", 1))
    program = program.apply(RenameLoop("l", "yl"), Fission("p", 1), RenameLoop("l #2", "ol"))
    for word, own in (("y", "yl"), ("o", "ol")):
        if kept:
            program = program.apply(Reorder(own, (*(f"{word}{x}" for x in kept), own)))
    return program.apply(Reorder("l", ("p", *_inner(tile), "l")), SetMemory("c: _", v.memory))


def _inner(tile: DotTile) -> tuple[str, ...]:
    """The loops over the tile: those that run once are none."""
    return tuple(x for x, count in (("i", tile.rows), ("j", tile.columns)) if count > 1)


def _fetch_operands(program: Program, tile: DotTile) -> Program:
    """A vector of each row of A in a buffer `a`, of each row of B in a buffer `b`."""
    inner = (*_inner(tile), "l")[0]
    for array, name in (("A", "a"), ("B", "b")):
        program = program.apply(StageMem(inner, array, name), SetMemory(f"{name}: _", tile.vectors_of.memory))
    return program


def _give_to_instructions(program: Program, tile: DotTile) -> Program:
    """Every loop over lanes becomes an instruction."""
    v = tile.vectors_of
    program = program.apply(Replace("yl", v.name("set")), Replace("l", v.name("fmadd")))
    for loop in ("a_1", "b_1" if tile.columns > 1 else "b_0"):
        program = program.apply(Replace(loop, v.name("load")))
    return _add_up(program, tile)


def _add_up(program: Program, tile: DotTile) -> Program:
    """The lanes of sums added up: of four in a row of C at a time, of four in a column, or of one."""
    v = tile.vectors_of
    if tile.columns % AT_ONCE == 0 and v.has("scaled_sums_to"):
        program = program.apply(Split("oj", AT_ONCE, ("oj", "of"), "perfect"), Reorder("of", ("ol", "of")))
        return program.apply(Unroll("of"), Replace("ol", v.name("scaled_sums_to")))
    if tile.rows < AT_ONCE or not v.has("scaled_sums_apart"):
        return program.apply(Replace("ol", v.name("scaled_sum_to")))
    program = program.apply(Split("oi", AT_ONCE, ("oi", "of"), "cut"))
    inner = ("oj", "ol") if tile.columns > 1 else ("ol",)
    program = program.apply(Reorder("of", (*inner, "of")), Unroll("of"), Replace("ol", v.name("scaled_sums_apart")))
    if tile.rows % AT_ONCE:
        # What is left over has the name of the loop that is gone.
        program = program.apply(Replace("ol #2", v.name("scaled_sum_to")))
    return program


def _write_out(program: Program, tile: DotTile) -> Program:
    """All loops but the one over p are written out: registers have numbers."""
    for loop in ("zj", "zi", "yj", "yi", "a_0", *(["b_0"] if tile.columns > 1 else []), "j", "i", "oj", "oi", "of"):
        while program.has(loop):
            program = program.apply(Unroll(loop))
    return program
