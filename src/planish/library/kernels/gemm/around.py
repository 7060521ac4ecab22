"""Wrappers around a GEMM: column-major operands and batches.

Each has a definition of its own, loops that anyone would write, and is made from it by steps that give the loops inside
to the kernels of a product (`make_choices`).

>>> from planish.ir.types import F32
>>> from planish.library.kernels.vectors import find_vectors
>>> kernel = define_column("dot", find_vectors("avx512", F32), "nn")
>>> [str(x.shape[1].name) for x in kernel.arrays], kernel.sizes
(['lda', 'ldb', 'ldc'], ('m', 'n', 'k', 'lda', 'ldb', 'ldc'))
"""

from __future__ import annotations

from collections.abc import Sequence

from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_kernel
from planish.isa.instruction import Catalogue
from planish.library.kernels.gemm.operands import GemmOperands, Op, spell_number, spell_term
from planish.library.kernels.gemm.whole import name_part
from planish.library.kernels.vectors import ProductTypes, Vectors
from planish.schedule.program import Program
from planish.schedule.steps.instructions import Replace


def define_column(name: str, vectors: Vectors, op: Op) -> Kernel:
    """The definition of a column-major GEMM: any leading dimensions, C not read where beta is zero."""
    operands = GemmOperands(op).by_columns
    sizes, known = ("m", "n", "k", "lda", "ldb", "ldc"), (*operands.known, "ldc >= m")
    term = spell_term(vectors.product, operands.at_a, operands.at_b, exchanged=True)
    product = f"for p in 0 .. k {{ C[j, i] += {term} }}"
    arrays = f"{operands.declare(vectors.product)}, C: {vectors.type}[n, ldc] distinct"
    body = _cases(vectors.product, ("j", "n"), ("i", "m"), "C[{row}, i]", product)
    return _define(name, vectors, sizes, arrays, known, body)


def make_column(name: str, product: str, vectors: Vectors, known: Catalogue, op: Op) -> Program:
    """The product of matrices of columns: one of matrices of rows, with the operands exchanged. `product`: the name of
    that one, whose operands are those of `exchange(op)`."""
    program = Program.of(define_column(name, vectors, op), catalogue=known)
    return program.apply(Replace("j", name_part(product, True)), Replace("j #2", name_part(product, False)))


def exchange(op: Op) -> Op:
    """How the operands lie of the product of rows that does one of columns."""
    exchanged: dict[Op, Op] = {"nt": "tn", "tn": "nt"}
    return exchanged.get(op, op)


def define_batch(name: str, vectors: Vectors, op: Op) -> Kernel:
    """The definition of a batched GEMM of one size: any leading dimensions, and strides `ra`, `rb`, `rc` in rows
    between the matrices."""
    operands = GemmOperands(op)
    sizes = ("batch", "m", "n", "k", "lda", "ldb", "ldc", "ra", "rb", "rc")
    known = (*operands.known, "ldc >= n", f"ra >= {operands.rows_a}", f"rb >= {operands.rows_b}", "rc >= m")
    product = vectors.product
    arrays = f"A: {product.left}[batch, ra, lda], B: {product.right}[batch, rb, ldb]"
    arrays += f", C: {product.sum}[batch, rc, ldc] distinct"
    term = spell_term(product, f"s, {operands.at_a}", f"s, {operands.at_b}")
    cases = _cases(product, ("i", "m"), ("j", "n"), "C[s, {row}, j]", f"for p in 0 .. k {{ C[s, i, j] += {term} }}")
    return _define(name, vectors, sizes, arrays, known, f"for s in 0 .. batch {{ {cases} }}")


def make_batch(name: str, product: str, vectors: Vectors, known: Catalogue, op: Op) -> Program:
    """Many products, one after the other."""
    program = Program.of(define_batch(name, vectors, op), catalogue=known)
    return program.apply(Replace("i", name_part(product, True)), Replace("i #2", name_part(product, False)))


def _define(
    name: str, vectors: Vectors, sizes: Sequence[str], arrays: str, known: Sequence[str], body: str
) -> Kernel:
    t, assumed = vectors.type, " ".join(f"assume {x}" for x in known)
    return parse_kernel(f"kernel {name}({', '.join(sizes)}; alpha: {t}, beta: {t}; {arrays}) {assumed} {{ {body} }}")


def _cases(product: ProductTypes, outer: tuple[str, str], inner: tuple[str, str], cell: str, add: str) -> str:
    """C scaled by beta, and not read where that is zero, before products are added to it; loops are pairs of a name and
    a size, `cell` the element of C with a place for the outer one."""

    def nest(row: str, body: str) -> str:
        return f"for {row} in 0 .. {outer[1]} {{ for {inner[0]} in 0 .. {inner[1]} {{ {body} }} }}"

    none, one = (spell_number(x, product) for x in (0, 1))
    stored = nest(outer[0], f"{cell.format(row=outer[0])} = {none} {add}")
    scaled = nest("r", f"{cell.format(row='r')} *= beta")
    return f"if beta == {none} {{ {stored} }} else {{ if beta != {one} {{ {scaled} }} {nest(outer[0], add)} }}"
