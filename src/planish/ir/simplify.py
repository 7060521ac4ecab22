"""Index expressions in a normal form: constants folded, like terms gathered, needless `min` and `%` dropped.

INDEX arithmetic is taken not to overflow, as everywhere in the polyhedral model. Values of other types are never
touched (subscripts within them are).

>>> from planish.ir.parser import parse_expr
>>> from planish.ir.printer import print_expr
>>> print_expr(simplify(parse_expr("min(i + 1 + 2, 1 * i + 4) - 2 * (i - j) + 0")))
'2 * j - i + 3'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from planish.ir.arithmetic import limits, quotient, remainder
from planish.ir.expr import (
    Binary,
    BinaryOp,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Select,
    Unary,
    type_of,
)
from planish.ir.interval import Interval, combine, range_of
from planish.ir.nest import Alloc, Assign, Block, For, If, Let, Reduce, Stmt
from planish.ir.traverse import children, map_exprs, with_children
from planish.ir.types import BOOL, INDEX

_INVERSE: dict[CompareOp, CompareOp] = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "le": "gt", "gt": "le"}
_SWAPPED: dict[CompareOp, CompareOp] = {"eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}

Ranges = Mapping[str, Interval]


_PASSES = 8
"""Each pass makes an expression smaller, so that few are needed; the bound is for what nobody foresaw."""


def simplify(expr: Expr, known: Ranges | None = None) -> Expr:
    """An expression of the same value; `known` holds ranges of iterators and sizes that may be relied on."""
    ranges = known or {}
    fresh = _simplify(expr, ranges)
    # One pass may uncover more: a term that cancelled, an extremum of what became equal.
    for _ in range(_PASSES):
        again = _simplify(fresh, ranges)
        if again == fresh:
            break
        fresh = again
    return fresh


def simplify_block(block: Block, known: Ranges | None = None) -> Block:
    """The block with its expressions simplified, decided branches taken, and loops that never run left out."""
    out: list[Stmt] = []
    for stmt in block.body:
        out.extend(_simplify_stmt(stmt, known or {}))
    return Block(tuple(out))


def _simplify_stmt(stmt: Stmt, known: Ranges) -> tuple[Stmt, ...]:
    fresh = map_exprs(lambda x: _simplify(x, known), stmt)
    match fresh:
        case Block():
            inner = simplify_block(fresh, known)
            return (inner,) if _binds(inner) else inner.body
        case For(var=var, lower=lower, upper=upper):
            low, high = range_of(lower, known, True), range_of(upper, known, True)
            if high[1] <= low[0] or _decide("ge", lower, upper, known) is True:
                return ()
            body = simplify_block(fresh.body, {**known, var: (low[0], max(low[0], high[1] - 1))})
            return (replace(fresh, body=body),) if body.body else ()
        case If(condition=condition):
            then, otherwise = simplify_block(fresh.then, known), simplify_block(fresh.otherwise, known)
            if isinstance(condition, Const):
                taken = then if condition.value else otherwise
                return (taken,) if _binds(taken) else taken.body
            if not then.body and not otherwise.body:
                return ()
            if not then.body:
                inverse = _simplify(Unary("not", condition), known)
                return (replace(fresh, condition=inverse, then=otherwise, otherwise=then),)
            return (replace(fresh, then=then, otherwise=otherwise),)
        case Assign() | Reduce() | Alloc() | Let():
            return (fresh,)
        case _:
            assert_never(fresh)


def _binds(block: Block) -> bool:
    return any(isinstance(x, Alloc | Let) for x in block.body)


def _simplify(expr: Expr, known: Ranges) -> Expr:
    if type_of(expr) == INDEX and isinstance(expr, Binary | Unary):
        return _gather(expr, known).expr()
    parts = children(expr)
    fresh = tuple(_simplify(x, known) for x in parts)
    expr = expr if fresh == parts else with_children(expr, fresh)
    match expr:
        case Compare(op=op, left=left, right=right) if type_of(left) == INDEX:
            decided = _decide(op, left, right, known)
            if decided is not None:
                return Const(decided, BOOL)
            return _compared(op, left, right, known)
        case Binary(op="and" | "or" as op, left=left, right=right) if type_of(left) == BOOL:
            return _logical(op, left, right)
        case Unary(op="not", operand=operand):
            return _negated(operand, expr)
        case Select(condition=Const(value=value), then=then, otherwise=otherwise):
            return then if value else otherwise
        case Select(then=then, otherwise=otherwise) if then == otherwise and type_of(then) == INDEX:
            return then
        case Cast(operand=operand, type=type) if type == INDEX and type_of(operand) == INDEX:
            return operand
        case _:
            return expr


def _logical(op: BinaryOp, left: Expr, right: Expr) -> Expr:
    """`and` or `or` of two simplified conditions."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Const):
            return other if bool(one.value) == (op == "and") else one
    return left if left == right else Binary(op, left, right)


