"""GEMM on threads: work-sharing over rows, or over columns where there are more of them.

>>> from planish.ir.text.printer import print_kernel
>>> from planish.ir.types import F32
>>> from planish.library.kernels.vectors import find_vectors
>>> v = find_vectors("avx512", F32)
>>> sum_up = define_product("p_add", v, False, empty=True)
>>> known = Catalogue().with_instructions([make_callable(sum_up, Program.of(sum_up))])
>>> rows, _, _ = make_shares("q", "p", v, Blocking(14, 2, 384, 512, 2016), known, "nn", first=False)
>>> print(print_kernel(rows.implementation).partition("{")[2])
<BLANKLINE>
  for it in 0 .. (m + 111) // 112 parallel {
    for ii in 0 .. min(112, m - 112 * it) as p_add {
      for j in 0 .. n {
        for p in 0 .. k {
          C[112 * it + ii, j] += alpha * A[112 * it + ii, p] * B[p, j]
        }
      }
    }
  }
}
<BLANKLINE>
"""

from __future__ import annotations

from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_kernel
from planish.isa.instruction import Catalogue, Instruction
from planish.library.kernels.as_instruction import make_callable
from planish.library.kernels.gemm.blocked import Blocking, define_product
from planish.library.kernels.gemm.operands import Op
from planish.library.kernels.gemm.whole import make_whole, name_part
from planish.library.kernels.vectors import Vectors
from planish.schedule.program import Program
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.control import Specialise
from planish.schedule.steps.facts import Parallelise
from planish.schedule.steps.instructions import Replace
from planish.schedule.steps.loops import Split

ALONE = 1 << 18
"""So many products at most are summed by one thread: to wake the others would take longer than it saves."""
ROWS, COLUMNS = 8, 4
"""The tiles in the rows, or in the columns, that a thread does at a time: what it copies has to be worth it."""


def make_threads(
    name: str, product: str, vectors: Vectors, blocking: Blocking, known: Catalogue, op: Op
) -> tuple[Program, list[Instruction]]:
    """The whole product on threads, and the kernels of its own that it calls. `product`: the name of the product that
    does a thread's share, the kernels of which are known."""
    made = [_make_scaling(f"{name}_scale", vectors)]
    for first in (True, False):
        made += make_shares(name, product, vectors, blocking, known, op, first)
    program = make_whole(name, vectors, [*known.instructions.values(), *made], op)
    return program.apply(Specialise("r", f"m * n > {ALONE}"), Replace("r", made[0].name)), made


def make_shares(
    name: str, product: str, vectors: Vectors, blocking: Blocking, known: Catalogue, op: Op, first: bool,
    tall: str = "",
) -> list[Instruction]:  # fmt: skip
    """The work-sharing kernels by rows and by columns, and the one that chooses between them by the sizes; `first`:
    they store instead of adding; `tall`: the kernel for few columns, whose packed copies threads share, where nothing
    of A is copied."""
    own, part = name_part(name, first), name_part(product, first)
    width = blocking.vectors * vectors.lanes
    rows, columns = ROWS * blocking.rows, (COLUMNS // 2 if tall else COLUMNS) * width
    few = f"n < {COLUMNS * columns}" if tall else "m >= n"

    def define(word: str) -> Kernel:
        return define_product(own + word, vectors, first, op, empty=True)

    by_columns = Program.of(define("_columns"), catalogue=known).apply(
        Split("j", columns, ("jt", "jj"), "short"), Reorder("i", ("jt", "i", "jj")), Replace("i", part),
        Parallelise("jt"),
    )  # fmt: skip
    made = [make_callable(define("_columns"), by_columns)]
    if not tall:
        by_rows = Program.of(define("_rows"), catalogue=known).apply(
            Split("i", rows, ("it", "ii"), "short"), Replace("ii", part), Parallelise("it")
        )
        made.insert(0, make_callable(define("_rows"), by_rows))
    program = Program.of(define(""), catalogue=known.with_instructions(made))
    program = program.apply(Specialise("i", f"m * n * k <= {ALONE}"), Replace("i", part))
    program = program.apply(
        Specialise("i #2", few), Replace("i #2", tall or made[0].name), Replace("i #3", made[-1].name)
    )
    return [*made, make_callable(define(""), program)]


def _make_scaling(name: str, vectors: Vectors) -> Instruction:
    """The kernel that multiplies C by beta."""
    t = vectors.type
    definition = parse_kernel(
        f"kernel {name}(m, n, ldc; beta: {t}; C: {t}[m, ldc] distinct) assume ldc >= n"
        " { for r in 0 .. m { for j in 0 .. n { C[r, j] *= beta } } }"
    )
    return make_callable(definition, Program.of(definition).apply(Parallelise("r")))
