"""Arrays begin at the first element that a kernel reaches: of `x[i - 3]`, three elements before where `x` points.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_kernel
>>> lag = parse_kernel("kernel k(n; x: f32[?], y: f32[?]) { for i in 0 .. n { y[i] = x[i] - x[i - 3] } }")
>>> moved, before = begin_at_first(lag)
>>> print(print_kernel(moved).splitlines()[3].strip(), before["x"].value)
y[i] = x[i + 3] - x[i] 3
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce

import islpy as isl

from planish.ir.accesses import values
from planish.ir.expr import Binary, Expr, Load, Select, Var, index, type_of
from planish.ir.index.polynomial import Monomial, add, build, constant, exact_quotient, mul, neg, polynomial
from planish.ir.nest import Array, Assign, Block, For, Kernel, Reduce, Stmt
from planish.ir.traverse import children, map_block, map_expr, map_exprs, walk
from planish.ir.types import BOOL
from planish.poly.canonical.delinearise import delinearise, holds_large, rows_as_written, sizes_from
from planish.poly.isl.affine import NotAffineError, condition_set
from planish.poly.isl.expression import aff_expr
from planish.poly.scop.extraction import Access, Scop, Statement, extract_scop


def begin_at_first(kernel: Kernel, pinned: frozenset[str] = frozenset()) -> tuple[Kernel, dict[str, Expr]]:
    """The kernel whose arrays of unknown length begin where it reaches them first, and how many elements that is before
    where they began; those are not told that begin there already, are `pinned`, or of which it is not known.

    It is what holds for sizes from 1 on; where others reach elements before that, the kernel leaves its arrays. Of
    `x[i * s + j - 1]`, rows begin a column before `x`, where it is in no row else.
    """
    arrays = [x for x in kernel.arrays if x.shape and x.shape[0] is None and x.name not in pinned]
    asked = {x.name for x in arrays if _may_reach_before(x.name, kernel)}
    if not asked:
        return kernel, {}
    found_rows = _rows_from_first_columns(kernel, asked)
    if found_rows is None:
        return kernel, {}
    moved, columns, scop = found_rows
    rows = scop.kernel
    before = {x.name: found for x in rows.arrays if x.name in asked and (found := _before(x, scop, 0)) is not None}
    shapes = {x.name: x.shape for x in rows.arrays}
    lengths = {name: _product(shapes[name][1:]) for name in before}
    linear = {x.name for x in kernel.arrays if len(x.shape) == 1}
    by = {x: mul(y, lengths[x]) if x in linear else y for x, y in before.items()}
    elements = {x: mul(y, lengths[x]) for x, y in before.items()}
    return begin_later(moved, by), columns | {x: add(y, columns.get(x, index(0))) for x, y in elements.items()}


def _rows_from_first_columns(kernel: Kernel, asked: set[str]) -> tuple[Kernel, dict[str, Expr], Scop] | None:
    """The kernel whose asked arrays begin with the first columns that they are reached in, how many these are, and it
    with rows and columns; as it is where its subscripts are in rows for large sizes without that, or not with it. None
    where it has no rows either way."""
    scop = _in_rows(kernel)
    if scop is None or not holds_large(scop):
        columns = _columns_before(kernel, asked)
        moved = begin_later(kernel, columns)
        fresh = _in_rows(moved) if columns else None
        if fresh is not None and holds_large(fresh):
            return moved, columns, fresh
    return None if scop is None else (kernel, {}, scop)


def _in_rows(kernel: Kernel) -> Scop | None:
    try:
        return extract_scop(delinearise(kernel))
    except NotAffineError:
        return None


def _columns_before(kernel: Kernel, asked: set[str]) -> dict[str, Expr]:
    """How many columns before their start the asked arrays are reached in, as their linear subscripts are written."""
    try:
        rows = rows_as_written(kernel)
        scop = extract_scop(rows)
    except NotAffineError:
        return {}
    linear = {x.name for x in kernel.arrays if len(x.shape) == 1} & asked
    split = (x for x in rows.arrays if x.name in linear and len(x.shape) > 1)
    found = {x.name: _before(x, scop, len(x.shape) - 1) for x in split}
    return {x: y for x, y in found.items() if y is not None}


def begin_at_pointers(kernel: Kernel, before: Mapping[str, Expr]) -> Kernel:
    """The kernel whose arrays begin so many elements later, where their pointers point: undoes `begin_at_first`."""
    by = {x: neg(y) for x, y in before.items()}
    for array in (x for x in kernel.arrays if x.name in by and len(x.shape) > 1):
        rows = exact_quotient(by[array.name], _product(array.shape[1:]))
        assert rows is not None, "what begins before its pointer begins with a row"
        by[array.name] = rows
    return begin_later(kernel, by)


def begin_later(kernel: Kernel, by: Mapping[str, Expr]) -> Kernel:
    """The kernel with the first subscripts of some arrays greater by so many."""
    return replace(kernel, body=_moved(kernel.body, by)) if by else kernel


def _may_reach_before(array: str, kernel: Kernel) -> bool:
    """Whether subscripts of an array, or some loop, have a part with a minus."""
    if any(isinstance(x, For) and _has_minus(x.lower) for x in walk(kernel.body)):
        return True
    return any(at and _has_minus(at[0]) for name, at in _accesses(kernel.body) if name == array)


def _accesses(body: Block) -> list[tuple[str, tuple[Expr, ...]]]:
    stores = [(x.array, x.index) for x in walk(body) if isinstance(x, Assign | Reduce)]
    parts = values(body)
    return stores + [(x.array, x.index) for x in parts if isinstance(x, Load)]


def _has_minus(subscript: Expr) -> bool:
    return any(x < 0 for x in polynomial(subscript).values())


def _before(array: Array, scop: Scop, dimension: int) -> Expr | None:
    """How many rows (dimension 0; elements, of an array without rows) or columns before its start an array is reached;
    None where it is not, or that is no one expression."""
    if array.shape[0] is not None or any(x is None for x in array.shape[1:]):
        return None
    usual = sizes_from(1, scop)
    accesses = [x for s in scop.statements for x in _instances(s, array.name)]
    if any(dimension in x.inexact for x, _ in accesses):
        return _least_of_sums([x.index[dimension] for x, _ in accesses], scop.kernel)
    reached: isl.Set | None = None
    for access, instances in accesses:
        part = access.relation.intersect_domain(instances).range().intersect_params(usual)
        reached = part if reached is None else reached.union(part)
    if reached is None or reached.is_empty() or not reached.dim_has_lower_bound(isl.dim_type.set, dimension):
        return None
    least = reached.dim_min(dimension)
    if not least.pos_set().is_empty():
        return None
    pieces = least.coalesce().get_pieces()
    if all(value.is_cst() for _, value in pieces):
        most = max(-int(value.get_constant_val().to_python()) for _, value in pieces)
        return index(most) if most else None
    # Rows whose number depends on sizes are what linear subscripts seem to be with strides of other loops.
    return aff_expr(pieces[0][1].neg(), ()) if len(pieces) == 1 and len(array.shape) == 1 else None


def _least_of_sums(subscripts: Sequence[Expr], kernel: Kernel) -> Expr | None:
    """The most that subscripts subtract of each size, and of numbers, where counters, from 0 or more on, are only
    added. None where it is nothing, or not such subscripts."""
    starts = {x.var: constant(x.lower) for x in walk(kernel.body) if isinstance(x, For)}
    if any(x is None or x < 0 for x in starts.values()):
        return None
    most: dict[Monomial, int] = {}
    for terms in map(polynomial, subscripts):
        named = {x.name if isinstance(x, Var) else "" for monomial in terms for x in monomial}
        less = {monomial: -number for monomial, number in terms.items() if number < 0}
        moved = any(isinstance(x, Var) and x.name in starts for monomial in less for x in monomial)
        if moved or not named <= {*starts, *kernel.sizes}:
            return None
        most |= {monomial: max(number, most.get(monomial, 0)) for monomial, number in less.items()}
    return build(most) if most else None


def _instances(statement: Statement, array: str) -> Iterator[tuple[Access, isl.Set]]:
    """The accesses of an array, and the instances that make them: under conditions on iterators and sizes, some."""
    accesses = [x for x in statement.accesses if x.array == array]
    yield from ((x, statement.domain) for x in accesses if x.write)
    parts = [(statement.stmt.value, statement.domain), *((x.value, statement.domain) for x in statement.lets)]
    for load, instances in (y for value, domain in parts for y in _evaluated(value, domain)):
        yield from ((x, instances) for x in accesses if not x.write and load.array == array and x.index == load.index)


def _evaluated(expr: Expr, instances: isl.Set) -> Iterator[tuple[Load, isl.Set]]:
    """The loads in an expression that is evaluated in some instances, and the instances that make them."""
    match expr:
        case Select(condition=condition, then=then, otherwise=otherwise):
            yield from _evaluated(condition, instances)
            chosen, others = _split(condition, instances)
            yield from _evaluated(then, chosen)
            yield from _evaluated(otherwise, others)
        case Binary(op="and" | "or" as op, left=left, right=right) if type_of(expr) == BOOL:
            yield from _evaluated(left, instances)
            yield from _evaluated(right, _split(left, instances)[op == "or"])
        case _:
            if isinstance(expr, Load):
                yield expr, instances
            for part in children(expr):
                yield from _evaluated(part, instances)


def _split(condition: Expr, instances: isl.Set) -> tuple[isl.Set, isl.Set]:
    """The instances in which a condition may hold, and those in which it may not."""
    try:
        holds = condition_set(condition, instances.get_space())
    except NotAffineError:
        return instances, instances
    return instances.intersect(holds), instances.subtract(holds)


def _product(extents: tuple[Expr | None, ...]) -> Expr:
    return reduce(mul, (x for x in extents if x is not None), index(1))


def _moved(body: Block, by: Mapping[str, Expr]) -> Block:
    """The statements with the first subscripts of some arrays greater."""

    def place(array: str, at: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return (add(at[0], by[array]), *at[1:]) if array in by else at

    def load(expr: Expr) -> Expr:
        return replace(expr, index=place(expr.array, expr.index)) if isinstance(expr, Load) else expr

    def statement(stmt: Stmt) -> Stmt:
        stmt = map_exprs(lambda x: map_expr(load, x), stmt)
        return replace(stmt, index=place(stmt.array, stmt.index)) if isinstance(stmt, Assign | Reduce) else stmt

    return map_block(statement, body)


__all__ = ["begin_at_first", "begin_at_pointers", "begin_later"]
