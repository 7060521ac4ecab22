"""The whole product where instructions add groups of products: of bf16, of i16, of u8 by s8.

    program, catalogue = make_grouped("u8gemm", find_vectors("avx512", PRODUCTS["u8s8"]), 14, 2, 48 << 10, 1 << 20)

The sums are multiplied by alpha in the end, for which tiles of fewer rows do: mostly it is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from planish.core.telling import Tell, keep_quiet
from planish.ir.nest import Kernel
from planish.ir.parser import parse_kernel
from planish.isa.instruction import Catalogue, Instruction
from planish.library.calls import make_callable
from planish.library.gemm.blocked import Blocking, choose_blocking, define_product, make_woven
from planish.library.gemm.edges import make_family
from planish.library.gemm.microkernel import Tile, spell_update, zero
from planish.library.vectors import Vectors
from planish.schedule.program import Program
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.control import Specialise
from planish.schedule.steps.facts import Vectorise
from planish.schedule.steps.instructions import Replace
from planish.schedule.steps.kernels import Simplify
from planish.schedule.steps.loops import Fission, Split

SCALED_ROWS = 6
"""The rows of the largest tile where alpha is not one."""
COPIED = 1024
"""A block of A is copied for more columns of B than these: it is read often enough."""

Kind = tuple[bool, bool]
"""Whether there is an alpha, and whether the products are stored, not added."""
KINDS: tuple[Kind, ...] = ((False, True), (False, False), (True, True), (True, False))


def define_grouped(name: str, vectors: Vectors) -> Kernel:
    """What the whole product computes; C is not read where beta is zero."""
    t, factors = vectors.type, vectors.product
    none, one = zero(vectors), zero(vectors).replace("0", "1", 1)

    def nest(row: str, body: str) -> str:
        return f"for {row} in 0 .. m {{ for j in 0 .. n {{ {body} }} }}"

    def either(scaled: bool) -> str:
        add = f"for p in 0 .. k {{ {spell_update(vectors, 'i, p', 'p, j', scaled)} }}"
        scale = f"if beta != {one} {{ {nest('r', 'C[r, j] *= beta')} }}"
        return f"if beta == {none} {{ {nest('i', f'C[i, j] = {none} {add}')} }} else {{ {scale} {nest('i', add)} }}"

    return parse_kernel(
        f"kernel {name}(m, n, k, lda, ldb, ldc; alpha: {t}, beta: {t};"
        f" A: {factors.left}[m, lda], B: {factors.right}[k, ldb], C: {t}[m, ldc] distinct)"
        " assume lda >= k assume ldb >= n assume ldc >= n"
        f" {{ if alpha == {one} {{ {either(False)} }} else {{ {either(True)} }} }}"
    )


def make_grouped(
    name: str, vectors: Vectors, rows: int, count: int, level1: int, level2: int, tell: Tell = keep_quiet
) -> tuple[Program, Catalogue]:
    """The product with tiles of `rows` by `count` registers, and all kernels that it calls. `tell` hears what is being
    made."""
    blocking = choose_blocking(vectors, rows, count, level1, level2)
    made: list[Instruction] = []
    for tile in list_grouped_tiles(vectors, rows, count):
        made += make_family(tile, tell=tell)
    tiles = Catalogue().with_instructions(made)
    for kind, copied in product(KINDS, (False, True)):
        definition = define_product(_name(name, "copied" if copied else "placed", kind), vectors, kind[1], kind[0])
        own = _of_kind(blocking, kind)
        made.append(make_callable(definition, make_woven(definition, vectors, own, tiles, kind[1], kind[0], copied)))
    made += _make_sums(name, vectors, Catalogue().with_instructions(made))
    catalogue = Catalogue().with_instructions(made)
    program = Program.of(define_grouped(name, vectors), catalogue=catalogue)
    loops = [program.find(f"i #{place}" if place > 1 else "i") for place in range(1, 5)]
    for loop, kind in zip(loops, KINDS, strict=True):
        program = program.apply(Specialise(loop, f"m >= 1 && n >= 1 && k >= {vectors.product.group}"))
        program = program.apply(Replace(loop, _name(name, "sum", kind)))
    return program, catalogue


def list_grouped_tiles(vectors: Vectors, rows: int, count: int) -> list[Tile]:
    """The largest tile of each family of micro-kernels that there has to be."""
    whole = Blocking(rows, count, 0, 0, 0)
    return [_of_kind(whole, kind).tile(vectors, "strided", kind[1], kind[0]) for kind in KINDS]


def _of_kind(blocking: Blocking, kind: Kind) -> Blocking:
    """The blocking with fewer rows where there is an alpha."""
    if not kind[0] or blocking.rows <= SCALED_ROWS:
        return blocking
    return replace(blocking, rows=SCALED_ROWS, height=blocking.height // SCALED_ROWS * SCALED_ROWS)


def _name(name: str, word: str, kind: Kind) -> str:
    return f"{name}_{word}{'_scaled' * kind[0]}{'_first' * kind[1]}"


def _make_sums(name: str, vectors: Vectors, groups: Catalogue) -> Iterator[Instruction]:
    """The kernels for any k of at least a group, which call those for whole `groups`, and what these call besides."""
    for scaled in (False, True):
        rest = f"{name}_rest{'_scaled' * scaled}"
        definition = define_sum(rest, vectors, (scaled, False), few=True)
        few = make_callable(definition, make_rest(definition))
        yield few
        catalogue = groups.with_instructions([few])
        for kind in ((scaled, False), (scaled, True)):
            definition = define_sum(_name(name, "sum", kind), vectors, kind)
            program = split_rest(Program.of(definition, catalogue=catalogue), vectors.product.group)
            program = program.apply(Replace("i #2", rest), Specialise("i", f"n > {COPIED}"))
            program = program.apply(Replace("i", _name(name, "copied", kind)))
            yield make_callable(definition, program.apply(Replace("i #2", _name(name, "placed", kind))))


def define_sum(name: str, vectors: Vectors, kind: Kind, few: bool = False) -> Kernel:
    """The triple loop for at least as many products as there are in a group, or for `few`er."""
    t, factors, (scaled, first) = vectors.type, vectors.product, kind
    clear = f"C[i, j] = {zero(vectors)}" if first else ""
    known = f"k >= 1 assume k < {factors.group}" if few else f"m >= 1 assume n >= 1 assume k >= {factors.group}"
    return parse_kernel(
        f"kernel {name}(m, n, k, lda, ldb, ldc; {f'alpha: {t};' * scaled}"
        f" A: {factors.left}[m, lda], B: {factors.right}[k, ldb], C: {t}[m, ldc] distinct)"
        f" assume {known} assume lda >= k assume ldb >= n assume ldc >= n {{ for i in 0 .. m {{ for j in 0 .. n {{"
        f" {clear} for p in 0 .. k {{ {spell_update(vectors, 'i, p', 'p, j', scaled)} }} }} }} }}"
    )


def make_rest(definition: Kernel) -> Program:
    """A row of C at a time."""
    return Program.of(definition).apply(Reorder("i", ("i", "p", "j")), Vectorise("j"))


def split_rest(program: Program, group: int) -> Program:
    """A triple loop cut in two: one over whole groups, and one over what is left, if anything is."""
    program = program.apply(Split("p", group, ("pg", "q"), "cut"), Fission("pg", 2))
    return program.apply(Specialise("i #2", f"k % {group} > 0"), Simplify())
