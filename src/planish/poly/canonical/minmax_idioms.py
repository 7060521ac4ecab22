"""Min/max idioms: selects of the greater or lesser value become extrema, and those that keep the better one,
reductions.

Before: m = x[i] > m ? x[i] : m;  t = fmin(t, y[i])
After:  m max= x[i];  t min= y[i]

A NaN may come out elsewhere, which is for the caller to allow.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "kernel k(n; x: f64[n], m: f64[]) { for i in 0 .. n { m[] = select(x[i] > m[], x[i], m[]) } }"
>>> print(print_stmt(find_updates(parse_kernel(text)).body.body[0].body))
{
  m[] max= x[i]
}
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from planish.ir.expr import Binary, Call, Compare, Expr, Load, Select, type_of
from planish.ir.nest import Assign, Kernel, Reduce, Stmt
from planish.ir.traverse import chained, map_block, map_expr, map_exprs
from planish.ir.types import BOOL

Extremum = Literal["min", "max"]


def find_updates(kernel: Kernel) -> Kernel:
    """The kernel with extrema where values are compared and one of them is taken."""

    def visit(stmt: Stmt) -> Stmt:
        stmt = map_exprs(lambda x: map_expr(_extremum, x), stmt)
        return _update(stmt) if isinstance(stmt, Assign) else stmt

    return replace(kernel, body=map_block(visit, kernel.body))


def _extremum(expr: Expr) -> Expr:
    match expr:
        case Call(function="fmin" | "fmax" as name, arguments=(a, b)):
            return Binary("min" if name == "fmin" else "max", a, b)
        case Select(condition=Compare(op="lt" | "le" | "gt" | "ge" as op, left=a, right=b), then=x, otherwise=y):
            if (x, y) not in ((a, b), (b, a)) or type_of(x) == BOOL:
                return expr
            return Binary("max" if (op in ("gt", "ge")) == ((x, y) == (a, b)) else "min", a, b)
        case _:
            return expr


def _update(stmt: Assign) -> Assign | Reduce:
    """An assignment of the better of what is there and other values, as an update."""
    match stmt.value:
        case Binary(op="min" | "max" as op):
            own = Load(stmt.array, stmt.index, type_of(stmt.value))
            parts = list(chained(stmt.value, op))
            if parts.count(own) != 1:
                return stmt
            parts.remove(own)
            value = parts[0]
            for x in parts[1:]:
                value = Binary(op, value, x)
            return Reduce(stmt.array, stmt.index, op, value, stmt.span, stmt.label)
        case _:
            return stmt

