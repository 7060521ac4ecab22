"""Products of bf16, i16 and u8 by s8 with dot-product instructions (VNNI): B is packed in groups along k, the remainder
of k runs in plain loops.

    made = make_tiles(list_grouped_tiles(blocking, vectors), blocking)
    made += make_grouped_products("u8gemm", vectors, blocking, Catalogue().with_instructions(made))

Where alpha is not one, the sums are multiplied by it in the end, by tiles of fewer rows: that is seldom asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from planish.ir.nest import Kernel
from planish.isa.instruction import Catalogue, Instruction
from planish.library.kernels.as_instruction import make_callable
from planish.library.kernels.gemm.blocked import (
    Blocking,
    cut,
    define_loops,
    define_product,
    give_to_tiles,
    share_buffers,
    share_panels,
)
from planish.library.kernels.gemm.edges import make_storing
from planish.library.kernels.gemm.microkernel import Fetch, Tile
from planish.library.kernels.gemm.operands import spell_number, spell_term
from planish.library.kernels.gemm.sweep import make_sweep, name_sweep
from planish.library.kernels.gemm.threads import ALONE
from planish.library.kernels.gemm.whole import Variant, choose, in_depths, in_steps, join, make_tiles, name_part
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.kernels.vectors import Vectors
from planish.schedule.combine import pack
from planish.schedule.program import Program
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.buffers import StageMem
from planish.schedule.steps.control import Specialise
from planish.schedule.steps.facts import Vectorise
from planish.schedule.steps.instructions import Replace
from planish.schedule.steps.kernels import RenameLoop, Simplify
from planish.schedule.steps.loops import Fission, Fuse, Peel, Split, Unroll
from planish.schedule.steps.prefetch import Prefetch
from planish.schedule.steps.storage import PadDim, ReorderDims, SplitDim

SCALED_ROWS = 6
"""The rows of the largest tile where alpha is not one."""
FETCHED = 8
"""So many rows of B are fetched before they are copied."""
COPIED = 1024
"""A block of A is copied for more columns of B than these: it is read often enough."""

Kind = tuple[bool, bool]
"""Whether there is an alpha, and whether the products are stored, not added."""
KINDS: tuple[Kind, ...] = ((False, False), (False, True), (True, False), (True, True))


def list_grouped_tiles(blocking: Blocking, vectors: Vectors) -> list[Tile]:
    """The largest tile of each family of micro-kernels that there has to be."""
    return [
        _of_kind(blocking, kind).tile(vectors, "strided", kind[1], kind[0], _fetch(kind, packed))
        for kind in KINDS for packed in ((False,) if kind[0] else (False, True))
    ]  # fmt: skip


def _fetch(kind: Kind, packed: bool) -> Fetch:
    """C is far where it is so wide that A is copied."""
    return "along" if packed and not kind[0] else "not"


def make_grouped_products(
    name: str, vectors: Vectors, blocking: Blocking, tiles: Catalogue, maker: KernelCache | None = None
) -> list[Instruction]:
    """The kernels that add a product of any size to C, or store it, and what they call besides `tiles`."""
    maker = maker or KernelCache()
    sweeps = list_sweeps(vectors, blocking)
    made = [maker.make(name_sweep(tile, depth), make_sweep, tile, depth) for tile, depth in sweeps]
    made += list(_make_groups(name, vectors, blocking, tiles.with_instructions(made), maker))
    made += _make_sums(name, vectors, blocking, tiles.with_instructions(made))
    known, one = tiles.with_instructions(made), spell_number(1, vectors.product)
    for first in (True, False):
        definition = define_product(name_part(name, first), vectors, first, empty=True)
        program = Program.of(definition, catalogue=known)
        program = program.apply(Specialise("i", f"m >= 1 && n >= 1 && k >= {vectors.product.group}"))
        program = program.apply(Specialise("i", f"alpha:{vectors.type} == {one}"))
        program = program.apply(
            Replace("i", _name(name, "sum", (False, first))), Replace("i #2", _name(name, "sum", (True, first)))
        )
        made.append(make_callable(definition, program))
    return made


def make_compact_groups(
    name: str, vectors: Vectors, blocking: Blocking, maker: KernelCache, threads: int = 1, first: bool = False
) -> tuple[Instruction, list[Instruction]]:
    """The kernel that adds a product of any size to C, or stores it (`first`), without an alpha, in one way only, and
    all that it calls, with itself. `threads` share the copies, and do some rows of tiles each, where there is enough
    to do."""
    add, store = (blocking.tile(vectors, "strided", x, fetch="not") for x in (False, True))
    made = make_tiles([add], blocking, maker)
    made += make_storing(store, made, maker) if first else []
    tiles = Catalogue().with_instructions(made)
    made += _make_only_way(name, vectors, blocking, tiles, maker, first)
    if threads > 1:
        alone = made[-1].name
        made += _make_only_way(f"{name}_shared", vectors, blocking, tiles, maker, first, shared=True)
        definition = define_product(name_part(f"{name}_threads", first), vectors, first, empty=True, scaled=False)
        program = Program.of(definition, catalogue=Catalogue().with_instructions(made))
        program = program.apply(
            Specialise("i", f"m * n * k <= {ALONE}"), Replace("i", alone), Replace("i #2", made[-1].name)
        )
        made.append(make_callable(definition, program))
    return made[-1], made


def _make_only_way(
    name: str,
    vectors: Vectors,
    blocking: Blocking,
    tiles: Catalogue,
    maker: KernelCache,
    first: bool,
    shared: bool = False,
) -> list[Instruction]:
    """The kernels of a product whose A is used where it is."""
    kind, group, way = (False, first), vectors.product.group, Variant("placed", "", blocking)
    groups, rest = _name(name, way.name, kind), define_rest(f"{name}_rest", vectors, False)
    made = [maker.make(groups, _make_group, groups, vectors, way, tiles, kind, shared)]
    made.append(make_callable(rest, make_rest(rest)))
    for own, empty in ((_name(name, "sum", kind), False), (name_part(name, first), True)):
        definition = define_product(own, vectors, first, empty=empty, scaled=False)
        program = Program.of(definition, catalogue=tiles.with_instructions(made))
        if empty:
            program = program.apply(Specialise("i", f"m >= 1 && n >= 1 && k >= {group}"), Replace("i", made[-1].name))
        else:
            program = split_rest(program, group).apply(Replace("i #2", rest.name), Replace("i", groups))
        made.append(make_callable(definition, program))
    return made


def _of_kind(blocking: Blocking, kind: Kind) -> Blocking:
    """The blocking with fewer rows where there is an alpha."""
    if not kind[0] or blocking.rows <= SCALED_ROWS:
        return blocking
    return replace(blocking, rows=SCALED_ROWS, height=blocking.height // SCALED_ROWS * SCALED_ROWS)


def _name(name: str, word: str, kind: Kind) -> str:
    return f"{name}_{word}{'_scaled' * kind[0]}{'_first' * kind[1]}"


def list_groups(name: str, vectors: Vectors, blocking: Blocking) -> list[tuple[str, Kind, Variant]]:
    """The kernels for whole groups of products, by their names: in every way, of every kind."""
    ways = [(kind, way) for kind in KINDS for way in list_ways(blocking, vectors, kind)]
    return [(_name(name, way.name, kind), kind, way) for kind, way in ways]


def _make_groups(
    name: str, vectors: Vectors, blocking: Blocking, tiles: Catalogue, maker: KernelCache
) -> Iterator[Instruction]:
    for own, kind, way in list_groups(name, vectors, blocking):
        yield maker.make(own, _make_group, own, vectors, way, tiles, kind)


def _make_group(
    name: str, vectors: Vectors, way: Variant, tiles: Catalogue, kind: Kind, shared: bool = False
) -> Instruction:
    definition = define_groups(name, vectors, kind, way)
    program = weave(Program.of(definition, catalogue=tiles), vectors, way, kind)
    return make_callable(definition, share_panels(program) if shared else program)


def list_ways(blocking: Blocking, vectors: Vectors, kind: Kind) -> tuple[Variant, ...]:
    """The ways to run the loops over groups: A copied into blocks, or used where it is; B packed by a row of tiles, or
    before."""
    blocking = _of_kind(blocking, kind)
    copied = in_depths(Variant("copied", f"n > {COPIED}", blocking, packed=True), vectors)
    shallow, placed = in_depths(Variant("placed", "", blocking), vectors)
    ways = (*copied, shallow, *in_steps(placed))
    # Where there is an alpha, which is seldom, the code is not worth it.
    return ways if kind[0] else tuple(x for way in ways for x in _in_sweeps(way, vectors))


def _in_sweeps(way: Variant, vectors: Vectors) -> tuple[Variant, Variant]:
    """A way with sweeps where there is one block of rows and only whole panels, and as it is."""
    swept = replace(way, name=f"{way.name}_swept", swept=True)
    return join(swept, " && ".join(_swept_sizes(way.blocking, vectors))), way


def _swept_sizes(blocking: Blocking, vectors: Vectors) -> tuple[str, ...]:
    height = blocking.height // blocking.tile_rows * blocking.tile_rows
    return f"m >= {blocking.tile_rows}", f"m <= {height}", f"n % {blocking.vectors * vectors.lanes} == 0"


def list_sweeps(vectors: Vectors, blocking: Blocking) -> list[tuple[Tile, int]]:
    """The sweeps that there have to be: their tiles and depths."""
    kinds = [kind for kind in KINDS if not kind[0]]
    ways = ((kind, way) for kind in kinds for way in list_ways(blocking, vectors, kind) if way.swept)
    return list(dict.fromkeys(_find_sweep(vectors, way.blocking, kind[1]) for kind, way in ways))


def _find_sweep(vectors: Vectors, blocking: Blocking, first: bool) -> tuple[Tile, int]:
    tile = blocking.tile(vectors, "strided", first, fetch="not")
    return replace(tile, rows=blocking.tile_rows), blocking.depth


def define_groups(name: str, vectors: Vectors, kind: Kind, way: Variant) -> Kernel:
    """The triple loop for whole groups of products, which k counts."""
    factors, (scaled, first) = vectors.product, kind
    g = factors.group
    term = spell_term(factors, f"i, {g} * p + q", f"{g} * p + q, j", scaled)
    operands = f"A: {factors.left}[m, lda], B: {factors.right}[{g} * k, ldb]"
    known = ["m >= 1", "n >= 1", "k >= 1", f"lda >= {g} * k", "ldb >= n", "ldc >= n"]
    known += _swept_sizes(way.blocking, vectors) if way.swept else ()
    return define_loops(name, vectors, first, scaled, operands, known, f"for q in 0 .. {g} {{ C[i, j] += {term} }}")


def weave(program: Program, vectors: Vectors, way: Variant, kind: Kind) -> Program:
    """Blocks of B copied into panels in which a group of a column lies together; of A too where that is `packed`."""
    blocking, group = way.blocking, vectors.product.group
    program = pack(cut(program, vectors, blocking, kind[1]), "ir", "B", "b", blocking.vectors * vectors.lanes).apply(
        SplitDim("b: _", 1, group), ReorderDims("b: _", (0, 1, 3, 2)), Split("b_0", group, ("bg", "bs"), "perfect")
    )
    program = (_sweep if way.swept else _copy_panels)(program, vectors, blocking, kind)
    if way.packed:
        further = (blocking.stride - blocking.depth) * group
        program = program.apply(StageMem("jb", "A", "a", "scratch", clip=True), PadDim("a: _", 1, further))
        program = program.apply(Vectorise("a_1"))
    fetch = _fetch(kind, way.packed)
    return give_to_tiles(share_buffers(program), vectors, blocking, "strided", kind[1], kind[0], fetch)


def _copy_panels(program: Program, vectors: Vectors, blocking: Blocking, kind: Kind) -> Program:
    """All panels of a block before they are used; what is left of a vector at the end column by column."""
    group, lanes, width = vectors.product.group, vectors.lanes, blocking.vectors * vectors.lanes
    left = f"n - {width} * bq - {blocking.columns} * jb"
    weave, fetch = (vectors.name(x, vectors.product.right) for x in ("weave", "prefetch"))
    program = program.apply(
        Reorder("bg", ("bg", "b_1", "bs")), Unroll("bs"), Split("b_1", width, ("bq", "br"), "short"),
        Simplify(), Specialise("br", f"{left} >= {width}"), Simplify(),
    )  # fmt: skip
    if blocking.vectors > 1:
        program = program.apply(
            Split("br #2", lanes, ("ev", "el"), "short"), Specialise("el", f"{left} - {lanes} * ev >= {lanes}"),
            Simplify(), Replace("el", weave),
        )  # fmt: skip
    program = program.apply(Split("br", lanes, ("bv", "bl"), "perfect"), Replace("bl", weave))
    return program.apply(Prefetch("bl", "B", "bl", "B_later", fetch, FETCHED // group, "bg"), Unroll("bv"))


def _sweep(program: Program, vectors: Vectors, blocking: Blocking, kind: Kind) -> Program:
    """A panel by the sweep of the first row of tiles."""
    program = program.apply(
        Split("b_1", blocking.vectors * vectors.lanes, ("bq", "br"), "perfect"),
        Reorder("bg", ("bq", "bg", "bs", "br")), Peel("ir", 1), Unroll("ir"), Fuse("bq"), RenameLoop("ii", "iw"),
    )  # fmt: skip
    add, store = (name_sweep(*_find_sweep(vectors, blocking, first)) for first in (False, True))
    if not kind[1]:
        return program.apply(Replace("bq", add))
    program = program.apply(Specialise("bq", "pb == 0"), Simplify())
    return program.apply(Replace("bq", store), Replace("bq #2", add))


def _make_sums(name: str, vectors: Vectors, blocking: Blocking, groups: Catalogue) -> Iterator[Instruction]:
    """The kernels for any k of at least a group, which call those for whole `groups`, and what these call besides."""
    for scaled in (False, True):
        rest = f"{name}_rest{'_scaled' * scaled}"
        definition = define_rest(rest, vectors, scaled)
        few = make_callable(definition, make_rest(definition))
        yield few
        catalogue = groups.with_instructions([few])
        for kind in ((scaled, False), (scaled, True)):
            definition = define_product(_name(name, "sum", kind), vectors, kind[1], scaled=scaled)
            program = split_rest(Program.of(definition, catalogue=catalogue), vectors.product.group)
            ways = list_ways(blocking, vectors, kind)
            program = program.apply(Replace("i #2", rest))
            yield make_callable(definition, choose(program, ways, {x.name: _name(name, x.name, kind) for x in ways}))


def define_rest(name: str, vectors: Vectors, scaled: bool) -> Kernel:
    """The triple loop for fewer products than there are in a group."""
    factors = vectors.product
    known = ("k >= 1", f"k < {factors.group}", "lda >= k", "ldb >= n", "ldc >= n")
    update = f"C[i, j] += {spell_term(factors, 'i, p', 'p, j', scaled)}"
    operands = f"A: {factors.left}[m, lda], B: {factors.right}[k, ldb]"
    return define_loops(name, vectors, False, scaled, operands, known, update)


def make_rest(definition: Kernel) -> Program:
    """A row of C at a time."""
    return Program.of(definition).apply(Reorder("i", ("i", "p", "j")), Vectorise("j"))


def split_rest(program: Program, group: int) -> Program:
    """A triple loop cut in two: one over whole groups, and one over what is left, if anything is."""
    program = program.apply(Split("p", group, ("pg", "q"), "cut"), Fission("pg", 2))
    return program.apply(Specialise("i #2", f"k % {group} > 0"), Simplify())
