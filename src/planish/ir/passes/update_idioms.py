"""Update idioms: assignments that combine an element with a value become updates.

Before: a[i] = a[i] - b[i];  t = x | t
After:  a[i] += -b[i];  t |= x

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> kernel = parse_kernel("kernel k(n; a: f64[n], b: f64[n]) { for i in 0 .. n { a[i] = a[i] - b[i] } }")
>>> print(print_stmt(with_updates(kernel.body).body[0]))
for i in 0 .. n {
  a[i] += -b[i]
}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planish.ir.expr import Binary, Expr, Load, Unary, type_of
from planish.ir.nest import Assign, Block, Reduce, ReduceOp, Stmt
from planish.ir.text.operator_names import UPDATES
from planish.ir.traverse import map_block

_REDUCTIONS: Mapping[str, ReduceOp] = {op: op for op in UPDATES.values()}


def updated(stmt: Reduce) -> Binary:
    """What an update stores."""
    return combined(stmt.op, Load(stmt.array, stmt.index, type_of(stmt.value)), stmt.value)


def combined(op: ReduceOp, own: Expr, value: Expr) -> Binary:
    """What an update makes of an element and a value."""
    return Binary(op, value, own) if op in ("min", "max") else Binary(op, own, value)


def rest_of(value: Binary, is_own: Callable[[Expr], bool]) -> Expr | None:
    """What a value combines with an element; None where the element is none of the two, or is the first one of an
    extremum of floats, which has another meaning where there are NaNs."""
    orders = [(value.right, value.left)]
    if not (value.op in ("min", "max") and type_of(value).is_float):
        orders.insert(0, (value.left, value.right))
    return next((rest for one, rest in orders if is_own(one)), None)


def with_updates(block: Block) -> Block:
    """A block in which every assignment that can be one is an update."""
    return map_block(as_update, block)


def as_update(stmt: Stmt) -> Stmt:
    """One statement as an update of the element that it stores, where that is an operand of its value."""
    match stmt:
        case Assign(array=array, index=at, value=Binary(op="sub", left=Load() as left, right=right)):
            if (left.array, left.index) == (array, at):
                return Reduce(array, at, "add", Unary("neg", right), stmt.span, stmt.label)
        case Assign(array=array, index=at, value=Binary(op=op) as value) if op in _REDUCTIONS:
            rest = rest_of(value, lambda x: isinstance(x, Load) and (x.array, x.index) == (array, at))
            if rest is not None:
                return Reduce(array, at, _REDUCTIONS[op], rest, stmt.span, stmt.label)
        case _:
            pass
    return stmt
