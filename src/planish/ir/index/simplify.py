"""Index expressions in a normal form: constants folded, like terms gathered, needless `min` and `%` dropped.

INDEX arithmetic is taken not to overflow, as everywhere in the polyhedral model. Values of other types are never
touched (subscripts within them are).

>>> from planish.ir.text.parser import parse_expr
>>> from planish.ir.text.printer import print_expr
>>> print_expr(simplify(parse_expr("min(i + 1 + 2, 1 * i + 4) - 2 * (i - j) + 0")))
'2 * j - i + 3'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import gcd
from typing import assert_never

from planish.ir.expr import (
    MIRRORED,
    OPPOSITE,
    Binary,
    BinaryOp,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Select,
    Unary,
    Var,
    type_of,
)
from planish.ir.index.congruence import ANY, Residue, Residues, known_modulo, residue, residue_of
from planish.ir.index.interval import Interval, range_of
from planish.ir.index.sums import (
    Ranges,
    Sum,
    atom,
    exact_quotient_sum,
    extreme_sum,
    operands,
    quotient_sum,
    quotients,
    reduced,
    size,
    sum_of,
)
from planish.ir.nest import Alloc, Assign, Barrier, Block, For, If, Launch, Let, Reduce, Stmt, While
from planish.ir.semantics.arithmetic import quotient, remainder
from planish.ir.traverse import (
    children,
    has_work,
    loads,
    map_exprs,
    takes_work,
    variables,
    walk_expr,
    with_children,
)
from planish.ir.types import BOOL, INDEX

_LEAVES = (Const, Var)
_PASSES = 8
"""Each pass makes an expression smaller, so that few are needed; the bound is for what nobody foresaw."""


@dataclass(frozen=True, slots=True)
class Known:
    """What may be relied on: ranges and residues of iterators and sizes, and sums that are not negative; `normal`: what
    takes no work needs no look, since it is in normal form."""

    ranges: Ranges = field(default_factory=dict)
    residues: Residues = field(default_factory=dict)
    facts: tuple[Sum, ...] = ()
    normal: bool = False

    def range(self, value: Sum) -> Interval:
        """Where a sum lies."""
        low, high = value.range(self.ranges)
        for fact in self.facts:
            if not fact.terms.keys().isdisjoint(value.terms):
                low = max(low, value.plus(fact, -1).plain_range(self.ranges)[0])
                high = min(high, value.plus(fact).plain_range(self.ranges)[1])
        for x, factor in value.terms.items():
            if isinstance(x, Binary) and (x.op == "min" or x.op == "max"):
                # A sum with an extremum in it is that extremum of the sums with one operand each.
                rest = value.plus(atom(x), -factor)
                parts = [self.range(rest.plus(sum_of(part), factor)) for part in operands(x.op, x)]
                pick = min if (x.op == "min") == (factor > 0) else max
                low, high = max(low, pick(a for a, _ in parts)), min(high, pick(b for _, b in parts))
                break
        return low, max(low, high)

    def residue(self, value: Sum) -> Residue:
        """Which residue class a sum lies in."""
        modulus, over = 0, value.constant
        for x, factor in value.terms.items():
            m, r = residue_of(x, self.residues)
            modulus, over = gcd(modulus, m * factor), over + r * factor
        return residue(modulus, over)

    def inside(self, loop: For) -> Known:
        """What is known in a loop's body."""
        low, high = range_of(loop.lower, self.ranges, True), range_of(loop.upper, self.ranges, True)
        modulus, over = residue_of(loop.lower, self.residues)
        values = low[0], max(low[0], high[1] - 1)
        known = self.with_name(loop.var, values, residue(gcd(modulus, loop.step), over))
        var = atom(Var(loop.var, INDEX))
        facts = []
        lowers, uppers = operands("max", loop.lower), operands("min", loop.upper)
        for bound, distance, sign in [(x, var, 1) for x in lowers] + [(x, var.shifted(1), -1) for x in uppers]:
            # What a bound reads from memory may have changed; an outer variable of the same name is another one.
            if not loads(bound) and loop.var not in variables(bound):
                facts.append(distance.plus(_sum(bound, known), -1).times(sign))
        return replace(known, facts=(*known.facts, *(x for x in facts if len(x.terms) > 1)))

    def with_name(self, name: str, values: Interval | None, values_modulo: Residue = ANY) -> Known:
        """What is known where a name is bound anew."""
        ranges = {x: r for x, r in self.ranges.items() if x != name}
        residues = {x: r for x, r in self.residues.items() if x != name}
        if values is not None:
            ranges[name], residues[name] = values, values_modulo
        facts = tuple(x for x in self.facts if not any(name in variables(term) for term in x.terms))
        return Known(ranges, residues, facts, self.normal)

    def where(self, condition: Expr) -> Known:
        """What is known where a condition holds."""
        match condition:
            case Binary(op="and", left=a, right=b):
                return self.where(a).where(b)
            case Compare(op=op, left=left, right=right) if type_of(left) == INDEX and not loads(condition):
                more = _sum(left, self).plus(_sum(right, self), -1)
                less = more.times(-1)
                found = {
                    "ge": [more], "gt": [more.shifted(-1)], "le": [less], "lt": [less.shifted(-1)], "eq": [more, less],
                    "ne": [],
                }  # fmt: skip
                if op == "ne":
                    # What is not the least of its values is more.
                    low, high = self.range(more)
                    found["ne"] = [more.shifted(-1)] if low == 0 else [less.shifted(-1)] if high == 0 else []
                ranges = dict(self.ranges)
                for fact in found[op]:
                    _narrow(ranges, fact)
                facts = (*self.facts, *found[op])
                return replace(self, ranges=ranges, facts=facts, residues=self._where_modulo(condition))
            case _:
                return self

    def _where_modulo(self, condition: Expr) -> Residues:
        """The residues, with what a test such as `i % 4 == 1` adds."""
        match condition:
            case Compare(
                op="eq", left=Binary(op="mod", left=Var(name=name), right=Const(value=n)), right=Const(value=over)
            ) if n > 0 and int(n) % self.residues.get(name, ANY)[0] == 0 and self.residues.get(name, ANY)[0]:
                return {**self.residues, name: residue(int(n), int(over))}
            case _:
                return self.residues


