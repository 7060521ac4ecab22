"""Reassociates sums so that the operand that is ready last enters in the last addition (shorter critical path).

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "y[0] = c[0] * x[0] z[0] = x[0] - c[1] * y[0] + z[1]"
>>> kernel = parse_kernel("kernel k(x: f64[1], c: f64[2], y: f64[1], z: f64[2]) { %s }" % text)
>>> first, second = kernel.body.body
>>> print(print_stmt(order_sums((first, second))[1]))
z[0] = x[0] + z[1] - c[1] * y[0]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from planish.ir.expr import Binary, Expr, Load, type_of
from planish.ir.nest import Assign, Reduce
from planish.ir.passes.update_idioms import updated
from planish.ir.traverse import children, with_children

Update = Assign | Reduce
_Element = tuple[str, tuple[Expr, ...]]
_FEWEST = 3
"""The order of two terms makes no difference."""


def order_sums(stmts: Sequence[Update], delays: Mapping[str, int] | None = None) -> tuple[Update, ...]:
    """Statements of a loop's body, one after the other, with the terms of each sum of floats in the order in which they
    are there. Sums are rounded otherwise then. What they read of the iteration before is there when that had made it;
    what is in some cells has so many iterations' time to come there."""
    _, late = _run(stmts, {})
    late = {x: n // (delays or {}).get(x[0], 1) for x, n in late.items()}
    return _run(stmts, late)[0]


def _run(stmts: Sequence[Update], late: Mapping[_Element, int]) -> tuple[tuple[Update, ...], dict[_Element, int]]:
    """The statements in order, with after how many operations what they set is there; and before they begin."""
    ready = {**late}
    out: list[Update] = []
    for x in stmts:
        made = replace(x, value=_ordered(x.value, ready))
        value = updated(made) if isinstance(made, Reduce) else made.value
        ready[x.array, x.index] = _ready(value, ready)
        out.append(made)
    return tuple(out), ready


def _ready(x: Expr, ready: Mapping[_Element, int]) -> int:
    """After how many operations a value is there."""
    if isinstance(x, Load):
        return ready.get((x.array, x.index), 0)
    parts = children(x)
    return 1 + max(_ready(y, ready) for y in parts) if parts else 0


def _ordered(x: Expr, ready: Mapping[_Element, int]) -> Expr:
    """A value with all sums in it in order."""
    if isinstance(x, Load) or not children(x):
        return x
    if not (isinstance(x, Binary) and x.op in ("add", "sub") and type_of(x).is_float):
        return with_children(x, tuple(_ordered(y, ready) for y in children(x)))
    terms = [(positive, _ordered(y, ready)) for positive, y in _terms(x, True)]
    if len(terms) < _FEWEST:
        return with_children(x, tuple(_ordered(y, ready) for y in children(x)))
    terms.sort(key=lambda term: _ready(term[1], ready))
    first = next((n for n, (positive, _) in enumerate(terms) if positive), None)
    if first is None:
        return x
    total = terms.pop(first)[1]
    for positive, y in terms:
        total = Binary("add" if positive else "sub", total, y)
    return total


def _terms(x: Expr, positive: bool) -> list[tuple[bool, Expr]]:
    """The terms of a sum, each with whether it is added."""
    match x:
        case Binary(op="add" | "sub" as op, left=left, right=right):
            return _terms(left, positive) + _terms(right, positive == (op == "add"))
        case _:
            return [(positive, x)]
