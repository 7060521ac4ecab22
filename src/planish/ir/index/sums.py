"""Sums of index expressions in a canonical form, and the shortest way to write one.

Remainders are held as what a quotient leaves, `x mod n = x - n * (x // n)`, and the constant below a quotient lies in
0 … n - 1, so that terms that are equal meet; `Sum.expr` brings remainders back where that is shorter.

>>> from planish.ir.text.parser import parse_expr
>>> from planish.ir.text.printer import print_expr
>>> print_expr(sum_of(parse_expr("-((n + 32) % 32) + n")).expr())
'32 * (n // 32)'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import gcd

from planish.ir.expr import Binary, BinaryOp, Const, Expr, Unary
from planish.ir.index.interval import Interval, range_of
from planish.ir.semantics.arithmetic import limits, remainder
from planish.ir.traverse import walk_expr
from planish.ir.types import INDEX

Ranges = Mapping[str, Interval]


@dataclass(frozen=True, slots=True)
class Sum:
    """`constant` plus each expression times its factor, in the order of first appearance."""

    terms: Mapping[Expr, int] = field(default_factory=dict)
    constant: int = 0

    def plus(self, other: Sum, factor: int = 1) -> Sum:
        """The sum of this and `factor` times the other."""
        if not other.terms:
            return Sum(self.terms, self.constant + other.constant * factor)
        terms = dict(self.terms)
        for x, n in other.terms.items():
            terms[x] = terms.get(x, 0) + n * factor
        return Sum({x: n for x, n in terms.items() if n}, self.constant + other.constant * factor)

    def shifted(self, constant: int) -> Sum:
        """This plus a constant."""
        return Sum(self.terms, self.constant + constant)

    def times(self, factor: int) -> Sum:
        """This times a constant."""
        return Sum().plus(self, factor)

    def range(self, known: Ranges) -> Interval:
        """Where the value lies, the narrowest of what its spellings tell."""
        low, high = self.plain_range(known)
        spellings = list(_spellings(self))
        for spelling in [*spellings, self.spelt()] if len(spellings) > 1 else spellings:
            a, b = spelling.plain_range(known)
            low, high = max(low, a), min(high, b)
        return low, high

    def plain_range(self, known: Ranges) -> Interval:
        """Where the value lies by the ranges of the terms."""
        low = high = self.constant
        for x, n in self.terms.items():
            a, b = range_of(x, known, True)
            low, high = low + min(a * n, b * n), high + max(a * n, b * n)
        return low, high

    def expr(self, known: Ranges | None = None) -> Expr:
        """The shortest expression found; `known` keeps dividends that cannot be negative so."""
        return _absorbed(self.spelt(), known or {})

    def spelt(self) -> Sum:
        """The sum with remainders spelt as such where that is shorter (no longer canonical)."""
        others = list(_spellings(self))
        best = min((self, *others), key=lambda x: size(x.plain_expr())) if others else self
        return self if best is self else best.spelt()

    def plain_expr(self) -> Expr:
        """Term by term: what is added comes first, then what is subtracted, then the constant."""
        added = [_product(x, n) for x, n in self.terms.items() if n > 0]
        taken = [_product(x, -n) for x, n in self.terms.items() if n < 0]
        if not self.terms:
            return literal(self.constant)
        constant = self.constant
        if added:
            total, *rest = added
        elif constant:
            total, rest, constant = literal(constant), [], 0
        else:
            first = next(iter(self.terms.items()))
            total, rest = (_product(*first) if first[1] != -1 else Unary("neg", first[0])), []
            taken = taken[1:]
        for x in rest:
            total = Binary("add", total, x)
        for x in taken:
            total = Binary("sub", total, x)
        if constant > 0:
            return Binary("add", total, literal(constant))
        return Binary("sub", total, literal(-constant)) if constant else total


def literal(value: int) -> Const:
    """An index constant; one outside 64 bits wraps around as the arithmetic would have done."""
    low, high = limits(INDEX)
    return Const((value - low) % (high - low + 1) + low, INDEX)


def _product(expr: Expr, factor: int) -> Expr:
    return expr if factor == 1 else Binary("mul", literal(factor), expr)


def size(expr: Expr) -> int:
    """How long an expression is: the number of its operators and operands; a sign counts twice, for it reads badly."""
    return sum(2 if isinstance(x, Unary) else 1 for x in walk_expr(expr))


def atom(expr: Expr) -> Sum:
    """An expression as a term of its own."""
    return Sum({expr: 1})


def sum_of(expr: Expr) -> Sum:
    """The canonical sum of an index expression about which nothing is known; what is no sum or quotient is an atom."""
    match expr:
        case Const(value=value):
            return Sum({}, int(value))
        case Unary(op="neg", operand=x):
            return sum_of(x).times(-1)
        case Binary(op="add", left=a, right=b):
            return sum_of(a).plus(sum_of(b))
        case Binary(op="sub", left=a, right=b):
            return sum_of(a).plus(sum_of(b), -1)
        case Binary(op="mul", left=Const(value=factor), right=x) | Binary(op="mul", left=x, right=Const(value=factor)):
            return sum_of(x).times(int(factor))
        case Binary(op="floordiv", left=x, right=Const(value=divisor)) if divisor > 0:
            return quotient_sum(sum_of(x), int(divisor))
        case Binary(op="mod", left=x, right=Const(value=divisor)) if divisor > 0:
            return remainder_sum(sum_of(x), int(divisor))
        case Binary(op="min" | "max" as op):
            return extreme_sum(op, [sum_of(x) for x in operands(op, expr)])
        case _:
            return atom(expr)


def quotient_sum(dividend: Sum, divisor: int) -> Sum:
    """The dividend over a positive constant, rounded down: whole multiples of the divisor come out."""
    whole, constant = divmod(dividend.constant, divisor)
    out = Sum({x: f // divisor for x, f in dividend.terms.items() if f % divisor == 0}, whole)
    rest = {x: f for x, f in dividend.terms.items() if f % divisor}
    if not rest:
        return out
    common = gcd(divisor, *rest.values())
    if common > 1:
        # Below the common factor of all terms, the constant makes no difference.
        inner = Sum({x: f // common for x, f in rest.items()}, constant // common)
        return out.plus(quotient_sum(inner, divisor // common))
    if _is_backwards(rest):
        # -z over n rounded down is z over n rounded up, negated.
        upwards = Sum({x: -f for x, f in rest.items()}, divisor - 1 - constant)
        return out.plus(quotient_sum(upwards, divisor), -1)
    match list(rest.items()):
        case [(Binary(op="floordiv", left=deeper, right=Const(value=m)), 1)] if m > 0:
            return out.plus(quotient_sum(sum_of(deeper).shifted(constant * int(m)), divisor * int(m)))
        case _:
            return out.plus(atom(Binary("floordiv", Sum(rest, constant).expr(), literal(divisor))))


def exact_quotient_sum(dividend: Sum, divisor: int) -> Sum:
    """A dividend over a positive constant that divides it: as nothing is rounded, signs may be turned first, so that it
    is spelt as the negative of what its negative gives."""
    if _is_backwards({x: f for x, f in dividend.terms.items() if f % divisor}):
        return quotient_sum(dividend.times(-1), divisor).times(-1)
    return quotient_sum(dividend, divisor)


def _is_backwards(terms: Mapping[Expr, int]) -> bool:
    """Whether a dividend is canonical with all signs turned: most terms, or else the first by name, are added."""
    taken = sum(1 if f < 0 else -1 for f in terms.values())
    return taken > 0 or (taken == 0 and min(terms.items(), key=lambda term: repr(term[0]))[1] < 0)


def remainder_sum(dividend: Sum, divisor: int) -> Sum:
    """What the dividend leaves modulo a positive constant, as a dividend less a multiple of its quotient."""
    small = reduced(dividend, divisor)
    return small.plus(quotient_sum(small, divisor), -divisor)


def reduced(dividend: Sum, divisor: int) -> Sum:
    """A sum that leaves the same modulo a positive constant, its factors and its constant below that."""
    terms = {x: remainder(f, divisor) for x, f in dividend.terms.items()}
    return Sum({x: f for x, f in terms.items() if f}, dividend.constant % divisor)


def extreme_sum(op: BinaryOp, sums: list[Sum]) -> Sum:
    """`min` or `max` of sums: the least of their constants stands outside."""
    if len(sums) == 1:
        return sums[0]
    constant = min(x.constant for x in sums)
    return Sum({_joined(op, [x.shifted(-constant) for x in sums]): 1}, constant)


def operands(op: BinaryOp, expr: Expr) -> list[Expr]:
    """The operands of nested `min`s or `max`es, flattened."""
    match expr:
        case Binary(op=same, left=a, right=b) if same == op:
            return [*operands(op, a), *operands(op, b)]
        case _:
            return [expr]


def quotients(whole: Sum) -> Iterator[tuple[Expr, Expr, int, int]]:
    """Each quotient by a constant among the terms, with its dividend, its divisor and its factor."""
    for x, factor in whole.terms.items():
        match x:
            case Binary(op="floordiv", left=inner, right=Const(value=divisor)) if divisor > 0:
                yield x, inner, int(divisor), factor
            case _:
                pass


def _spellings(whole: Sum) -> Iterator[Sum]:
    """The sum with a multiple of a quotient spelt as what the remainder leaves, one for each way to do so."""
    found = list(quotients(whole))
    for x, inner, divisor, factor in found:
        # x // 32 is also (x // 4) // 8, which helps where x // 4 is there to cancel.
        finer = {m for _, _, m, _ in found if m < divisor and divisor % m == 0}
        for m in (1, *sorted(finer)):
            outer = divisor // m
            if factor % outer == 0:
                times = factor // outer
                dividend, left, mirrored = _remainders(inner, m, outer)
                rest = whole.plus(atom(x), -factor).plus(dividend, times)
                yield rest.plus(atom(left), -times)
                if mirrored is not None:
                    yield rest.plus(atom(mirrored), times).shifted(-times * (outer - 1))


@lru_cache(maxsize=4096)
def _remainders(inner: Expr, divisor: int, outer: int) -> tuple[Sum, Expr, Expr | None]:
    """A dividend, already divided once; what it leaves modulo `outer`; and what its negative leaves."""
    dividend = sum_of(inner) if divisor == 1 else quotient_sum(sum_of(inner), divisor)
    left = Binary("mod", dividend.expr(), literal(outer))
    if outer & (outer - 1):
        return dividend, left, None
    # z mod n is also n - 1 - (-z - 1) mod n; a mask works for either sign, a remainder might not.
    return dividend, left, Binary("mod", reduced(dividend.times(-1).shifted(-1), outer).expr(), literal(outer))


def _absorbed(whole: Sum, known: Ranges) -> Expr:
    """As an expression, with the constant inside of a quotient or an extremum where that is shorter."""
    best = whole.plain_expr()
    for x, factor in whole.terms.items():
        for inside, times, taken in _with_constant(x, factor, whole.constant, known):
            other = whole.plus(atom(x), -factor).plus(atom(inside), times).shifted(-taken).plain_expr()
            # Of two that are as long, an extremum takes all of the constant in; `i // 4 + 1` stays.
            tie = isinstance(inside, Binary) and inside.op != "floordiv" and taken == whole.constant
            if size(other) < size(best) or (tie and size(other) == size(best)):
                best = other
    return best


def _with_constant(expr: Expr, factor: int, constant: int, known: Ranges) -> Iterator[tuple[Expr, int, int]]:
    """A term with (part of) the sum's constant moved into it: the term, its factor, and how much it took."""
    match expr:
        case Binary(op="floordiv", left=inner, right=Const(value=divisor)) if divisor > 0:
            n, dividend = int(divisor), sum_of(inner)
            # A quotient that is taken away may be that of the negated dividend, added.
            turned = dividend.times(-1).shifted(n - 1)
            for start, times in ((dividend, factor), (turned, -factor)):
                for taken in {constant if constant % factor == 0 else 0, 0}:
                    moved = start.shifted(taken // times * n)
                    if dividend.range(known)[0] < 0 or moved.range(known)[0] >= 0:
                        yield Binary("floordiv", moved.expr(), literal(n)), times, taken
        case Binary(op="min" | "max" as op):
            parts = [sum_of(part) for part in operands(op, expr)]
            shifts = {-part.constant for part in parts}
            if constant % factor == 0:
                shifts.add(constant // factor)
            for shift in sorted(shifts, key=lambda x: (abs(x), x)):
                yield _joined(op, [part.shifted(shift) for part in parts]), factor, shift * factor
        case _:
            pass


def _joined(op: BinaryOp, sums: list[Sum]) -> Expr:
    total = sums[0].expr()
    for x in sums[1:]:
        total = Binary(op, total, x.expr())
    return total
