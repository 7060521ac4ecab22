"""The whole C = alpha A B + beta C for sizes known at run time: dispatch over loop variants by size.

    made = make_tiles(list_tiles(vectors, blocking), blocking)
    made += make_products("sgemm", vectors, list_variants(vectors, blocking), Catalogue().with_instructions(made))
    program = make_whole("sgemm", vectors, made)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_kernel
from planish.isa.instruction import Catalogue, Instruction
from planish.library.kernels.as_instruction import make_callable
from planish.library.kernels.gemm.blocked import (
    Blocking,
    define_product,
    make_packed,
    make_panels,
    make_plain,
    share_panels,
)
from planish.library.kernels.gemm.edges import make_family, name_family
from planish.library.kernels.gemm.microkernel import Fetch, Layout, Tile
from planish.library.kernels.gemm.operands import GemmOperands, Op, spell_number, spell_term
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.kernels.vectors import Vectors
from planish.schedule.program import Program
from planish.schedule.steps.control import Specialise
from planish.schedule.steps.instructions import Replace

SMALL = 1 << 24
"""So many products at most are summed where A and B lie: copying them would take longer than it saves. So are more
where all of B is no more than a block."""
LARGE = 1 << 18
"""A matrix of more elements does not stay in the second cache."""
PAGE = 4096
"""Rows that begin so many bytes apart, or a multiple of it, take each other's place in the caches."""
MOST_COLUMNS = 1 << 14
FLAT_ROWS, LINE_ROWS = 6, 2
"""The rows of tiles that are as wide as registers allow."""
LOW = 8
"""Tiles of so many rows at most are always used as they are."""
THIN_DEPTH = 8
"""A product of few rows reads so many rows of B at a time, each to its end: memory is what it waits for."""
BOTH = (True, False)
"""The parts of a product that there are: the one that stores it, and the one that adds it."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to run the loops, and the condition on the sizes under which it is taken ("": otherwise). `single`: it is
    one tile; `packed`: blocks are copied; `panels`: those of B are, and A is used where it lies; `swept`: the first row
    of tiles copies the panels of B that it reads; `shared`: threads share the copies, and do some rows of
    tiles each; `fetch`: when C is fetched, where that does not follow from how A lies."""

    name: str
    condition: str
    blocking: Blocking
    packed: bool = False
    panels: bool = False
    single: bool = False
    swept: bool = False
    shared: bool = False
    fetch: Fetch | None = None


def define_gemm(name: str, vectors: Vectors, op: Op = "nn") -> Kernel:
    """The definition of GEMM; C is not read where beta is zero."""
    t, operands, product = vectors.type, GemmOperands(op), vectors.product
    none, one = (spell_number(x, product) for x in (0, 1))
    add = f"for p in 0 .. k {{ C[i, j] += {spell_term(product, operands.at_a, operands.at_b)} }}"

    def nest(row: str, body: str) -> str:
        return f"for {row} in 0 .. m {{ for j in 0 .. n {{ {body} }} }}"

    return parse_kernel(
        f"kernel {name}(m, n, k, lda, ldb, ldc; alpha: {t}, beta: {t};"
        f" {operands.declare(product)}, C: {t}[m, ldc] distinct)"
        f" {' '.join(f'assume {x}' for x in operands.known)} assume ldc >= n {{"
        f" if beta == {none} {{ {nest('i', f'C[i, j] = {none} {add}')} }} else {{"
        f" if beta != {one} {{ {nest('r', 'C[r, j] *= beta')} }}"
        f" {nest('i', add)} }} }}"
    )


