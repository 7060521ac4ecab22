"""Linear subscripts become rows and columns: `A[i*lda + k]` is `A[i, k]` wherever every k lies within a row.

The condition (here k < lda for all instances) becomes an assumption of the kernel, checked at run time.

>>> from planish.ir.expr import Binary, Var, index
>>> from planish.ir.types import INDEX
>>> n = Var("lda", INDEX)
>>> split(Binary("add", Binary("mul", Var("i", INDEX), n), Var("k", INDEX)), ((n,),))
(Var(name='i', type=Type(kind='int', bits=64)), Var(name='k', type=Type(kind='int', bits=64)))
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import islpy as isl

from planish.ir.expr import Const, Expr, Load, Var, index
from planish.ir.nest import Array, Assign, Block, For, Kernel, Reduce, Stmt
from planish.ir.polynomial import Monomial, build, polynomial
from planish.ir.traverse import expressions, map_block, map_expr, map_exprs, walk, walk_expr
from planish.poly.affine import NotAffineError
from planish.poly.coalesce import coalesce
from planish.poly.expression import TRUE, set_condition
from planish.poly.scop import extract_scop

Strides = tuple[Monomial, ...]
"""Products of sizes by which linear subscripts advance, the largest first; the last dimension's 1 is left out."""


def delinearise(kernel: Kernel) -> Kernel:
    """The kernel with rows and columns instead of linear subscripts, and the assumptions that this needs.

    Raises NotAffineError where a subscript cannot be split."""
    found = {a.name: _strides(a.name, kernel) for a in kernel.arrays if len(a.shape) == 1}
    split_arrays = {name: strides for name, strides in found.items() if strides}
    if not split_arrays:
        return kernel
    arrays = tuple(_shaped(a, split_arrays[a.name]) if a.name in split_arrays else a for a in kernel.arrays)

    def fresh_expr(expr: Expr) -> Expr:
        def visit(x: Expr) -> Expr:
            if isinstance(x, Load) and x.array in split_arrays:
                return replace(x, index=split(x.index[0], split_arrays[x.array]))
            return x

        return map_expr(visit, expr)

    def fresh(stmt: Stmt) -> Stmt:
        done = map_exprs(fresh_expr, stmt)
        if isinstance(done, Assign | Reduce) and done.array in split_arrays:
            return replace(done, index=split(done.index[0], split_arrays[done.array]))
        return done

    rows = replace(kernel, arrays=arrays, body=map_block(fresh, kernel.body))
    return _with_guard(rows, frozenset(split_arrays))


def _iterators(kernel: Kernel) -> frozenset[str]:
    return frozenset(s.var for s in walk(kernel.body) if isinstance(s, For))


def subscripts(name: str, body: Block) -> list[tuple[Expr, ...]]:
    """Every index with which an array is accessed."""
    out: list[tuple[Expr, ...]] = []
    for stmt in walk(body):
        if isinstance(stmt, Assign | Reduce) and stmt.array == name:
            out.append(stmt.index)
        for expr in expressions(stmt):
            out += [x.index for x in walk_expr(expr) if isinstance(x, Load) and x.array == name]
    return out


def _strides(name: str, kernel: Kernel) -> Strides:
    moving = _iterators(kernel)
    found: set[Monomial] = set()
    for (linear,) in subscripts(name, kernel.body):
        for monomial in polynomial(linear):
            sizes = tuple(a for a in monomial if isinstance(a, Var) and a.name not in moving)
            if sizes and len(sizes) < len(monomial):
                found.add(sizes)
    return tuple(sorted(found, key=lambda m: (-len(m), repr(m))))


def _divide(monomial: Monomial, by: Monomial) -> Monomial | None:
    rest = list(monomial)
    for atom in by:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def split(linear: Expr, strides: Strides) -> tuple[Expr, ...]:
    """The subscripts, outermost first, of a linear one; raises NotAffineError where a product fits no stride."""
    parts: list[dict[Monomial, int]] = [{} for _ in range(len(strides) + 1)]
    for monomial, coefficient in polynomial(linear).items():
        for position, stride in enumerate((*strides, ())):
            rest = _divide(monomial, stride)
            if rest is not None and len(rest) <= 1:
                parts[position][rest] = parts[position].get(rest, 0) + coefficient
                break
        else:
            raise NotAffineError(linear, "a linear subscript mixes strides that do not divide each other")
    return tuple(build(p) for p in parts)


def _shaped(array: Array, strides: Strides) -> Array:
    extents: list[Expr | None] = [None]
    for larger, smaller in zip(strides, (*strides[1:], ()), strict=True):
        quotient = _divide(larger, smaller)
        if quotient is None or len(quotient) != 1:
            raise NotAffineError(build({larger: 1}), f"the strides of `{array.name}` do not divide each other")
        extents.append(quotient[0])
    return replace(array, shape=tuple(extents))


def _with_guard(kernel: Kernel, names: Iterable[str]) -> Kernel:
    """The kernel, with the assumption that every inner subscript of the named arrays stays within its row."""
    scop = extract_scop(kernel)
    space = scop.context.get_space()
    bad = isl.Set.empty(space)
    for statement in scop.statements:
        for access in statement.accesses:
            if access.array in names:
                bad = bad.union(_outside(access.relation, kernel.array(access.array), space))
    good = coalesce(scop.context.subtract(bad).gist(scop.context))
    condition = set_condition(isl.Set.from_params(good) if good.is_params() else good, ())
    if condition == TRUE:
        return kernel
    return replace(kernel, assumptions=(*kernel.assumptions, condition))


def _outside(relation: isl.Map, array: Array, space: isl.Space) -> isl.Set:
    """The sizes with which some instance leaves its row."""
    reached = relation.range().align_params(space)
    bad = isl.Set.empty(reached.get_space())
    for position, extent in enumerate(array.shape):
        if extent is None:
            continue
        local = isl.LocalSpace.from_space(reached.get_space())
        value = isl.Aff.var_on_domain(local, isl.dim_type.set, position)
        limit = _extent_aff(extent, local)
        bad = bad.union(reached.intersect(value.lt_set(isl.Aff.zero_on_domain(local))))
        bad = bad.union(reached.intersect(value.ge_set(limit)))
    return bad.params()


def _extent_aff(extent: Expr, local: isl.LocalSpace) -> isl.Aff:
    match extent:
        case Const(value=value):
            return isl.Aff.zero_on_domain(local).add_constant_val(isl.Val.int_from_si(local.get_ctx(), int(value)))
        case Var(name=name):
            position = local.find_dim_by_name(isl.dim_type.param, name)
            return isl.Aff.var_on_domain(local, isl.dim_type.param, position)
        case _:
            raise NotAffineError(extent, "an extent is not a size")


__all__ = ["delinearise", "index", "split", "subscripts"]
