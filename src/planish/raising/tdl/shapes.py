"""The extents of the operands of statements: that of an index is its size, that of a sum what it reaches.

>>> from planish.core.span import Source
>>> from planish.ir.text.printer import print_expr
>>> from planish.raising.tdl.parser import parse_definitions
>>> from planish.raising.tdl.scope import scope_of
>>> source = Source("t.tdl", "def conv { pattern O(h) += X(s * h + r) * W(r) }")
>>> pattern = parse_definitions(source)[0].pattern
>>> found = shapes_of(pattern, scope_of(pattern, (), source))
>>> {name: [print_expr(x) for x in shape] for name, shape in found.items()}
{'O': ['nh'], 'X': ['nh * s - s + nr'], 'W': ['nr']}
"""

from __future__ import annotations

from collections.abc import Sequence

from planish.ir.expr import Expr, Var, index
from planish.ir.index.polynomial import add, build, constant, extremum, linear_in, mul, polynomial, sub
from planish.ir.nest import Block, For
from planish.ir.text.printer import print_expr
from planish.ir.traverse import walk
from planish.ir.types import INDEX
from planish.raising.tdl.domain import loops_of, order_of
from planish.raising.tdl.syntax import ElementRef, TdlName, TdlStatement, Term
from planish.raising.tdl.values import TdlScope, accesses, indices_in, subscript_of

Shape = tuple[Expr, ...]


def shapes_of(statements: Sequence[TdlStatement], scope: TdlScope) -> dict[str, Shape]:
    """The shape of every array of some statements, in the order in which they appear.

    PlanishError E0815 where uses of an array disagree, E0818 for a subscript that may lie before the first element.
    """
    out: dict[str, Shape] = {}
    for stmt in statements:
        for access in (stmt.target, *accesses(stmt.value)):
            shape = tuple(_extent(x, stmt, scope) for x in access.subscripts)
            before = out.get(access.array)
            out[access.array] = shape if before is None else _joined(access, before, shape, scope)
    return out


def _joined(access: ElementRef, before: Shape, shape: Shape, scope: TdlScope) -> Shape:
    """The shape of an array that is used twice."""
    if len(before) != len(shape):
        message = f"`{access.array}` has {len(before)} dimensions, and here {len(shape)}"
        scope.fail("E0815", message, access.span)
    extents: list[Expr] = []
    for d, (a, b) in enumerate(zip(before, shape, strict=True)):
        if constant(sub(a, b)) is None:
            message = f"dimension {d + 1} of `{access.array}` has {print_expr(a)} elements, and here {print_expr(b)}"
            advice = "say with `where` that two indices have one size: `where i, j < n`"
            scope.fail("E0815", message, access.subscripts[d].span, advice)
        extents.append(extremum("max", a, b))
    return tuple(extents)


def _extent(term: Term, stmt: TdlStatement, scope: TdlScope) -> Expr:
    """How many elements a dimension has that is addressed by a term."""
    if isinstance(term, TdlName) and term.text in scope.indices:
        return scope.indices[term.text]
    limit, natural = _limits(term, stmt)
    expr = subscript_of(term, scope)
    low, high = _reach(expr, stmt, scope)
    first = constant(low)
    if not natural and (first is None or first < 0) and any(c < 0 for c in polynomial(low).values()):
        message = f"`{term}` may lie before the first element"
        scope.fail("E0818", message, term.span, f"say where it does not: `where 0 <= {term}`")
    return add(high, index(1)) if limit is None else subscript_of(limit, scope)


def _limits(term: Term, stmt: TdlStatement) -> tuple[Term | None, bool]:
    """What a range of the statement says of a term: the bound above it, and whether it is at least 0."""
    above: Term | None = None
    natural = False
    for chain in stmt.chains:
        for first in chain.first:
            left = first
            for op, right in chain.rest:
                above = right if (left, op) == (term, "<") else left if (op, right) == (">", term) else above
                natural |= (op == "<=" and right == term and str(left) == "0") or (
                    op == ">=" and left == term and str(right) == "0")  # fmt: skip
                left = right
    return above, natural


def _reach(expr: Expr, stmt: TdlStatement, scope: TdlScope) -> tuple[Expr, Expr]:
    """The least and the greatest value of a subscript; a constant that is a factor is taken as positive."""
    ranges = {x.var: (x.lower, x.upper) for x in walk(Block((loops_of(stmt, scope),))) if isinstance(x, For)}
    low = high = expr
    for name in reversed(order_of(stmt, scope)):
        lower, upper = ranges[name]
        if indices_in(lower, scope):
            lower = index(0)
        if indices_in(upper, scope):
            upper = scope.indices[name]
        last = sub(upper, index(1))
        low, high = _placed(low, name, lower, last), _placed(high, name, last, lower)
    return low, high


def _placed(expr: Expr, name: str, rising: Expr, falling: Expr) -> Expr:
    """An expression at one end of an index's range: where it rises with the index, and where it falls."""
    found = linear_in(expr, name)
    assert found is not None
    terms, rest = found
    factor = build(terms)
    return add(mul(factor, rising if all(c > 0 for c in terms.values()) else falling), rest) if terms else expr


def factors_of(statements: Sequence[TdlStatement], scope: TdlScope) -> tuple[str, ...]:
    """The constants that multiply an index in a subscript: strides and dilations, which are at least 1."""
    out: dict[str, None] = {}
    for stmt in statements:
        for access in (stmt.target, *accesses(stmt.value)):
            for term in access.subscripts:
                for monomial in polynomial(subscript_of(term, scope)):
                    named = [x.name for x in monomial if isinstance(x, Var) and x.type == INDEX]
                    if set(named) & set(scope.indices):
                        out |= dict.fromkeys(x for x in named if x not in scope.indices)
    return tuple(out)