def list_variants(vectors: Vectors, blocking: Blocking) -> tuple[Variant, ...]:
    """The ways to run the loops, in the order in which their conditions are asked."""
    packed = Variant("packed", "", blocking, True)
    if "plain" not in list_layouts(vectors):
        return in_depths(packed, vectors)
    wide = wide_blocks(vectors, blocking)
    thin = replace(wide, depth=THIN_DEPTH)
    small = f"(m * n * k <= {SMALL} || n * k <= {blocking.depth * blocking.columns} && {spread_rows(vectors)})"
    rows, width = blocking.rows, blocking.vectors * vectors.lanes
    flat, line = (wide_blocks(vectors, _flat(vectors, blocking, most)) for most in (FLAT_ROWS, LINE_ROWS))
    flat_width = flat.vectors * vectors.lanes
    large = f"n * k > {LARGE}"
    out = [
        Variant("tile", f"m <= {rows} && n <= {width}", wide, single=True),
        Variant("flat_tile", f"m <= {flat.rows} && n <= {flat_width}", flat, single=True),
        Variant("line", f"m <= {line.rows} && {large}", replace(line, depth=2 * THIN_DEPTH)),
        Variant("flat_thin", f"m <= {flat.rows} && {large}", replace(flat, depth=THIN_DEPTH)),
        Variant("thin", f"m <= {rows} && {large}", thin),
        Variant("thin_halves", f"m <= {rows + 2} && {large}", replace(thin, step=rows // 2 + 1)),
        Variant("thin_two", f"m <= {2 * rows} && {large}", thin),
    ]
    # One register in a row keeps few sums: flat tiles are for where the others would have it, or few rows, and are not
    # for where they have it.
    few = f"(m <= {rows} || (n - 1) % {width} < {vectors.lanes})"
    fits = f"{small} && {few} && n > {width} && (n + {flat_width - 1}) % {flat_width} >= {vectors.lanes}"
    for chosen, name, fewest, known in ((flat, "flat", flat.rows // 2, fits), (wide, "plain", rows // 2, small)):
        # What is left over is a tile as well, which should not be much lower than the others.
        for step in range(chosen.rows, fewest, -2 if chosen.rows > 8 else -1):
            lower = replace(chosen, step=step)
            out.append(Variant(f"{name}{step}", f"{known} && {lower.fits}", lower))
    return (*out, Variant("plain", small, wide), *in_depths(packed, vectors))


def in_depths(variant: Variant, vectors: Vectors) -> tuple[Variant, ...]:
    """A variant by blocks that are shallower where there need not be more of them, and by its own blocks."""
    blocking = variant.blocking
    shallow = blocking.shallower(blocking.vectors * vectors.lanes)
    few, many = (f"(k + {x.depth - 1}) // {x.depth}" for x in (blocking, shallow))
    condition = f"k > {blocking.depth} && {many} == {few}"
    other = replace(variant, name=f"{variant.name}_shallow", condition=condition, blocking=shallow)
    return join(other, variant.condition), variant


def in_steps(variant: Variant) -> tuple[Variant, ...]:
    """A variant by its own tiles where they fit, and by tiles that have a row less."""
    rows = variant.blocking.rows
    if rows <= LOW:
        return (variant,)
    lower = replace(variant, name=f"{variant.name}{rows - 1}", blocking=replace(variant.blocking, step=rows - 1))
    return join(variant, variant.blocking.fits), lower


def spread_rows(vectors: Vectors) -> str:
    """The condition under which neither A's rows nor B's take each other's place in the caches."""
    return " && ".join(f"{x} % {PAGE // vectors.type.size} != 0" for x in ("lda", "ldb"))


def join(variant: Variant, condition: str) -> Variant:
    """A variant under one more condition."""
    return replace(variant, condition=" && ".join(filter(None, (variant.condition, condition))))


def wide_blocks(vectors: Vectors, blocking: Blocking) -> Blocking:
    """A blocking whose columns hardly ever end: nothing is copied that would have to fit a cache."""
    width = blocking.vectors * vectors.lanes
    return replace(blocking, columns=MOST_COLUMNS // width * width)


def _flat(vectors: Vectors, blocking: Blocking, most: int) -> Blocking:
    """Tiles of few rows and as many vectors as there are registers for: B is read in long pieces, and less often."""
    rows = min(most, blocking.rows)
    return replace(blocking, rows=rows, vectors=max(1, (vectors.registers - 1) // (rows + 1)))


def list_tiles(vectors: Vectors, blocking: Blocking) -> list[Tile]:
    """The largest tile of each family of micro-kernels that there has to be."""
    kinds = [(layout, blocking) for layout in list_layouts(vectors)]
    if len(kinds) > 1:
        kinds += [("plain", _flat(vectors, blocking, rows)) for rows in (FLAT_ROWS, LINE_ROWS)]
    return list(dict.fromkeys(x.tile(vectors, layout, first) for layout, x in kinds for first in (True, False)))


def list_layouts(vectors: Vectors) -> tuple[Layout, ...]:
    """How A may lie for a tile: where it is, only if a part of a vector can be loaded."""
    return ("rows", "plain") if vectors.has("masked_load") else ("rows",)


def make_tiles(largest: Iterable[Tile], blocking: Blocking, maker: KernelCache | None = None) -> list[Instruction]:
    """The kernels of all tiles up to some largest ones."""
    maker = maker or KernelCache()
    made = (x for tile in largest for x in make_family(tile, blocking.stride, maker))
    return list({x.name: x for x in made}.values())


def make_products(
    name: str, vectors: Vectors, variants: Sequence[Variant], tiles: Catalogue, maker: KernelCache | None = None,
    parts: Sequence[bool] = BOTH,
) -> list[Instruction]:  # fmt: skip
    """The kernels of all variants, and those that choose one of them by the sizes."""
    maker = maker or KernelCache()
    made = [
        maker.make(name_variant(name, variant, first), _make_variant, name, vectors, variant, tiles, first)
        for variant, first in list_loops(variants, parts)
    ]
    return [*made, *make_choices(name, vectors, variants, tiles.with_instructions(made), parts=parts)]


def list_loops(variants: Iterable[Variant], parts: Sequence[bool] = BOTH) -> list[tuple[Variant, bool]]:
    """The variants that have kernels of their own, each for some `parts`."""
    return [(x, first) for x in variants for first in parts if not x.single]


def _make_variant(name: str, vectors: Vectors, variant: Variant, tiles: Catalogue, first: bool) -> Instruction:
    """The kernel of one variant."""
    definition = define_product(name_variant(name, variant, first), vectors, first)
    if variant.packed:
        program = make_packed(definition, vectors, variant.blocking, tiles, first, variant.fetch)
    elif variant.panels:
        program = make_panels(definition, vectors, variant.blocking, tiles, first, variant.fetch)
        program = share_panels(program) if variant.shared else program
    else:
        program = make_plain(definition, vectors, variant.blocking, tiles, first, variant.fetch)
    return make_callable(definition, program)


def make_choices(
    name: str, vectors: Vectors, variants: Sequence[Variant], known: Catalogue, op: Op = "nn",
    parts: Sequence[bool] = BOTH,
) -> list[Instruction]:  # fmt: skip
    """The kernels that choose a variant by the sizes, which may be zero: `NAME_first` stores the product, `NAME_add`
    adds it to C."""
    made = []
    for first in parts:
        called = {x.name: name_variant(name, x, first) for x in variants if not x.single}
        layout: Layout = "turned" if GemmOperands(op).transposed_a else "plain"
        called |= {x.name: name_family(x.blocking.tile(vectors, layout, first)) for x in variants if x.single}
        definition = define_product(name_part(name, first), vectors, first, op, empty=True)
        program = Program.of(definition, catalogue=known).apply(Specialise("i", "m >= 1 && n >= 1 && k >= 1"))
        made.append(make_callable(definition, choose(program, variants, called)))
    return made


def make_whole(name: str, vectors: Vectors, made: Iterable[Instruction], op: Op = "nn") -> Program:
    """The whole product by the kernels that `make_choices` made for its name."""
    program = Program.of(define_gemm(name, vectors, op), catalogue=Catalogue().with_instructions(made))
    return program.apply(Replace("i", name_part(name, True)), Replace("i #2", name_part(name, False)))


def name_part(name: str, first: bool) -> str:
    """The kernel that stores a product of any size (`first`), or adds it to C."""
    return f"{name}_{'first' if first else 'add'}"


def name_variant(name: str, variant: Variant, first: bool) -> str:
    """The kernel that runs a product's loops in one way."""
    return f"{name}_{variant.name}{'_first' if first else ''}"


def choose(program: Program, variants: Sequence[Variant], called: Mapping[str, str]) -> Program:
    """The first loop over i, given to the kernel of the first variant whose condition holds; `called`: the kernel of
    each."""
    loop = program.find("i")
    for variant in variants:
        if variant.condition:
            program = program.apply(Specialise(loop, variant.condition))
        program = program.apply(Replace(loop, called[variant.name]))
        loop = program.cursor(loop).parent().body()[-1]
    return program
