"""Affine maps and integer sets as index expressions.

>>> from planish.ir.index.polynomial import show
>>> from xdsl.ir.affine import AffineExpr
>>> show(read_affine(AffineExpr.dimension(0) * 2 + AffineExpr.symbol(0) - 3, (index("i"),), (index("n"),)))
'2*i + n - 3'
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSet,
    AffineSymExpr,
)

from planish.ir.expr import Binary, Compare, CompareOp, Const, Expr, index
from planish.ir.index.polynomial import add, constant, extremum, floordiv, mod, mul, sub
from planish.ir.traverse import walk_expr
from planish.ir.types import BOOL

_COMPARISONS: dict[AffineConstraintKind, CompareOp] = {
    AffineConstraintKind.ge: "ge", AffineConstraintKind.le: "le", AffineConstraintKind.eq: "eq",
}  # fmt: skip


MOST_INDEX_NODES = 300
"""Longer index expressions are refused: everything that walks through them takes some of Python's stack."""


class NotAMap(Exception):
    """Why a map has no meaning here."""


def read_map(map: AffineMap, operands: Sequence[Expr]) -> tuple[Expr, ...]:
    """The results of a map of its operands, dimensions first; NotAMap where their number is wrong."""
    if len(operands) != map.num_dims + map.num_symbols:
        raise NotAMap(f"the map takes {map.num_dims + map.num_symbols} operands, and there are {len(operands)}")
    dims, symbols = operands[: map.num_dims], operands[map.num_dims :]
    return tuple(read_affine(x, dims, symbols) for x in map.results)


def read_extremum(op: str, map: AffineMap, operands: Sequence[Expr]) -> Expr:
    """The least or greatest (`op` is min or max) result of a map."""
    results = read_map(map, operands)
    if not results:
        raise NotAMap("the map has no results")
    return reduce(lambda a, b: extremum(op, a, b), results)


def read_set(condition: AffineSet, operands: Sequence[Expr]) -> Expr:
    """Whether operands lie in an integer set."""
    if len(operands) != condition.num_dims + condition.num_symbols:
        count = condition.num_dims + condition.num_symbols
        raise NotAMap(f"the set takes {count} operands, and there are {len(operands)}")
    dims, symbols = operands[: condition.num_dims], operands[condition.num_dims :]
    tests = [_read_constraint(x, dims, symbols) for x in condition.constraints]
    return reduce(lambda a, b: Binary("and", a, b), tests) if tests else Const(True, BOOL)


def _read_constraint(constraint: AffineConstraintExpr, dims: Sequence[Expr], symbols: Sequence[Expr]) -> Expr:
    left, right = (read_affine(x, dims, symbols) for x in (constraint.lhs, constraint.rhs))
    return Compare(_COMPARISONS[constraint.kind], left, right)


def read_affine(expr: AffineExpr, dims: Sequence[Expr], symbols: Sequence[Expr]) -> Expr:
    """An affine expression over index expressions."""
    match expr:
        case AffineConstantExpr(value=value):
            return index(value)
        case AffineDimExpr(position=place):
            return dims[place]
        case AffineSymExpr(position=place):
            return symbols[place]
        case AffineBinaryOpExpr(kind=kind, lhs=lhs, rhs=rhs):
            left, right = read_affine(lhs, dims, symbols), read_affine(rhs, dims, symbols)
            match kind:
                case AffineBinaryOpKind.Add:
                    return add(left, right)
                case AffineBinaryOpKind.Mul:
                    if not is_small(left, right):
                        raise NotAMap("a product of too many terms")
                    return mul(left, right)
                case AffineBinaryOpKind.Mod | AffineBinaryOpKind.FloorDiv | AffineBinaryOpKind.CeilDiv:
                    divisor = constant(right)
                    if divisor is not None and divisor <= 0:
                        raise NotAMap(f"a division by {divisor}: divisors of affine expressions are positive")
                    if kind == AffineBinaryOpKind.Mod:
                        return mod(left, right)
                    rounded = left if kind == AffineBinaryOpKind.FloorDiv else add(left, sub(right, index(1)))
                    return floordiv(rounded, right)
    raise NotAMap(f"`{expr}` is no affine expression")


def is_small(left: Expr, right: Expr) -> bool:
    """Whether the product of two index expressions, once it is a sum, is not too long."""
    return sum(1 for _ in walk_expr(left)) * sum(1 for _ in walk_expr(right)) <= MOST_INDEX_NODES
