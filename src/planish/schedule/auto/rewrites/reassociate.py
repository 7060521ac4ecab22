"""Reassociates sums of floats: repeated values have their factors added first, and common factors are taken out.

Before: 0.125 * (a - 2 * x + b) + 0.125 * (c - 2 * x + d) + x
After:  0.125 * (a + b + c + d) + 0.5 * x

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "kernel k(n; x: f64[n], y: f64[n]) { for i in 1 .. n - 1 { y[i] = x[i] + 0.5 * (x[i - 1] - x[i]) } }"
>>> print(print_stmt(collect_terms(parse_kernel(text)).body.body[0].body.body[0]))
y[i] = 0.5:f64 * (x[i] + x[i - 1])
"""

from __future__ import annotations

from dataclasses import replace
from math import frexp, isfinite

import numpy as np

from planish.ir.expr import Binary, Const, Expr, Unary, type_of
from planish.ir.nest import Assign, Kernel, Let, Reduce, Stmt
from planish.ir.semantics.arithmetic import rounding
from planish.ir.traverse import map_block, walk_expr
from planish.ir.types import Type

Terms = dict[Expr, float]
"""Values and their factors, in the order in which they come first."""


def collect_terms(kernel: Kernel) -> Kernel:
    """The kernel with the terms of sums collected wherever that leaves fewer operations; sums are made in another
    order."""

    def visit(stmt: Stmt) -> Stmt:
        match stmt:
            case Assign() | Reduce() | Let():
                return replace(stmt, value=collect(stmt.value))
            case _:
                return stmt

    return replace(kernel, body=map_block(visit, kernel.body))


def collect(value: Expr) -> Expr:
    """A value with its terms collected, or as it is where that saves nothing, or a term would vanish."""
    type = type_of(value)
    if not type.is_float:
        return value
    terms: Terms = {}
    _gather(value, 1.0, terms)
    with np.errstate(over="ignore"):
        rounded = {x: float(rounding(type)(y)) for x, y in terms.items()}
    if not all(x and isfinite(x) for x in rounded.values()):
        return value
    made = _written(rounded, type)
    return made if _count(made) < _count(value) else value


def _gather(value: Expr, factor: float, terms: Terms) -> None:
    """Add the terms of a value, times a factor."""
    match value:
        case Unary(op="neg", operand=x):
            _gather(x, -factor, terms)
        case Binary(op="add" | "sub" as op, left=a, right=b):
            _gather(a, factor, terms)
            _gather(b, factor if op == "add" else -factor, terms)
        case Binary(op="mul", left=Const(value=number), right=x) | Binary(op="mul", left=x, right=Const(value=number)):
            _gather(x, factor * number, terms)
        case Binary(op="div", left=x, right=Const(value=number)) if abs(frexp(number)[0]) == 0.5:
            # By powers of two, which have exact reciprocals.
            _gather(x, factor / number, terms)
        case _:
            terms[value] = terms.get(value, 0.0) + factor


def _written(terms: Terms, type: Type) -> Expr:
    """The sum of terms, those of equal factors together."""
    groups: dict[float, list[tuple[Expr, bool]]] = {}
    for value, factor in terms.items():
        groups.setdefault(abs(factor), []).append((value, factor > 0))
    out: Expr | None = None
    for size, members in groups.items():
        # The first one that is added comes first, so that nothing has to be negated.
        members.sort(key=lambda x: not x[1])
        (first, added), *others = members
        part = first
        for value, more in others:
            part = Binary("add" if more == added else "sub", part, value)
        if size != 1.0:
            part = Binary("mul", Const(size, type), part)
        if out is None:
            out = part if added else Unary("neg", part)
        else:
            out = Binary("add" if added else "sub", out, part)
    assert out is not None
    return out


def _count(value: Expr) -> int:
    """The operations of a value."""
    return sum(isinstance(x, Binary | Unary) and type_of(x).is_float for x in walk_expr(value))
