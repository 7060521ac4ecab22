"""Out-of-place transpose: blocks of register-sized squares, each transposed by shuffles.

>>> from planish.ir.types import F64
>>> from planish.library.kernels.vectors import find_vectors
>>> kernel = make_transposition("turn", find_vectors("avx512", F64), 1 << 20)
>>> print(kernel.implementation.name, kernel.implementation.sizes)
turn ('m', 'n', 'lda', 'ldb')
"""

from __future__ import annotations

from planish.ir.expr import Binary, Expr
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_expr
from planish.isa.instruction import Instruction
from planish.library.kernels.as_instruction import make_callable
from planish.library.kernels.vectors import Vectors
from planish.poly.isl.affine import constant_of
from planish.schedule.program import Program
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.control import Specialise
from planish.schedule.steps.instructions import Replace
from planish.schedule.steps.kernels import Simplify
from planish.schedule.steps.loops import Fission, Split
from planish.schedule.steps.prefetch import Prefetch

ROWS = 32
"""The rows of a block, which is as wide as a vector: some lines of the output are written to their ends at a time."""
AHEAD = 4
"""So many blocks ahead rows are fetched: they are too many for the processor to foresee what comes."""


def make_transposition(name: str, vectors: Vectors, room: int) -> Instruction:
    """The kernel B = A^T for any sizes and leading dimensions. What exceeds `room` bytes is stored non-temporally."""
    t, lanes = vectors.type, vectors.lanes
    definition = parse_kernel(
        f"kernel {name}(m, n, lda, ldb; A: {t}[m, lda] distinct, B: {t}[n, ldb] distinct)"
        " assume m >= 0 assume n >= 0 assume lda >= n assume ldb >= m"
        " { for i in 0 .. m { for j in 0 .. n { B[j, i] = A[i, j] } } }"
    )
    program = Program.of(definition).apply(
        Split("i", ROWS, ("ib", "ic"), "short"), Split("j", lanes, ("jb", "jl")), Fission("jb"),
        Split("ic", lanes, ("iv", "il"), "short"), Reorder("iv", ("jb", "iv", "il", "jl")),
    )  # fmt: skip
    program = turn_squares(program, vectors, ("il", "jl"), "transpose")
    if vectors.has("stream_transpose"):
        program = program.apply(Specialise("ib", f"m * n >= {room // t.size}"))
        program = program.apply(Replace("il", vectors.name("stream_transpose")))
        program = _fetch(program, vectors)
    return make_callable(definition, program)


def _fetch(program: Program, vectors: Vectors) -> Program:
    """Have whole lines of later rows fetched."""
    fetch = vectors.name("prefetch")
    line = program.catalogue.instruction(fetch).lanes or 1
    return program if vectors.lanes % line else program.apply(Prefetch("il", "A", "il", "A_later", fetch, AHEAD, "jb"))


def turn_squares(program: Program, vectors: Vectors, loops: tuple[str, str], operation: str) -> Program:
    """Give whole squares, as large as a vector is long, to an instruction; loops turn what is left at the edges."""
    counts = [x.upper for x in map(program.loop, loops)]
    if not vectors.has(operation) or any((constant_of(x) or vectors.lanes) < vectors.lanes for x in counts):
        return program
    left = [_left(x) for x in counts if constant_of(x) is None]
    if left:
        condition = " && ".join(f"{print_expr(x)} >= {vectors.lanes}" for x in left)
        program = program.apply(Specialise(loops[0], condition), Simplify())
    return program.apply(Replace(loops[0], vectors.name(operation)))


def _left(count: Expr) -> Expr:
    """How many iterations there are from a block's first one on: of "so many, but at most 16" the first."""
    if isinstance(count, Binary) and count.op == "min":
        return next((x for x in (count.left, count.right) if constant_of(x) is None), count)
    return count
