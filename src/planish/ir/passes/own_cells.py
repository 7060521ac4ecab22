"""Arrays of a few cells that a nest writes before it reads them: each cell is declared where it is used.

Before: for i { t[0] = A[i]  t[1] = B[i]  C[i] = t[0] + t[1] }
After:  for i { alloc t_0 t_0 = A[i]  alloc t_1 t_1 = B[i]  C[i] = t_0 + t_1 }

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "for i in 0 .. n { t[0] = A[i] A[i] = t[0] + t[%d] }"
>>> kernels = [parse_kernel("kernel k(n; A: f32[n], t: f32[2]) { %s }" % (text % x)) for x in (0, 1)]
>>> print(print_stmt(with_own_cells(kernels[0], "t").body))
{
  for i in 0 .. n {
    alloc t_0: f32[] distinct register
    t_0[] = A[i]
    A[i] = t_0[] + t_0[]
  }
}
>>> with_own_cells(kernels[1], "t") is kernels[1]
True
"""

from __future__ import annotations

from dataclasses import replace

from planish.ir.accesses import accesses, map_accesses
from planish.ir.expr import Const, Expr, Load
from planish.ir.nest import Array, Block, Kernel, Stmt
from planish.ir.passes.declaration_sinking import exposed, sink
from planish.ir.traverse import arrays_in, is_counted, used_names, walk

MOST = 32
"""The cells that are worth as many names."""


def with_own_cells(kernel: Kernel, name: str) -> Kernel:
    """The kernel with the cells of an array declared where they are used, each statement of its own; the same one where
    numbers do not tell the cells apart, or one may be read before it is written."""
    array = next(x for x in kernel.arrays if x.name == name)
    places = {x.index for part in walk(kernel.body) for x in accesses(part) if x.array == name}
    if not is_counted(kernel) or len(places) > MOST or not all(isinstance(y, Const) for x in places for y in x):
        return kernel
    taken, body = set(used_names(kernel)), list[Stmt]()
    for stmt in kernel.body.body:
        made = _apart(stmt, array, taken) if name in arrays_in(stmt) else (stmt,)
        if made is None:
            return kernel
        body += made
    arrays = tuple(x for x in kernel.arrays if x.name != name)
    return replace(kernel, arrays=arrays, body=Block(tuple(body)))


def _apart(stmt: Stmt, array: Array, taken: set[str]) -> tuple[Stmt, ...] | None:
    """A statement with cells in the place of an array's elements; None where one may be read before it is written."""
    cells: dict[tuple[Expr, ...], str] = {}

    def cell(x: Load) -> Load:
        if x.array != array.name:
            return x
        if x.index not in cells:
            stem = "_".join([array.name, *(str(y.value) for y in x.index if isinstance(y, Const))])
            while stem in taken:
                stem += "_"
            taken.add(stem)
            cells[x.index] = stem
        return Load(cells[x.index], (), array.type)

    block = map_accesses(cell, Block((stmt,)))
    for made in cells.values():
        if exposed(block, made):
            return None
        block = sink(made, array.type, block)
    return block.body


__all__ = ["with_own_cells"]
