"""In-place square transpose: pairs of register-sized blocks are transposed in registers and swapped.

A square above the diagonal and the one below it with which it changes places are each turned into a buffer, and stored
in the other's place. Blocks of such pairs come one after the other: the line of the cache of which a square has a part
is still there when the next one needs the rest.

>>> from planish.ir.types import F64
>>> from planish.library.kernels.vectors import find_vectors
>>> kernel = make_mirror(find_vectors("avx512", F64))
>>> print(kernel.name, kernel.sizes)
mirror ('n', 'lda')
"""

from __future__ import annotations

from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.types import Type
from planish.library.kernels.vectors import Vectors
from planish.schedule.program import Program
from planish.schedule.steps.instructions import Replace
from planish.schedule.steps.loops import Unroll

BLOCK = 256
"""The rows and columns of a block."""
_BUFFERS = ("upper", "lower")


def has_mirror(vectors: Vectors) -> bool:
    """Whether there are the instructions for it."""
    return vectors.has("transpose") and vectors.has("copy")


def make_mirror(vectors: Vectors, block: int = BLOCK) -> Kernel:
    """The in-place transpose of an n x n matrix `a` with leading dimension `lda`, by blocks of so many rows and
    columns, a multiple of the lanes. Elements are moved only, so that any floating-point mode allows it.

    What is on the diagonal is neither read nor written: there need be no first element, and no last one. So squares
    there are left to loops, as are the last rows and columns, which are too few for squares."""
    kind, lanes, count = vectors.type, vectors.lanes, block // vectors.lanes
    squares, blocks = f"n // {lanes}", f"(n // {lanes} + {count - 1}) // {count}"
    pair = "\n".join((
        _turn("upper", "iv", "jv", lanes), _turn("lower", "jv", "iv", lanes),
        _store("lower", "iv", "jv", lanes), _store("upper", "jv", "iv", lanes),
    ))  # fmt: skip
    text = f"""\
kernel mirror(n, lda; a: {kind}[n, lda]) assume lda >= n {{
  for ib in 0 .. {blocks} {{
    for j in {block} * ib .. min({block} * ib + {block}, {lanes} * ({squares})) {{
      for i in j + 1 .. {lanes} * (j // {lanes}) + {lanes} {{ {_exchange(kind)} }}
    }}
    for jb in ib .. {blocks} {{
      for iv in {count} * ib .. min({count} * ib + {count}, {squares}) {{
        for jv in max({count} * jb, iv + 1) .. min({count} * jb + {count}, {squares}) {{
          alloc upper: {kind}[{lanes}, {lanes}] stack
          alloc lower: {kind}[{lanes}, {lanes}] stack
          {pair}
        }}
      }}
    }}
  }}
  for j in 0 .. n {{
    for i in max({lanes} * ({squares}), j + 1) .. n {{ {_exchange(kind)} }}
  }}
}}
"""
    program = Program.of(parse_kernel(text), "strict")
    for buffer in _BUFFERS:
        program = program.apply(Replace(f"{buffer}_l", vectors.name("transpose")))
        # Written out, what is stored from a buffer need not go through memory.
        program = program.apply(Replace(f"{buffer}_q", vectors.name("copy")), Unroll(f"{buffer}_r"))
    return program.kernel


def _turn(buffer: str, rows: str, columns: str, lanes: int) -> str:
    """Loops that fill a buffer with a square, transposed."""
    row, column = f"{buffer}_l", f"{buffer}_c"
    element = f"a[{lanes} * {rows} + {row}, {lanes} * {columns} + {column}]"
    inner = f"for {column} in 0 .. {lanes} {{ {buffer}[{column}, {row}] = {element} }}"
    return f"for {row} in 0 .. {lanes} {{ {inner} }}"


def _store(buffer: str, rows: str, columns: str, lanes: int) -> str:
    """Loops that store a buffer as a square."""
    row, column = f"{buffer}_r", f"{buffer}_q"
    element = f"a[{lanes} * {rows} + {row}, {lanes} * {columns} + {column}]"
    inner = f"for {column} in 0 .. {lanes} {{ {element} = {buffer}[{row}, {column}] }}"
    return f"for {row} in 0 .. {lanes} {{ {inner} }}"


def _exchange(kind: Type) -> str:
    """Statements that exchange an element below the diagonal and the one above it."""
    return f"alloc kept: {kind}[] register kept[] = a[i, j] a[i, j] = a[j, i] a[j, i] = kept[]"
