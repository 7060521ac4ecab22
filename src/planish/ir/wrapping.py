"""Sums, differences and products of signed integers without overflow: compilers count on there being none.

The loop-nest language has them wrap around, as the checks do; so they are made of unsigned numbers where what is
computed is not what the user's program computes on its way. What is computed of iterators and sizes alone is in range.

>>> from planish.ir.text.parser import parse_expr
>>> from planish.ir.text.printer import print_expr
>>> print_expr(wrapped(parse_expr("A[i + 1]:i32 + B[i]:i32 * 3:i32"), frozenset()))
'i32(u32(A[i + 1]) + u32(B[i]) * 3:u32)'
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from planish.ir.expr import Binary, Cast, Const, Expr, Load, Unary, Var, type_of
from planish.ir.nest import Assign, Block, For, Let, Reduce, Stmt
from planish.ir.traverse import blocks_of, children, walk_expr, with_blocks, with_body, with_children
from planish.ir.types import I32, I64, U32, U64

UNSIGNED = {I32: U32, I64: U64}
"""Wide integers, and those of as many bits without a sign."""


def wrapped(value: Expr, data: Set[str]) -> Expr:
    """A value in which operations on integers wrap around; `data` are names of values that are no iterators or sizes.
    Subscripts stay as they are."""
    if isinstance(value, Load):
        return value
    type = type_of(value)
    if type in UNSIGNED and has_data(value, data):
        unsigned = UNSIGNED[type]
        match value:
            case Binary(op="add" | "sub" | "mul" as op, left=left, right=right):
                return Cast(Binary(op, without_sign(wrapped(left, data)), without_sign(wrapped(right, data))), type)
            case Unary(op="neg", operand=operand):
                return Cast(Binary("sub", Const(0, unsigned), without_sign(wrapped(operand, data))), type)
            case _:
                pass
    return with_children(value, tuple(wrapped(x, data) for x in children(value)))


def has_data(value: Expr, data: Set[str]) -> bool:
    """Whether a value is computed of elements of arrays, or of values named in `data`: it may be anything."""
    return any(isinstance(x, Load) or (isinstance(x, Var) and x.name in data) for x in walk_expr(value))


def with_wrapping(block: Block) -> Block:
    """A block in which what is computed of data wraps around, but for loops that instructions were chosen for.

    >>> from planish.ir.text.parser import parse_kernel
    >>> from planish.ir.text.printer import print_stmt
    >>> kernel = parse_kernel("kernel k(n; s: i32[], y: i32[n]) { let t = s[] + 1:i32  y[n - 1] = 0:i32 - t:i32 }")
    >>> print(print_stmt(with_wrapping(kernel.body)), end="")
    {
      let t = i32(u32(s[]) + 1:u32)
      y[n - 1] = i32(0:u32 - u32(t))
    }
    """
    data: set[str] = set()

    def visit(stmt: Stmt) -> Stmt:
        match stmt:
            case For() if stmt.facts.instruction:
                return stmt
            case Let(var=name, value=value) if has_data(value, data):
                data.add(name)
                return replace(stmt, value=wrapped(value, data))
            case Assign(value=value) | Reduce(value=value):
                return replace(stmt, value=wrapped(value, data))
            case _:
                return with_blocks(stmt, [with_body(x, [*map(visit, x.body)]) for x in blocks_of(stmt)])

    return with_body(block, [*map(visit, block.body)])


def without_sign(value: Expr) -> Expr:
    """The same bits of a wide integer as a number without a sign."""
    unsigned = UNSIGNED[type_of(value)]
    match value:
        case Const(value=number):
            return Const(int(number) % (1 << unsigned.bits), unsigned)
        case Cast(operand=operand) if type_of(operand) == unsigned:
            return operand
        case _:
            return Cast(value, unsigned)
