"""Stages intermediate values of an array in a local buffer, so that the array is written once, with final values only.

Before: for i { for j { y[i, j] = f(x[i, j]); s += y[i, j] } for j { y[i, j] = y[i, j] / s } }
After:  for i { for j { t[i, j] = f(x[i, j]); s += t[i, j] } for j { y[i, j] = t[i, j] / s } }

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> from planish.schedule.auto.plan import prepare
>>> text = "for i in 0 .. n { y[i] = x[i] * 2.0 } for i in 0 .. n { y[i] = y[i] + x[n - 1] }"
>>> kernel = parse_kernel(f"kernel k(n; x: f64[n] distinct, y: f64[n] distinct) {{ {text} }}")
>>> made = keep_apart(prepare(kernel))
>>> print(print_stmt(made.kernel.body), end="")
{
  alloc y_first: f64[n] distinct
  for i in 0 .. n {
    y_first[i] = x[i] * 2.0:f64
  }
  for i in 0 .. n {
    y[i] = y_first[i] + x[n - 1]
  }
}
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

import islpy as isl

from planish.core.names import take_name
from planish.ir.accesses import reads
from planish.ir.expr import Expr, Load, index
from planish.ir.index.polynomial import add
from planish.ir.nest import Alloc, Array, Assign, Block, Kernel, Reduce, Stmt
from planish.ir.traverse import map_block, map_expr, map_exprs, used_names, walk
from planish.library.loops.nontemporal.init_peeling import from_first
from planish.poly.isl.to_list import list_sets
from planish.poly.scop.dependence import find_dependences, find_flow
from planish.poly.scop.extents import byte_extent
from planish.poly.scop.extraction import Scop, Statement, extract_scop
from planish.poly.scop.legality import schedule_map
from planish.schedule.auto.plan import Prepared


def keep_apart(prepared: Prepared) -> Prepared | None:
    """The kernel with local arrays for intermediate values; None where no array has such ones."""
    kernel, taken = prepared.kernel, {*used_names(prepared.kernel)}
    for array in kernel.arrays:
        if array.shape and _is_replaced(kernel, array.name):
            scop = extract_scop(kernel)
            finals, shape = find_finals(scop, array.name), _shape(scop, array)
            if finals and shape is not None:
                first = replace(array, name=take_name(f"{array.name}_first", taken), shape=shape, distinct=True)
                kernel = _apart(kernel, array.name, first, finals)
    if kernel is prepared.kernel:
        return None
    kernel = from_first(kernel)
    scop = extract_scop(kernel)
    return Prepared(kernel, scop, find_dependences(scop), prepared.declared)


def _is_replaced(kernel: Kernel, array: str) -> bool:
    """Whether an array is read, and assigned to by several statements."""
    stores = [x for x in walk(kernel.body) if isinstance(x, Assign | Reduce) and x.array == array]
    read = any(x.array == array for x in reads(kernel.body))
    return read and len(stores) > 1 and any(isinstance(x, Assign) for x in stores)


def _shape(scop: Scop, array: Array) -> tuple[Expr | None, ...] | None:
    """The extents of an array, the first one as far as it is reached; None where they are not known."""
    if array.shape[0] is not None:
        return array.shape
    first = byte_extent(scop, array)
    return None if first is None else (add(first, index(1)), *array.shape[1:])


def find_finals(scop: Scop, array: str) -> frozenset[int]:
    """Which statements assign what stays in an array: they replace all that others store there, and nothing reads it.
    Empty where there are none, or what is read is from before the kernel."""
    flow, before = find_flow(scop, {array})
    if not before.is_empty():
        return frozenset()
    read = {str(x.get_tuple_name()) for x in list_sets(flow.domain())}
    stores = [x for x in scop.statements if x.write.array == array]
    first, final = [x for x in stores if x.name in read], [x for x in stores if x.name not in read]
    if not first or not final or any(isinstance(x.stmt, Reduce) for x in final):
        return frozenset()
    early, late = _writes(scop, first), _writes(scop, final)
    if not early.range().is_subset(late.range()):
        return frozenset()
    times = schedule_map(scop.schedule)
    undone = late.apply_range(early.reverse()).intersect(times.lex_lt_union_map(times))
    return frozenset(scop.statements.index(x) for x in final) if undone.is_empty() else frozenset()


def _writes(scop: Scop, statements: list[Statement]) -> isl.UnionMap:
    out = isl.UnionMap.empty(scop.context.get_space())
    for statement in statements:
        out = out.add_map(statement.write.relation)
    return out


def _apart(kernel: Kernel, array: str, first: Array, finals: Set[int]) -> Kernel:
    """The kernel where all but some statements, counted as they stand, use another array."""
    number = -1

    def visit(stmt: Stmt) -> Stmt:
        nonlocal number
        done = map_exprs(lambda e: map_expr(loaded, e), stmt)
        if not isinstance(done, Assign | Reduce):
            return done
        number += 1
        return replace(done, array=first.name) if done.array == array and number not in finals else done

    def loaded(x: Expr) -> Expr:
        return replace(x, array=first.name) if isinstance(x, Load) and x.array == array else x

    body = map_block(visit, kernel.body)
    return replace(kernel, body=Block((Alloc(first), *body.body)))
