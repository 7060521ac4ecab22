"""A scheduled kernel becomes a kernel again: the nest is generated, statements take their place in it.

>>> from planish.ir.expr import Load, Var
>>> from planish.ir.types import F32, INDEX
>>> place_expr(Load("A", (Var("i", INDEX),), F32), {"i": Var("c", INDEX)}).index[0].name
'c'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import islpy as isl

from planish.astgen.generate import generate
from planish.astgen.options import CodegenSettings
from planish.ir.expr import Expr, Load, Var
from planish.ir.index.simplify import simplify_block
from planish.ir.nest import Alloc, Array, Assign, Block, Kernel, Reduce, Stmt
from planish.ir.passes.invariants import move_bounds
from planish.ir.passes.value_numbering import number_values
from planish.ir.traverse import map_expr
from planish.poly.isl.expression import normalise
from planish.poly.scop.extraction import Scop
from planish.schedule.auto.tiling.scalar_replacement import promote
from planish.schedule.auto.tiling.strip_mining import MARKS

Dropped = Mapping[str, frozenset[int]]
"""Dimensions that local arrays lose."""


def lower(scop: Scop, schedule: isl.Schedule, locals: tuple[Array, ...], dropped: Dropped | None = None) -> Kernel:
    """The kernel that runs `schedule`; `locals` are the arrays it allocates at its top, without their `dropped`
    dimensions."""
    kernel = scop.kernel
    lost = dropped or {}
    locals = tuple(_contracted(a, lost.get(a.name, frozenset())) for a in locals)

    def instantiate(name: str, at: tuple[Expr, ...]) -> Stmt:
        statement = scop.statement(name)
        values = dict(zip(statement.iterators, at, strict=True))
        placed = place(_without(statement.stmt, lost), values)
        if not statement.lets:
            return placed
        return Block((*(replace(x, value=place_expr(x.value, values)) for x in statement.lets), placed))

    taken = {*kernel.sizes, *(s.name for s in kernel.scalars), *(a.name for a in kernel.arrays)}
    taken |= {a.name for a in locals}
    named = {x.var for s in scop.statements for x in s.lets}
    settings, names = CodegenSettings("atomic", "separate"), [s.name for s in scop.statements]
    nest = generate(schedule, instantiate, frozenset(taken | named), scop.context, MARKS.get, settings, names=names)
    nest = number_values(simplify_block(nest, assumptions=kernel.assumptions), taken)
    body = simplify_block(promote(nest, frozenset(taken), _types(kernel, locals)), assumptions=kernel.assumptions)
    body = move_bounds(body, frozenset(taken))
    return replace(kernel, body=Block((*(Alloc(a) for a in locals), *body.body)))


def _contracted(array: Array, dropped: frozenset[int]) -> Array:
    shape = tuple(e for i, e in enumerate(array.shape) if i not in dropped)
    return replace(array, shape=shape, memory=array.memory if shape else "register")


def _without(stmt: Assign | Reduce, dropped: Dropped) -> Assign | Reduce:
    """The statement with the subscripts of dropped dimensions left out."""

    def kept(array: str, index: tuple[Expr, ...]) -> tuple[Expr, ...]:
        lost = dropped.get(array, frozenset())
        return tuple(x for i, x in enumerate(index) if i not in lost)

    def visit(x: Expr) -> Expr:
        return replace(x, index=kept(x.array, x.index)) if isinstance(x, Load) else x

    return replace(stmt, index=kept(stmt.array, stmt.index), value=map_expr(visit, stmt.value))


def _types(kernel: Kernel, locals: tuple[Array, ...]) -> dict[str, Array]:
    return {a.name: a for a in (*kernel.arrays, *locals)}


def place(stmt: Assign | Reduce, values: Mapping[str, Expr]) -> Stmt:
    """A statement at the given values of its iterators."""
    index = tuple(place_expr(x, values) for x in stmt.index)
    return replace(stmt, index=index, value=place_expr(stmt.value, values))


def place_expr(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """An expression at the given values of its iterators, subscripts in normal form."""

    def fresh(x: Expr) -> Expr:
        match x:
            case Var(name=name) if name in values:
                return values[name]
            case Load(index=index):
                return replace(x, index=tuple(normalise(i) for i in index))
            case _:
                return x

    return normalise(map_expr(fresh, expr))
