"""What a kernel of the library does of an operation: its loops, the kernel, and what comes before it.

>>> from planish.ir.expr import index
>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.types import F32
>>> from planish.raising.operation import Operation
>>> from planish.raising.raised import whole
>>> nest = "for i in 0 .. m { for j in 0 .. n { for p in 0 .. k { C[i, j] += A[i, p] * B[p, j] } } }"
>>> definition = parse_kernel(f"kernel nn(m, n, k; A: f64[m, k], B: f64[k, n], C: f64[m, n]) {{ {nest} }}")
>>> arrays = {x: Array(x, F32, tuple(map(index, y))) for x, y in {"A": (8, 3), "B": (3, 9), "C": (8, 9)}.items()}
>>> sizes = {"m": index(8), "n": index(9), "k": index(3)}
>>> work = find_work(Apply(Operation("nn", definition), {x: whole(y) for x, y in arrays.items()}, sizes), arrays, set())
>>> describe(work)
'product of matrices (nn)'
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from planish.ir.nest import Array, For, Stmt
from planish.ir.types import F32, F64
from planish.isa.instruction import Instruction
from planish.library.kernels.batched_gemm import BatchedProduct, NoMatricesError, begin, find_matrices, loops_of
from planish.library.kernels.conv_windows import Windows, find_windows
from planish.library.kernels.convolution import choose_shape, make_convolution
from planish.library.kernels.gemm.compact import choose_few_blocks, make_compact
from planish.library.kernels.gemm.grouped import make_compact_groups
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.kernels.tensor_transpose import Transposition, find_transposition
from planish.library.kernels.transpose import make_transposition
from planish.library.kernels.vectors import ProductTypes, Vectors, choose_movable, choose_vectors
from planish.raising.raised import Apply
from planish.target.machine import Target

Work = BatchedProduct | Transposition | Windows

_PREFIXES = {F32: "s", F64: "d"}
"""Those of the BLAS; kernels for other types have these in their names."""


def find_work(step: Apply, arrays: Mapping[str, Array], taken: set[str]) -> Work:
    """What the library's kernels do of an operation; NoMatricesError where that is nothing."""
    for find in (find_transposition, find_windows):
        try:
            return find(step, arrays, taken)
        except NoMatricesError:
            continue
    return find_matrices(step, arrays, taken)


def describe(work: Work) -> str:
    """What it is."""
    numbers = None if isinstance(work, Transposition) else work.numbers
    flushed = (
        ", which takes denormal numbers for zeros" if isinstance(numbers, ProductTypes) and numbers.flushes else ""
    )
    match work:
        case BatchedProduct():
            return f"product of matrices ({work.op}){flushed}"
        case Transposition():
            return "transposition"
        case Windows():
            return f"convolution, summed where the image lies{flushed}"
        case _:
            assert_never(work)


def loops_for(work: Work) -> For:
    """The loops that the kernel stands for, without those around it."""
    return loops_of(work) if isinstance(work, BatchedProduct) else work.loop


def begun(work: Work) -> list[Stmt]:
    """What is done before."""
    match work:
        case BatchedProduct():
            return [] if work.stores else begin(work.product, work.letters, work.type)
        case Windows():
            return [] if work.product.overwrites else begin(work.product, work.letters, work.type)
        case Transposition():
            return []
        case _:
            assert_never(work)


def vectors_for(work: Work, target: Target) -> Vectors:
    """The vectors that a target has for it; PlanishError E0640, or NoMatricesError, where there are none."""
    if not isinstance(work, Transposition):
        return choose_vectors(target, work.numbers)
    vectors = choose_movable(target, work.type)
    if not vectors.has("transpose"):
        raise NoMatricesError(f"there is no transposition of {work.type} in registers")
    return vectors


def make_kernel(
    work: Work, vectors: Vectors, target: Target, maker: KernelCache, threads: int = 1
) -> tuple[Instruction, list[Instruction]]:
    """The kernel that does it on a target, and all that it calls, with itself; a transposition is one thread's, or
    some of the rows of one are."""
    name = f"planish_{_PREFIXES.get(work.type, '')}"
    match work:
        case BatchedProduct() if work.numbers.group > 1:
            name = f"planish_{work.numbers.name}_gemm"
            blocking = choose_few_blocks(vectors, target, maker.point)
            return make_compact_groups(name, vectors, blocking, maker, threads, work.stores)
        case BatchedProduct():
            return make_compact(f"{name}gemm", vectors, target, work.op, maker, threads)
        case Windows():
            return make_convolution(choose_shape(vectors, work.window, target, work.product.overwrites), maker, threads)
        case Transposition():
            name = f"{name}transpose" if work.type in _PREFIXES else f"planish_{work.type}_transpose"
            made = maker.make(name, make_transposition, name, vectors, target.cache(2).share)
            return made, [made]
        case _:
            assert_never(work)
