"""Operand orders of commutative expressions, as a nest may have them.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_expr
>>> text = "kernel k(x: f64[2], y: f64[2]) { x[0] = max(0.0, y[0]) * (x[1] + y[1]) }"
>>> value = parse_kernel(text).body.body[0].value
>>> print_expr(in_order(value))
'(x[1] + y[1]) * max(y[0], 0.0:f64)'
>>> [print_expr(x) for x in turnings(in_order(value))]
['(x[1] + y[1]) * max(y[0], 0.0:f64)', '(y[1] + x[1]) * max(y[0], 0.0:f64)']
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import permutations, product
from typing import assert_never

from planish.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Select, Unary, Var
from planish.ir.traverse import chained, children, with_children

COMMUTATIVE = frozenset({"add", "mul", "min", "max", "and", "or", "xor"})


def in_order(value: Expr) -> Expr:
    """A value with the two operands of sums, products and the like in an order that depends on what they look like."""
    match value:
        case Load() | Const() | Var():
            return value
        case Binary(op=op, left=a, right=b) if op in COMMUTATIVE:
            return Binary(op, *sorted((in_order(a), in_order(b)), key=shape_of))
        case _:
            return with_children(value, tuple(map(in_order, children(value))))


def turnings(value: Expr) -> Iterator[Expr]:
    """A value that is in order, with any two such operands that look alike in either order."""
    match value:
        case Load() | Const() | Var():
            yield value
        case Binary(op=op, left=a, right=b) if op in COMMUTATIVE:
            for left, right in product(list(turnings(a)), list(turnings(b))):
                yield Binary(op, left, right)
                if shape_of(left) == shape_of(right):
                    yield Binary(op, right, left)
        case _:
            for parts in product(*(list(turnings(x)) for x in children(value))):
                yield with_children(value, parts)


def orders_of(value: Expr) -> Iterator[Expr]:
    """A value with the operands of its sums and products in order, those that look alike in each order."""
    match value:
        case Load() | Const() | Var():
            yield value
        case Binary(op=op) if op in COMMUTATIVE:
            operands = sorted(chained(value, op), key=shape_of)
            for parts in product(*(list(orders_of(x)) for x in operands)):
                for turned in _turned(parts):
                    yield reduce(lambda a, b: Binary(op, a, b), turned)
        case _:
            for parts in product(*(list(orders_of(x)) for x in children(value))):
                yield with_children(value, parts)


def _turned(parts: Sequence[Expr]) -> Iterator[tuple[Expr, ...]]:
    """The orders of some operands in which those that look alike change places."""
    if len(parts) > 3:
        yield tuple(parts)
        return
    shapes = [shape_of(x) for x in parts]
    for turned in permutations(parts):
        if [shape_of(x) for x in turned] == shapes:
            yield turned


def shape_of(value: Expr) -> str:
    """What an operand looks like, whatever it loads."""
    match value:
        case Load():
            return "load"
        case Const() | Var():
            return "scalar"
        case Binary(op=op) if op in COMMUTATIVE:
            return f"{op}({', '.join(sorted(map(shape_of, chained(value, op))))})"
        case Binary(op=word) | Unary(op=word) | Compare(op=word) | Call(function=word):
            return f"{word}({', '.join(map(shape_of, children(value)))})"
        case Select() | Cast():
            return f"{type(value).__name__}({', '.join(map(shape_of, children(value)))})"
        case _:
            assert_never(value)
