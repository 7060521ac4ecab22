"""The functions of a GEMM header: plain and transposed operands, row or column major, batched, on threads.

>>> request = Request(ops=("nn", "nt"), column=True, batch=True)
>>> request.rows
('nn', 'nt', 'tn')
>>> [request.name("sgemm", op, word) for op in request.ops for word in request.words]
['sgemm', 'sgemm_column', 'sgemm_batch', 'sgemm_nt', 'sgemm_nt_column', 'sgemm_nt_batch']
"""

from __future__ import annotations

from dataclasses import dataclass

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.isa.instruction import Catalogue, Instruction
from planish.library.kernels.gemm.around import exchange, make_batch, make_column
from planish.library.kernels.gemm.blocked import Blocking
from planish.library.kernels.gemm.edges import count_family
from planish.library.kernels.gemm.grouped import list_grouped_tiles, list_groups, make_grouped_products
from planish.library.kernels.gemm.microkernel import Tile
from planish.library.kernels.gemm.operands import GemmOperands, Op
from planish.library.kernels.gemm.threads import make_threads
from planish.library.kernels.gemm.transposed import list_transposed, list_turned, make_transposed_products
from planish.library.kernels.gemm.whole import (
    Variant,
    list_loops,
    list_tiles,
    list_variants,
    make_products,
    make_tiles,
    make_whole,
)
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.kernels.vectors import ProductTypes, Vectors
from planish.schedule.program import Program


@dataclass(frozen=True, slots=True)
class Request:
    """Which functions there are to be for each pair of operands: that of rows in any case, and what is asked for."""

    ops: tuple[Op, ...] = ("nn",)
    column: bool = False
    batch: bool = False
    threads: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """What the names of a pair's functions end with."""
        return ("", *(x for x in ("column", "batch", "threads") if getattr(self, x)))

    @property
    def rows(self) -> tuple[Op, ...]:
        """The products of matrices of rows that are needed: those of columns are made of them."""
        exchanged = tuple(map(exchange, self.ops)) if self.column else ()
        return tuple(dict.fromkeys((*self.ops, *exchanged)))

    def name(self, product: str, op: Op, word: str) -> str:
        """What a function is called."""
        own = GemmOperands(op).name(product)
        return f"{own}_{word}" if word else own


def list_largest(request: Request, vectors: Vectors, blocking: Blocking) -> list[Tile]:
    """The largest tile of each family of micro-kernels that the functions need."""
    if vectors.product.group > 1:
        return list_grouped_tiles(blocking, vectors)
    turned = list_turned(vectors, blocking) if any(GemmOperands(x).transposed_a for x in request.rows) else []
    return [*list_tiles(vectors, blocking), *turned]


def count_kernels(request: Request, vectors: Vectors, blocking: Blocking) -> int:
    """How many kernels `make_functions` has its maker make."""
    tiles = sum(count_family(x.rows, x.vectors) for x in list_largest(request, vectors, blocking))
    return tiles + sum(_count_loops(vectors, blocking, op) for op in request.rows)


def _count_loops(vectors: Vectors, blocking: Blocking, op: Op) -> int:
    """How many of the kernels around tiles are made one by one for a product."""
    if vectors.product.group > 1:
        return len(list_groups("", vectors, blocking))
    return len(list_loops(_list_variants(vectors, blocking, op)))


def _list_variants(vectors: Vectors, blocking: Blocking, op: Op) -> tuple[Variant, ...]:
    return list_variants(vectors, blocking) if op == "nn" else list_transposed(vectors, blocking, op)


def make_functions(
    name: str, vectors: Vectors, blocking: Blocking, request: Request, maker: KernelCache | None = None
) -> tuple[list[Program], Catalogue]:
    """The functions, and all kernels that they call. PlanishError E0642 for a product that there is not."""
    check_request(request, vectors.product)
    maker = maker or KernelCache()
    made = make_tiles(list_largest(request, vectors, blocking), blocking, maker)
    tiles = Catalogue().with_instructions(made)
    for op in request.rows:
        made += _make_products(GemmOperands(op).name(name), vectors, blocking, tiles, op, maker)
    known, programs = Catalogue().with_instructions(made), []
    for op, word in ((op, word) for op in request.ops for word in request.words):
        own, product = request.name(name, op, word), GemmOperands(op).name(name)
        match word:
            case "column":
                programs.append(make_column(own, GemmOperands(exchange(op)).name(name), vectors, known, op))
            case "batch":
                programs.append(make_batch(own, product, vectors, known, op))
            case "threads":
                program, shares = make_threads(own, product, vectors, blocking, known, op)
                programs.append(program)
                made += shares
            case _:
                programs.append(make_whole(own, vectors, made, op))
    return programs, Catalogue().with_instructions(made)


def check_request(request: Request, product: ProductTypes) -> None:
    """That there are such products; PlanishError E0642."""
    if product.group > 1 and request.rows != ("nn",):
        message = f"there are no products of {product.name} with an operand that lies transposed"
        raise PlanishError(Diagnostic("E0642", message, help="transpose it first, and ask for --op nn"))
    if product.left != product.right and request.column:
        message = f"in column order the factors of {product.name} would change places, and their types differ"
        raise PlanishError(Diagnostic("E0642", message, help="use rows: --order row"))


def _make_products(
    name: str, vectors: Vectors, blocking: Blocking, tiles: Catalogue, op: Op, maker: KernelCache
) -> list[Instruction]:
    if vectors.product.group > 1:
        return make_grouped_products(name, vectors, blocking, tiles, maker)
    variants = _list_variants(vectors, blocking, op)
    if op == "nn":
        return make_products(name, vectors, variants, tiles, maker)
    return make_transposed_products(name, vectors, variants, tiles, op, maker)
