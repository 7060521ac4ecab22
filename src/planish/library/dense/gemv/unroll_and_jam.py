"""Register-blocked matrix-vector product: unroll-and-jam over rows.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.auto.plan import prepare
>>> from planish.target.load import load_target
>>> loops = "y[i] = 0.0  for k in 0 .. n { y[i] += A[i, k] * x[k] }"
>>> kernel = parse_kernel("kernel k(m, n; A: f64[m, n], x: f64[n], y: f64[m]) { for i in 0 .. m { %s } }" % loops)
>>> made = dot_versions(prepare(kernel), load_target("x86-avx512"))
>>> for x in made:
...     print(x.name, x.remarks[0].message, sep=": ")
gemv-rows: A: matrix-vector product by unroll-and-jam of 12 rows, in registers
gemv-rows-8: A: matrix-vector product by unroll-and-jam of 8 rows, in registers
"""

from __future__ import annotations

from dataclasses import replace

from planish.core.diagnostic import PlanishError, Remark
from planish.ir.index.simplify import simplify_block
from planish.ir.nest import Block, Kernel, Stmt
from planish.ir.traverse import map_block, used_names, walk
from planish.isa.instruction import Catalogue, Instruction
from planish.library.dense.gemv.register_block import FEWER, ROWS, Tiles
from planish.library.dense.gemv.row_loops import Dots, find_dots
from planish.library.dense.gemv.shared_kernel import call_gemv
from planish.library.kernels.vectors import Vectors, choose_vectors
from planish.schedule.auto.plan import Prepared, Version, as_written
from planish.target.machine import Target

NAME = "gemv-rows"
"""What the version is called."""


def dot_versions(
    prepared: Prepared, target: Target, rows: int = ROWS, accumulators: int = 1
) -> tuple[Version, ...]:  # fmt: skip
    """The versions of a kernel that adds up along rows, at most so many at a time with so many accumulators each, with
    sums in another order; none where it does not, or there are no instructions for it."""
    kernel = as_written(prepared)
    if not find_row_sums(kernel, target):
        return ()
    ways = ((NAME, rows, accumulators), (f"{NAME}-{FEWER}", FEWER, 1))
    made = [(name, *_by_tiles(kernel, target, most, each)) for name, most, each in ways]
    different = made if made[0][1] != made[1][1] else made[:1]
    schedule = prepared.scop.schedule
    return tuple(Version(name, schedule, x, remarks, 0.0, known) for name, x, remarks, known in different)


def find_row_sums(kernel: Kernel, target: Target) -> tuple[Stmt, ...]:
    """The loops that add up along rows, where a target has instructions for that."""
    return tuple(x for x in walk(kernel.body) if _find(x, kernel, target) is not None)


def _find(stmt: Stmt, kernel: Kernel, target: Target) -> tuple[Dots, Vectors] | None:
    """The sums along rows that a statement makes, and the vectors for them."""
    found = find_dots(stmt, frozenset(kernel.sizes))
    if found is None:
        return None
    try:
        vectors = choose_vectors(target, found.type)
    except PlanishError:
        return None
    return (found, vectors) if vectors.has("sum_to") else None


def _by_tiles(
    kernel: Kernel, target: Target, rows: int, accumulators: int
) -> tuple[Kernel, tuple[Remark, ...], Catalogue]:  # fmt: skip
    """The kernel with at most so many rows at a time, and accumulators for each, a remark on each of
    its loops that have them, and the kernels that it calls."""
    called: list[Instruction] = []
    taken = {*used_names(kernel)}
    remarks: list[Remark] = []

    def visit(stmt: Stmt) -> Stmt:
        known = _find(stmt, kernel, target)
        if known is None:
            return stmt
        found, vectors = known
        tiles = Tiles(found, vectors, taken, rows, accumulators)
        arrays = ", ".join(dict.fromkeys(x.row.array for x in found.sums))
        message = f"{arrays}: matrix-vector product by unroll-and-jam of {tiles.most} rows, in registers"
        message += f", {accumulators} for each sum" if accumulators > 1 else ""
        remarks.append(Remark(NAME, "done", message, found.loop.span or kernel.span))
        call = call_gemv(found, vectors, kernel, tiles.most, accumulators)
        if call is None:
            return tiles.loops()
        called.extend(call[1])
        return Block(call[0])

    body = map_block(visit, kernel.body)
    made = replace(kernel, body=simplify_block(body, assumptions=kernel.assumptions))
    return made, tuple(remarks), Catalogue().with_instructions(called)
