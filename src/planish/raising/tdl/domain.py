"""The loops of a statement: its indices in order, with bounds from its ranges, and tests for what is no bound.

>>> from planish.core.span import Source
>>> from planish.ir.text.printer import print_stmt
>>> from planish.raising.tdl.parser import parse_definitions
>>> from planish.raising.tdl.scope import scope_of
>>> source = Source("t.tdl", "def sums { pattern y(i) += A(i, k) where k <= i }")
>>> pattern = parse_definitions(source)[0].pattern
>>> print(print_stmt(loops_of(pattern[0], scope_of(pattern, (), source))))
for i in 0 .. ni {
  for k in 0 .. i + 1 {
    y[i] += A[i, k]
  }
}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from planish.ir.expr import Binary, Compare, Expr, Unary, index
from planish.ir.index.polynomial import add, coefficient_of, constant, extremum, names, neg, polynomial, same, sub
from planish.ir.nest import Assign, Block, For, If, Reduce, ReduceOp, Stmt
from planish.ir.types import BOOL
from planish.raising.tdl.syntax import TdlStatement
from planish.raising.tdl.values import TdlScope, accesses, conditions_of, indices_in, subscript_of, value_of

_UPDATES: Mapping[str, ReduceOp] = {
    "+=": "add", "-=": "add", "*=": "mul", "min=": "min", "max=": "max", "or=": "or", "and=": "and",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bound:
    """`name >= value` or `name < value`, where the value is known outside of the loop."""

    name: str
    kind: Literal["lower", "upper"]
    value: Expr


def loops_of(stmt: TdlStatement, scope: TdlScope) -> Stmt:
    """A statement as a nest: the target's indices outermost.

    PlanishError E0816 for `=` with an index that is only on its right, E0831 for an update that the type has not,
    E0832 for a statement whose value depends on the order of its instances.
    """
    order = order_of(stmt, scope)
    left = {x for term in stmt.target.subscripts for x in indices_in(subscript_of(term, scope), scope)}
    extra = [x for x in order if x not in left]
    if stmt.op == "=" and extra:
        message, advice = f"the index `{extra[0]}` is only on the right of `=`", "an update such as `+=` sums over it"
        scope.fail("E0816", message, stmt.target.span, advice)
    for access in accesses(stmt.value):
        if access.array == stmt.target.array and access != stmt.target:
            message = f"`{access}` is read where `{stmt.target}` is written: what it gives depends on the order"
            scope.fail("E0832", message, access.span, "write the pattern as a nest: `pattern (n; A: f64[n]) { … }`")
    body: Stmt = _update(stmt, scope)
    bounds, tests = split(stmt, order, scope)
    for test in reversed(tests):
        body = If(test, Block((body,)))
    for name in reversed(order):
        lower, upper = range_of(name, bounds, scope)
        body = For(name, lower, upper, 1, Block((body,)))
    return body


def order_of(stmt: TdlStatement, scope: TdlScope) -> tuple[str, ...]:
    """The indices of a statement, from outside inwards."""
    terms = [x for access in (stmt.target, *accesses(stmt.value)) for x in access.subscripts]
    used = [name for x in terms for name in _in_order(subscript_of(x, scope), scope)]
    return tuple(dict.fromkeys(used))


def _in_order(expr: Expr, scope: TdlScope) -> list[str]:
    return [x for x in scope.indices if x in names(expr)]


def _update(stmt: TdlStatement, scope: TdlScope) -> Stmt:
    at = tuple(subscript_of(x, scope) for x in stmt.target.subscripts)
    value = value_of(stmt.value, scope)
    array = stmt.target.array
    if stmt.op == "=":
        return Assign(array, at, value, stmt.span)
    if (scope.element == BOOL) != (stmt.op in ("or=", "and=")):
        scope.fail("E0831", f"`{stmt.op}` stands in a tactic of {'truths' if scope.element == BOOL else 'numbers'}",
                   stmt.span)  # fmt: skip
    return Reduce(array, at, _UPDATES[stmt.op], Unary("neg", value) if stmt.op == "-=" else value, stmt.span)


def split(stmt: TdlStatement, order: Sequence[str], scope: TdlScope) -> tuple[list[Bound], list[Expr]]:
    """The ranges of a statement as bounds of loops, and the tests that are none."""
    bounds: list[Bound] = []
    tests: list[Expr] = []
    for chain in stmt.chains:
        for condition in conditions_of(chain, scope):
            for name in indices_in(Binary("add", condition.left, condition.right), scope) - set(order):
                scope.fail("E0813", f"the statement has no index `{name}`", chain.span)
            found = _bounds(condition, order)
            bounds += found
            tests += [] if found else [condition]
    return bounds, tests


def _bounds(condition: Compare, order: Sequence[str]) -> list[Bound]:
    """A comparison as bounds of the innermost loop that it depends on."""
    difference = sub(condition.right, condition.left)
    inner = [x for x in order if x in names(difference)]
    if not inner or condition.op == "ne":
        return []
    found = coefficient_of(difference, inner[-1])
    if found is None or abs(found[0]) != 1:
        return []
    # The comparison is `factor * name + rest OP 0`, with the sides changed.
    factor, rest = found
    if condition.op == "eq":
        at = neg(rest) if factor == 1 else rest
        return [Bound(inner[-1], "lower", at), Bound(inner[-1], "upper", add(at, index(1)))]
    larger = condition.op in ("lt", "le")
    strict = index(int(condition.op in ("lt", "gt")))
    if (factor == 1) == larger:
        # name >= -rest where the right is the larger side, name >= rest where the left is.
        return [Bound(inner[-1], "lower", add(neg(rest) if factor == 1 else rest, strict))]
    return [Bound(inner[-1], "upper", add(sub(rest if factor == -1 else neg(rest), strict), index(1)))]


def range_of(name: str, bounds: Sequence[Bound], scope: TdlScope) -> tuple[Expr, Expr]:
    """The bounds of an index's loop; those that others imply are left out."""
    size = scope.indices[name]
    lower: Expr = index(0)
    uppers: list[Expr] = []
    for bound in bounds:
        if bound.name != name:
            continue
        if bound.kind == "lower":
            implied = same(lower, index(0)) and _is_natural(bound.value, scope)
            lower = bound.value if implied else extremum("max", lower, bound.value)
        elif not same(bound.value, size):
            uppers.append(bound.value)
    upper = size if not any(_within(x, size, scope) for x in uppers) else None
    for value in uppers:
        upper = value if upper is None else extremum("min", upper, value)
    assert upper is not None
    return lower, upper


def _is_natural(expr: Expr, scope: TdlScope) -> bool:
    """Whether an expression is never negative, because it is a sum of indices and positive numbers."""
    return names(expr) <= frozenset(scope.indices) and all(c >= 0 for c in polynomial(expr).values())


def _within(expr: Expr, size: Expr, scope: TdlScope) -> bool:
    """Whether a bound is at most a size: an index of that size, and at most one more."""
    inner = indices_in(expr, scope)
    if not inner:
        return (constant(sub(size, expr)) or -1) >= 0 or same(size, expr)
    if len(inner) > 1:
        return False
    (name,) = inner
    rest = constant(sub(expr, index(name)))
    return rest is not None and rest <= 1 and same(scope.indices[name], size)
