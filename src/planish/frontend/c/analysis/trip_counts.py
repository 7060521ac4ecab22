"""Sizes that C computes where the kernel is called: quotients of others, as the trip count of
`for (i = j; i < n; i += len)` and the length `w / 2` of the rows of `p[y * (w / 2) + x]`, and distances of addresses,
as the trip count of `while (p != end)`.

>>> from planish.ir.expr import index
>>> Quotient(Var("n", INDEX), Var("len", INDEX), whole=True).spell({"n": "n", "len": "len"})
'((long long)len > 0 && ((long long)n) % ((long long)len) == 0 ? ((long long)n) / ((long long)len) : -1)'
>>> show(trip_count("lt", neg(Var("n", INDEX)), 2) or index(0))
'(n + 1)/2'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planish.ir.expr import CompareOp, Expr, Var, index
from planish.ir.index.polynomial import add, constant, floordiv, names, neg, place, polynomial, show, sub
from planish.ir.types import INDEX


@dataclass(frozen=True, slots=True)
class Quotient:
    """What two sums of products of sizes give: `dividend / divisor` rounded up, or where it has to be `whole`, that
    quotient, and -1 where it is no whole number. Not more than 0 where the divisor is not positive."""

    dividend: Expr
    divisor: Expr
    whole: bool

    def spell(self, variables: Mapping[str, str]) -> str:
        """The quotient in C, over the variables that hold the sizes."""
        wide = {x: Var(f"(long long){y}", INDEX) for x, y in variables.items()}
        up = sub(add(self.dividend, self.divisor), index(1))
        a, b, c = (show(place(x, wide)) for x in (self.dividend, self.divisor, up))
        known = constant(self.divisor)
        if self.whole and known is not None and known > 0:
            return f"(({a}) % {b} == 0 ? ({a}) / {b} : -1)"
        if self.whole:
            return f"({b} > 0 && ({a}) % ({b}) == 0 ? ({a}) / ({b}) : -1)"
        return f"({b} > 0 ? ({c}) / ({b}) : 0)"


@dataclass(frozen=True, slots=True)
class Distance:
    """The elements from the address in one pointer variable to that in another one, by their texts in C."""

    first: str
    last: str

    def spell(self, variables: Mapping[str, str]) -> str:
        """The distance in C: of addresses of whole elements, in one array or not.

        >>> Distance("p", "end").spell({})
        '((long long)(((const char *)end - (const char *)p) / (ptrdiff_t)sizeof(*p)))'
        """
        return f"((long long)(({self._bytes}) / (ptrdiff_t)sizeof(*{self.first})))"

    @property
    def condition(self) -> str:
        """That it is a whole number, in C: an end that was made of other addresses may lie within an element."""
        return f"({self._bytes}) % (ptrdiff_t)sizeof(*{self.first}) == 0"

    @property
    def _bytes(self) -> str:
        return f"(const char *){self.last} - (const char *){self.first}"


ComputedSize = Quotient | Distance


def is_of_sizes(expr: Expr, around: set[str]) -> bool:
    """Whether an expression is a sum of products of sizes, and of no iterator of the loops around.

    >>> is_of_sizes(Var("w", INDEX), {"x"}), is_of_sizes(Var("x", INDEX), {"x"})
    (True, False)
    """
    used = names(expr)
    plain = all(isinstance(x, Var) for m in polynomial(expr) for x in m)
    return plain and not used & around and not any("@" in x for x in used)


def trip_count(op: CompareOp, start: Expr, change: int) -> Expr | None:
    """How often `start + change * k op 0` holds in a row from k = 0 (negative: never); None: not known or endless."""
    match op:
        case "lt":
            pass
        case "le":
            start = sub(start, index(1))
        case "gt":
            start, change = neg(start), -change
        case "ge":
            start, change = sub(neg(start), index(1)), -change
        case "ne":
            return neg(start) if change == 1 else start if change == -1 else None
        case "eq":
            return None
    if change <= 0:
        return None
    return floordiv(sub(index(change - 1), start), index(change))
