"""What is left of a sum of products where instructions add groups of them: fewer than a group, by plain loops.

>>> from planish.library.vectors import PRODUCTS, find_vectors
>>> define_rest("rest", find_vectors("avx512", PRODUCTS["u8s8"])).arrays[0].type
Type(kind='uint', bits=8)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planish.ir.nest import Kernel
from planish.ir.parser import parse_kernel
from planish.isa.instruction import Catalogue, Instruction
from planish.library.calls import make_callable
from planish.library.gemm.microkernel import spell_update, zero
from planish.library.vectors import Vectors
from planish.schedule.program import Program
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.control import Specialise
from planish.schedule.steps.facts import Vectorise
from planish.schedule.steps.instructions import Replace
from planish.schedule.steps.kernels import Simplify
from planish.schedule.steps.loops import Fission, Split


def make_sums(
    name: str, vectors: Vectors, grouped: Mapping[bool, str], made: Sequence[Instruction]
) -> list[Instruction]:
    """The kernels C += alpha A B and C = alpha A B for any k of at least a group, and what they call besides the
    kernels for whole groups, which are named in `grouped` and among those `made`."""
    definition = define_rest(f"{name}_rest", vectors)
    out = [make_callable(definition, make_rest(definition))]
    catalogue = Catalogue().with_instructions([*made, *out])
    for first in (True, False):
        definition = define_sum(name_sum(name, first), vectors, first)
        program = split_rest(Program.of(definition, catalogue=catalogue), vectors.product.group)
        program = program.apply(Replace("i", grouped[first]), Replace("i #2", f"{name}_rest"))
        out.append(make_callable(definition, program))
    return out


def name_sum(name: str, first: bool) -> str:
    """What the kernel for any k is called."""
    return f"{name}_sum{'_first' if first else ''}"


def define_sum(name: str, vectors: Vectors, first: bool, few: bool = False) -> Kernel:
    """The triple loop for at least as many products as there are in a group, or for `few`er."""
    t, product = vectors.type, vectors.product
    clear = f"C[i, j] = {zero(vectors)}" if first else ""
    known = f"k >= 1 assume k < {product.group}" if few else f"m >= 1 assume n >= 1 assume k >= {product.group}"
    return parse_kernel(
        f"kernel {name}(m, n, k, lda, ldb, ldc; alpha: {t};"
        f" A: {product.left}[m, lda], B: {product.right}[k, ldb], C: {t}[m, ldc] distinct)"
        f" assume {known} assume lda >= k assume ldb >= n assume ldc >= n {{ for i in 0 .. m {{ for j in 0 .. n {{"
        f" {clear} for p in 0 .. k {{ {spell_update(vectors, 'p', 'p, j')} }} }} }} }}"
    )


def define_rest(name: str, vectors: Vectors) -> Kernel:
    """The triple loop for fewer products than there are in a group."""
    return define_sum(name, vectors, False, few=True)


def make_rest(definition: Kernel) -> Program:
    """A row of C at a time."""
    return Program.of(definition).apply(Reorder("i", ("i", "p", "j")), Vectorise("j"))


def split_rest(program: Program, group: int) -> Program:
    """A triple loop cut in two: one over whole groups, and one over what is left, if anything is."""
    program = program.apply(Split("p", group, ("pg", "q"), "cut"), Fission("pg", 2))
    return program.apply(Specialise("i #2", f"k % {group} > 0"), Simplify())
