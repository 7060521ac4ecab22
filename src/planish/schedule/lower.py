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
from planish.ir.expr import Expr, Load, Var
from planish.ir.nest import Alloc, Array, Assign, Block, Kernel, Reduce, Stmt
from planish.ir.traverse import map_expr
from planish.poly.expression import normalise
from planish.poly.scop import Scop
from planish.schedule.registers import promote
from planish.schedule.shape import MARKS


def lower(scop: Scop, schedule: isl.Schedule, locals: tuple[Array, ...]) -> Kernel:
    """The kernel that runs `schedule`; `locals` are the arrays it allocates at its top."""
    kernel = scop.kernel

    def instantiate(name: str, at: tuple[Expr, ...]) -> Stmt:
        statement = scop.statement(name)
        return place(statement.stmt, dict(zip(statement.iterators, at, strict=True)))

    taken = {*kernel.sizes, *(s.name for s in kernel.scalars), *(a.name for a in kernel.arrays)}
    taken |= {a.name for a in locals}
    nest = generate(schedule, instantiate, frozenset(taken), scop.context, MARKS.get)
    body = promote(nest, frozenset(taken), _types(kernel, locals))
    return replace(kernel, body=Block((*(Alloc(a) for a in locals), *body.body)))


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