def _narrow(ranges: dict[str, Interval], fact: Sum) -> None:
    """Take from a sum that is not negative what it says of the only name in it."""
    if len(fact.terms) != 1:
        return
    ((term, factor),) = fact.terms.items()
    if isinstance(term, Var) and factor in (1, -1):
        low, high = range_of(term, ranges, True)
        ranges[term.name] = (max(low, -fact.constant), high) if factor == 1 else (low, min(high, fact.constant))


def simplify(expr: Expr, known: Ranges | None = None, residues: Residues | None = None) -> Expr:
    """An expression of the same value; `known` and `residues` tell of iterators and sizes what may be relied on."""
    if known or residues or any(isinstance(x, Const) and isinstance(x.value, float) for x in walk_expr(expr)):
        return _simplify_fully(expr, Known(known or {}, residues or {}))
    return _simplify_alone(expr)


@lru_cache(maxsize=8192)
def _simplify_alone(expr: Expr) -> Expr:
    """An expression of which nothing is known: steps ask for the same few again and again. There is no float in it, as
    0.0 and -0.0 are equal keys."""
    return _simplify_fully(expr, Known())


def _simplify_fully(expr: Expr, facts: Known) -> Expr:
    fresh = _simplify(expr, facts)
    # One pass may uncover more: a term that cancelled, an extremum of what became equal.
    for _ in range(_PASSES):
        again = _simplify(fresh, facts)
        if again == fresh:
            break
        fresh = again
    return fresh


def simplify_block(
    block: Block, known: Ranges | None = None, residues: Residues | None = None, assumptions: Iterable[Expr] = (),
    normal: bool = False,
) -> Block:  # fmt: skip
    """The block with its expressions simplified, decided branches taken, and loops that never run left out.

    `known`, `residues` and `assumptions` (conditions that hold) tell of the sizes. `normal`: every loop may run, and
    expressions without divisions and extrema are in normal form.
    """
    facts = Known(known or {}, residues or {}, normal=normal)
    for condition in assumptions:
        facts = facts.where(condition)
    return _simplify_block(block, facts)


def _simplify_block(block: Block, known: Known) -> Block:
    if known.normal and not has_work(block):
        return block
    out: list[Stmt] = []
    for stmt in block.body:
        out.extend(_simplify_stmt(stmt, known))
        if isinstance(stmt, Let):
            is_index = type_of(stmt.value) == INDEX
            values = range_of(stmt.value, known.ranges, True) if is_index else None
            known = known.with_name(stmt.var, values, residue_of(stmt.value, known.residues))
    match out:
        case [Block() as only]:
            return only
        case _:
            return Block(tuple(out))


