"""Copy propagation: reads of local copies of array elements go to the elements themselves, while these still hold their
values.

Before: for i { m[i] = A[i, 0];  for j from 1 { A[i, j] += -(m[i] * A[0, j]) } }
After:  for i { for j from 1 { A[i, j] += -(A[i, 0] * A[0, j]) } }

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> loop = "for i in 1 .. n { m[i] = A[i, 0] for j in 1 .. n { A[i, j] += -(m[i] * A[0, j]) } }"
>>> kernel = parse_kernel(f"kernel k(n; A: f64[n, n]) {{ alloc m: f64[n] distinct {loop} }}")
>>> print(print_stmt(without_copies(kernel).body), end="")
{
  for i in 1 .. n {
    for j in 1 .. n {
      A[i, j] += -(A[i, 0] * A[0, j])
    }
  }
}
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from planish.ir.accesses import reads
from planish.ir.expr import Expr, Load, index
from planish.ir.nest import Alloc, Assign, Kernel, Reduce, Stmt
from planish.ir.traverse import loads, map_block, map_expr, map_exprs, substitute, variables, walk
from planish.poly.isl.affine import NotAffineError
from planish.poly.scop.dependence import find_flow, together
from planish.poly.scop.extraction import Scop, Statement, extract_scop
from planish.poly.scop.legality import schedule_map


def without_copies(kernel: Kernel) -> Kernel:
    """The kernel without the local arrays that only hold copies; the same one where there are none, or where it is no
    static control part."""
    for array in [x.array.name for x in walk(kernel.body) if isinstance(x, Alloc)]:
        if _is_copied(kernel, array):
            try:
                kernel = _without(kernel, array, extract_scop(kernel))
            except NotAffineError:
                return kernel
    return kernel


def _is_copied(kernel: Kernel, array: str) -> bool:
    """Whether an array is only assigned to once, and that from a cell of another array."""
    stores = [x for x in walk(kernel.body) if getattr(x, "array", None) == array]
    match stores:
        case [Assign(value=Load(array=source, index=at))] if at:
            return source != array
        case _:
            return False


def _without(kernel: Kernel, array: str, scop: Scop) -> Kernel:
    """The kernel with one array replaced by what it is a copy of; the same one where this may be another value then."""
    (store,) = (x for x in scop.statements if x.write.array == array)
    readers = [x for x in scop.statements if any(y.array == array and not y.write for y in x.accesses)]
    depth, cell = len(store.iterators), store.stmt.value
    assert isinstance(cell, Load)
    flow, before = find_flow(scop, {array})
    used = {v for x in cell.index for v in variables(x)}
    if not readers or not depth or not used <= {*store.iterators, *kernel.sizes} or store.lets:
        return kernel
    if any(loads(x) for x in cell.index):
        return kernel
    if not before.is_empty() or not flow.is_subset(together(scop, depth)) or _changes(scop, store, cell.array, flow):
        return kernel
    # Statements come as they stand.
    own = iter(_there(cell, store, x) if x in readers else None for x in scop.statements)

    def visit(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        if isinstance(stmt, Alloc) and stmt.array.name == array:
            return ()
        value = next(own) if isinstance(stmt, Assign | Reduce) else None
        if isinstance(stmt, Assign) and stmt.array == array:
            return ()
        return stmt if value is None else map_exprs(lambda e: _replaced(e, array, value), stmt)

    made = replace(kernel, body=map_block(visit, kernel.body))
    left = any(x.array == array for x in reads(made.body))
    return kernel if left else made


def _replaced(expr: Expr, array: str, value: Expr) -> Expr:
    return map_expr(lambda x: value if isinstance(x, Load) and x.array == array else x, expr)


def _there(cell: Load, store: Statement, reader: Statement) -> Expr:
    """The cell over the iterators of a statement in the same loops."""
    return substitute(cell, {x: index(y) for x, y in zip(store.iterators, reader.iterators, strict=False)})


def _changes(scop: Scop, store: Statement, source: str, flow: isl.UnionMap) -> bool:
    """Whether a cell may be written after it was copied, and before the copy is read."""
    (read,) = (x.relation for x in store.accesses if not x.write and x.array == source)
    times = schedule_map(scop.schedule)
    later = times.lex_lt_union_map(times)
    for statement in scop.statements:
        if statement.write.array != source:
            continue
        meets = isl.UnionMap.from_map(read.apply_range(statement.write.relation.reverse())).intersect(later)
        # What is stored after the copy, and before what reads that.
        if not flow.reverse().apply_range(meets).intersect(later.reverse()).is_empty():
            return True
    return False