def _negated(condition: Expr, plain: Expr) -> Expr:
    """`not condition`; comparisons of floats stay, since NaN makes all but `ne` false."""
    match condition:
        case Const(value=value):
            return Const(not value, BOOL)
        case Unary(op="not", operand=inner):
            return inner
        case Compare(op=op, left=left, right=right) if not type_of(left).is_float:
            return Compare(_INVERSE[op], left, right)
        case _:
            return plain


def _compared(op: CompareOp, left: Expr, right: Expr, known: Ranges) -> Expr:
    """An open comparison: terms on both sides cancel, a constant stands on the right."""
    a, b = _gather(left, known), _gather(right, known)
    common = {x: n for x, n in a.terms.items() if b.terms.get(x, 0) * n > 0}
    if common:
        taken = _Sum({x: min(n, b.terms[x]) if n > 0 else max(n, b.terms[x]) for x, n in common.items()})
        left, right = a.plus(taken, -1).expr(), b.plus(taken, -1).expr()
    if isinstance(left, Const):
        return Compare(_SWAPPED[op], right, left)
    return Compare(op, left, right)


def _decide(op: CompareOp, left: Expr, right: Expr, known: Ranges) -> bool | None:
    """What the comparison gives, where the difference of its sides settles it."""
    difference = _gather(left, known).plus(_gather(right, known), -1)
    low, high = difference.range(known)
    match op:
        case "lt" | "ge":
            below = True if high < 0 else False if low >= 0 else None
            return below if op == "lt" or below is None else not below
        case "le" | "gt":
            at_most = True if high <= 0 else False if low > 0 else None
            return at_most if op == "le" or at_most is None else not at_most
        case "eq" | "ne":
            equal = True if low == high == 0 else False if low > 0 or high < 0 else None
            return equal if op == "eq" or equal is None else not equal
        case _:
            assert_never(op)


@dataclass(frozen=True, slots=True)
class _Sum:
    """`constant` plus each expression times its factor, in the order of first appearance."""

    terms: Mapping[Expr, int] = field(default_factory=dict)
    constant: int = 0

    def plus(self, other: _Sum, factor: int = 1) -> _Sum:
        """The sum of this and `factor` times the other."""
        terms = dict(self.terms)
        for x, n in other.terms.items():
            terms[x] = terms.get(x, 0) + n * factor
        return _Sum({x: n for x, n in terms.items() if n}, self.constant + other.constant * factor)

    def times(self, factor: int) -> _Sum:
        """This times a constant."""
        return _Sum().plus(self, factor)

    def range(self, known: Ranges) -> Interval:
        """Where the value lies."""
        low = high = self.constant
        for x, n in self.terms.items():
            a, b = range_of(x, known, True)
            low, high = low + min(a * n, b * n), high + max(a * n, b * n)
        return low, high

    def expr(self) -> Expr:
        """As an expression: what is added comes first, then what is subtracted, then the constant."""
        # Factors live in a ring of 64 bits; one that left it wraps as the arithmetic would have done.
        added = [_product(x, n) for x, n in self.terms.items() if n > 0]
        taken = [_product(x, -n) for x, n in self.terms.items() if n < 0]
        if not self.terms:
            return _literal(self.constant)
        constant = self.constant
        if added:
            total, *rest = added
        elif constant:
            total, rest, constant = _literal(constant), [], 0
        else:
            first = next(iter(self.terms.items()))
            total, rest = (_product(*first) if first[1] != -1 else Unary("neg", first[0])), []
            taken = taken[1:]
        for x in rest:
            total = Binary("add", total, x)
        for x in taken:
            total = Binary("sub", total, x)
        if constant > 0:
            return Binary("add", total, _literal(constant))
        return Binary("sub", total, _literal(-constant)) if constant else total


def _literal(value: int) -> Const:
    low, high = limits(INDEX)
    return Const((value - low) % (high - low + 1) + low, INDEX)


def _product(expr: Expr, factor: int) -> Expr:
    return expr if factor == 1 else Binary("mul", _literal(factor), expr)