def _simplify_stmt(stmt: Stmt, known: Known) -> tuple[Stmt, ...]:
    fresh = map_exprs(lambda x: _simplify(x, known) if not known.normal or takes_work(x) else x, stmt)
    match fresh:
        case Block():
            inner = _simplify_block(fresh, known)
            return (inner,) if _binds(inner) else inner.body
        case For(lower=lower, upper=upper):
            if not known.normal and _decide("ge", lower, upper, known) is True:
                return ()
            body = _simplify_block(fresh.body, known.inside(fresh))
            return (replace(fresh, body=body),) if body.body else ()
        case If(condition=condition):
            then = _simplify_block(fresh.then, known.where(condition))
            inverse, otherwise = condition, fresh.otherwise
            if otherwise.body:
                inverse = _simplify(Unary("not", condition), known)
                otherwise = _simplify_block(otherwise, known.where(inverse))
            if isinstance(condition, Const):
                taken = then if condition.value else otherwise
                return (taken,) if _binds(taken) else taken.body
            if not then.body and not otherwise.body:
                return ()
            if not then.body:
                return (replace(fresh, condition=inverse, then=otherwise, otherwise=then),)
            return (replace(fresh, then=then, otherwise=otherwise),)
        case Assign() | Reduce() | Alloc() | Let():
            return (fresh,)
        case Launch() | Barrier() | While():
            raise AssertionError("launches are made last; loops without a count hold nests of their own")
        case _:
            assert_never(fresh)


def _binds(block: Block) -> bool:
    return any(isinstance(x, Alloc | Let) for x in block.body)


def _simplify(expr: Expr, known: Known) -> Expr:
    if isinstance(expr, _LEAVES):
        return expr
    if type_of(expr) == INDEX and isinstance(expr, Binary | Unary):
        return _sum(expr, known).expr(known.ranges)
    if known.normal and isinstance(expr, Compare) and not takes_work(expr):
        return expr
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
        # Exact for floats as well.
        case Binary(op="mul", left=Const(value=1), right=other) | Binary(op="mul", left=other, right=Const(value=1)):
            return other
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
            return Compare(OPPOSITE[op], left, right)
        case _:
            return plain


def _compared(op: CompareOp, left: Expr, right: Expr, known: Known) -> Expr:
    """An open comparison in its shortest spelling: what is on both sides cancels, a constant stands on the right."""
    a, b = _sum(left, known), _sum(right, known)
    common = {x: n for x, n in a.terms.items() if b.terms.get(x, 0) * n > 0}
    taken = Sum({x: min(n, b.terms[x]) if n > 0 else max(n, b.terms[x]) for x, n in common.items()})
    a, b = a.plus(taken, -1), b.plus(taken, -1)
    first = (op, left, right) if not common else (op, a.expr(known.ranges), b.expr(known.ranges))
    if size(first[1]) == size(first[2]) == 1:
        op, left, right = first
        return Compare(MIRRORED[op], right, left) if isinstance(left, Const) else Compare(op, left, right)
    over, under, x, y = a.plus(b, -1).spelt(), b.plus(a, -1).spelt(), a.spelt(), b.spelt()
    others = [
        (op, x.shifted(-y.constant), y.shifted(-y.constant)),
        (op, x.shifted(-x.constant), y.shifted(-x.constant)),
        (op, Sum(over.terms), Sum({}, -over.constant)),
        (MIRRORED[op], Sum(under.terms), Sum({}, -under.constant)),
    ]
    spellings = [first, *((sign, x.expr(known.ranges), y.expr(known.ranges)) for sign, x, y in others)]
    op, left, right = min(spellings, key=lambda x: (size(x[1]) + size(x[2]), _subtractions(x[1]) + _subtractions(x[2])))
    if isinstance(left, Const):
        return Compare(MIRRORED[op], right, left)
    return Compare(op, left, right)


def _subtractions(expr: Expr) -> int:
    return sum(isinstance(x, Binary) and x.op == "sub" for x in walk_expr(expr))


def _decide(op: CompareOp, left: Expr, right: Expr, known: Known) -> bool | None:
    """What the comparison gives, where the difference of its sides settles it."""
    low, high = known.range(_sum(left, known).plus(_sum(right, known), -1))
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