def _gather(expr: Expr, known: Ranges) -> _Sum:
    """An INDEX expression as a sum of simplified terms."""
    match expr:
        case Const(value=value):
            return _Sum({}, int(value))
        case Unary(op="neg", operand=x):
            return _gather(x, known).times(-1)
        case Binary(op="add", left=a, right=b):
            return _gather(a, known).plus(_gather(b, known))
        case Binary(op="sub", left=a, right=b):
            return _gather(a, known).plus(_gather(b, known), -1)
        case Binary(op="mul", left=a, right=b):
            one, other = _gather(a, known), _gather(b, known)
            if not one.terms:
                return other.times(one.constant)
            if not other.terms:
                return one.times(other.constant)
            return _Sum({Binary("mul", one.expr(), other.expr()): 1})
        case Binary(op="floordiv" | "mod" | "quo" | "rem" as op, left=a, right=b):
            return _divided(op, _gather(a, known), _gather(b, known), known)
        case Binary(op="min" | "max" as op):
            return _extreme(op, expr, known)
        case Binary(op=op, left=a, right=b):
            return _Sum({Binary(op, _simplify(a, known), _simplify(b, known)): 1})
        case Unary(op=unary, operand=x):
            return _Sum({Unary(unary, _simplify(x, known)): 1})
        case _:
            # A decided `select` may turn out to be a sum by itself.
            fresh = _simplify(expr, known)
            return _gather(fresh, known) if isinstance(fresh, Binary | Unary | Const) else _Sum({fresh: 1})


def _divided(op: BinaryOp, a: _Sum, b: _Sum, known: Ranges) -> _Sum:
    """A quotient or a remainder: multiples of a constant divisor come out, what is small is settled."""
    whole = op in ("floordiv", "quo")
    plain = _Sum({Binary(op, a.expr(), b.expr()): 1})
    if b.terms or b.constant <= 0:
        return plain
    n = b.constant
    if not a.terms:
        floors = {"floordiv": a.constant // n, "mod": a.constant % n}
        return _Sum({}, floors[op] if op in floors else (quotient if whole else remainder)(a.constant, n))
    if op in ("quo", "rem"):
        if a.range(known)[0] < 0:
            return _Sum() if n == 1 and not whole else a if n == 1 else plain
        return _divided("floordiv" if whole else "mod", a, b, known)
    multiple = _Sum({x: f // n for x, f in a.terms.items() if f % n == 0}, a.constant // n)
    rest = _Sum({x: f for x, f in a.terms.items() if f % n}, a.constant % n)
    # Moving part of the constant out is only worth it where terms go with it, or nothing but the constant stays.
    if not multiple.terms and rest.terms:
        multiple, rest = _Sum(), a
    low, high = rest.range(known)
    settled = combine("floordiv", (low, high), (n, n), INDEX)
    if settled[0] == settled[1]:
        return multiple.plus(_Sum({}, settled[0])) if whole else rest.plus(_Sum({}, -n * settled[0]))
    inner = rest.expr()
    if not whole:
        return _Sum({Binary("mod", inner, _literal(n)): 1})
    match inner:
        case Binary(op="floordiv", left=deeper, right=Const(value=m)) if m > 0:
            return multiple.plus(_Sum({Binary("floordiv", deeper, _literal(n * int(m))): 1}))
        case _:
            return multiple.plus(_Sum({Binary("floordiv", inner, _literal(n)): 1}))


def _extreme(op: BinaryOp, expr: Expr, known: Ranges) -> _Sum:
    """`min` or `max` of several sums: those that another one dominates are dropped."""
    kept: list[_Sum] = []
    for operand in _operands(op, expr, known):
        candidate = operand if op == "min" else operand.times(-1)
        if any(x.plus(candidate, -1).range(known)[1] <= 0 for x in kept):
            continue
        kept = [x for x in kept if candidate.plus(x, -1).range(known)[1] > 0]
        kept.append(candidate)
    sums = kept if op == "min" else [x.times(-1) for x in kept]
    if len(sums) == 1:
        return sums[0]
    total = sums[0].expr()
    for x in sums[1:]:
        total = Binary(op, total, x.expr())
    return _Sum({total: 1})


def _operands(op: BinaryOp, expr: Expr, known: Ranges) -> list[_Sum]:
    """The operands of nested `min`s or `max`es, flattened."""
    match expr:
        case Binary(op=same, left=a, right=b) if same == op:
            return [*_operands(op, a, known), *_operands(op, b, known)]
        case Select() | Cast():
            fresh = _simplify(expr, known)
            again = isinstance(fresh, Binary) and fresh.op == op
            return _operands(op, fresh, known) if again else [_gather(fresh, known)]
        case _:
            return [_gather(expr, known)]