def _sum(expr: Expr, known: Known) -> Sum:
    """An INDEX expression as a sum of simplified terms, exact quotients carried out."""
    total = _gather(expr, known)
    for x, inner, divisor, factor in list(quotients(total)):
        left = known_modulo(residue_of(inner, known.residues), divisor)
        if factor % divisor == 0 and left is not None:
            total = total.plus(atom(x), -factor).plus(sum_of(inner).shifted(-left), factor // divisor)
    return total


def _gather(expr: Expr, known: Known) -> Sum:
    match expr:
        case Const(value=value):
            return Sum({}, int(value))
        case Unary(op="neg", operand=x):
            return _gather(x, known).times(-1)
        case Binary(op="add", left=a, right=b):
            return _gather(a, known).plus(_gather(b, known))
        case Binary(op="sub", left=a, right=b):
            return _gather(a, known).plus(_gather(b, known), -1)
        case Binary(op="mul", left=a, right=b):
            one, other = _sum(a, known), _sum(b, known)
            if not one.terms:
                return other.times(one.constant)
            if not other.terms:
                return one.times(other.constant)
            return atom(Binary("mul", one.expr(), other.expr()))
        case Binary(op="floordiv" | "mod" | "quo" | "rem" as op, left=a, right=b):
            return _divided(op, _sum(a, known), _sum(b, known), known)
        case Binary(op="min" | "max" as op):
            return _extreme(op, expr, known)
        case Binary(op=op, left=a, right=b):
            return atom(Binary(op, _simplify(a, known), _simplify(b, known)))
        case Unary(op=unary, operand=x):
            return atom(Unary(unary, _simplify(x, known)))
        case _:
            # A decided `select` may turn out to be a sum by itself.
            fresh = _simplify(expr, known)
            return _gather(fresh, known) if isinstance(fresh, Binary | Unary | Const) else atom(fresh)


def _divided(op: BinaryOp, a: Sum, b: Sum, known: Known) -> Sum:
    """A quotient or a remainder: multiples of a constant divisor come out, what is small is settled."""
    whole = op in ("floordiv", "quo")
    if b.terms or b.constant <= 0:
        return atom(Binary(op, a.expr(), b.expr()))
    n = b.constant
    if not a.terms and op in ("quo", "rem"):
        return Sum({}, (quotient if whole else remainder)(a.constant, n))
    if op in ("quo", "rem") and known.range(a)[0] < 0:
        if n == 1:
            return a if whole else Sum()
        return atom(Binary(op, a.expr(), b.expr()))
    if whole:
        return _floor(a, n, known)
    small = reduced(a, n)
    return small.plus(_floor(small, n, known), -n)


def _floor(a: Sum, n: int, known: Known) -> Sum:
    """The sum over a positive constant, rounded down."""
    whole = Sum({x: f // n for x, f in a.terms.items() if f % n == 0})
    rest = Sum({x: f for x, f in a.terms.items() if f % n}, a.constant)
    low, high = known.range(rest)
    if low // n == high // n:
        return whole.shifted(low // n)
    # Terms whose remainder is known go apart where the others together stay within one multiple of the divisor.
    aligned, left = Sum(), 0
    for x, f in rest.terms.items():
        over = known_modulo(known.residue(Sum({x: f})), n)
        if over is not None:
            aligned, left = aligned.plus(Sum({x: f})), left + over
    if aligned.terms:
        low, high = known.range(rest.plus(aligned, -1).shifted(left))
        if low // n == high // n:
            return whole.plus(exact_quotient_sum(aligned.shifted(-left), n)).shifted(low // n)
    for shorter in _by_exact_quotients(rest, known):
        if sum(f % n != 0 for f in shorter.terms.values()) < len(rest.terms):
            return whole.plus(_floor(shorter, n, known))
    return quotient_sum(a, n)


def _by_exact_quotients(a: Sum, known: Known) -> Iterator[Sum]:
    """The sum with a dividend that a quotient divides exactly put as a multiple of that quotient."""
    for x, inner, divisor, _ in quotients(a):
        left = known_modulo(residue_of(inner, known.residues), divisor)
        if left is None:
            continue
        dividend = sum_of(inner)
        for term, factor in dividend.terms.items():
            if term in a.terms and a.terms[term] % factor == 0:
                nothing = dividend.shifted(-left).plus(atom(x), -divisor)
                yield a.plus(nothing, -(a.terms[term] // factor))


def _extreme(op: BinaryOp, expr: Expr, known: Known) -> Sum:
    """`min` or `max` of several sums: those that another one dominates are dropped."""
    kept: list[Sum] = []
    for operand in _operands(op, expr, known):
        candidate = operand if op == "min" else operand.times(-1)
        if any(known.range(x.plus(candidate, -1))[1] <= 0 for x in kept):
            continue
        kept = [x for x in kept if known.range(candidate.plus(x, -1))[1] > 0]
        kept.append(candidate)
    return extreme_sum(op, kept if op == "min" else [x.times(-1) for x in kept])


def _operands(op: BinaryOp, expr: Expr, known: Known) -> list[Sum]:
    """The operands of nested `min`s or `max`es, flattened."""
    out = []
    for part in operands(op, expr):
        fresh = _simplify(part, known) if isinstance(part, Select | Cast) else part
        again = fresh is not part and isinstance(fresh, Binary) and fresh.op == op
        out += _operands(op, fresh, known) if again else [_sum(fresh, known)]
    return out
